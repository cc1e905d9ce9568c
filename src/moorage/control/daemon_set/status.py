"""What a DaemonSet says about itself.

In: the DaemonSet, what its nodes add up to. Out: its status. Kubernetes: updateDaemonSetStatus.
"""

from moorage.client.protocol import Object
from moorage.control.daemon_set.on_node import Counts
from moorage.control.framework.actions import Raw


def daemon_set_status(daemon_set: Object, counts: Counts) -> Raw:
    """Fields that Go leaves out where they are 0 are left out."""
    before: Raw = daemon_set.raw.get("status") or {}
    status: Raw = {
        "currentNumberScheduled": counts.current,
        "numberMisscheduled": counts.misscheduled,
        "desiredNumberScheduled": counts.desired,
        "numberReady": counts.ready,
    }
    for field, value in (
        ("observedGeneration", daemon_set.view.metadata.generation),
        ("updatedNumberScheduled", counts.updated),
        ("numberAvailable", counts.available),
        ("numberUnavailable", counts.desired - counts.available),
    ):
        if value:
            status[field] = value
    for kept in ("collisionCount", "conditions"):
        if before.get(kept) is not None:
            status[kept] = before[kept]
    return status
