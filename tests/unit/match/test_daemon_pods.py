"""Where a DaemonSet runs, and what its pods are given."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, node, running, workload

from moorage.match.daemon_pods import DaemonFit, DaemonTemplate, daemon_tolerations, pinned_affinity, pinned_to
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import PodSpec

RUNS, STAYS, GOES = DaemonFit(True, True), DaemonFit(False, True), DaemonFit(False, False)


def taint(key: str, effect: str) -> dict[str, Any]:
    return {"key": key, "effect": effect}


@pytest.mark.parametrize(
    ("pod_spec", "taints", "fit"),
    [
        ({}, [], RUNS),
        ({}, [taint("x", "PreferNoSchedule")], RUNS),
        ({}, [taint("x", "NoSchedule")], STAYS),
        ({}, [taint("x", "NoExecute")], GOES),
        ({}, [taint("node.kubernetes.io/not-ready", "NoExecute")], RUNS),
        ({}, [taint("node.kubernetes.io/not-ready", "NoSchedule")], STAYS),
        ({}, [taint("node.kubernetes.io/unschedulable", "NoSchedule")], RUNS),
        ({}, [taint("node.kubernetes.io/network-unavailable", "NoSchedule")], STAYS),
        ({"hostNetwork": True}, [taint("node.kubernetes.io/network-unavailable", "NoSchedule")], RUNS),
        ({"nodeSelector": {"disk": "ssd"}}, [], GOES),
        ({"nodeName": "other"}, [], GOES),
        ({"nodeName": "n1"}, [], RUNS),
    ],
)
def test_daemon_pods_run_on_nodes_that_accept_them(
    pod_spec: dict[str, Any], taints: list[dict[str, Any]], fit: DaemonFit
) -> None:
    there = convert_view(node("n1", taints=taints), Node)
    assert DaemonTemplate(convert_view(pod_spec, PodSpec), default_gates()).fits(there) == fit


def test_an_automatic_toleration_takes_the_place_of_its_equal() -> None:
    given = convert_view(
        {
            "tolerations": [
                {
                    "key": "node.kubernetes.io/not-ready",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 5,
                },
                {"key": "mine", "operator": "Exists"},
            ]
        },
        PodSpec,
    ).tolerations
    made = daemon_tolerations(given, host_network=False)
    assert [one.key.rpartition("/")[2] for one in made] == [
        "not-ready",
        "mine",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ]
    assert made[0].tolerationSeconds is None


def test_a_pod_is_pinned_to_its_node_and_keeps_its_preferences() -> None:
    affinity = pinned_affinity(
        {"podAffinity": {}, "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}, "n7"
    )
    assert affinity["podAffinity"] == {}
    assert pinned_to(convert_view({"affinity": affinity}, PodSpec)) == "n7"
    assert pinned_to(PodSpec()) == ""


def test_one_pod_on_each_node_that_fits() -> None:
    gpu = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    plan = Plan(node("n1"), node("n2"), node("n3", taints=gpu), workload("DaemonSet", "agent", "100m"))
    assert plan.nodes_of("agent") == ["n1", "n2"]
    made = plan.simulation.pods()
    assert {pinned_to(one.view.spec) for one in made} == {"n1", "n2"}
    assert all("controller-revision-hash" in one.view.metadata.labels for one in made)


def test_a_pod_that_is_there_is_not_made_twice_and_one_on_the_wrong_node_goes() -> None:
    gpu = [{"key": "gpu", "value": "yes", "effect": "NoExecute"}]
    plan = Plan(
        node("n1"),
        node("n2", taints=gpu),
        workload("DaemonSet", "agent", "100m"),
        running("agent-x", "n1", ("DaemonSet", "agent"), labels={"app": "agent"}),
        running("agent-y", "n2", ("DaemonSet", "agent"), labels={"app": "agent"}),
    )
    assert plan.where == {"agent-x": "n1"}


def test_a_full_node_leaves_its_pod_pending() -> None:
    plan = Plan(node("n1", cpu="1"), node("n2"), workload("DaemonSet", "agent", "2"))
    assert plan.nodes_of("agent") == ["", "n2"]
    assert "1 Insufficient cpu" in next(iter(plan.why.values()))
