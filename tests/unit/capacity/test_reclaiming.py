"""Nodes that can go: their order, what moves, what they save, and why others stay."""

from __future__ import annotations

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, workload
from tests.unit.pools.inputs import read

from moorage.capacity.reclaiming import reclaim
from moorage.capacity.reclaiming.reclaim import Reclaim, Reclaimer
from moorage.capacity.reclaiming.text import ReclaimReport, reclaim_markdown, summary
from moorage.pools.reading import Pools


def group(name: str, price: float, least: int = 0) -> str:
    capacity = "{cpu: '4', memory: 8Gi, pods: '20'}"
    return (
        f"apiVersion: capacity.moorage.dev/v1\nkind: NodeGroup\nmetadata: {{name: {name}}}\n"
        f"spec: {{price: {price}, minSize: {least}, template: {{status: {{capacity: {capacity}}}}}}}\n"
    )


def taken(*documents: Raw, pools: Pools | None = None, most: int | None = None) -> Reclaim:
    plan = Plan(*documents)
    names = [one["metadata"]["name"] for one in documents if one["kind"] == "Node"]
    found = pools.pools if pools is not None else ()
    return Reclaimer(plan.planner, plan.simulation, plan.outcome, found).reclaim(names, most)


def of(found: Reclaim) -> list[str]:
    return [one.name for one in found.nodes]


def why(found: Reclaim) -> dict[str, str]:
    return {one.name: one.reason for one in found.kept}


def replica(name: str, on: str, **fields: object) -> Raw:
    return running(name, on, ("ReplicaSet", "rs"), labels={"app": "rs"}, **fields)


def test_empty_nodes_go_first_then_those_with_least_to_move() -> None:
    pods = [replica("a", "n1", cpu="1"), replica("b", "n2", cpu="1"), replica("c", "n2", cpu="1")]
    found = taken(node("n1"), node("n2"), node("n3"), *pods)
    assert of(found) == ["n3", "n1"]
    assert [len(one.moves) for one in found.nodes] == [0, 1]
    assert found.nodes[1].moves[0].new_node == "n2"
    assert why(found)["n2"].startswith("3 pods would wait")


def test_the_dearest_pod_goes_first_and_pools_keep_their_least() -> None:
    pools = read(group("dear", 1.0), group("cheap", 0.25, least=1))
    pods = [replica("a", "n1", cpu="1"), replica("b", "n2", cpu="1")]
    documents = (node("n1", pool="cheap"), node("n2", pool="dear"), node("n3", pool="dear"), *pods)
    found = taken(*documents, pools=pools)
    assert of(found) == ["n3", "n2"]
    assert (found.saves, found.unpriced, found.moves) == (2.0, 0, 1)
    assert why(found) == {"n1": "NodeGroup cheap has 1 node, and keeps 1"}
    assert summary(found) == "2 of 3 nodes can go: saves 2/h (1,460.0 a month); 1 pod moves."


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}, "karpenter.sh/do-not-disrupt=true"),
        (
            {"metadata": {"annotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}}},
            "cluster-autoscaler.kubernetes.io/safe-to-evict=false",
        ),
    ],
)
def test_annotations_of_pods_keep_their_node(fields: Raw, reason: str) -> None:
    made = replica("a", "n1")
    made["metadata"] |= fields["metadata"]
    found = taken(node("n1"), node("n2"), made)
    assert of(found) == ["n2"]
    assert why(found)["n1"].endswith(reason)


def test_annotations_of_nodes_and_pods_without_controller_keep_nodes() -> None:
    kept = node("n1")
    kept["metadata"]["annotations"] = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
    found = taken(kept, node("n2"), running("alone", "n2"), node("n3"))
    assert of(found) == ["n3"]
    assert "scale-down-disabled=true" in why(found)["n1"]
    assert why(found)["n2"] == "pod default/alone has no controller, which would make it again elsewhere"


def test_budgets_forbid_and_daemon_pods_do_not_move() -> None:
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    found = taken(node("n1"), node("n2"), workload("Deployment", "web", replicas=1), workload("DaemonSet", "d"), budget)
    assert len(found.nodes) == 1
    assert found.moves == 0
    [reason] = why(found).values()
    assert "cannot be evicted" in reason
    assert "web" in reason


def test_most_ends_it_and_forms_have_every_node() -> None:
    found = taken(node("n1"), node("n2"), node("n3"), pod("p"), most=1)
    assert len(found.nodes) == 1
    lines = "\n".join(ReclaimReport(colour=False, width=100, everything=True).reclaim(found))
    markdown = "\n".join(reclaim_markdown(found))
    names = of(found) + list(why(found))
    assert all(name in lines and name in markdown for name in names)
    assert "--most 1 is reached" in lines


def test_without_forks_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = (node("n1"), node("n2"), node("n3"), workload("Deployment", "web", "2", replicas=3))
    forked = taken(*documents)
    monkeypatch.setattr(reclaim, "can_fork", lambda: False)
    assert taken(*documents) == forked
