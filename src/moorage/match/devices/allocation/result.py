"""Write allocation results: the picked devices, the configurations that apply, the nodes where they can be used.

Out: raw AllocationResults, as they are written into a claim's status. Kubernetes: the end of Allocate and
createNodeSelector in dynamic-resource-allocation/structured.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.match.devices.allocation.features import AllocationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.devices.allocation.capacity import Amounts
    from moorage.match.devices.allocation.published import PublishedDevice
    from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest
    from moorage.model.types.devices import DeviceConfiguration
    from moorage.model.types.node import NodeSelector, NodeSelectorRequirement

RawAllocation = dict[str, Any]


class PickedDevice:
    """A device chosen for a request; of a device that is shared, with what is consumed."""

    __slots__ = ("consumed", "counted", "device", "request", "was_shared")

    def __init__(self, request: CompiledRequest, device: PublishedDevice) -> None:
        self.request = request
        self.device = device
        self.consumed: Amounts | None = None
        self.counted = False
        self.was_shared = False

    def moved(self, device: PublishedDevice) -> PickedDevice:
        """Return the same choice of a device that is like this one."""
        picked = PickedDevice(self.request, device)
        picked.consumed = self.consumed
        return picked


def build_result(
    compiled: CompiledClaim,
    chosen: Sequence[int],
    picked: Sequence[PickedDevice],
    node: str,
    claim: str,
    new_share_id: Callable[[], str],
    binding_conditions: bool,
) -> RawAllocation:
    """Return the AllocationResult of one claim; `chosen` are the alternatives of its requests."""
    devices: RawAllocation = {}
    if picked:
        devices["results"] = [_device_result(device, new_share_id, binding_conditions) for device in picked]
    requests = [alternatives[choice] for alternatives, choice in zip(compiled.requests, chosen, strict=True)]
    config = [*_class_config(requests), *_claim_config(compiled, requests)]
    if config:
        devices["config"] = config
    result: RawAllocation = {"devices": devices}
    selector = node_selector(picked, node, claim)
    if selector is not None:
        result["nodeSelector"] = selector
    return result


def _device_result(picked: PickedDevice, new_share_id: Callable[[], str], binding_conditions: bool) -> RawAllocation:
    driver, pool, device = picked.device.id
    request, view = picked.request, picked.device.device
    result: RawAllocation = {"request": request.full_name, "driver": driver, "pool": pool, "device": device}
    if request.admin_access:
        result["adminAccess"] = True
    if request.view.tolerations:
        result["tolerations"] = [_raw(toleration) for toleration in request.view.tolerations]
    if binding_conditions and view.bindingConditions:
        result["bindingConditions"] = list(view.bindingConditions)
    if binding_conditions and view.bindingFailureConditions:
        result["bindingFailureConditions"] = list(view.bindingFailureConditions)
    if picked.consumed is not None:
        result["shareID"] = new_share_id()
        if picked.consumed:
            result["consumedCapacity"] = {name: str(amount) for name, amount in picked.consumed.items()}
    return result


def _raw(view: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a flat view that are set."""
    fields = _fields(type(view))
    return {name: value for name, default in fields if (value := getattr(view, name)) != default}


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, Any], ...]:
    """Return the names of a view's fields with their defaults."""
    return tuple((field.name, field.default) for field in msgspec.structs.fields(kind))


def _class_config(requests: Sequence[CompiledRequest]) -> list[RawAllocation]:
    """Return the configurations of classes, each once with all the requests that it is for."""
    by_class: dict[str, list[RawAllocation]] = {}
    for request in requests:
        device_class = request.device_class
        if device_class is None:
            continue
        known = by_class.get(device_class.metadata.name)
        if known is None:
            known = by_class[device_class.metadata.name] = [
                {"source": "FromClass", "requests": [], **_configuration(entry)} for entry in device_class.spec.config
            ]
        for config in known:
            config["requests"].append(request.full_name)
    return [config for configs in by_class.values() for config in configs]


def _claim_config(compiled: CompiledClaim, requests: Sequence[CompiledRequest]) -> list[RawAllocation]:
    """Return the claim's configurations for the chosen requests: as often as requests are named."""
    configs: list[RawAllocation] = []
    for config in compiled.spec.devices.config:
        raw: RawAllocation = {"source": "FromClaim", **_configuration(config)}
        if not config.requests:
            configs.append(raw)
            continue
        raw["requests"] = list(config.requests)
        for request in requests:
            if (request.parent or request.name) in config.requests or request.full_name in config.requests:
                configs.append(raw)
    return configs


def _configuration(config: DeviceConfiguration) -> RawAllocation:
    if config.opaque is None:
        return {}
    return {"opaque": {"driver": config.opaque.driver, "parameters": config.opaque.parameters}}


def node_selector(picked: Sequence[PickedDevice], node: str, claim: str) -> RawAllocation | None:
    """Return where the devices can be used: on the node, where all their selectors match, or anywhere (None)."""
    fields: list[RawAllocation] = []
    expressions: list[RawAllocation] = []
    merged: NodeSelector | None = None
    for device in picked:
        nodes = device.device.nodes or device.device.published.nodes
        if nodes.node_name is not None or device.device.device.bindsToNode:
            own = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [own]}]}
        if nodes.selector is None or nodes.selector is merged:
            continue
        merged = nodes.selector
        terms = merged.nodeSelectorTerms
        if len(terms) > 1:
            message = f"unsupported ResourceSlice.NodeSelector with {len(terms)} terms"
            raise AllocationError(f"create NodeSelector for claim {claim}: {message}")
        for term in terms:
            _merge(term.matchFields, fields)
            _merge(term.matchExpressions, expressions)
    term_of_all: RawAllocation = {}
    if expressions:
        term_of_all["matchExpressions"] = expressions
    if fields:
        term_of_all["matchFields"] = fields
    return {"nodeSelectorTerms": [term_of_all]} if term_of_all else None


def _merge(requirements: Sequence[NodeSelectorRequirement], into: list[RawAllocation]) -> None:
    """Add the requirements that are not there yet, with the same values in any order."""
    for requirement in requirements:
        known = (
            other["key"] == requirement.key
            and other["operator"] == requirement.operator
            and set(other.get("values", ())) == set(requirement.values)
            for other in into
        )
        if not any(known):
            into.append(_raw(requirement) | ({"values": list(requirement.values)} if requirement.values else {}))
