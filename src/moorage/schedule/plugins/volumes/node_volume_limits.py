"""NodeVolumeLimits: filter out nodes that cannot attach as many volumes as the pod brings.

Each driver says in the CSINode how many volumes a node takes. Volumes that a pod on the node uses already are not
counted again. Kubernetes: pkg/scheduler/framework/plugins/nodevolumelimits.
Differs: volumes are counted as pods come and go; the detail has the inequality.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.columns.attachments import NO_LIMIT
from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.match.volumes.claims import ClaimState, claims_of, inline_attachables
from moorage.match.volumes.csi_migration import Attachable
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import SKIP, Mask, Plugin, Prepared, Verdict, unresolvable, unschedulable
from moorage.schedule.plugins.volumes.volume_binding import is_own_claim, not_found

TOO_MANY_VOLUMES = "node(s) exceed max volume count"
_Handles = dict[str, dict[Attachable, bool]]


class _Want:
    """The pod's volumes by driver and handle: the ways in which it has each, by its driver or a plugin migrated to it.

    With each way, whether the volume is itself or stands for others like it.
    """

    __slots__ = ("by_driver", "missing")

    def __init__(self, volumes: list[tuple[Attachable, bool]], missing: str) -> None:
        self.missing = missing
        self.by_driver: dict[str, _Handles] = {}
        for volume, is_itself in volumes:
            self.by_driver.setdefault(volume.driver, {}).setdefault(volume.handle, {})[volume] = is_itself


def _had_volumes(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a deleted pod may have detached volumes."""
    pod = event.old
    return bool(pod.spec.volumes) and bool(claims_of(pod) or inline_attachables(pod.spec))


class Excess(NamedTuple):
    """A driver of which a node cannot attach the new volumes."""

    driver: str
    attached: int
    new: int
    limit: int


def exceeded(want: _Want, cluster: Cluster, slot: int) -> Iterator[Excess]:
    """Yield the drivers of which a node would have more volumes than it may."""
    attachments = cluster.storage.attachments
    for driver, handles in want.by_driver.items():
        limit = int(attachments.limits(driver)[slot])
        if limit == NO_LIMIT:
            continue
        new = _new_volumes_at(driver, handles, cluster, slot)
        attached = int(attachments.counts(driver)[slot])
        if new and attached + new > limit:
            yield Excess(driver, attached, new, limit)


class NodeVolumeLimits(Plugin[_Want]):
    """The NodeVolumeLimits plugin."""

    name = "NodeVolumeLimits"
    answers_by_needs = True
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.CSI_NODE_ADDED, EventKind.CSI_NODE_CHANGED, EventKind.ATTACHMENT_REMOVED),
        on(EventKind.POD_REMOVED, hint=_had_volumes),
        on(EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED, hint=is_own_claim),
    )

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        if not shape.claims and not shape.attachables:
            return SKIP
        volumes = [(facts.attachable, facts.is_itself) for facts in shape.claims if facts.attachable is not None]
        volumes += [(volume, True) for volume in shape.attachables]
        missing = next((f.use.name for f in shape.claims if f.state is ClaimState.MISSING), "")
        if not volumes and not missing:
            return SKIP
        problem = f"looking up PVC {shape.namespace}/{missing}: {not_found(missing)}" if missing else ""
        return Prepared(_Want(volumes, problem), scores=False)

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        capacity = cluster.nodes.slots.capacity
        if want.missing:
            return np.zeros(capacity, np.bool_)
        mask = np.ones(capacity, np.bool_)
        for driver, handles in want.by_driver.items():
            limits = cluster.storage.attachments.limits(driver)
            new = _new_volumes(driver, handles, cluster)
            fits = cluster.storage.attachments.counts(driver) + new <= limits
            mask &= fits | (limits == NO_LIMIT) | (new == 0)
        return mask

    def withstands(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        """Return whether all volumes find room beside those that are there, also if pods that share one leave."""
        attachments = cluster.storage.attachments
        return not want.missing and all(
            (limit := int(attachments.limits(driver)[slot])) == NO_LIMIT
            or int(attachments.counts(driver)[slot]) + len(handles) <= limit
            for driver, handles in want.by_driver.items()
        )

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        if want.missing:
            return unresolvable(want.missing)
        details = [
            f"{one.driver}: {one.attached} attached + {one.new} <= {one.limit} is false"
            for one in exceeded(want, cluster, slot)
        ]
        return unschedulable(TOO_MANY_VOLUMES, *details) if details else None


def _new_volumes(driver: str, handles: _Handles, cluster: Cluster) -> NDArray[np.int64]:
    """Return how many volumes of one driver the pod would bring to each slot."""
    attachments = cluster.storage.attachments
    new = np.zeros(cluster.nodes.slots.capacity, np.int64)
    doubtful: set[int] = set()
    for handle, ways in handles.items():
        plugins = [volume.plugin for volume in ways]
        if "" in plugins:
            new += 1
        else:
            new += np.maximum.reduce([attachments.moved(plugin) for plugin in plugins])
        if any(ways.values()):
            doubtful.update(attachments.slots_with(Attachable(driver, handle)))
    for slot in doubtful:
        new[slot] = _new_volumes_at(driver, handles, cluster, slot)
    return new


def _new_volumes_at(driver: str, handles: _Handles, cluster: Cluster, slot: int) -> int:
    attachments = cluster.storage.attachments
    new = 0
    for handle, ways in handles.items():
        counts = any(not volume.plugin or attachments.moved(volume.plugin)[slot] for volume in ways)
        there = any(ways.values()) and attachments.is_counted((driver, handle), slot)
        new += counts and not there
    return new
