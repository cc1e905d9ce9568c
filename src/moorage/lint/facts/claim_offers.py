"""Ask the allocator whether the slices of the input satisfy a claim on any node, and explain why not.

Nodes are those of the input; without any, the nodes that slices name. A claim of classes that are not in the input is
asked for as if those had no selectors: what nothing satisfies even then, nothing satisfies.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from moorage.columns.devices.use import DeviceUse
from moorage.match.devices.allocation.allocate import allocate
from moorage.match.devices.allocation.explain import ELSEWHERE, tell_reasons, why_not_device
from moorage.match.devices.allocation.features import AllocationError, allocator_features
from moorage.match.devices.allocation.pools import gather_pools
from moorage.match.devices.allocation.published import AllocationNode, PublishedSlice
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate
from moorage.model.gates import all_gates
from moorage.model.types.devices import DeviceClass
from moorage.model.types.meta import ObjectMeta

if TYPE_CHECKING:
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import DeviceId
    from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest
    from moorage.model.gates import GateSet
    from moorage.model.types.devices import DeviceTaintRule, ResourceClaimSpec, ResourceSlice

_MAX_DEVICES = 20_000
_MAX_NODES = 10_000
_MAX_STEPS = 20_000
_ANY_NODE = "(any node)"
#: What the scheduler could use if every gate were on: a gate that is missing is a finding of its own.
_ALL_GATES = all_gates()


class DeviceOffers:
    """The devices of the input, and the nodes that have them."""

    def __init__(self, gates: GateSet, operators: GateSet = _ALL_GATES) -> None:
        """`operators` are the gates that selectors and tolerations are read with."""
        self.classes: dict[str, DeviceClass] = {}
        self._gates = operators
        self._features = allocator_features(gates)
        self._slices: dict[str, ResourceSlice] = {}
        self._rules: dict[str, DeviceTaintRule] = {}
        self._nodes: dict[str, AllocationNode] = {}
        self._devices = 0
        self._too_many = False
        self._pools: list[tuple[AllocationNode, list[DevicePool]]] | None = None

    @property
    def has_devices(self) -> bool:
        return bool(self._slices) and not self._too_many

    def add(self, kind: str, view: Any) -> None:
        name = view.metadata.name
        if kind == "ResourceSlice":
            self._devices += len(view.spec.devices)
            self._too_many |= self._devices > _MAX_DEVICES
            if not self._too_many:
                self._slices[name] = view
        elif kind == "DeviceClass":
            self.classes[name] = view
        elif kind == "DeviceTaintRule":
            self._rules[name] = view
        elif kind == "Node":
            self._too_many |= len(self._nodes) >= _MAX_NODES
            if not self._too_many:
                self._nodes[name] = AllocationNode(name, view.metadata.labels)

    def why_unsatisfiable(self, spec: ResourceClaimSpec, claim: str, until: float) -> str:
        """Return why no node satisfies a claim; empty if one does, or if it cannot be told."""
        if not self._slices or self._too_many:
            return ""
        if self._pools is None:
            self._pools = self._gather(until)
        compiled = compile_claim(spec, self._class, self._gates)
        problems: dict[str, None] = {}
        for node, pools in self._pools:
            if time.monotonic() > until:
                return ""
            try:
                wanted = [ClaimToAllocate(claim, compiled)]
                if allocate(pools, wanted, DeviceUse(), node, self._features, max_steps=_MAX_STEPS) is not None:
                    return ""
            except AllocationError as error:
                problems[str(error)] = None
        if not self._pools:
            return ""
        return next(iter(problems)) if problems else self._reasons(compiled, until)

    def _class(self, name: str) -> DeviceClass:
        return self.classes.get(name) or DeviceClass(metadata=ObjectMeta(name=name))

    def _gather(self, until: float) -> list[tuple[AllocationNode, list[DevicePool]]]:
        """Return each node that may have devices with its pools; empty if the nodes are not known."""
        rules = tuple(self._rules.values())
        published = [PublishedSlice(slice_, self._gates, rules) for slice_ in self._slices.values()]
        nodes = list(self._nodes.values())
        if not nodes:
            if any(_selects_nodes(one) for one in self._slices.values()):
                return []
            named = {_ANY_NODE: None} | {node: None for one in self._slices.values() for node in _named_nodes(one)}
            nodes = [AllocationNode(name, {}) for name in named]
        local: dict[str, list[PublishedSlice]] = {}
        shared: list[PublishedSlice] = []
        for one in published:
            (local.setdefault(one.nodes.node_name, []) if one.nodes.node_name else shared).append(one)
        offers: list[tuple[AllocationNode, list[DevicePool]]] = []
        for node in nodes:
            if time.monotonic() > until:
                return []
            try:
                pools = gather_pools([*local.get(node.name, ()), *shared], node, self._features)
            except AllocationError:
                return []
            if pools or not offers:  # of the nodes without devices one is enough
                offers.append((node, pools))
        return offers

    def _reasons(self, compiled: CompiledClaim, until: float) -> str:
        """Say what keeps the devices of all nodes out of the first request that none satisfies alone."""
        assert self._pools is not None
        for pool in (pool for _, pools in self._pools for pool in pools):
            if pool.incomplete:
                return f"pool {pool} is incomplete: its slices are fewer or more than resourceSliceCount says"
            if pool.invalid:
                return f"pool {pool} is invalid: {pool.invalid}"
        for alternatives in compiled.requests:
            reasons = [why for alternative in alternatives if (why := self._why_not(alternative, until))]
            if len(reasons) == len(alternatives):
                return "; ".join(reasons)
        return "each request alone finds devices, but not all together on one node, with the claim's constraints"

    def _why_not(self, request: CompiledRequest, until: float) -> str:
        """Return why no node satisfies a request alone; empty if one does."""
        assert self._pools is not None
        needed = max(request.count, 1)
        most = 0
        seen: set[DeviceId] = set()
        told: dict[DeviceId, str] = {}
        for node, pools in self._pools:
            if time.monotonic() > until:
                return f"request {request.full_name} alone cannot be satisfied by the nodes that were looked at"
            free, use = 0, DeviceUse()
            for one, device in ((pool, device) for pool in pools for device in pool.devices):
                why = why_not_device(request, device, one, use, node, self._features)
                seen.add(device.id)
                if why is None:
                    free += 1
                elif why != ELSEWHERE:
                    told.setdefault(device.id, why)
            most = max(most, free)
            if most >= needed:
                return ""
        where = f"request {request.full_name} (class {request.view.deviceClassName})"
        if not seen:
            return f"{where}: there are no devices"
        reasons = tell_reasons(Counter(told.values()), len(seen), " devices")
        demand = f"{where} asks for {needed} on one node, and at most {most} can be had"
        return f"{demand}: {'; '.join(reasons)}" if reasons else demand


def _selects_nodes(one: ResourceSlice) -> bool:
    return one.spec.nodeSelector is not None or any(device.nodeSelector is not None for device in one.spec.devices)


def _named_nodes(one: ResourceSlice) -> list[str]:
    return [name for name in (one.spec.nodeName, *(device.nodeName for device in one.spec.devices)) if name]
