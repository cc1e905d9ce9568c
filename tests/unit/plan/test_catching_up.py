"""What the scheduler of a settled plan keeps can be brought up to date at once, as the dashboard does it."""

from tests.unit.plan.planning import Plan, node, workload


def test_shapes_that_are_asked_for_meanwhile_do_not_stop_others_from_catching_up() -> None:
    kinds = ("Deployment", "DaemonSet", "Job")
    plan = Plan(node("n1"), *(workload(kind, kind.lower(), "100m") for kind in kinds))
    plan.simulation.scheduling.catch_up()
    plan.simulation.scheduling.catch_up()
