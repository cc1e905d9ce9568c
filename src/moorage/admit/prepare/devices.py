"""Set defaults of the kinds of resource.k8s.io, and change them before they are validated.

Each function changes a raw object in place; `old` is None on creation. Fields of gates that are off are dropped, unless
the old object uses the feature. Kubernetes: pkg/apis/resource/v1/defaults.go, pkg/api/resourceclaimspec and the
strategies of pkg/registry/resource. Differs: a toleration by expression (KEP-5500) gets no operator.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model import gates as known
from moorage.model.gates import GateSet
from moorage.model.go.times import in_utc

_LISTS = ("bools", "ints", "strings", "versions")
_BINDING_FIELDS = ("bindingConditions", "bindingFailureConditions")
_PLACE_FIELDS = ("nodeName", "nodeSelector", "allNodes")


def default_claim(claim: Raw) -> None:
    _default_requests(part(claim, "spec"))
    default_claim_status(claim)


def default_claim_status(claim: Raw) -> None:
    for result in _results(claim):
        _default_tolerations(result)


def default_template(template: Raw) -> None:
    _default_requests(part(part(template, "spec"), "spec"))


def _default_requests(spec: Raw) -> None:
    for request in _exact_requests(spec):
        fill_empty(request, {"allocationMode": "ExactCount"})
        if request["allocationMode"] == "ExactCount":
            fill_empty(request, {"count": 1})
        _default_tolerations(request)


def _default_tolerations(request: Raw) -> None:
    for toleration in items(request, "tolerations"):
        if not toleration.get("expression"):
            fill_empty(toleration, {"operator": "Equal"})


def default_taint_rule(rule: Raw) -> None:
    _write_time(part(part(rule, "spec"), "taint"))


def _write_time(taint: Raw) -> None:
    """Write the time of a taint as the API server does: in UTC, in seconds."""
    if taint.get("timeAdded") is not None:
        taint["timeAdded"] = in_utc(taint["timeAdded"])


def default_slice(published: Raw) -> None:
    for device in _devices(published):
        for taint in items(device, "taints"):
            _write_time(taint)
        mappings = device.get("nodeAllocatableResourceMappings") or {}
        for name, mapping in mappings.items():
            mappings[name] = mapping = mapping or {}
            fill_absent(mapping, {"allocationMultiplier": "1"})


def stamp_slice(published: Raw, old: Raw | None, now: str) -> None:
    """Say when taints were added, where the driver did not."""
    for device in _devices(published):
        for taint in items(device, "taints"):
            fill_absent(taint, {"timeAdded": now})


def stamp_taint_rule(rule: Raw, old: Raw | None, now: str) -> None:
    """Say when the taint was added: when its effect changed, unless the client changes the time itself."""
    taint = part(part(rule, "spec"), "taint")
    fill_absent(taint, {"timeAdded": now})
    before = ((old or {}).get("spec") or {}).get("taint") or {}
    if (
        old is not None
        and taint.get("effect") != before.get("effect")
        and taint["timeAdded"] == before.get("timeAdded")
    ):
        taint["timeAdded"] = now


def _exact_requests(spec: Raw) -> Iterator[Raw]:
    """Yield what asks for devices of one class: `exactly` of a request, and subrequests."""
    for request in _requests(spec):
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from items(request, "firstAvailable")


def _requests(spec: Raw) -> list[Raw]:
    return items(spec.get("devices") or {}, "requests")


def _devices(published: Raw | None) -> list[Raw]:
    return items((published or {}).get("spec") or {}, "devices")


def _results(claim: Raw) -> list[Raw]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return items(allocation.get("devices") or {}, "results")


def _drop(parts: Iterable[Raw], *names: str) -> None:
    for one in parts:
        for name in names:
            one.pop(name, None)


def _has(parts: Iterable[Raw], *names: str) -> bool:
    """Return whether a field is set at all."""
    return any(one.get(name) is not None for one in parts for name in names)


def _has_some(parts: Iterable[Raw], *names: str) -> bool:
    """Return whether a list or map is not empty."""
    return any(one.get(name) for one in parts for name in names)


def prepare_claim(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None or old.get("status") is None:
        new["status"] = {}
    else:
        new["status"] = old["status"]
    _drop_from_claim_spec(part(new, "spec"), (old or {}).get("spec") or {}, gates)


def prepare_template(new: Raw, old: Raw | None, gates: GateSet) -> None:
    before = ((old or {}).get("spec") or {}).get("spec") or {}
    _drop_from_claim_spec(part(part(new, "spec"), "spec"), before, gates)


def _drop_from_claim_spec(spec: Raw, old: Raw, gates: GateSet) -> None:
    if not gates.enabled(known.DRA_PRIORITIZED_LIST) and not _has_some(_requests(old), "firstAvailable"):
        _drop(_requests(spec), "firstAvailable")
    exact, before = list(_exact_requests(spec)), list(_exact_requests(old))
    if not gates.enabled(known.DRA_DEVICE_TAINTS) and not _has_some(before, "tolerations"):
        _drop(exact, "tolerations")
    if not gates.enabled(known.DRA_ADMIN_ACCESS) and not _has(before, "adminAccess"):
        _drop(exact, "adminAccess")
    if not gates.enabled(known.DRA_CONSUMABLE_CAPACITY) and not _shares_capacity(old):
        _drop(_constraints(spec), "distinctAttribute")
        _drop(exact, "capacity")


def _constraints(spec: Raw) -> list[Raw]:
    return items(spec.get("devices") or {}, "constraints")


def _shares_capacity(spec: Raw) -> bool:
    return _has(_constraints(spec), "distinctAttribute") or _has(_exact_requests(spec), "capacity")


def prepare_claim_status(new: Raw, old: Raw, gates: GateSet) -> None:
    """Drop fields of gates that are off, and the status of devices that are no longer allocated."""
    status, before = part(new, "status"), old.get("status") or {}
    spec = old.get("spec") or {}
    keeps_devices = gates.enabled(known.DRA_RESOURCE_CLAIM_DEVICE_STATUS) or bool(before.get("devices"))
    if not keeps_devices:
        status.pop("devices", None)
    results, results_before = _results(new), _results(old)
    exact = list(_exact_requests(spec))
    if not gates.enabled(known.DRA_ADMIN_ACCESS) and not _has([*exact, *results_before], "adminAccess"):
        _drop(results, "adminAccess")
    if not gates.enabled(known.DRA_CONSUMABLE_CAPACITY) and not (
        _shares_capacity(spec)
        or _has(results_before, "shareID", "consumedCapacity")
        or _has(items(before, "devices"), "shareID")
    ):
        _drop(results, "shareID", "consumedCapacity")
        _drop(items(status, "devices"), "shareID")
    if not gates.enabled(known.DRA_DEVICE_BINDING_CONDITIONS) and not _has(results_before, *_BINDING_FIELDS):
        _drop(results, *_BINDING_FIELDS)
    if keeps_devices:
        _drop_deallocated(status, results, results_before)


def _drop_deallocated(status: Raw, results: list[Raw], results_before: list[Raw]) -> None:
    gone = {_device_id(result) for result in results_before} - {_device_id(result) for result in results}
    devices = [device for device in items(status, "devices") if _device_id(device) not in gone]
    if devices:
        status["devices"] = devices
    else:
        status.pop("devices", None)


def _device_id(device: Raw) -> tuple[Any, ...]:
    return tuple(device.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def prepare_slice(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        part(new, "metadata")["generation"] = 1
    spec, before = part(new, "spec"), (old or {}).get("spec") or {}
    devices, devices_before = _devices(new), _devices(old)
    if not gates.enabled(known.DRA_DEVICE_TAINTS) and not _has_some(devices_before, "taints"):
        _drop(devices, "taints")
    if not gates.enabled(known.DRA_PARTITIONABLE_DEVICES) and not (
        before.get("sharedCounters")
        or before.get("perDeviceNodeSelection") is not None
        or _has_some(devices_before, "consumesCounters")
        or _has(devices_before, *_PLACE_FIELDS)
    ):
        _drop([spec], "sharedCounters", "perDeviceNodeSelection")
        _drop(devices, "consumesCounters", *_PLACE_FIELDS)
    binds = gates.enabled(known.DRA_DEVICE_BINDING_CONDITIONS) and gates.enabled(known.DRA_RESOURCE_CLAIM_DEVICE_STATUS)
    if not binds and not (_has_some(devices_before, *_BINDING_FIELDS) or _has(devices_before, "bindsToNode")):
        _drop(devices, *_BINDING_FIELDS, "bindsToNode")
    if not gates.enabled(known.DRA_CONSUMABLE_CAPACITY) and not (
        _has(devices_before, "allowMultipleAllocations") or _has(_values(devices_before, "capacity"), "requestPolicy")
    ):
        _drop(devices, "allowMultipleAllocations")
        _drop(_values(devices, "capacity"), "requestPolicy")
    mappings = "nodeAllocatableResourceMappings"
    if not gates.enabled(known.DRA_NODE_ALLOCATABLE_RESOURCES) and not _has_some(devices_before, mappings):
        _drop(devices, mappings)
    lists_before = _has(_values(devices_before, "attributes"), *_LISTS)
    if not gates.enabled(known.DRA_LIST_TYPE_ATTRIBUTES) and not lists_before:
        _drop(_values(devices, "attributes"), *_LISTS)


def _values(devices: list[Raw], name: str) -> list[Raw]:
    """Return the attributes or capacities of all devices."""
    return [value for device in devices for value in (device.get(name) or {}).values() if value is not None]


def prepare_device_class(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        part(new, "metadata")["generation"] = 1
    before = (old or {}).get("spec") or {}
    if not gates.enabled(known.DRA_EXTENDED_RESOURCE) and before.get("extendedResourceName") is None:
        part(new, "spec").pop("extendedResourceName", None)


def prepare_taint_rule(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if old is None:
        part(new, "metadata")["generation"] = 1
        new["status"] = {}
    else:
        new["status"] = old.get("status") or {}
