"""One input planned more than once: UIDs that the first plan drew stay unique in the next one."""

from __future__ import annotations

from tests.unit.plan.planning import Plan, node, workload

from moorage.model.kinds import KINDS


def test_uids_of_a_first_plan_are_not_drawn_again() -> None:
    """The second plan draws from the same seed: a ReplicaSet would get the UID of a DaemonSet and its pods."""
    plan = Plan(node("n1"), workload("DaemonSet", "logs"), workload("Deployment", "web", replicas=1))
    again = plan.planner.build()
    again.settle()
    kinds = (KINDS.NODE, KINDS.DAEMON_SET, KINDS.DEPLOYMENT, KINDS.REPLICA_SET, KINDS.POD)
    objects = [found for kind in kinds for found in again.world.all(kind)]
    assert len({found.uid for found in objects}) == len(objects) == 6
    assert again.api.writes < 100
