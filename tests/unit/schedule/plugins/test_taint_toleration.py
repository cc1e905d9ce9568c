"""TaintToleration: hard taints refuse, soft ones are avoided, and each list of taints is asked about once."""

from typing import Any

import numpy as np
import pytest
from tests.objects import taint
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, pod, scores, verdicts

from moorage.model.gates import default_gates, gates_from
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.taint_toleration import TaintToleration

EVERYTHING = gates_from({"AllAlpha": True})


@pytest.mark.parametrize(
    ("toleration", "left"),
    [
        (None, {"plain", "soft"}),
        ({"operator": "Exists"}, {"plain", "soft", "fast", "slow", "both"}),
        ({"key": "sla", "operator": "Gt", "value": "900"}, {"plain", "soft", "fast"}),
        ({"key": "sla", "operator": "Lt", "value": "900"}, {"plain", "soft", "slow"}),
        ({"key": "sla", "operator": "Exists"}, {"plain", "soft", "fast", "slow"}),
        ({"expression": "int(taint.value) > 900"}, {"plain", "soft", "fast"}),
        (
            {"expression": 'taint.key == "sla" || taint.effect == "NoExecute"'},
            {"plain", "soft", "fast", "slow", "both"},
        ),
    ],
)
def test_every_hard_taint_must_be_tolerated(toleration: dict[str, Any] | None, left: set[str]) -> None:
    cluster = cluster_of(
        node("plain"),
        node("soft", taints=[taint("spot", effect="PreferNoSchedule")]),
        node("fast", taints=[taint("sla", "950")]),
        node("slow", taints=[taint("sla", "80")]),
        node("both", taints=[taint("sla", "950"), taint("gone", effect="NoExecute")]),
    )
    asked = alone(TaintToleration(EVERYTHING), cluster, pod(tolerations=[toleration] if toleration else []))
    assert passing(asked) == left


def test_the_reason_names_the_first_taint_and_the_details_all_of_them() -> None:
    taints = [taint("soft", effect="PreferNoSchedule"), taint("sla", "80"), taint("gone", "x", "NoExecute")]
    tolerations = [{"key": "sla", "operator": "Gt", "value": "900"}]
    asked = alone(TaintToleration(EVERYTHING), cluster_of(node("a", taints=taints)), pod(tolerations=tolerations))
    verdict = verdicts(asked)["a"]
    assert verdict.reasons == ("node(s) had untolerated taint {sla: 80}",)
    assert verdict.code is Code.UNRESOLVABLE
    assert len(verdict.details) == 2
    assert "80 > 900 is false" in verdict.details[0]
    assert "gone" in verdict.details[1]


@pytest.mark.parametrize(
    ("toleration", "value", "why"),
    [
        ({"key": "sla", "operator": "Gt", "value": "9"}, "high", "{sla: high} is not a 64-bit integer"),
        ({"key": "sla", "operator": "Gt", "value": "9"}, "007", "{sla: 007} is not a 64-bit integer in canonical form"),
        ({"key": "sla", "operator": "Lt", "value": "9"}, "", "{sla: } is not a 64-bit integer"),
        ({"key": "sla", "operator": "SemverEq", "value": "9"}, "high", "{sla: high} is not a semantic version"),
        ({"key": "sla", "operator": "Gt", "value": "9", "effect": "NoExecute"}, "high", ""),
        ({"key": "other", "operator": "Gt", "value": "9"}, "high", ""),
        ({"key": "sla", "operator": "Gt", "value": "9"}, "8", ""),
        ({"key": "sla", "operator": "Equal", "value": "9"}, "high", ""),
        ({"expression": "taint.value == 'low'"}, "high", ""),
        (
            {"expression": "int(taint.value) > 9"},
            "high",
            "the expression failed: type conversion error from 'string' to 'int'",
        ),
        (
            {"expression": "semver(taint.value).major() > 9"},
            "high",
            "the expression failed: No Major.Minor.Patch elements found",
        ),
        ({"expression": "[1, 2][size(taint.value)] == 1"}, "high", "the expression failed: index out of bounds: 4"),
    ],
)
def test_the_reason_says_that_a_value_could_not_be_read(toleration: dict[str, Any], value: str, why: str) -> None:
    cluster = cluster_of(node("a", taints=[taint("sla", value)]))
    asked = alone(TaintToleration(EVERYTHING), cluster, pod(tolerations=[toleration]))
    reason = f"node(s) had untolerated taint {{sla: {value}}}{why and f' ({why})'}"
    assert verdicts(asked)["a"].reasons == (reason,)
    item = asked.filters[0]
    assert item.plugin.reasons(item.prepared.want, cluster, np.array([0])) == {reason: 1}
    assert why.partition("} ")[2] in verdicts(asked)["a"].details[0]
    found = item.plugin.unreadable(item.prepared.want, cluster)
    assert [(one.found.key, one.slots.tolist()) for one in found] == ([("sla", [0])] if why else [])


def test_a_long_error_of_an_expression_is_cut_in_the_reason_and_whole_in_the_details() -> None:
    value = "x" * 63
    expression = f"{{'a': 1}}[taint.value + '{'y' * 400}'] == 1"
    cluster = cluster_of(node("a", taints=[taint("sla", value)]))
    verdict = verdicts(alone(TaintToleration(EVERYTHING), cluster, pod(tolerations=[{"expression": expression}])))["a"]
    (reason,) = verdict.reasons
    assert reason.startswith(f"node(s) had untolerated taint {{sla: {value}}} (the expression failed: no such key: x")
    assert reason.endswith("...)")
    assert len(reason) < 300
    assert "y" * 400 in verdict.details[0]


def test_nodes_that_get_and_lose_an_unreadable_taint_are_followed() -> None:
    plugin = TaintToleration(EVERYTHING)
    cluster = cluster_of(node("a", taints=[taint("sla", "high")]), node("b", taints=[taint("sla", "950")]))
    asked = alone(plugin, cluster, pod(tolerations=[{"key": "sla", "operator": "Gt", "value": "9"}]))

    def unreadable() -> list[tuple[str, list[str]]]:
        assert passing(asked) is not None
        found = plugin.unreadable(asked.filters[0].prepared.want, cluster)
        return [
            (one.found.value, sorted(cluster.nodes.node(slot).metadata.name for slot in one.slots.tolist()))
            for one in found
        ]

    assert unreadable() == [("high", ["a"])]
    cluster.update_node(node("b", taints=[taint("sla", "high")]))
    cluster.add_node(node("c", taints=[taint("sla", "low")]))
    assert unreadable() == [("high", ["a", "b"]), ("low", ["c"])]
    cluster.update_node(node("a", taints=[taint("sla", "950")]))
    cluster.update_node(node("b"))
    assert unreadable() == [("low", ["c"])]


@pytest.mark.parametrize(
    ("toleration", "what", "gate"),
    [
        ({"key": "sla", "operator": "Gt", "value": "9"}, "operator Gt", "TaintTolerationComparisonOperators"),
        (
            {"key": "sla", "operator": "SemverGt", "value": "9"},
            "operator SemverGt",
            "TaintTolerationNodeAffinitySemverComparisonOperators",
        ),
        ({"expression": "true"}, "an expression", "TaintTolerationCEL"),
    ],
)
def test_the_reason_says_that_the_gate_is_off_in_the_scheduler(
    toleration: dict[str, Any], what: str, gate: str
) -> None:
    cluster = cluster_of(node("a", taints=[taint("sla", "950")]))
    verdict = verdicts(alone(TaintToleration(default_gates()), cluster, pod(tolerations=[toleration])))["a"]
    why = f"{what} needs the feature gate {gate} in the scheduler"
    assert verdict.reasons == (f"node(s) had untolerated taint {{sla: 950}} ({why})",)
    assert why in verdict.details[0]


def test_nodes_that_begin_with_the_same_untolerated_taint_are_counted_together() -> None:
    cluster = cluster_of(
        node("a", taints=[taint("x", "1")]), node("b", taints=[taint("x", "1"), taint("y")]), node("c")
    )
    asked = alone(TaintToleration(default_gates()), cluster, pod())
    item = asked.filters[0]
    refused = (~asked.mask(item) & cluster.nodes.alive).nonzero()[0]
    assert item.plugin.reasons(item.prepared.want, cluster, refused) == {"node(s) had untolerated taint {x: 1}": 2}


def test_fewer_soft_taints_are_better_and_only_soft_tolerations_help() -> None:
    soft = [taint("a", effect="PreferNoSchedule"), taint("b", effect="PreferNoSchedule")]
    nodes = [node("none"), node("one", taints=soft[:1]), node("two", taints=soft)]
    gates = default_gates()
    assert scores(alone(TaintToleration(gates), cluster_of(*nodes), pod())) == {"none": 100, "one": 50, "two": 0}
    for effect, one in (("PreferNoSchedule", 100), ("", 100), ("NoSchedule", 50)):
        tolerations = [{"key": "a", "operator": "Exists", "effect": effect}]
        asked = alone(TaintToleration(gates), cluster_of(*nodes), pod(tolerations=tolerations))
        assert scores(asked)["one"] == one


def test_a_list_of_taints_that_appears_later_is_asked_about() -> None:
    cluster = cluster_of(node("a"))
    asked = alone(TaintToleration(default_gates()), cluster, pod())
    assert passing(asked) == {"a"}
    cluster.update_node(node("a", taints=[taint("x")]))
    assert passing(asked) == set()
    cluster.update_node(node("a"))
    assert passing(asked) == {"a"}
