"""Annotations of pods, the profiles in them, and what updates may do to them."""

from typing import Any

import msgspec
import pytest
from tests.unit.admit.pod.manifests import POD, pod_errors, pod_view

from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.pod import is_deletion_cost, validate_pod_annotation_updates

MIRROR = "kubernetes.io/config.mirror"
COST = "controller.kubernetes.io/pod-deletion-cost"
TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
MISMATCH = "in annotation and field must match"

ANNOTATIONS: list[tuple[dict[str, str], list[str]]] = [
    ({"any": "thing", "UPPER.example/Case": ""}, []),
    ({MIRROR: "x"}, [f'[{MIRROR}]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set']),
    ({SECCOMP_POD: "docker/default", f"{SECCOMP}c0": "localhost/a", f"{APPARMOR}c0": "localhost/x"}, []),
    (
        {SECCOMP_POD: "odd", f"{SECCOMP}any": "localhost//a"},
        [
            f'.{SECCOMP_POD}: Invalid value: "odd": must be a valid seccomp profile',
            f'.{SECCOMP}any: Invalid value: "/a": must be a relative path',
        ],
    ),
    (
        {f"{APPARMOR}x": "", f"{APPARMOR}c0": "odd"},
        [
            f'[{APPARMOR}c0]: Invalid value: "odd": invalid AppArmor profile name: "odd"',
            f'[{APPARMOR}x]: Invalid value: "x": container not found',
        ],
    ),
    ({TOLERATIONS: ""}, []),
    ({TOLERATIONS: "null"}, []),
    (
        {TOLERATIONS: '[{"Key": "a", "operator": "Exists", "tolerationseconds": null, "other": 1}, null]'},
        [
            f'.{TOLERATIONS}[1].operator: Invalid value: "": operator must be Exists when `key` is empty, '
            'which means "match all values and all keys"'
        ],
    ),
    (
        {TOLERATIONS: '{"key": "a"}'},
        [f': Invalid value: "{TOLERATIONS}": json: cannot unmarshal object into Go value of type []core.Toleration'],
    ),
]


@pytest.mark.parametrize(("annotations", "expected"), ANNOTATIONS)
def test_annotations(annotations: dict[str, str], expected: list[str]) -> None:
    assert pod_errors(metadata={"annotations": annotations}) == [f"metadata.annotations{error}" for error in expected]


@pytest.mark.parametrize("text", ["[", "[1]", '[{"key": 1}]', "[" * 100_000])
def test_malformed_tolerations_in_annotations_are_refused(text: str) -> None:
    (found,) = pod_errors(metadata={"annotations": {TOLERATIONS: text}})
    assert found.startswith(f'metadata.annotations: Invalid value: "{TOLERATIONS}": ')


@pytest.mark.parametrize("text", ["0", "1", "-0", "-007", "2147483647", "-2147483648", "-" + "0" * 100 + "7"])
def test_deletion_costs(text: str) -> None:
    assert is_deletion_cost(text)
    assert pod_errors(metadata={"annotations": {COST: text}}) == []


@pytest.mark.parametrize(
    "text", ["", "+1", "01", "00", "x", "-", "1_0", "1.0", "2147483648", "-2147483649", "9" * 9999, "١"]
)
def test_bad_deletion_costs(text: str) -> None:
    (found,) = pod_errors(metadata={"annotations": {COST: text}})
    assert found == f'metadata.annotations[{COST}]: Invalid value: "{text}": must be a 32bit integer'
    old = ValidationOptions(resource_is_pod=True, allow_invalid_pod_deletion_cost=True)
    assert pod_errors(metadata={"annotations": {COST: text}}, options=old) == []


AGREEMENT: list[tuple[dict[str, str], dict[str, Any], list[str]]] = [
    ({SECCOMP_POD: "runtime/default"}, {"seccompProfile": {"type": "RuntimeDefault"}}, []),
    ({SECCOMP_POD: "docker/default"}, {"seccompProfile": {"type": "RuntimeDefault"}}, []),
    ({SECCOMP_POD: "unconfined"}, {"seccompProfile": {"type": "Unconfined"}}, []),
    (
        {SECCOMP_POD: "unconfined"},
        {"seccompProfile": {"type": "RuntimeDefault"}},
        [f"spec.securityContext.seccompProfile.type: Forbidden: seccomp type {MISMATCH}"],
    ),
    (
        {SECCOMP_POD: "localhost/a"},
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "b"}},
        [f"spec.securityContext.seccompProfile.localhostProfile: Forbidden: seccomp profile {MISMATCH}"],
    ),
    (
        {f"{APPARMOR}c0": "runtime/default"},
        {"appArmorProfile": {"type": "Unconfined"}},
        [f"spec.containers[0].securityContext.appArmorProfile.type: Forbidden: apparmor type {MISMATCH}"],
    ),
    ({f"{APPARMOR}c0": "localhost/a"}, {"appArmorProfile": {"type": "Localhost", "localhostProfile": "a"}}, []),
]


@pytest.mark.parametrize(("annotations", "context", "expected"), AGREEMENT)
def test_fields_and_annotations_agree(
    annotations: dict[str, str], context: dict[str, Any], expected: list[str]
) -> None:
    assert pod_errors({"securityContext": context}, {"annotations": annotations}) == expected


def test_a_containers_own_profile_comes_first() -> None:
    own = {"appArmorProfile": {"type": "RuntimeDefault"}, "seccompProfile": {"type": "Unconfined"}}
    spec = {"containers": [{"securityContext": own}], "securityContext": {"appArmorProfile": {"type": "Unconfined"}}}
    annotations = {f"{APPARMOR}c0": "unconfined", f"{SECCOMP}c0": "runtime/default"}
    at = "spec.containers[0].securityContext"
    assert pod_errors(spec, {"annotations": annotations}) == [
        f"{at}.seccompProfile.type: Forbidden: seccomp type {MISMATCH}",
        f"{at}.appArmorProfile.type: Forbidden: apparmor type {MISMATCH}",
    ]
    windows = {"os": {"name": "windows"}, "containers": [{}], "securityContext": spec["securityContext"]}
    (found,) = pod_errors(windows, {"annotations": {f"{APPARMOR}c0": "runtime/default"}})
    assert found == "spec.securityContext.appArmorProfile: Forbidden: cannot be set for a windows pod"


def test_updates() -> None:
    old = pod_view({"nodeName": "n"}, {"annotations": {"a": "1", MIRROR: "x", f"{APPARMOR}c0": "unconfined"}})
    new = pod_view({"nodeName": "n"}, {"annotations": {"b": "2", MIRROR: "y"}})

    def said(one: Any, other: Any) -> list[str]:
        return [str(error) for error in validate_pod_annotation_updates(one, other, "metadata.annotations", POD)]

    assert said(new, old) == [
        f"metadata.annotations[{APPARMOR}c0]: Forbidden: may not remove or update AppArmor annotations",
        f"metadata.annotations[{MIRROR}]: Forbidden: may not remove or update mirror pod annotation",
    ]
    none = msgspec.structs.replace(old, metadata=msgspec.structs.replace(old.metadata, annotations={}))
    assert said(old, none) == [
        f"metadata.annotations[{APPARMOR}c0]: Forbidden: may not add AppArmor annotations",
        f"metadata.annotations[{MIRROR}]: Forbidden: may not add mirror pod annotation",
    ]
    assert said(old, old) == []
    assert list(validate_pod_annotation_updates(none, none, "metadata.annotations", STRICT)) == []
