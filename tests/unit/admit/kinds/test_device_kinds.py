"""Claims, templates, slices, classes and rules: updates, gates, and comparing tolerations."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.unit.admit.device_objects import (
    ADMIN,
    GATES,
    LATER,
    NOW,
    OFF,
    Raw,
    allocated,
    claim,
    document,
    errors,
    rule,
    slice_of,
    stored,
    template,
    updated,
    with_status,
)

from moorage.admit.admission import Admitted, admit
from moorage.admit.request import Request
from moorage.model.gates import GateSet, gates_from

# Updates


def test_the_spec_of_a_claim_cannot_change_and_is_shown_as_go_prints_it() -> None:
    opaque = {"driver": "d.example.com", "parameters": {"kind": "X", "apiVersion": "v1"}}
    changed = claim({"key": "k", "operator": "Exists"})
    changed["spec"]["devices"]["config"] = [{"requests": ["r"], "opaque": opaque}]
    request = (
        '{"Name":"r","Exactly":{"DeviceClassName":"gpu","Selectors":null,"AllocationMode":"ExactCount","Count":1,'
        '"AdminAccess":null,"Tolerations":[{"Key":"k","Operator":"Exists","Value":"","Effect":"",'
        '"TolerationSeconds":null}],"Capacity":null},"FirstAvailable":null}'
    )
    config = '[{"Requests":["r"],"Opaque":{"Driver":"d.example.com","Parameters":{"kind":"X","apiVersion":"v1"}}}]'
    shown = f'{{"Devices":{{"Requests":[{request}],"Constraints":null,"Config":{config}}}}}'
    assert errors(updated(changed, stored(claim()))) == [f"spec: Invalid value: {shown}: field is immutable"]


def test_an_update_of_a_claim_keeps_its_status() -> None:
    old = stored(claim()) | {"status": {"allocation": allocated()}}
    answer = updated(claim() | {"status": {}}, old)
    assert isinstance(answer, Admitted)
    assert answer.object["status"] == old["status"]


def test_what_tells_slices_apart_cannot_change() -> None:
    old = stored(slice_of({"name": "a"}))
    new = slice_of({"name": "a"}, driver="e.example.com", nodeName="m", pool={"name": "q", "resourceSliceCount": 1})
    assert errors(updated(new, old)) == [
        'spec.pool.name: Invalid value: "q": field is immutable',
        'spec.driver: Invalid value: "e.example.com": field is immutable',
        'spec.nodeName: Invalid value: "m": field is immutable',
    ]


def test_taints_that_a_device_had_before_are_not_checked_again() -> None:
    old = stored(slice_of({"name": "a", "taints": [{"key": "k", "effect": "NoSchedule"}]}))
    old["spec"]["devices"][0]["taints"][0]["effect"] = "Unknown"
    same = slice_of({"name": "a", "taints": [dict(old["spec"]["devices"][0]["taints"][0])], "bindsToNode": True})
    answer = updated(same, old)
    assert isinstance(answer, Admitted)
    assert answer.object["metadata"]["generation"] == 2
    same["spec"]["devices"][0]["taints"][0]["value"] = "other"
    assert errors(updated(same, old)) == [
        'spec.devices[0].taints[0].effect: Unsupported value: "Unknown": '
        'supported values: "NoExecute", "NoSchedule", "None"'
    ]


def test_the_time_of_a_rule_follows_its_effect() -> None:
    old = stored(rule("NoSchedule"))
    assert old["spec"]["taint"]["timeAdded"] == NOW
    for effect, added in (("NoSchedule", NOW), ("NoExecute", LATER)):
        answer = updated(rule(effect, timeAdded=NOW), old)
        assert isinstance(answer, Admitted)
        assert answer.object["spec"]["taint"]["timeAdded"] == added
    answer = updated(rule("NoExecute", timeAdded="2020-01-01T01:00:00.5+01:00"), old)
    assert isinstance(answer, Admitted)
    assert answer.object["spec"]["taint"]["timeAdded"] == "2020-01-01T00:00:00Z"


def test_selectors_that_a_class_had_before_may_use_what_its_gate_no_longer_allows() -> None:
    selector = {"cel": {"expression": 'device.attributes["d.example.com"].tags.includes("x")'}}
    lists = gates_from({"DRAListTypeAttributes": True})
    spec = {"selectors": [selector]}
    old = stored(document("DeviceClass", spec), lists)
    assert errors(updated(document("DeviceClass", spec | {"extendedResourceName": "example.com/gpu"}), old)) == []
    other = {"selectors": [selector, {"cel": {"expression": "true"}}]}
    assert "undeclared reference to 'includes'" in errors(updated(document("DeviceClass", other), old))[0]


def test_only_the_name_that_is_made_for_a_class_is_checked() -> None:
    def made(kind: str, base: str) -> list[str]:
        raw = document(kind, {"devices": {}} if kind == "ResourceClaim" else {}) | {"metadata": {"generateName": base}}
        return [error.partition(":")[0] for error in errors(admit(raw, None, GATES, plugins=()))]

    assert made("DeviceClass", "gpu.") == []
    assert made("DeviceClass", "Gpu-") == ["metadata.name"]
    assert made("ResourceClaim", "Gpu-") == ["metadata.generateName", "metadata.name"]


# Admin access


@pytest.mark.parametrize(
    "make", [claim, lambda **exactly: document("ResourceClaimTemplate", {"spec": claim(**exactly)["spec"]})]
)
def test_admin_access_needs_a_label_on_the_namespace(make: Any) -> None:
    def asked(labels: Mapping[str, str] | None) -> list[str]:
        request = Request(namespace_labels=lambda name: labels)
        return errors(admit(make(adminAccess=True), None, GATES, plugins=(), request=request))

    path = "spec.devices.requests[0].adminAccess"
    needed = f"admin access to devices requires the `{ADMIN}: true` label on the containing namespace"
    assert asked({ADMIN: "true"}) == []
    assert asked({ADMIN: "True"}) == [f"{path}: Forbidden: {needed}"]
    missing = 'could not retrieve namespace to verify admin access: namespaces "default" not found'
    assert asked(None) == [f"{path}: Internal error: {missing}"]


# Gates


def test_fields_of_gates_that_are_off_are_dropped_unless_the_old_object_has_them() -> None:
    off = gates_from(OFF)
    first = [{"name": "s", "deviceClassName": "gpu", "count": 1, "allocationMode": "ExactCount"}]
    requests = [
        {"name": "r", "exactly": {"deviceClassName": "gpu", "tolerations": [{"key": "k"}], "capacity": {}}},
        {"name": "q", "firstAvailable": first},
    ]
    given = document("ResourceClaim", {"devices": {"requests": requests}})
    answer = admit(given, None, off, plugins=())
    assert answer.object is not None
    kept = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    assert answer.object["spec"]["devices"]["requests"] == [{"name": "r", "exactly": kept}, {"name": "q"}]
    old = stored(given)
    assert errors(updated(given, old, off)) == []


def test_fields_of_slices_are_dropped_by_gate() -> None:
    device = {
        "name": "a",
        "attributes": {"m": {"string": "x", "ints": [1]}},
        "capacity": {"c": {"value": "1", "requestPolicy": {"default": "1"}}},
        "taints": [{"key": "k", "effect": "None"}],
        "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
        "bindingConditions": ["a"],
        "bindingFailureConditions": ["b"],
        "allowMultipleAllocations": True,
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": "c"}},
    }
    dropped = stored(slice_of(device), gates_from(OFF))["spec"]["devices"][0]
    assert dropped == {"name": "a", "attributes": {"m": {"string": "x"}}, "capacity": {"c": {"value": "1"}}}
    kept = stored(slice_of(device))["spec"]["devices"][0]
    assert kept.keys() == device.keys() - {"nodeAllocatableResourceMappings"}
    alpha = gates_from({"DRANodeAllocatableResources": True})
    assert stored(slice_of(device), alpha)["spec"]["devices"][0]["nodeAllocatableResourceMappings"] == {
        "cpu": {"capacityKey": "c", "allocationMultiplier": "1"}
    }


def test_a_class_loses_its_extended_resource_with_the_gate() -> None:
    given = document("DeviceClass", {"extendedResourceName": "example.com/gpu"})
    assert stored(given)["spec"] == given["spec"]
    assert stored(given, gates_from(OFF))["spec"] == {}


def test_uppercase_drivers_are_warned_about() -> None:
    answer = admit(slice_of(driver="D.example.com"), None, GATES, plugins=())
    assert answer.warnings == (
        'spec.driver: driver names should be lowercase; "D.example.com" contains uppercase characters',
    )


# Comparing tolerations (KEP-5471, KEP-5721, KEP-5500)

NUMERIC = gates_from({"TaintTolerationComparisonOperators": True})
SEMVER = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})
CEL = gates_from({"TaintTolerationCEL": True})
AT = "spec.devices.requests[0].exactly.tolerations[0]"


@pytest.mark.parametrize(
    ("gates", "toleration", "expected"),
    [
        (NUMERIC, {"key": "t", "operator": "Lt", "value": "80", "effect": "NoExecute"}, []),
        (NUMERIC, {"key": "t", "operator": "Gt", "value": "80", "effect": "None"}, []),
        (NUMERIC, {"key": "t", "operator": "Equal", "value": "80", "tolerationSeconds": 5}, []),
        (
            NUMERIC,
            {"key": "t", "operator": "Gt", "value": "5", "effect": "PreferNoSchedule"},
            [
                f'{AT}.effect: Unsupported value: "PreferNoSchedule": '
                'supported values: "NoExecute", "NoSchedule", "None"'
            ],
        ),
        (
            NUMERIC,
            {"key": "t", "operator": "Gt", "value": "5", "tolerationSeconds": 5},
            [f"{AT}.effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set"],
        ),
        (
            NUMERIC,
            {"operator": "Lt", "value": "5"},
            [
                f'{AT}.operator: Invalid value: "Lt": operator must be Exists when `key` is empty, which means '
                '"match all values and all keys"'
            ],
        ),
        (
            GATES,
            {"key": "t", "operator": "Lt", "value": "5"},
            [f'{AT}.operator: Unsupported value: "Lt": supported values: "Equal", "Exists"'],
        ),
        (
            NUMERIC,
            {"key": "t", "operator": "SemverLt", "value": "1.0.0"},
            [f'{AT}.operator: Unsupported value: "SemverLt": supported values: "Equal", "Exists"'],
        ),
        (SEMVER, {"key": "t", "operator": "SemverLt", "value": "1.0.0"}, []),
        (CEL, {"expression": "taint.key == 't'"}, []),
        (
            GATES,
            {"expression": "taint.key == 't'"},
            [f"{AT}.expression: Forbidden: may not be set when the TaintTolerationCEL feature gate is disabled"],
        ),
        (
            CEL,
            {"expression": "true", "key": "t"},
            [
                f'{AT}.expression: Invalid value: "true": '
                "expression cannot be used with key, value, operator, or effect fields"
            ],
        ),
    ],
)
def test_comparing_tolerations_are_checked_as_those_of_pods(
    gates: GateSet, toleration: Raw, expected: list[str]
) -> None:
    assert errors(admit(claim(toleration), None, gates, plugins=())) == expected


@pytest.mark.parametrize("value", ["x", "01", "1.5", ""])
def test_tolerations_of_devices_and_pods_have_the_same_error_texts(value: str) -> None:
    toleration = {"key": "t", "operator": "Gt", "value": value}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "tolerations": [toleration]},
    }
    of_pod = errors(admit(pod, None, NUMERIC, plugins=()))
    assert of_pod
    of_claim = errors(admit(claim(toleration), None, NUMERIC, plugins=()))
    assert of_claim == [error.replace("spec.tolerations[0]", AT) for error in of_pod]


def test_a_template_keeps_the_operators_it_has_when_their_gate_is_turned_off() -> None:
    for gates, toleration in ((NUMERIC, {"key": "t", "operator": "Lt", "value": "5"}), (CEL, {"expression": "true"})):
        old = stored(template(toleration), gates)
        assert errors(updated(template(toleration), old)) == []
        assert errors(admit(template(toleration), None, GATES, plugins=())) != []


def test_node_selectors_of_slices_and_allocations_know_versions_with_the_gate() -> None:
    term = {"matchExpressions": [{"key": "v", "operator": "SemverGt", "values": ["1.0.0"]}]}
    selector = {"nodeSelectorTerms": [term]}
    published = slice_of({"name": "a"}, nodeName=None, nodeSelector=selector)
    refused = errors(admit(published, None, GATES, plugins=()))
    assert refused == [
        "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0].operator: Invalid value: "
        '"SemverGt": not a valid selector operator'
    ]
    old = stored(published, SEMVER)
    assert errors(updated(published, old)) == []
    status: Raw = {"allocation": allocated() | {"nodeSelector": selector}}
    assert errors(with_status(stored(claim()), SEMVER, **status)) == []
    assert len(errors(with_status(stored(claim()), **status))) == 1
