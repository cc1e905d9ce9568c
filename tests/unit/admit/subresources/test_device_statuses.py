"""Writes to the status of ResourceClaims and DeviceTaintRules."""

import pytest
from tests.unit.admit.device_objects import (
    ADMIN,
    GATES,
    NOW,
    OFF,
    POD,
    RESULT,
    SHARE,
    Raw,
    allocated,
    claim,
    errors,
    rule,
    stored,
    with_status,
)

from moorage.admit.admission import Admitted
from moorage.admit.subresources.status_update import admit_status
from moorage.model.gates import gates_from


def test_admin_access_in_an_allocation_needs_the_label_unless_it_was_allocated_before() -> None:
    old = stored(claim())
    admin = allocated(adminAccess=True)
    assert "admin access to devices requires" in errors(with_status(old, labels={}, allocation=admin))[0]
    assert errors(with_status(old, labels={ADMIN: "true"}, allocation=admin)) == []
    assert errors(with_status(old | {"status": {"allocation": admin}}, labels={}, allocation=admin)) == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"allocation": allocated(), "reservedFor": [POD]}, []),
        ({"reservedFor": [POD]}, ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]),
        (
            {"allocation": allocated(), "reservedFor": [POD, POD | {"name": ""}]},
            ["status.reservedFor[1].name: Required value", 'status.reservedFor[1]: Duplicate value: "1"'],
        ),
        (
            {"allocation": allocated(request="s")},
            [
                'status.allocation.devices.results[0].request: Invalid value: "s": must be the name of a request '
                "in the claim or the name of a request and a subrequest separated by '/'"
            ],
        ),
        (
            {"allocation": allocated(pool="")},
            ["status.allocation.devices.results[0].pool: Required value"],
        ),
        (
            {"allocation": allocated(shareID=SHARE.upper().replace("1", "A"))},
            [
                f'status.allocation.devices.results[0].shareID: Invalid value: "{SHARE.replace("1", "A")}": '
                "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase "
                "hexadecimal characters"
            ],
        ),
        (
            {"allocation": allocated(shareID="x")},
            [
                'status.allocation.devices.results[0].shareID: Invalid value: "x": error validating uid: '
                "invalid UUID length: 1"
            ],
        ),
        (
            {"allocation": allocated() | {"nodeSelector": {}}},
            [
                "status.allocation.nodeSelector.nodeSelectorTerms: Required value: "
                "must have at least one node selector term"
            ],
        ),
        (
            {"allocation": {"devices": {"config": [{"source": "X"}]}}},
            [
                'status.allocation.devices.config[0].source: Unsupported value: "X": supported values: "FromClaim", '
                '"FromClass"',
                "status.allocation.devices.config[0].opaque: Required value",
            ],
        ),
        (
            {"devices": [{"driver": "d.example.com", "pool": "p", "device": "b"}]},
            [
                'status.devices[0]: Invalid value: {"Driver":"d.example.com","Pool":"p","Device":"b","ShareID":""}: '
                "must be an allocated device in the claim"
            ],
        ),
    ],
)
def test_the_status_of_a_claim_is_checked(status: Raw, expected: list[str]) -> None:
    assert errors(with_status(stored(claim()), **status)) == expected


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ({}, []),
        ({"data": [1]}, ['data: Invalid value: "<value omitted>": must be a valid JSON object']),
        (
            {"conditions": [{"type": "Ready", "status": "Maybe"}]},
            [
                'conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
                "conditions[0].lastTransitionTime: Required value",
                "conditions[0].reason: Required value",
            ],
        ),
        ({"networkData": {"ips": ["10.0.0.1/24", "2001:db8::1/64"]}}, []),
        (
            {"networkData": {"ips": ["10.0.0.1"]}},
            [
                'networkData.ips[0]: Invalid value: "10.0.0.1": must be a valid address in CIDR form, '
                "(e.g. 10.9.8.7/24 or 2001:db8::1/64)"
            ],
        ),
        (
            {"networkData": {"ips": ["010.0.0.1/24", "::ffff:10.0.0.1/120"]}},
            [
                'networkData.ips[0]: Invalid value: "010.0.0.1/24": must be in canonical form ("10.0.0.1/24")',
                'networkData.ips[1]: Invalid value: "::ffff:10.0.0.1/120": must be in canonical form ("10.0.0.1/24")',
            ],
        ),
        (
            {"networkData": {"interfaceName": "x" * 257}},
            ["networkData.interfaceName: Too long: may not be more than 256 bytes"],
        ),
    ],
)
def test_what_a_driver_says_of_a_device_is_checked(device: Raw, expected: list[str]) -> None:
    entry = {"driver": "d.example.com", "pool": "p", "device": "a", **device}
    answer = with_status(stored(claim()), allocation=allocated(), devices=[entry])
    assert errors(answer) == [f"status.devices[0].{error}" for error in expected]


def test_an_allocation_cannot_change_and_can_only_end() -> None:
    old = stored(claim()) | {"status": {"allocation": allocated(), "devices": [{**RESULT}]}}
    assert errors(with_status(old, allocation=allocated(device="b")))[0].endswith("field is immutable")
    answer = with_status(old, devices=old["status"]["devices"])
    assert isinstance(answer, Admitted)
    assert answer.object["status"] == {}  # what was said of its devices goes with it


def test_a_claim_that_is_being_deleted_gets_no_new_consumers() -> None:
    old = stored(claim())
    old["metadata"] |= {"deletionTimestamp": NOW, "finalizers": ["example.com/f"]}
    old["status"] = {"allocation": allocated(), "reservedFor": [POD]}
    assert errors(with_status(old, allocation=allocated(), reservedFor=[POD])) == []
    other = POD | {"uid": "2"}
    assert errors(with_status(old, allocation=allocated(), reservedFor=[POD, other])) == [
        "status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested` or "
        "`deletionTimestamp` are set"
    ]


def test_a_write_to_the_status_changes_nothing_else() -> None:
    old = stored(claim())
    new = old | {
        "metadata": old["metadata"] | {"labels": {"a": "b"}},
        "spec": {},
        "status": {"allocation": allocated()},
    }
    answer = admit_status(new, old, GATES)
    assert isinstance(answer, Admitted)
    assert answer.object["spec"] == old["spec"]
    assert "labels" not in answer.object["metadata"]


def test_conditions_of_rules_are_checked() -> None:
    old = stored(rule("None"))
    condition = {"type": "A", "status": "True", "lastTransitionTime": NOW, "reason": "R"}
    assert errors(with_status(old, conditions=[condition])) == []
    assert errors(with_status(old, conditions=[condition, condition | {"reason": "a b"}])) == [
        'status.conditions[1].type: Duplicate value: "A"',
        'status.conditions[1].reason: Invalid value: "a b": a condition reason must start with alphabetic character, '
        "optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric "
        "character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
        "'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
    ]


def test_fields_of_a_status_are_dropped_by_gate() -> None:
    old = stored(claim())
    result: Raw = {
        "shareID": SHARE,
        "consumedCapacity": {"c": "1"},
        "bindingConditions": ["a"],
        "bindingFailureConditions": ["b"],
    }
    status: Raw = {"allocation": allocated(**result), "devices": [RESULT | {"shareID": SHARE}]}
    off = with_status(old, gates_from(OFF), **status)
    assert off.object["status"] == {"allocation": allocated()}
    on = with_status(old, **status)
    assert on.object["status"] == status
