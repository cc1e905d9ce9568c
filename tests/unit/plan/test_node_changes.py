"""Changes of several nodes at once, and of labels."""

import msgspec
import pytest
from tests.unit.plan.planning import Plan, node, workload

from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.plan.node_changes import (
    ChangeError,
    LabelChange,
    TaintChange,
    UntaintChange,
    parse_label,
    parse_nodes,
    parse_taint,
)
from moorage.plan.what_if import Changes

ROOM = [node("a", pool="spot"), node("b", pool="spot"), node("c", pool="calm")]


def on_spot(replicas: int) -> Plan:
    return Plan(*ROOM, workload("Deployment", "web", "1", {"nodeSelector": {"pool": "spot"}}, replicas=replicas))


def taints(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {line.name: line.taints for line in plan.outcome.nodes}


def test_a_taint_for_all_nodes_and_for_those_with_a_label() -> None:
    plan = on_spot(1)
    changes = Changes(
        taints=(TaintChange("*", "risk", "", "NoSchedule"), TaintChange("{pool=spot}", "os", "1", "NoSchedule")),
        untaints=(UntaintChange("{pool=calm}", "risk", ""),),
    )
    difference = plan.what_if(changes)
    both = ("risk:NoSchedule", "os=1:NoSchedule")
    assert taints(plan) == {"a": both, "b": both, "c": ()}
    assert difference.changes == (
        "taint all nodes with risk:NoSchedule",
        "taint nodes with label pool=spot with os=1:NoSchedule",
        "remove taint risk from nodes with label pool=calm",
    )


def test_drains_cordons_and_removals_of_all_nodes_and_of_those_with_a_label() -> None:
    plan = on_spot(2)
    difference = plan.what_if(Changes(drains=("{pool=spot}", "b"), removes=("{pool=spot}",), cordons=("*",)))
    assert [line.name for line in plan.outcome.nodes if not line.schedulable] == ["c"]
    assert [one.node for one in difference.evicted] == ["a", "b"]
    assert difference.changes == (
        "drain nodes with label pool=spot",
        "drain node b",
        "remove nodes with label pool=spot",
        "cordon all nodes",
    )


@pytest.mark.parametrize("text", ["{pool=spot", "{pool}", "{=spot}", "{}", "{"])
def test_nodes_by_a_label_that_is_none_are_refused(text: str) -> None:
    with pytest.raises(ChangeError, match=r"is not of the form \{KEY=VALUE\}"):
        parse_nodes(text)


def test_nodes_are_named_by_name_by_label_or_all() -> None:
    named = ["a", "*", "{pool=spot}", "{pool=}"]
    assert list(map(parse_nodes, named)) == named


def test_a_label_lets_pods_in_and_without_it_they_stay_but_no_more_come() -> None:
    plan = on_spot(10)
    assert len(plan.outcome.pending) == 2
    difference = plan.what_if(Changes(labels=(LabelChange("c", "pool", "spot"),)))
    assert [line.node for line in difference.placed] == ["c", "c"]
    assert difference.changes == ("label node c with pool=spot",)
    plan = on_spot(8)
    difference = plan.what_if(Changes(labels=(LabelChange("*", "pool", None),), drains=("a",)))
    assert {one.new_node for one in difference.evicted} == {""}
    assert difference.changes[0] == "remove label pool from all nodes"
    assert sum(line.node == "b" for line in plan.outcome.pods) == 4


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (Changes(labels=(LabelChange("x", "k", "v"),)), "there is no node 'x' in the input"),
        (Changes(labels=(LabelChange("a", "k", None),)), "node a has no label k"),
        (
            Changes(labels=(LabelChange("{pool=spot}", "k", None),)),
            "none of the nodes with label pool=spot has label k",
        ),
        (Changes(labels=(LabelChange("a", "k", "v w"),)), "Invalid value"),
        (Changes(untaints=(UntaintChange("*", "k", "NoExecute"),)), "none of the nodes has taint k:NoExecute"),
        (Changes(taints=(TaintChange("{pool=x}", "k", "", "NoExecute"),)), "there are no nodes with label pool=x"),
    ],
)
def test_changes_that_cannot_be_made(changes: Changes, said: str) -> None:
    with pytest.raises(ChangeError, match=said.replace("(", r"\(")):
        on_spot(1).what_if(changes)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("n1=pool=spot", LabelChange("n1", "pool", "spot")),
        ("n1=pool=", LabelChange("n1", "pool", "")),
        ("n1=a/b=c=d", LabelChange("n1", "a/b", "c=d")),
        ("n1=pool-", LabelChange("n1", "pool", None)),
        ("*=pool-", LabelChange("*", "pool", None)),
        ("{a=b}=pool=x", LabelChange("{a=b}", "pool", "x")),
        ("n1=pool", None),
        ("n1", None),
        ("=pool=x", None),
        ("n1=-", None),
        ("{a=b=pool=x", None),
    ],
)
def test_labels_as_they_are_written(text: str, change: LabelChange | None) -> None:
    if change is None:
        with pytest.raises(ChangeError, match="is not of the form NODE=KEY=VALUE or NODE=KEY-"):
            parse_label(text)
    else:
        assert parse_label(text) == change


def test_taints_of_several_nodes_as_they_are_written() -> None:
    assert parse_taint("{a=b}=risk=3:NoExecute") == TaintChange("{a=b}", "risk", "3", "NoExecute")
    assert parse_taint("*=risk:NoExecute") == TaintChange("*", "risk", "", "NoExecute")


def test_nodes_that_get_one_list_of_taints_are_as_if_each_was_updated() -> None:
    old = [{"key": "risk", "value": "1", "effect": "NoExecute"}, {"key": "os", "effect": "NoSchedule"}]
    nodes = [node("a", taints=old), node("b", taints=old), node("c"), node("d", taints=old[:1])]
    new = TaintChange("*", "risk", "7", "NoExecute")
    together, apart = Plan(*nodes), Plan(*nodes)
    together.what_if(Changes(taints=(new,)))
    apart.what_if(Changes(taints=tuple(msgspec.structs.replace(new, node=name) for name in "abcd")))
    for name in "abcd":
        found, other = (plan.simulation.api.get(KINDS.NODE, name) for plan in (together, apart))
        assert found.raw["spec"] == other.raw["spec"]
        assert {"key": "risk", "value": "7", "effect": "NoExecute"} in found.raw["spec"]["taints"]
        assert {one["key"]: at for at, one in enumerate(found.raw["spec"]["taints"])}["risk"] == 0  # in its place
        assert found.view.spec == other.view.spec == convert_view(found.raw, Node).spec
    assert taints(together) == taints(apart)
