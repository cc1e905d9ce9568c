"""Tell what would happen to claims, slices, classes and rules if a gate of devices were disabled.

Claims that wait are given to the allocator with and without the gate, claims that are allocated to the rules of device
taint eviction. Kubernetes: the strategies of pkg/registry/resource drop fields of disabled features from new objects.
"""

import time
from collections.abc import Iterator
from functools import partial

from moorage.lint.facts.claim_offers import DeviceOffers
from moorage.lint.facts.device_gates import KINDS as DEVICE_KINDS
from moorage.match.devices.eviction import PublishedDevices, claim_eviction, describe_evictions
from moorage.match.devices.tolerations import compile_device_tolerations
from moorage.model import gates as known
from moorage.model.gates import Gate, GateSet
from moorage.model.types.devices import ResourceClaim
from moorage.plan.gates.consequence import API, MANAGER, SCHEDULER, Consequence, loses_fields, refusal
from moorage.plan.input.inventory import Inventory, Item

__all__ = ("DEVICE_KINDS", "DeviceAudit")

_MAX_SECONDS = 10.0
_OPERATORS = frozenset(
    gate.name
    for gate in (
        known.TAINT_TOLERATION_COMPARISON_OPERATORS,
        known.SEMVER_COMPARISON_OPERATORS,
        known.TAINT_TOLERATION_CEL,
    )
)
#: What becomes of published devices, and of a class.
_OF_SLICES = {
    known.DRA_DEVICE_TAINTS.name: "its taints do not count: tainted devices are allocated like others",
    known.DRA_PARTITIONABLE_DEVICES.name: "its devices are not allocated: shared counters are not understood",
    known.DRA_CONSUMABLE_CAPACITY.name: "each of its devices is allocated to one claim only, and as a whole",
    known.DRA_DEVICE_BINDING_CONDITIONS.name: "its devices with binding conditions are not allocated",
    known.DRA_LIST_TYPE_ATTRIBUTES.name: "selectors fail for its devices: lists are no values of attributes",
    known.SEMVER_COMPARISON_OPERATORS.name: "its node selectors that compare versions choose no node",
    known.DRA_NODE_ALLOCATABLE_RESOURCES.name: "its devices take nothing from their node's allocatable resources",
}
_OF_CLASSES = "pods that ask for the extended resource {name} are given no devices of the class"


class DeviceAudit:
    """The devices of an inventory, and what would become of them."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._offers: dict[GateSet, DeviceOffers] = {}
        self._until = time.monotonic() + _MAX_SECONDS

    def consequences(self, item: Item, gate: Gate) -> Iterator[Consequence]:
        on = self._inventory.gates
        off = on.with_gate(gate, False)
        if gate.locked:
            yield Consequence(API, "the gate is locked on; only servers of older releases drop the field", breaks=False)
        elif item.key.kind == "DeviceTaintRule":
            yield from _of_rule()
        elif item.key.kind == "ResourceClaimTemplate":
            yield from _of_template(item, on, off)
        elif not item.existing:
            yield from _of_new(item, on, off)
        elif item.key.kind == "ResourceClaim":
            yield from self._of_claim(item.view, gate, on, off)
        else:
            yield from _of_published(item, gate)

    def _of_claim(self, claim: ResourceClaim, gate: Gate, on: GateSet, off: GateSet) -> Iterator[Consequence]:
        yield Consequence(API, "it stays, and may be updated; a new one like it is not taken as it is", breaks=False)
        if claim.status.allocation is not None:
            if gate.name in _OPERATORS:
                yield self._of_allocated(claim, on, off)
            return
        offers = self._offer(on), self._offer(off)
        name = f"{claim.metadata.namespace}/{claim.metadata.name}"
        before, after = (offer.why_unsatisfiable(claim.spec, name, self._until) for offer in offers)
        if not offers[0].has_devices:
            text = "cannot be told: the input has no ResourceSlices"
            yield Consequence(SCHEDULER, f"whether it can still be allocated {text}", breaks=True)
        elif after and not before:
            yield Consequence(SCHEDULER, f"it cannot be allocated while the gate is off: {after}", breaks=True)
        elif after:
            text = "no node has devices for it yet, and one that needs the gate would not be used while it is off"
            yield Consequence(SCHEDULER, text, breaks=True)
        else:
            yield Consequence(SCHEDULER, "it can be allocated all the same", breaks=False)

    def _of_allocated(self, claim: ResourceClaim, on: GateSet, off: GateSet) -> Consequence:
        devices = PublishedDevices(item.view for item in self._inventory.of_kind("ResourceSlice"))
        rules = [item.view for item in self._inventory.of_kind("DeviceTaintRule")]
        reading = [partial(compile_device_tolerations, gates=gates) for gates in (on, off)]
        before, after = (claim_eviction(claim, devices, rules, read) for read in reading)
        if after is not None and (before is None or after.when < before.when):
            tainted = "; ".join(dict.fromkeys(describe_evictions(claim, devices, rules, reading[1])))
            text = f"pods that use it would be evicted: {tainted}"
            return Consequence(MANAGER, text, breaks=True)
        return Consequence(MANAGER, "pods that use it keep their devices", breaks=False)

    def _offer(self, gates: GateSet) -> DeviceOffers:
        offers = self._offers.get(gates)
        if offers is None:
            offers = self._offers[gates] = DeviceOffers(gates, gates)
            for item in self._inventory.of_kind("Node", "ResourceSlice", "DeviceClass", "DeviceTaintRule"):
                offers.add(item.key.kind, item.view)
        return offers


def _of_rule() -> Iterator[Consequence]:
    yield Consequence(API, "the kind is not served any more; the rule stays stored", breaks=True)
    yield Consequence(SCHEDULER, "its taint keeps no device from being allocated", breaks=True)
    yield Consequence(MANAGER, "its taint evicts no pod", breaks=True)


def _of_new(item: Item, on: GateSet, off: GateSet) -> Iterator[Consequence]:
    if refused := refusal(item.raw, on, off):
        yield Consequence(API, f"would be rejected: {refused}", breaks=True)
    elif loses_fields(item.raw, on, off):
        yield Consequence(API, "loses the fields without a word when it is created", breaks=True, drops=True)


def _of_template(item: Item, on: GateSet, off: GateSet) -> Iterator[Consequence]:
    spec = item.raw.get("spec") or {}
    metadata = {**(spec.get("metadata") or {}), "name": "new", "namespace": item.key.namespace}
    made = {
        "apiVersion": item.kind.api_version,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": spec.get("spec") or {},
    }
    begins = "the template stays, but new claims of it" if item.existing else "it, and claims of it,"
    if refused := refusal(made, on, off):
        yield Consequence(API, f"{begins} are rejected: {refused}", breaks=True)
        if item.existing:
            yield Consequence(
                MANAGER, "pods that need such a claim wait for it (FailedResourceClaimCreation)", breaks=True
            )
    elif loses_fields(made, on, off):
        yield Consequence(API, f"{begins} lose the fields without a word", breaks=True, drops=True)


def _of_published(item: Item, gate: Gate) -> Iterator[Consequence]:
    if item.key.kind == "DeviceClass":
        yield Consequence(SCHEDULER, _OF_CLASSES.format(name=item.view.spec.extendedResourceName), breaks=True)
    elif gate.name in _OF_SLICES:
        yield Consequence(SCHEDULER, _OF_SLICES[gate.name], breaks=True)
    becomes = "is rejected" if gate.name in _OPERATORS else "loses the fields without a word"
    yield Consequence(API, f"it stays; a new one like it {becomes}", breaks=False)
