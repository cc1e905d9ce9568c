"""Bring an object that kube-apiserver has kept in etcd into the form in which Moorage keeps it.

kube-apiserver stores some kinds in an older version than the one it serves, definitions of custom resources among them,
and sets some defaults only when it reads. Kubernetes: the storage versions of
pkg/kubeapiserver/default_storage_factory_builder.go, and Convert_apiextensions_CustomResourceDefinitionSpec_To_v1.
"""

from collections.abc import Callable
from typing import Any

from moorage.model.kinds import OLDER_VERSIONS
from moorage.model.schema.older_versions import in_current_version

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
