"""Find the fields of claims, templates, slices, classes, rules and pods that need a gate of devices (DRA).

Kubernetes: dropDisabledFields of the strategies in pkg/registry/resource, which drop most such fields silently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from moorage.lint.subject import claim_spec_of, device_requests
from moorage.match.operators import TOLERATION, gate_of
from moorage.model import gates as known
from moorage.model.types.view import AbsentList

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.model.gates import Gate
    from moorage.model.types.devices import Device, DeviceToleration

#: What a server without the gate drops silently; all else it refuses.
DROPPED_SILENTLY = frozenset(
    gate.name
    for gate in (
        known.DRA_ADMIN_ACCESS,
        known.DRA_CONSUMABLE_CAPACITY,
        known.DRA_DEVICE_BINDING_CONDITIONS,
        known.DRA_DEVICE_TAINTS,
        known.DRA_EXTENDED_RESOURCE,
        known.DRA_NODE_ALLOCATABLE_RESOURCES,
        known.DRA_PARTITIONABLE_DEVICES,
    )
)
#: Earlier releases have the kinds in other versions of resource.k8s.io only.
_IN_V1 = replace(
    known.DYNAMIC_RESOURCE_ALLOCATION,
    releases=tuple(release for release in known.DYNAMIC_RESOURCE_ALLOCATION.releases if release.default),
)
KINDS = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass", "DeviceTaintRule"})


def unreleased(gate: Gate) -> Gate:
    """Return a gate of pods' tolerations as no release has it: for device tolerations."""
    what = gate.feature.partition(" in tolerations")[0]
    return replace(gate, feature=f"{what} in device tolerations", releases=())


def device_gates(kind: str, view: Any) -> Iterator[tuple[Gate, str]]:
    """Yield the gates that an object of a device kind needs, with the fields that need them."""
    if kind == "DeviceTaintRule":
        yield known.DRA_DEVICE_TAINT_RULES, "spec.taint"
    elif kind == "DeviceClass":
        yield _IN_V1, "spec"
        if view.spec.extendedResourceName is not None:
            yield known.DRA_EXTENDED_RESOURCE, "spec.extendedResourceName"
    elif kind == "ResourceSlice":
        yield _IN_V1, "spec"
        if view.spec.sharedCounters:
            yield known.DRA_PARTITIONABLE_DEVICES, "spec.sharedCounters"
        if view.spec.perDeviceNodeSelection:
            yield known.DRA_PARTITIONABLE_DEVICES, "spec.perDeviceNodeSelection"
        for index, device in enumerate(view.spec.devices):
            yield from _of_device(device, f"spec.devices[{index}]")
    elif (claim := claim_spec_of(kind, view)) is not None:
        yield _IN_V1, "spec"
        yield from _of_claim(kind, view, claim[0])


def _of_device(device: Device, path: str) -> Iterator[tuple[Gate, str]]:
    if device.taints:
        yield known.DRA_DEVICE_TAINTS, f"{path}.taints"
    if device.consumesCounters:
        yield known.DRA_PARTITIONABLE_DEVICES, f"{path}.consumesCounters"
    if device.allowMultipleAllocations is not None:
        yield known.DRA_CONSUMABLE_CAPACITY, f"{path}.allowMultipleAllocations"
    if device.bindingConditions:
        yield known.DRA_DEVICE_BINDING_CONDITIONS, f"{path}.bindingConditions"
    if device.nodeAllocatableResourceMappings:
        yield known.DRA_NODE_ALLOCATABLE_RESOURCES, f"{path}.nodeAllocatableResourceMappings"
    for name, attribute in device.attributes.items():
        for field in ("ints", "bools", "strings", "versions"):
            if not isinstance(getattr(attribute, field), AbsentList):
                yield known.DRA_LIST_TYPE_ATTRIBUTES, f"{path}.attributes[{name}].{field}"


def _of_claim(kind: str, view: Any, path: str) -> Iterator[tuple[Gate, str]]:
    alternatives: set[str] = set()
    for where, request in device_requests(kind, view):
        before, found, _ = where.partition(".firstAvailable[")
        if found and before not in alternatives:
            alternatives.add(before)
            yield known.DRA_PRIORITIZED_LIST, f"{before}.firstAvailable"
        if getattr(request, "adminAccess", None) is not None:
            yield known.DRA_ADMIN_ACCESS, f"{where}.adminAccess"
        if request.capacity is not None:
            yield known.DRA_CONSUMABLE_CAPACITY, f"{where}.capacity"
        if request.tolerations:
            yield known.DRA_DEVICE_TAINTS, f"{where}.tolerations"
        for index, toleration in enumerate(request.tolerations):
            yield from _of_toleration(toleration, f"{where}.tolerations[{index}]")
    if kind == "ResourceClaim" and view.status.devices:
        yield known.DRA_RESOURCE_CLAIM_DEVICE_STATUS, "status.devices"


def _of_toleration(toleration: DeviceToleration, path: str) -> Iterator[tuple[Gate, str]]:
    if toleration.expression:
        yield unreleased(known.TAINT_TOLERATION_CEL), f"{path}.expression"
    elif (gate := gate_of(toleration.operator, TOLERATION)) is not None:
        yield unreleased(gate), f"{path}.operator"
