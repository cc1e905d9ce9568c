"""Node selectors, label selectors, pod affinity, spread constraints, taints: the rows vectors seldom reach."""

from typing import Any

import pytest

from moorage.admit.metadata import validate_label_selector
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.selectors import validate_affinity, validate_node_selector, validate_topology_spread_constraints
from moorage.admit.pod.tolerations import validate_taints
from moorage.model.gates import SEMVER_COMPARISON_OPERATORS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import NodeSelector, Taint
from moorage.model.types.pod import PodSpec

MERGED = ValidationOptions(
    allow_match_label_keys_in_pod_topology_spread=True,
    allow_match_label_keys_in_pod_topology_spread_selector_merge=True,
)


def spread_errors(options: ValidationOptions, *constraints: dict[str, Any]) -> list[str]:
    basis = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    made = [{**basis, **constraint} for constraint in constraints]
    spec = convert_view({"topologySpreadConstraints": made}, PodSpec)
    return [str(error) for error in validate_topology_spread_constraints(spec.topologySpreadConstraints, "t", options)]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ({}, []),
        ({"maxSkew": 0}, ["t[0].maxSkew: Invalid value: 0: must be greater than zero"]),
        ({"topologyKey": ""}, ["t[0].topologyKey: Required value: can not be empty"]),
        (
            {"whenUnsatisfiable": "No"},
            ['t[0].whenUnsatisfiable: Unsupported value: "No": supported values: "DoNotSchedule", "ScheduleAnyway"'],
        ),
        (
            {"minDomains": 0, "whenUnsatisfiable": "ScheduleAnyway"},
            [
                "t[0].minDomains: Invalid value: 0: must be greater than zero",
                "t[0].minDomains: Invalid value: 0: can only use minDomains if whenUnsatisfiable=DoNotSchedule, "
                "not ScheduleAnyway",
            ],
        ),
        (
            {"nodeAffinityPolicy": "honor", "nodeTaintsPolicy": ""},
            [
                't[0].nodeAffinityPolicy: Unsupported value: "honor": supported values: "Honor", "Ignore"',
                't[0].nodeTaintsPolicy: Unsupported value: "": supported values: "Honor", "Ignore"',
            ],
        ),
    ],
)
def test_spread_constraints(constraint: dict[str, Any], expected: list[str]) -> None:
    assert spread_errors(STRICT, constraint) == expected


def test_a_repeated_constraint_is_reported_at_the_earlier_one() -> None:
    errors = spread_errors(STRICT, {}, {"maxSkew": 2})
    assert errors == ['t[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"']


IN_BOTH = {"matchLabelKeys": ["app"], "labelSelector": {"matchLabels": {"app": "x"}}}
MERGED_TWICE = {
    "matchLabelKeys": ["app"],
    "labelSelector": {
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["x"]}],
    },
}
LEGACY = 't[0].matchLabelKeys[0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'
PREFERRED = 't[0][0]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'


@pytest.mark.parametrize(
    ("options", "constraint", "expected"),
    [
        (STRICT, IN_BOTH, [LEGACY]),
        (MERGED, IN_BOTH, []),
        (MERGED, MERGED_TWICE, [PREFERRED]),
        (
            ValidationOptions(
                allow_match_label_keys_in_pod_topology_spread=True,
                allow_match_label_keys_in_pod_topology_spread_selector_merge=True,
                old_pod_violates_match_label_keys_validation=True,
            ),
            MERGED_TWICE,
            [LEGACY],
        ),
        (
            ValidationOptions(
                allow_match_label_keys_in_pod_topology_spread=True,
                old_pod_violates_legacy_match_label_keys_validation=True,
            ),
            MERGED_TWICE,
            [PREFERRED],
        ),
        (ValidationOptions(allow_match_label_keys_in_pod_topology_spread=True), IN_BOTH, [LEGACY]),
    ],
)
def test_which_rule_judges_match_label_keys(
    options: ValidationOptions, constraint: dict[str, Any], expected: list[str]
) -> None:
    assert spread_errors(options, constraint) == expected


def test_label_selector_values_can_be_forgiven() -> None:
    selector = convert_view({"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}, LabelSelector)
    assert len(validate_label_selector(selector, "s")) == 1
    assert validate_label_selector(selector, "s", ValidationOptions(allow_invalid_label_value_in_selector=True)) == []
    assert validate_label_selector(None, "s") == []


def test_node_selector_values_can_be_forgiven() -> None:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}
    selector = convert_view({"nodeSelectorTerms": [term]}, NodeSelector)
    assert len(validate_node_selector(selector, "s", STRICT)) == 1
    forgiving = ValidationOptions(allow_invalid_label_value_in_required_node_affinity=True)
    assert validate_node_selector(selector, "s", forgiving) == []


SEMVER = ValidationOptions(operator_gates=frozenset({SEMVER_COMPARISON_OPERATORS.name}))
NOT_AN_OPERATOR = "not a valid selector operator"


@pytest.mark.parametrize(
    ("options", "requirement", "expected"),
    [
        (STRICT, {"operator": "In"}, ["values: Required value: must be specified when `operator` is 'In' or 'NotIn'"]),
        (
            STRICT,
            {"operator": "Exists", "values": ["a"]},
            ["values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
        ),
        (
            STRICT,
            {"operator": "Lt", "values": ["1", "2"]},
            ["values: Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
        ),
        (STRICT, {"operator": "Lt", "values": ["x"]}, []),
        (
            STRICT,
            {"operator": "SemverLt", "values": ["x"]},
            [f'operator: Invalid value: "SemverLt": {NOT_AN_OPERATOR}'],
        ),
        (SEMVER, {"operator": "SemverLt", "values": ["v1.2"]}, []),
        (
            SEMVER,
            {"operator": "SemverEq", "values": []},
            [
                "values: Required value: must be specified single value when `operator` is 'SemverLt' or 'SemverGt' or "
                "'SemverEq'"
            ],
        ),
        (
            SEMVER,
            {"operator": "SemverEq", "values": ["a"]},
            ['values: Invalid value: ["a"]: Invalid character(s) found in major number "a"'],
        ),
    ],
)
def test_node_requirements(options: ValidationOptions, requirement: dict[str, Any], expected: list[str]) -> None:
    selector = convert_view({"nodeSelectorTerms": [{"matchExpressions": [{"key": "k", **requirement}]}]}, NodeSelector)
    path = "s.nodeSelectorTerms[0].matchExpressions[0]"
    assert [str(error) for error in validate_node_selector(selector, "s", options)] == [
        f"{path}.{text}" for text in expected
    ]


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ({"key": "metadata.name", "operator": "In", "values": ["n1"]}, []),
        (
            {"key": "metadata.name", "operator": "In"},
            [
                "values: Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field "
                "selector"
            ],
        ),
        (
            {"key": "spec.name", "operator": "SemverGt", "values": ["1"]},
            [
                f'operator: Invalid value: "SemverGt": {NOT_AN_OPERATOR}',
                'key: Invalid value: "spec.name": not a valid field selector key',
            ],
        ),
    ],
)
def test_node_fields_know_no_versions(requirement: dict[str, Any], expected: list[str]) -> None:
    selector = convert_view({"nodeSelectorTerms": [{"matchFields": [requirement]}]}, NodeSelector)
    assert [str(error) for error in validate_node_selector(selector, "s", SEMVER)] == [
        f"s.nodeSelectorTerms[0].matchFields[0].{text}" for text in expected
    ]


def test_names_of_node_fields_are_checked() -> None:
    requirement = {"key": "metadata.name", "operator": "NotIn", "values": ["N"]}
    selector = convert_view({"nodeSelectorTerms": [{"matchFields": [requirement]}]}, NodeSelector)
    assert [error.path for error in validate_node_selector(selector, "s", STRICT)] == [
        "s.nodeSelectorTerms[0].matchFields[0].values[0]"
    ]


def test_a_key_cannot_match_and_mismatch() -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = convert_view({"affinity": affinity}, PodSpec)
    assert [str(error) for error in validate_affinity(spec.affinity, "a", STRICT)] == [
        "a.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys[0]: Invalid value: "
        '"a": exists in both matchLabelKeys and mismatchLabelKeys'
    ]
    assert list(validate_affinity(None, "a", STRICT)) == []


def test_label_requirements() -> None:
    expressions = [
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "Exists", "values": ["v"]},
        {"key": "a", "operator": "Gt"},
    ]
    selector = convert_view({"matchExpressions": expressions}, LabelSelector)
    assert [str(error) for error in validate_label_selector(selector, "s")] == [
        "s.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        "s.matchExpressions[1].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        f's.matchExpressions[2].operator: Invalid value: "Gt": {NOT_AN_OPERATOR}',
    ]


def test_pod_affinity_terms() -> None:
    term = {"namespaces": ["A"], "topologyKey": "", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["b"]}
    spec = convert_view(
        {
            "affinity": {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 0, "podAffinityTerm": term}]
                }
            }
        },
        PodSpec,
    )
    path = "a.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
    errors = [str(error) for error in validate_affinity(spec.affinity, "a", STRICT)]
    assert [error.split(" (e.g.")[0] for error in errors] == [
        f"{path}.weight: Invalid value: 0: must be in the range 1-100",
        f'{path}.podAffinityTerm.namespace: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case '
        "alphanumeric characters or '-', and must start and end with an alphanumeric character",
        f"{path}.podAffinityTerm.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
        f"{path}.podAffinityTerm.mismatchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
        f"{path}.podAffinityTerm.topologyKey: Required value: can not be empty",
        f'{path}.podAffinityTerm.topologyKey: Invalid value: "": name part must be non-empty',
        f'{path}.podAffinityTerm.topologyKey: Invalid value: "": name part must consist of alphanumeric characters, '
        "'-', '_' or '.', and must start and end with an alphanumeric character",
    ]


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        (None, "null"),
        ("2026-01-02T03:04:05Z", '"2026-01-02T03:04:05Z"'),
        ("2026-01-02T03:04:05.5+02:00", '"2026-01-02T01:04:05Z"'),
        ("whenever", '"whenever"'),
    ],
)
def test_repeated_taints_are_shown_as_go_prints_them(time: str | None, shown: str) -> None:
    taints = [Taint("k", "", "NoExecute"), Taint("k", "v", "NoExecute", time), Taint("k", "", "NoSchedule")]
    assert [str(error) for error in validate_taints(taints, "metadata.taints")] == [
        f'metadata.taints[1]: Duplicate value: {{"Key":"k","Value":"v","Effect":"NoExecute","TimeAdded":{shown}}}: '
        "taints must be unique by key and effect pair"
    ]
