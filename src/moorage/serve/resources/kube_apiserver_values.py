"""Read objects that kube-apiserver keeps in etcd: their names, their JSON, and the older versions of some kinds.

Kubernetes keeps Deployments under `deployments`, Nodes under `minions`; some kinds in an older version than the one it
serves, definitions of custom resources among them; and it sets some defaults only when it reads. Our own values begin
with the metadata and have no resourceVersion, see `objects`; they are returned unchanged. Kubernetes: the resource
prefixes and storage versions of pkg/kubeapiserver/default_storage_factory_builder.go, and
Convert_apiextensions_CustomResourceDefinitionSpec_To_v1. Differs: protobuf and encrypted values are not read.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.model.kinds import KINDS, OLDER_VERSIONS, VIRTUAL_KINDS
from moorage.model.schema.older_versions import in_current_version
from moorage.serve.resources.objects import after_metadata, prefix_of

Raw = dict[str, Any]

#: Fields of a v1beta1 definition that v1 has in each of its versions, under another name perhaps.
_OF_EACH_VERSION = {
    "subresources": "subresources",
    "validation": "schema",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
_WEBHOOK_FIELDS = {"webhookClientConfig": "clientConfig", "conversionReviewVersions": "conversionReviewVersions"}


def as_kept(raw: Raw) -> Raw:
    """Return the object in the version in which Moorage keeps it, with what kube-apiserver would add to it."""
    convert = _CONVERSIONS.get((str(raw.get("apiVersion")), str(raw.get("kind"))))
    return raw if convert is None else convert(raw)


def _definition(raw: Raw) -> Raw:
    spec = dict(_object(raw, "spec"))
    first = spec.pop("version", None)
    versions = spec.get("versions") or ([{"name": first, "served": True, "storage": True}] if first else [])
    moved = {name: spec.pop(theirs) for theirs, name in _OF_EACH_VERSION.items() if theirs in spec}
    spec["versions"] = [_with_json_path({**version, **moved}) for version in versions if isinstance(version, dict)]
    if spec.pop("preserveUnknownFields", True):
        spec["preserveUnknownFields"] = True
    conversion = dict(_object(spec, "conversion") or {"strategy": "None"})
    webhook = {name: conversion.pop(theirs) for theirs, name in _WEBHOOK_FIELDS.items() if theirs in conversion}
    spec["conversion"] = conversion | ({"webhook": webhook} if "clientConfig" in webhook else {})
    return {**raw, "apiVersion": "apiextensions.k8s.io/v1", "spec": spec}


def _with_json_path(version: Raw) -> Raw:
    """Return a version whose columns say `jsonPath`, where v1beta1 says `JSONPath`."""
    columns = version.get("additionalPrinterColumns")
    if not isinstance(columns, list):
        return version
    renamed = [
        {("jsonPath" if name == "JSONPath" else name): value for name, value in column.items()}
        for column in columns
        if isinstance(column, dict)
    ]
    return {**version, "additionalPrinterColumns": renamed}


def _same_in_v1(raw: Raw) -> Raw:
    return {**raw, "apiVersion": f"{raw['apiVersion'].partition('/')[0]}/v1"}


def _job(raw: Raw) -> Raw:
    metadata, template = _object(raw, "metadata"), _object(_object(raw, "spec"), "template")
    labels = _object(template, "metadata").get("labels")
    return raw if metadata.get("labels") or not labels else {**raw, "metadata": {**metadata, "labels": labels}}


def _claim(raw: Raw) -> Raw:
    return {**raw, "status": {"phase": "Pending", **_object(raw, "status")}}


def _object(raw: Raw, name: str) -> Raw:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


_CONVERSIONS: dict[tuple[str, str], Callable[[Raw], Raw]] = {
    **dict.fromkeys(OLDER_VERSIONS, in_current_version),
    ("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition"): _definition,
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy"): _same_in_v1,
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicyBinding"): _same_in_v1,
    ("batch/v1", "Job"): _job,
    ("v1", "PersistentVolumeClaim"): _claim,
}
#: The kinds that have something to convert.
CONVERTED = frozenset(kind for _, kind in _CONVERSIONS)


_HEAD = b'{"metadata":{"'
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_all = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
#: The kinds that `kept_versions` may have to convert, as JSON.
_CONVERTED = frozenset(_encode(kind) for kind in CONVERTED)


def plain_value(value: bytes) -> bytes | None:
    """Return the value in the form that readers expect, None for what is no object of the API."""
    if value.startswith(_HEAD):
        return value
    try:
        fields = _decode(value)
        if bytes(fields.get("kind", b"")) in _CONVERTED:
            fields = _decode(_encode(as_kept(_decode_all(value))))
        metadata = _decode(fields.pop("metadata", msgspec.Raw(b"null")))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    metadata.pop("resourceVersion", None)
    return _encode({"metadata": metadata, **after_metadata(fields)}) if metadata else None


def value_problem(value: bytes) -> str:
    """Return why `plain_value` is None."""
    if value.startswith(b"k8s\0"):
        return "is protobuf: kube-apiserver writes JSON with --storage-media-type=application/json"
    if value.startswith(b"k8s:enc:"):
        return "is encrypted: Moorage reads no encrypted values"
    return "is not JSON with metadata" if value else "is empty"


#: The kinds whose names in etcd are older than those of the API.
_OLDER_NAMES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "services": "services/specs",
    "nodes": "minions",
    "ingresses": "ingress",
}
#: The groups that are served by API servers of their own, which put the group in front.
_WITH_GROUP = frozenset(["apiextensions.k8s.io", "apiregistration.k8s.io"])


def etcd_roots() -> dict[str, str]:
    """Return the root of each kind in the store, and its root in etcd."""
    return {
        prefix_of(kind): f"/{kind.group}/{kind.plural}/"
        if kind.group in _WITH_GROUP
        else f"/{_OLDER_NAMES.get(kind.plural, kind.plural)}/"
        for kind in KINDS.values()
        if kind not in VIRTUAL_KINDS
    }
