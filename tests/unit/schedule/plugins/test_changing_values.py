"""Values that change all the time (KEP-5471 expects them): a new shape is evaluated for those that nodes have now."""

from collections import Counter
from collections.abc import Mapping
from typing import Any
from unittest.mock import patch

from tests.unit.schedule.clusters import candidates_of, cluster_of, node, pod

from moorage.columns.cluster import Cluster
from moorage.columns.selector_masks import LabelPredicate
from moorage.match.requirement import Requirement
from moorage.match.tolerations import ProgramCache, TolerationSet
from moorage.model.gates import gates_from
from moorage.schedule.framework.unreadable_labels import UnreadableLabels
from moorage.schedule.plugins.taint_toleration import TaintToleration

CHANGES = 1_200
GATES = gates_from({"AllAlpha": True})
GREATER = [{"key": "sla", "operator": "Gt", "value": "5", "effect": "NoSchedule"}]


def rated(name: str, value: str) -> Any:
    return node(name, {"rating": value}, taints=[{"key": "sla", "value": value, "effect": "NoSchedule"}])


def changed() -> Cluster:
    """Three nodes, of which one has had many values."""
    cluster = cluster_of(rated("a", "1"), rated("b", "2"), rated("c", "0"))
    cluster.nodes.label("rating")  # known from now on
    for value in range(CHANGES):
        cluster.update_node(rated("c", str(value)))
    return cluster


def test_a_new_toleration_is_evaluated_for_the_lists_that_nodes_have() -> None:
    cluster = changed()
    asked: Counter[str] = Counter()
    tolerates = TolerationSet.tolerates

    def counting(tolerations: TolerationSet, taint: Any) -> bool:
        asked[taint.value] += taint.key == "sla"
        return tolerates(tolerations, taint)

    with patch.object(TolerationSet, "tolerates", counting):
        candidates_of(cluster, pod(tolerations=GREATER), GATES).feasible()
    assert +asked == Counter({"1": 1, "2": 1, str(CHANGES - 1): 1})


def test_spreading_that_honours_taints_asks_about_the_lists_that_nodes_have() -> None:
    cluster = changed()
    asked: list[int] = []
    untolerated = TolerationSet.untolerated

    def counting(tolerations: TolerationSet, taints: Any, effects: Any) -> Any:
        asked.append(len(taints))
        return untolerated(tolerations, taints, effects)

    constraint = {
        "maxSkew": 1,
        "topologyKey": "rating",
        "whenUnsatisfiable": "DoNotSchedule",
        "nodeTaintsPolicy": "Honor",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    with patch.object(TolerationSet, "untolerated", counting):
        candidates_of(cluster, pod(labels={"app": "web"}, topologySpreadConstraints=[constraint]), GATES).feasible()
    assert len(asked) == 4  # three lists, and the empty one


def test_a_new_selector_is_evaluated_for_the_values_that_nodes_have() -> None:
    cluster = changed()
    asked: list[Mapping[str, str]] = []

    def match(labels: Mapping[str, str]) -> bool:
        asked.append(labels)
        return bool(labels)

    predicate = LabelPredicate(Requirement("rating", "gt", ("5",), match), cluster.nodes)
    assert predicate.mask()[cluster.nodes.alive].all()
    assert sorted(labels.get("rating", "") for labels in asked) == ["", "1", str(CHANGES - 1), "2"]


def test_errors_are_counted_for_the_taints_of_nodes_that_are_there() -> None:
    cluster = cluster_of(rated("a", "7"), rated("b", "x"))
    for value in range(CHANGES):
        cluster.update_node(rated("b", f"x{value}"))
    cluster.remove_node("b")
    plugin = TaintToleration(GATES)
    want = plugin.prepare(cluster.shape_of(pod(tolerations=GREATER)), cluster).want
    plugin.filter(want, cluster)
    assert plugin.numeric_evaluations == Counter({("Gt", "match"): 1})
    assert plugin.unreadable(want, cluster) == []


def test_a_value_that_cannot_be_compared_is_told_of_the_nodes_that_have_it() -> None:
    cluster = cluster_of(rated("a", "7"), rated("b", "x"))
    plugin = TaintToleration(GATES)
    want = plugin.prepare(cluster.shape_of(pod(tolerations=GREATER)), cluster).want
    plugin.filter(want, cluster)
    assert [(one.found.value, one.slots.tolist()) for one in plugin.unreadable(want, cluster)] == [("x", [1])]
    cluster.update_node(rated("b", "8"))
    cluster.update_node(rated("a", "y"))  # with the code that "x" had
    assert plugin.unreadable(want, cluster) == []  # the filter has not asked about it yet
    plugin.filter(want, cluster)
    assert [(one.found.value, one.slots.tolist()) for one in plugin.unreadable(want, cluster)] == [("y", [0])]


def test_answers_about_labels_are_not_kept_for_ever() -> None:
    cluster = cluster_of(rated("a", "1"))
    term = {"matchExpressions": [{"key": "rating", "operator": "Gt", "values": ["5"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    candidates = candidates_of(cluster, pod(affinity={"nodeAffinity": required}), GATES)
    (labels,) = (
        value
        for item in candidates.filters
        for name in getattr(type(item.prepared.want), "__slots__", None) or vars(type(item.prepared.want))
        if isinstance(value := getattr(item.prepared.want, name, None), UnreadableLabels)
    )
    for value in range(3 * CHANGES):
        cluster.update_node(rated("a", f"x{value}"))
        assert [one.found.value for one in labels.everywhere()] == [f"x{value}"]
    assert len(labels._answers) <= 1_100


def test_a_cheap_expression_stays_cheap_however_often_a_value_changes() -> None:
    cluster = cluster_of(rated("a", "1"), rated("b", "1"))
    plugin = TaintToleration(GATES, ProgramCache())
    expression = [{"expression": "taint.key == 'sla' && int(taint.value) >= 0"}]
    want = plugin.prepare(cluster.shape_of(pod(tolerations=expression)), cluster).want
    account = want.all.account
    assert account is not None
    left = []
    for value in range(CHANGES):
        cluster.update_node(rated("b", str(value)))
        assert plugin.filter(want, cluster)[cluster.nodes.alive].all()
        left.append(account.cheap_left)
    assert left[0] == left[-1]
    assert not account.answers


def test_failures_of_an_expression_are_known_for_the_newest_values() -> None:
    cluster = cluster_of(rated("a", "1"), rated("b", "1"))
    plugin = TaintToleration(GATES, ProgramCache())
    expression = [{"expression": "int(taint.value) >= 0"}]
    want = plugin.prepare(cluster.shape_of(pod(tolerations=expression)), cluster).want
    with patch("moorage.match.evaluation.taint_expressions._FAILURES_KEPT", 3):
        for value in range(10):
            cluster.update_node(rated("b", f"x{value}"))
            plugin.filter(want, cluster)
            assert [one.found.value for one in plugin.unreadable(want, cluster)] == [f"x{value}"]
