"""Validate ResourceSlices.

Kubernetes: ValidateResourceSlice and its update (pkg/apis/resource/validation). Differs: node selectors may have the
operators of KEP-5721.
"""

from collections.abc import Iterator

import msgspec

from moorage.admit.kinds.devices.published_devices import (
    UNSET_OR_TRUE,
    has_lists,
    validate_counters,
    validate_device,
    validate_node_name,
)
from moorage.admit.kinds.devices.shared import validate_driver_name, validate_pool_name, validate_set
from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.node_affinity import validate_node_selector
from moorage.admit.prepare import devices as prepare
from moorage.admit.ratcheting import operator_gates_in_use
from moorage.model.field_error import AsJSON, FieldErrors, invalid, required
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.types.devices import CounterSet, ResourcePool, ResourceSlice, ResourceSliceSpec
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.view import ABSENT_LIST

MAX_DEVICES = 128
#: Where a device has taints, list attributes, or consumes counters.
MAX_ADVANCED_DEVICES = 64
MAX_COUNTER_SETS = 8

ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
COUNTERS_OR_DEVICES = "only one of `sharedCounters` or `devices` is allowed"


def validate_slice(published: ResourceSlice, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(published.metadata, "metadata", namespaced=False)
    yield from _validate_spec(published.spec, None, options)


def validate_slice_update(new: ResourceSlice, old: ResourceSlice, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec, old.spec, options)


def _validate_spec(spec: ResourceSliceSpec, old: ResourceSliceSpec | None, options: ValidationOptions) -> FieldErrors:
    yield from validate_driver_name(spec.driver, "spec.driver")
    yield from _validate_pool(spec.pool, "spec.pool")
    if old is not None:
        for value, before, path in (
            (spec.pool.name, old.pool.name, "spec.pool.name"),
            (spec.driver, old.driver, "spec.driver"),
        ):
            if value != before:
                yield invalid(path, value, FIELD_IS_IMMUTABLE)
        yield from validate_immutable(spec.nodeName, old.nodeName, "spec.nodeName")
    yield from _validate_place(spec, options)
    if spec.sharedCounters is not ABSENT_LIST and spec.devices is not ABSENT_LIST:
        yield invalid("spec", "", COUNTERS_OR_DEVICES)
    before_by_name = {device.name: device for device in reversed(old.devices)} if old is not None else {}
    advanced = any(device.taints or device.consumesCounters or has_lists(device) for device in spec.devices)
    yield from validate_set(
        spec.devices,
        MAX_ADVANCED_DEVICES if advanced else MAX_DEVICES,
        lambda device, at: validate_device(
            device, before_by_name.get(device.name), at, options, chooses_nodes=bool(spec.perDeviceNodeSelection)
        ),
        lambda device: device.name,
        "spec.devices",
    )
    yield from validate_set(
        spec.sharedCounters,
        MAX_COUNTER_SETS,
        _validate_counter_set,
        lambda counters: counters.name,
        "spec.sharedCounters",
    )


def _validate_pool(pool: ResourcePool, path: str) -> FieldErrors:
    yield from validate_pool_name(pool.name, f"{path}.name")
    if pool.resourceSliceCount <= 0:
        yield invalid(f"{path}.resourceSliceCount", pool.resourceSliceCount, "must be greater than zero")
    if pool.generation < 0:
        yield invalid(f"{path}.generation", pool.generation, "must be greater than or equal to zero")


def _validate_counter_set(counters: CounterSet, path: str) -> FieldErrors:
    return validate_counters(counters.name, f"{path}.name", counters.counters, f"{path}.counters")


def _validate_place(spec: ResourceSliceSpec, options: ValidationOptions) -> FieldErrors:
    """Check that the slice says in one way on which nodes its devices are."""
    found: list[str] = []
    if spec.nodeName:
        found.append("`nodeName`")
        yield from validate_node_name(spec.nodeName, "spec.nodeName")
    elif spec.nodeName is not None:
        detail = "must be either unset or set to a non-empty string"
        yield invalid("spec.nodeName", spec.nodeName, detail)
    if spec.nodeSelector is not None:
        found.append("`nodeSelector`")
        yield from validate_node_selector(spec.nodeSelector, "spec.nodeSelector", options)
        terms = spec.nodeSelector.nodeSelectorTerms
        if len(terms) != 1:
            shown, detail = AsJSON(internal_form(terms)), "must have exactly one node selector term"
            yield invalid("spec.nodeSelector.nodeSelectorTerms", shown, detail)
    for name in ("allNodes", "perDeviceNodeSelection"):
        value = getattr(spec, name)
        if value:
            found.append(f"`{name}`")
        elif value is not None:
            yield invalid(f"spec.{name}", value, UNSET_OR_TRUE)
    if not found:
        yield required("spec", ONE_PLACE)
    elif len(found) > 1:
        yield invalid("spec", f"{{{', '.join(found)}}}", f"{ONE_PLACE}, but multiple fields are set")


def _options(gates: GateSet, old: ResourceSlice | None) -> ValidationOptions:
    """Return the options, which allow the operators that the old slice has."""
    options = options_for_create(gates)
    in_use = set() if old is None else operator_gates_in_use((), _node_terms(old.spec))
    if not in_use:
        return options
    return msgspec.structs.replace(options, operator_gates=options.operator_gates | in_use)


def _node_terms(spec: ResourceSliceSpec) -> Iterator[NodeSelectorTerm]:
    for selector in (spec.nodeSelector, *(device.nodeSelector for device in spec.devices)):
        if selector is not None:
            yield from selector.nodeSelectorTerms


def _warnings(published: ResourceSlice) -> list[str]:
    driver = published.spec.driver
    if driver == driver.lower():
        return []
    return [
        f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters",
    ]


ROWS: Rows = {
    ResourceSlice: KindRow(
        validate_slice,
        validate_slice_update,
        prepare.default_slice,
        prepare.prepare_slice,
        _options,
        has_generation=True,
        stamp=prepare.stamp_slice,
        warnings=_warnings,
    ),
}
