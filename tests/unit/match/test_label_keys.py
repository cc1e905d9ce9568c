from typing import Any

import pytest

from moorage.match.label_keys import merge_label_keys
from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    Gate,
    default_gates,
)

GATES = default_gates()
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "web", "hash": "abc", "empty": ""}}, "spec": spec}


def _term(**fields: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


def _expression(key: str, operator: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": [value]}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("strength", [REQUIRED, PREFERRED])
def test_both_lists_are_merged_in_order_into_every_kind_of_term(kind: str, strength: str) -> None:
    term = _term(matchLabelKeys=["hash", "absent", "empty"], mismatchLabelKeys=["app"])
    listed = [term] if strength == REQUIRED else [{"weight": 5, "podAffinityTerm": term}]
    pod = _pod(affinity={kind: {strength: listed}})
    merge_label_keys(pod, GATES)
    merged = pod["spec"]["affinity"][kind][strength][0]
    merged = merged if strength == REQUIRED else merged["podAffinityTerm"]
    assert merged == _term(
        matchLabelKeys=["hash", "absent", "empty"],
        mismatchLabelKeys=["app"],
        labelSelector={
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                _expression("hash", "In", "abc"),
                _expression("empty", "In", ""),
                _expression("app", "NotIn", "web"),
            ],
        },
    )


def test_existing_expressions_come_first_and_an_empty_selector_counts() -> None:
    first = _expression("x", "In", "y")
    pod = _pod(
        affinity={
            "podAffinity": {
                REQUIRED: [
                    _term(labelSelector={"matchExpressions": [first]}, matchLabelKeys=["hash"]),
                    _term(labelSelector={}, matchLabelKeys=["hash"]),
                ]
            }
        }
    )
    merge_label_keys(pod, GATES)
    one, other = pod["spec"]["affinity"]["podAffinity"][REQUIRED]
    assert one["labelSelector"] == {"matchExpressions": [first, _expression("hash", "In", "abc")]}
    assert other["labelSelector"] == {"matchExpressions": [_expression("hash", "In", "abc")]}


def test_a_term_without_a_selector_is_left_alone() -> None:
    term = {"topologyKey": "zone", "matchLabelKeys": ["hash"]}
    pod = _pod(affinity={"podAffinity": {REQUIRED: [dict(term), {**term, "labelSelector": None}]}})
    merge_label_keys(pod, GATES)
    assert pod["spec"]["affinity"]["podAffinity"][REQUIRED] == [term, {**term, "labelSelector": None}]


def test_spread_constraints_take_match_label_keys_only() -> None:
    pod = _pod(topologySpreadConstraints=[_term(matchLabelKeys=["hash"], mismatchLabelKeys=["app"])])
    merge_label_keys(pod, GATES)
    (constraint,) = pod["spec"]["topologySpreadConstraints"]
    assert constraint["labelSelector"]["matchExpressions"] == [_expression("hash", "In", "abc")]


@pytest.mark.parametrize(
    ("gate", "affinity_merged", "spread_merged"),
    [
        (MATCH_LABEL_KEYS_IN_POD_AFFINITY, False, True),
        (MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, True, False),
        (MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE, True, False),
    ],
)
def test_each_gate_governs_its_own_merge(gate: Gate, affinity_merged: bool, spread_merged: bool) -> None:
    pod = _pod(
        affinity={"podAffinity": {REQUIRED: [_term(matchLabelKeys=["hash"])]}},
        topologySpreadConstraints=[_term(matchLabelKeys=["hash"])],
    )
    merge_label_keys(pod, GATES.with_gate(gate, False))
    (term,) = pod["spec"]["affinity"]["podAffinity"][REQUIRED]
    (constraint,) = pod["spec"]["topologySpreadConstraints"]
    assert ("matchExpressions" in term["labelSelector"]) is affinity_merged
    assert ("matchExpressions" in constraint["labelSelector"]) is spread_merged


def test_one_object_in_several_places_is_merged_once_in_each() -> None:
    term = _term(matchLabelKeys=["hash"])
    rules = {REQUIRED: [term, term], PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}
    pod = _pod(affinity={"podAffinity": rules, "podAntiAffinity": rules}, topologySpreadConstraints=[term])
    merge_label_keys(pod, GATES)
    merged = [_expression("hash", "In", "abc")]
    for kind in ("podAffinity", "podAntiAffinity"):
        after = pod["spec"]["affinity"][kind]
        assert [each["labelSelector"]["matchExpressions"] for each in after[REQUIRED]] == [merged, merged]
        assert after[PREFERRED][0]["podAffinityTerm"]["labelSelector"]["matchExpressions"] == merged
    assert pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"] == merged
    assert "matchExpressions" not in term["labelSelector"]


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"spec": None},
        {"spec": []},
        {"metadata": None, "spec": {"affinity": []}},
        {"metadata": {"labels": 5}, "spec": {"affinity": {"podAffinity": 5}}},
        _pod(affinity={"podAffinity": {REQUIRED: {}, PREFERRED: 5}}),
        _pod(affinity={"podAffinity": {REQUIRED: [5, None], PREFERRED: [5, {}, {"podAffinityTerm": 5}]}}),
        _pod(affinity={"podAffinity": {REQUIRED: [_term(matchLabelKeys=5), _term(matchLabelKeys=[5, [], {}])]}}),
        _pod(
            affinity={"podAffinity": {REQUIRED: [_term(labelSelector={"matchExpressions": 5}, matchLabelKeys=["app"])]}}
        ),
        _pod(topologySpreadConstraints={"a": 5}),
        _pod(topologySpreadConstraints=[5, {"labelSelector": 5, "matchLabelKeys": ["app"]}]),
    ],
)
def test_malformed_label_keys_are_left_to_validation(pod: dict[str, Any]) -> None:
    before = repr(pod)
    merge_label_keys(pod, GATES)
    assert repr(pod) == before
