"""Templates → typed views, as the scheduler would see them: named, defaulted, one decoded object for each.

Every object is converted on its own, as a watch would deliver it: nothing is shared between two pods that would not be
shared in a running scheduler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from bench.perf.problems import ConfigError
from moorage.admit.prepare import devices
from moorage.admit.prepare.kind_defaults import (
    default_claim,
    default_namespace,
    default_node,
    default_persistent_volume,
    default_storage_class,
)
from moorage.admit.prepare.pod_defaults import default_pod
from moorage.admit.raw import copy_document
from moorage.match.label_keys import merge_label_keys
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.older_versions import in_current_version
from moorage.model.schema.shapes import ListShape, MapShape, Shape, StructShape, struct_shape
from moorage.model.types.pod import Pod
from moorage.model.types.view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.perf.templates import Template

V = TypeVar("V", bound=View)
Raw = dict[str, Any]

_DEFAULTS: dict[str, Callable[[Raw], None]] = {
    "Pod": default_pod,
    "Node": default_node,
    "Namespace": default_namespace,
    "PersistentVolume": default_persistent_volume,
    "PersistentVolumeClaim": default_claim,
    "StorageClass": default_storage_class,
    "ResourceSlice": devices.default_slice,
    "ResourceClaim": devices.default_claim,
    "ResourceClaimTemplate": devices.default_template,
    "DeviceTaintRule": devices.default_taint_rule,
}
VIEWS: dict[str, type[View]] = {
    name: kind.view
    for (_, name), kind in KINDS.items()
    if name
    in (
        "Pod",
        "Node",
        "Namespace",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "PodDisruptionBudget",
        "ResourceSlice",
        "DeviceClass",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "DeviceTaintRule",
    )
}
SERVICE = "Service"
KINDS_MADE = frozenset({*VIEWS, SERVICE})

BASE_NODE: Raw = {
    "kind": "Node",
    "status": {
        "capacity": {"pods": "110", "cpu": "4", "memory": "32Gi"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
_AMOUNTS = {"cpu": "100m", "memory": "500Mi"}
BASE_POD: Raw = {
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "pause",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": _AMOUNTS, "requests": _AMOUNTS},
            }
        ]
    },
}


class Names:
    """Names for objects that ask for a generated one: their prefix and a number that was not there before."""

    def __init__(self) -> None:
        self._made = 0

    def name(self, metadata: Raw) -> str:
        name = metadata.get("name")
        if name:
            return str(name)
        self._made += 1
        return f"{metadata.get('generateName', '')}{self._made}"


def prepare(raw: Raw) -> Raw:
    """A copy as the API server stores it: defaults, names of fields as Go's decoder finds them, label keys merged."""
    kind = raw["kind"]
    copy: Raw = in_current_version(copy_document(raw))
    if kind in VIEWS:
        copy = _fold_names(copy, struct_shape(VIEWS[kind]))
    if not isinstance(copy.get("metadata"), dict):
        copy["metadata"] = {}
    if kind in _DEFAULTS:
        _DEFAULTS[kind](copy)
    if kind == "Pod":
        merge_label_keys(copy, default_gates())
    return copy


def view(raw: Raw, made: type[V], where: str) -> V:
    """The typed view; an object that is none is the template's fault."""
    try:
        return convert_view(raw, made)
    except ConversionError as error:
        raise ConfigError(f"{where}: {error}") from None


class PodTemplate:
    """Pods of one template: `make` gives one of `count`."""

    def __init__(self, template: Template | None) -> None:
        self._template = template
        self._prepared = prepare(BASE_POD) if template is None else None

    def make(self, index: int, count: int, namespace: str, names: Names, claim: str = "") -> Pod:
        raw = self._raw(index, count)
        metadata = raw["metadata"]
        raw = {**raw, "metadata": {**metadata, "name": names.name(metadata), "namespace": namespace}}
        if claim:
            volume = {"name": "vol", "persistentVolumeClaim": {"claimName": claim}}
            raw["spec"] = {**raw["spec"], "volumes": [volume]}
        return view(raw, Pod, str(self._template.path) if self._template else "pod")

    def _raw(self, index: int, count: int) -> Raw:
        if self._prepared is not None:
            return self._prepared
        assert self._template is not None
        prepared = prepare(self._template.document(index, count))
        if self._template.is_static:
            self._prepared = prepared
        return prepared


def _fold_names(raw: Any, shape: Shape) -> Any:
    """Go's decoder takes a field by any case of its name."""
    if isinstance(shape, StructShape) and isinstance(raw, dict):
        folded = {}
        for name, value in raw.items():
            if name not in shape.known:
                name = next((known for known in shape.known if known.lower() == name.lower()), name)
            folded[name] = _fold_names(value, shape.field(name)) if name in shape.known else value
        return folded
    if isinstance(shape, ListShape) and isinstance(raw, list):
        return [_fold_names(item, shape.item) for item in raw]
    if isinstance(shape, MapShape) and isinstance(raw, dict):
        return {key: _fold_names(value, shape.value) for key, value in raw.items()}
    return raw
