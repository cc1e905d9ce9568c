"""Components with other gates than the scheduler's: what becomes of a pod that was placed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.objects import taint
from tests.unit.plan.planning import Raw, node, pod, workload, written

from moorage.model.gates import Component, GateSet, default_gates, gates_from
from moorage.plan.explain.explanation import Explanation, explain_pod, plain
from moorage.plan.explain.target import find_target
from moorage.plan.explain.text import ExplanationText
from moorage.plan.planner import Planner, Settings

ALL, NONE = gates_from({"AllAlpha": True}), default_gates()
NUMBERS = "TaintTolerationComparisonOperators"
SEMVER = "TaintTolerationNodeAffinitySemverComparisonOperators"
TOLERATION = {"key": "sla", "operator": "Gt", "value": "900", "effect": "NoExecute"}
TAINTED = node("spot", taints=[taint("sla", "950", "NoExecute")], version="2.0.0")


def planner_of(*documents: Raw, **others: GateSet) -> Planner:
    """A planner with all gates on, but in components that have their own."""
    planner = Planner(Settings(ALL, others={Component[name]: gates for name, gates in others.items()}))
    planner.load(written(*documents))
    return planner


def explained(*documents: Raw, **others: GateSet) -> Explanation:
    planner = planner_of(*documents, **others)
    simulation = planner.build()
    return explain_pod(simulation, planner.inventory, find_target(simulation, planner.inventory, "p"))


@pytest.mark.parametrize(
    ("spec", "component", "words"),
    [
        (
            {"tolerations": [TOLERATION]},
            "CONTROLLER_MANAGER",
            f"there it is evicted at once: operator Gt needs the feature gate {NUMBERS} in the controller manager "
            f"(taint sla=950, toleration Gt 900)",
        ),
        (
            {"tolerations": [TOLERATION]},
            "KUBELET",
            f"its node would refuse it (phase Failed): taint sla=950 is not tolerated: operator Gt needs the feature "
            f"gate {NUMBERS} in the kubelet",
        ),
        ({"tolerations": [TOLERATION]}, "API_SERVER", ""),
        ({"tolerations": [{"operator": "Exists"}]}, "CONTROLLER_MANAGER", ""),
        (
            {
                "tolerations": [{"operator": "Exists"}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["1.0.0"]}]}
                            ]
                        }
                    }
                },
            },
            "KUBELET",
            f"would refuse it (phase Failed): operator SemverGt needs the feature gate {SEMVER} in the kubelet",
        ),
    ],
)
def test_what_becomes_of_a_pod_that_is_placed(spec: dict[str, Any], component: str, words: str) -> None:
    told = explained(TAINTED, pod("p", **spec), **{component: NONE})
    assert told.node == "spot"
    assert bool(told.troubles) is bool(words)
    assert words in "".join(told.troubles)
    assert plain(told)["troubles"] == list(told.troubles)
    text = " ".join("\n".join(ExplanationText().lines(told)).split())
    assert ("But there it is" in text or "But its node" in text) is bool(words)


def test_each_component_of_a_plan_has_its_own_gates() -> None:
    """The scheduler places it, the controller manager evicts it: the plan says that the cluster finds no rest."""
    web = workload("Deployment", "web", pods={"tolerations": [TOLERATION]}, replicas=1)
    planner = planner_of(TAINTED, web, KUBELET=NONE)
    outcome = planner.plan(planner.build())
    assert [note.message for note in outcome.notes if "refused by their nodes" in note.message] == [
        "more than 200 pods were refused by their nodes (TaintToleration), the last one of Deployment default/web: "
        "the simulation ends here"
    ]
    planner = planner_of(TAINTED, web, SCHEDULER=NONE)
    (line,) = planner.plan(planner.build()).pods
    assert f"operator Gt needs the feature gate {NUMBERS} in the scheduler" in line.message
    planner = planner_of(TAINTED, web, CONTROLLER_MANAGER=NONE)
    said = "pods are evicted again and again from nodes that take them: the simulation ends here"
    assert said in [note.message for note in planner.plan(planner.build()).notes]
