"""Values that kube-apiserver v1.36.4 wrote into etcd as JSON are read as that server reads them itself."""

import json
from typing import Any

import pytest

from moorage.serve.resources.kube_apiserver_values import plain_value

_METADATA = {"name": "ships.example.com", "uid": "58383cd4-2cb7-47a2-aef7-4e5912b8689e", "generation": 1}
_NAMES = {"plural": "ships", "singular": "ship", "shortNames": ["sh"], "kind": "Ship", "listKind": "ShipList"}
_SUBRESOURCES = {"status": {}, "scale": {"specReplicasPath": ".spec.r", "statusReplicasPath": ".status.r"}}
_SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
_OTHER_SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
_CONFIG = {"url": "https://c.example.com/c"}
_COLUMN = {"name": "C", "type": "string"}
_OF_SPEC = {"group": "example.com", "names": _NAMES, "scope": "Namespaced"}
_STATUS = {"acceptedNames": _NAMES, "storedVersions": ["v1"]}


def stored(kind: str, api_version: str, **fields: Any) -> bytes:
    """Return a value in kube-apiserver's order of fields."""
    document = {"kind": kind, "apiVersion": api_version, "metadata": _METADATA, **fields}
    return json.dumps(document, separators=(",", ":")).encode()


DEFINITIONS = [
    (
        {
            **_OF_SPEC,
            "version": "v1",
            "subresources": _SUBRESOURCES,
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": _SCHEMA},
                {"name": "v2", "served": True, "storage": False, "schema": _OTHER_SCHEMA},
            ],
            "additionalPrinterColumns": [{**_COLUMN, "JSONPath": ".spec.c"}],
            "conversion": {
                "strategy": "Webhook",
                "webhookClientConfig": _CONFIG,
                "conversionReviewVersions": ["v1"],
            },
            "preserveUnknownFields": False,
        },
        {
            **_OF_SPEC,
            "versions": [
                {
                    "name": name,
                    "served": True,
                    "storage": name == "v1",
                    "schema": schema,
                    "subresources": _SUBRESOURCES,
                    "additionalPrinterColumns": [{**_COLUMN, "jsonPath": ".spec.c"}],
                }
                for name, schema in (("v1", _SCHEMA), ("v2", _OTHER_SCHEMA))
            ],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": _CONFIG, "conversionReviewVersions": ["v1"]},
            },
        },
    ),
    (
        {**_OF_SPEC, "version": "v1", "validation": _SCHEMA, "selectableFields": [{"jsonPath": ".spec.c"}]},
        {
            **_OF_SPEC,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": _SCHEMA,
                    "selectableFields": [{"jsonPath": ".spec.c"}],
                }
            ],
            "conversion": {"strategy": "None"},
            "preserveUnknownFields": True,
        },
    ),
]


@pytest.mark.parametrize(("kept", "read"), DEFINITIONS)
def test_a_definition_that_is_kept_as_v1beta1_has_its_schemas_in_each_version(
    kept: dict[str, Any], read: dict[str, Any]
) -> None:
    value = plain_value(stored("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", spec=kept, status=_STATUS))
    assert value is not None
    assert value.startswith(b'{"metadata":{"name":')
    assert json.loads(value) == {
        "metadata": _METADATA,
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": read,
        "status": _STATUS,
    }


def test_kinds_that_are_kept_in_an_older_version_are_read_in_their_own() -> None:
    policy = stored("MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io/v1beta1", spec={"policyName": "p"})
    assert json.loads(plain_value(policy) or b"")["apiVersion"] == "admissionregistration.k8s.io/v1"
    request = {"name": "r", "deviceClassName": "c"}
    claim = stored("ResourceClaim", "resource.k8s.io/v1beta1", spec={"devices": {"requests": [request]}})
    document = json.loads(plain_value(claim) or b"")
    assert document["apiVersion"] == "resource.k8s.io/v1"
    assert document["spec"]["devices"]["requests"] == [{"name": "r", "exactly": {"deviceClassName": "c"}}]


def test_defaults_that_kube_apiserver_sets_when_it_reads_are_there() -> None:
    claim = json.loads(plain_value(stored("PersistentVolumeClaim", "v1", spec={}, status={})) or b"")
    assert claim["status"] == {"phase": "Pending"}
    labels = {"job-name": "j"}
    job = json.loads(plain_value(stored("Job", "batch/v1", spec={"template": {"metadata": {"labels": labels}}})) or b"")
    assert job["metadata"]["labels"] == labels


def test_a_value_of_moorage_is_returned_as_it_is() -> None:
    value = b'{"metadata":{"name":"a"},"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1"}'
    assert plain_value(value) is value


def test_other_values_keep_their_bytes_but_for_the_order_of_fields() -> None:
    value = (
        b'{"kind":"Thing","apiVersion":"e.com/v1","metadata":{"name":"a","resourceVersion":"7"},"spec":{"n":1.50e3}}'
    )
    assert plain_value(value) == (
        b'{"metadata":{"name":"a"},"spec":{"n":1.50e3},"apiVersion":"e.com/v1","kind":"Thing"}'
    )
