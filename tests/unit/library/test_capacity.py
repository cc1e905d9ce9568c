import json

import pytest
from tests.unit.plan.planning import node, pod, workload
from tests.unit.plan.pools.pool_worlds import TYPES, node_pool

import moorage


def test_fit_is_that_of_the_command() -> None:
    report = moorage.capacity.fit(workload("Deployment", "web", "3", replicas=2), [node_pool(), TYPES])
    assert report.is_answered
    assert sum(line.count for line in report.nodes) == 2
    with pytest.raises(moorage.MoorageError, match="'sky' is not zone, pool or a number"):
        moorage.capacity.fit(pod("p"), [node_pool(), TYPES], survive="sky")


def test_lose_is_that_of_the_command() -> None:
    loss = moorage.capacity.lose(
        [node("a", "4"), node("b", "1"), workload("Deployment", "web", "1", replicas=3)], "node=a"
    )
    assert loss.nodes == ("a",)
    assert loss.harms
    assert json.loads(json.dumps(loss.sentence))
    with pytest.raises(moorage.MoorageError, match="there is no node 'x'"):
        moorage.capacity.lose([node("a")], "node=x")
    with pytest.raises(AttributeError):
        _ = moorage.capacity.nothing  # type: ignore[attr-defined]


def test_curve_is_that_of_the_command() -> None:
    taint = {"key": "risk", "value": "3", "effect": "NoExecute"}
    tolerations = [{"key": "risk", "operator": "Lt", "value": "5", "effect": "NoExecute"}]
    world = [node("a", taints=[taint]), workload("Deployment", "web", "1", {"tolerations": tolerations}, replicas=2)]
    gates = {"TaintTolerationComparisonOperators": True}
    curve = moorage.capacity.curve(world, "risk", gates=gates)
    assert [(point.value, point.evicted) for point in curve.points] == [("3", 0), ("5", 2)]
    curve = moorage.capacity.curve(world, "risk", workloads=("deployment/web",), gates=gates)
    assert [point.value for point in curve.points] == ["Lt 3", "Lt 5"]
    curve = moorage.capacity.curve(world, "risk", share=True, gates=gates)
    assert curve.points[-1].value == "100 %"
    with pytest.raises(moorage.MoorageError, match="no node has a taint 'x'"):
        moorage.capacity.curve(world, "x", gates=gates)


def test_reclaim_is_that_of_the_command() -> None:
    found = moorage.capacity.reclaim([node("a"), node("b"), workload("Deployment", "web", replicas=1)])
    assert [len(one.moves) for one in found.nodes] == [0]
    assert len(found.kept) == 1
    with pytest.raises(moorage.MoorageError, match="there is no node 'x'"):
        moorage.capacity.reclaim([node("a")], "node=x")
