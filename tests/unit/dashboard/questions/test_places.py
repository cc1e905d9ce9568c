"""The question `places`: which pods are in the place that a Pending pod waits for."""

from typing import Any

import pytest
from tests.unit.dashboard.questions.test_explain import asked
from tests.unit.plan.planning import LivePlan, Raw, node, pod, running, workload

from moorage.dashboard.questions.base import Base
from moorage.plan.input.inventory import Key
from moorage.plan.rollout import restart

FULL = node("n1", cpu="4")
ROLLING: Raw = {"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}}


def stuck(*documents: Raw) -> tuple[Base, str]:
    """Restart Deployment web on a full cluster; return it, and the new pod that waits."""
    plan = LivePlan(*documents)
    restart(plan.simulation, Key("Deployment", "default", "web"))
    plan.simulation.settle()
    waiting = [item.key for item in plan.simulation.pods() if not item.view.spec.nodeName]
    return Base(plan.planner, plan.simulation), waiting[0]


def test_own_old_pods_and_those_of_others_are_named() -> None:
    base, key = stuck(
        FULL, workload("Deployment", "web", replicas=2, **ROLLING), workload("Deployment", "batch", replicas=2)
    )
    told = asked("places", base, pod=key)
    assert told["text"] == (
        "It waits for room on n1: taken by Deployment default/batch (2 pods); its own 2 old pods, "
        "which it may not remove: maxUnavailable 0."
    )
    assert [(one["workload"], one["isOwn"], one["isOld"], len(one["keys"])) for one in told["by"]] == [
        ("Deployment default/batch", False, False, 2),
        ("Deployment default/web", True, True, 2),
    ]
    assert all(name.startswith("default/batch-") for name in told["by"][0]["keys"])
    assert told["nodes"] == ("n1",)


def test_a_pod_that_no_other_pod_keeps_out_says_so() -> None:
    plan = LivePlan(FULL, pod("far", nodeSelector={"zone": "z"}))
    told = asked("places", Base(plan.planner, plan.simulation), pod="default/far")
    assert (told["text"], told["by"], told["nodes"]) == ("", [], ())
    plan = LivePlan(FULL, running("here", "n1"))
    assert asked("places", Base(plan.planner, plan.simulation), pod="default/here")["text"] == ""


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({}, 'places takes {"pod": "NAMESPACE/NAME"}'), ({"pod": 1}, 'places takes {"pod": "NAMESPACE/NAME"}')],
)
def test_arguments_that_make_no_sense(arguments: dict[str, Any], error: str) -> None:
    plan = LivePlan(FULL)
    assert asked("places", Base(plan.planner, plan.simulation), **arguments) == {"error": error, "done": True}
    gone = asked("places", Base(plan.planner, plan.simulation), pod="default/gone")
    assert "there is no pod" in gone["error"]
