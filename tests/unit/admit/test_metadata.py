"""Object metadata, at creation and at updates."""

from typing import Any

import msgspec
import pytest

from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors, label_key_errors
from moorage.model.types.meta import ObjectMeta

NOT_A_SUBDOMAIN = dns1123_subdomain_errors("_")[0]
NOT_A_LABEL = dns1123_label_errors("_")[0]
NOT_A_KEY = label_key_errors("_")[0]
NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}


def view(**fields: Any) -> ObjectMeta:
    return msgspec.convert({"name": "n", "namespace": "s", **fields}, ObjectMeta)


CREATED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"generateName": "n-"}, []),
    ({"name": ""}, ["name: Required value: name or generateName is required"]),
    ({"name": "_"}, [f'name: Invalid value: "_": {NOT_A_SUBDOMAIN}']),
    ({"generateName": "_"}, [f'generateName: Invalid value: "_": {NOT_A_SUBDOMAIN}']),
    ({"generateName": "a_-"}, []),  # upstream masks two characters where it means one
    ({"generateName": "-"}, [f'generateName: Invalid value: "-": {NOT_A_SUBDOMAIN}']),
    ({"namespace": ""}, ["namespace: Required value"]),
    ({"namespace": "_"}, [f'namespace: Invalid value: "_": {NOT_A_LABEL}']),
    ({"generation": -1}, ["generation: Invalid value: -1: must be greater than or equal to 0"]),
    ({"annotations": {"_": ""}}, [f'annotations: Invalid value: "_": {NOT_A_KEY}']),
    ({"annotations": {"UPPER": "ä" * 131_069}}, []),
    ({"annotations": {"UPPER": "ä" * 131_070}}, ["annotations: Too long: may not be more than 262144 bytes"]),
    ({"ownerReferences": [OWNER]}, []),
    (
        {"ownerReferences": [{"apiVersion": "a/b/c"}]},
        [
            'ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
            'ownerReferences.kind: Invalid value: "": must not be empty',
            'ownerReferences.name: Invalid value: "": must not be empty',
            'ownerReferences.uid: Invalid value: "": must not be empty',
        ],
    ),
    (
        {"ownerReferences": [{**OWNER, "apiVersion": "v1", "kind": "Event", "controller": True}]},
        [
            "ownerReferences: Invalid value: "
            '{"apiVersion":"v1","kind":"Event","name":"r","uid":"u","controller":true}: '
            "/v1, Kind=Event is disallowed from being an owner"
        ],
    ),
    (
        {
            "ownerReferences": [
                {**OWNER, "controller": True},
                {**OWNER, "controller": True, "blockOwnerDeletion": False},
            ]
        },
        [
            'ownerReferences: Invalid value: [{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u",'
            '"controller":true},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r","uid":"u","controller":true,'
            '"blockOwnerDeletion":false}]: Only one reference can have Controller set to true. '
            'Found "true" in references for ReplicaSet/r and ReplicaSet/r'
        ],
    ),
    ({"finalizers": ["kubernetes", "example.com/x"]}, []),
    (
        {"finalizers": ["_", "orphan", "foregroundDeletion"]},
        [
            f'finalizers: Invalid value: "_": {NOT_A_KEY}',
            'finalizers: Invalid value: ["_","orphan","foregroundDeletion"]: '
            "finalizer orphan and foregroundDeletion cannot be both set",
            f'finalizers[0]: Invalid value: "_": {NOT_QUALIFIED}',
        ],
    ),
    (
        {"managedFields": [{"operation": "Odd", "fieldsType": "X", "manager": "ä\x07", "subresource": "s" * 257}]},
        [
            'managedFields[0].operation: Invalid value: "Odd": must be `Apply` or `Update`',
            'managedFields[0].fieldsType: Invalid value: "X": must be `FieldsV1`',
            'managedFields[0].manager: Invalid value: "ä\\a": invalid character U+0007 (at position 2)',
            "managedFields[0].subresource: Too long: may not be more than 256 bytes",
        ],
    ),
    (
        {"managedFields": [{"operation": "Apply", "manager": "m" * 129}]},
        ["managedFields[0].manager: Too long: may not be more than 128 bytes"],
    ),
]


@pytest.mark.parametrize(("fields", "expected"), CREATED)
def test_created(fields: dict[str, Any], expected: list[str]) -> None:
    found = [str(error) for error in validate_object_meta(view(**fields), "metadata")]
    assert found == [f"metadata.{error}" for error in expected]


def test_kinds_without_namespaces() -> None:
    found = validate_object_meta(view(), "metadata", namespaced=False)
    assert [str(error) for error in found] == ["metadata.namespace: Forbidden: not allowed on this type"]
    assert validate_object_meta(view(namespace=""), "metadata", namespaced=False) == []


def test_names_by_another_rule() -> None:
    found = validate_object_meta(view(name="a.b"), "metadata", name_rule=dns1123_label_errors)
    assert [str(error) for error in found] == ['metadata.name: Invalid value: "a.b": must not contain dots']


def test_updated() -> None:
    old = view(uid="u", resourceVersion="1", generation=2, creationTimestamp="2020-01-01T00:00:00Z", finalizers=["a/b"])
    assert validate_object_meta_update(old, old, "metadata") == []
    new = view(name="m", namespace="t", uid="<", generation=1, finalizers=["x"], labels={"_": ""})
    immutable = "field is immutable"
    assert [str(error) for error in validate_object_meta_update(new, old, "metadata")] == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update',
        "metadata.generation: Invalid value: 1: must not be decremented",
        f'metadata.name: Invalid value: "m": {immutable}',
        f'metadata.namespace: Invalid value: "t": {immutable}',
        f'metadata.uid: Invalid value: "\\u003c": {immutable}',
        f"metadata.creationTimestamp: Invalid value: null: {immutable}",
        f'metadata.labels: Invalid value: "_": {NOT_A_KEY}',
        f'metadata.finalizers[0]: Invalid value: "x": {NOT_QUALIFIED}',
    ]


def test_nothing_is_finalized_anew_while_deleted() -> None:
    old = view(resourceVersion="1", deletionTimestamp="2020-01-01T00:00:00Z", finalizers=["a/b"])
    new = view(resourceVersion="1", deletionTimestamp="2020-01-01T00:00:00Z", finalizers=["a/d", "a/c"])
    assert [str(error) for error in validate_object_meta_update(new, old, "metadata")] == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"a/c", "a/d"}'
    ]
