"""Validate ResourceSlices and their devices: attributes, capacity, counters, taints, and where devices can be used.

Kubernetes: ValidateResourceSlice and its update (pkg/apis/resource/validation). Differs: node selectors may have the
operators of KEP-5721; a step of zero, at which upstream panics, is refused.
"""

from collections.abc import Iterator
from itertools import pairwise

import msgspec

from moorage.admit.kinds.devices.shared import (
    MAX_SHOWN_KEY,
    validate_binding_conditions,
    validate_device_taint,
    validate_driver_name,
    validate_list,
    validate_map,
    validate_pool_name,
    validate_qualified_name,
    validate_set,
)
from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    subdomain_errors,
    validate_dns_label,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.resources import is_native_resource
from moorage.admit.pod.selectors import validate_node_selector
from moorage.admit.prepare import devices as prepare
from moorage.admit.ratcheting import operator_gates_in_use
from moorage.model.field_error import AsJSON, FieldErrors, forbidden, invalid, not_found, required, too_long
from moorage.model.gates import GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length
from moorage.model.quantity import Quantity
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.devices import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    CounterSet,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.view import ABSENT_LIST

MAX_ATTRIBUTES_AND_CAPACITIES = 32
MAX_ATTRIBUTE_VALUES = 48
MAX_VALUE_BYTES = 64
MAX_TAINTS = 16
MAX_CONSUMPTIONS = 2
MAX_COUNTERS = 32
MAX_VALID_VALUES = 10
_MAX_SHOWN_COUNTER = 63

ONE_VALUE = "exactly one value must be specified"
NOT_A_VERSION = "must be a string compatible with semver.org spec 2.0.0"
NOT_EMPTY = "must not be empty if specified"
UNSET_OR_TRUE = "must be either unset or set to true"
_ONE_PLACE = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
    "true in the ResourceSlice spec"
)
PLACES_OF_THE_SLICE = (
    "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the "
    "ResourceSlice spec"
)
BOTH_POLICIES = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
_LISTS = ("bools", "ints", "strings", "versions")

_NUMBER = r"(?:0|[1-9][0-9]*)"
_PRERELEASE = r"(?:0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = r"[0-9a-zA-Z-]+"
_is_version = whole(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PRERELEASE}(?:\.{_PRERELEASE})*)?(?:\+{_BUILD}(?:\.{_BUILD})*)?"
)


def validate_device(
    device: Device, old: Device | None, path: str, options: ValidationOptions, *, chooses_nodes: bool
) -> FieldErrors:
    """Check a device. `chooses_nodes` if the slice leaves it to its devices on which nodes they are."""
    yield from validate_dns_label(device.name, f"{path}.name")
    yield from _validate_sizes(device, path)
    at = f"{path}.attributes"
    yield from validate_map(device.attributes, None, MAX_SHOWN_KEY, validate_qualified_name, _validate_attribute, at)
    capacity_rule = _validate_shared_capacity if device.allowMultipleAllocations else _validate_capacity
    at = f"{path}.capacity"
    yield from validate_map(device.capacity, None, MAX_SHOWN_KEY, validate_qualified_name, capacity_rule, at)
    if old is None or old.taints != device.taints:
        yield from validate_list(device.taints, MAX_TAINTS, validate_device_taint, f"{path}.taints")
    yield from validate_set(
        device.consumesCounters,
        MAX_CONSUMPTIONS,
        _validate_consumption,
        lambda consumption: consumption.counterSet,
        f"{path}.consumesCounters",
    )
    if chooses_nodes:
        yield from _validate_device_place(device, path, options)
    elif device.nodeName is not None or device.nodeSelector is not None or device.allNodes is not None:
        yield invalid(path, None, PLACES_OF_THE_SLICE)
    yield from validate_binding_conditions(device.bindingConditions, device.bindingFailureConditions, path)
    yield from _validate_mappings(device, f"{path}.nodeAllocatableResourceMappings")


def _validate_sizes(device: Device, path: str) -> FieldErrors:
    entries = len(device.attributes) + len(device.capacity)
    if entries > MAX_ATTRIBUTES_AND_CAPACITIES:
        detail = f"the total number of attributes and capacities must not exceed {MAX_ATTRIBUTES_AND_CAPACITIES}"
        yield invalid(path, entries, detail)
    values = sum(sum(len(getattr(attribute, name)) for name in _LISTS) or 1 for attribute in device.attributes.values())
    if values > MAX_ATTRIBUTE_VALUES:
        detail = f"the total number of attribute values must not exceed {MAX_ATTRIBUTE_VALUES}"
        yield invalid(path, values, detail)


def has_lists(device: Device) -> bool:
    """Return whether an attribute of the device has a list, even an empty one."""
    return any(
        getattr(attribute, name) is not ABSENT_LIST for attribute in device.attributes.values() for name in _LISTS
    )


def _validate_attribute(attribute: DeviceAttribute, path: str) -> FieldErrors:
    if attribute.string is not None:
        yield from _validate_string(attribute.string, f"{path}.string")
    if attribute.version is not None:
        yield from _validate_version(attribute.version, f"{path}.version")
    for name in _LISTS:
        values = getattr(attribute, name)
        if values is not ABSENT_LIST and not values:
            yield invalid(f"{path}.{name}", AsJSON([]), NOT_EMPTY)
        if name == "strings":
            yield from validate_list(values, len(values), _validate_string, f"{path}.strings")
        elif name == "versions":
            yield from validate_list(values, len(values), _validate_version, f"{path}.versions")
    single = sum(getattr(attribute, name) is not None for name in ("bool", "int", "string", "version"))
    number = single + sum(getattr(attribute, name) is not ABSENT_LIST for name in _LISTS)
    if number == 0:
        yield invalid(path, "", ONE_VALUE)
    elif number > 1:
        yield invalid(path, AsJSON(internal_form(attribute)), ONE_VALUE)


def _validate_string(value: str, path: str) -> FieldErrors:
    if byte_length(value) > MAX_VALUE_BYTES:
        yield too_long(path, MAX_VALUE_BYTES)


@reads_text("1", "0", ".", "-", "+", "a", arguments=("",))
def _validate_version(value: str, path: str) -> FieldErrors:
    if not _is_version(value):
        yield invalid(path, value, NOT_A_VERSION)
    yield from _validate_string(value, path)


def _validate_capacity(capacity: DeviceCapacity, path: str) -> FieldErrors:
    if capacity.requestPolicy is not None:
        yield forbidden(f"{path}.requestPolicy", "allowMultipleAllocations must be true")


def _validate_shared_capacity(capacity: DeviceCapacity, path: str) -> FieldErrors:
    policy = capacity.requestPolicy
    if policy is not None:
        yield from _validate_policy(policy, capacity.value, f"{path}.requestPolicy")


def _validate_policy(policy: CapacityRequestPolicy, capacity: Quantity, path: str) -> FieldErrors:
    values, valid_range, default = policy.validValues, policy.validRange, policy.default
    if values and valid_range is not None:
        yield forbidden(path, BOTH_POLICIES)
    elif default is None and (values or valid_range is not None):
        yield required(f"{path}.default", f"required when {'validValues' if values else 'validRange'} is defined")
    elif default is not None and values:
        yield from _validate_values(values, default, capacity, f"{path}.validValues")
    elif default is not None and valid_range is not None:
        yield from _validate_range(valid_range, default, capacity, f"{path}.validRange")


def _validate_values(values: tuple[Quantity, ...], default: Quantity, capacity: Quantity, path: str) -> FieldErrors:
    for index, (before, value) in enumerate(pairwise(values), 1):
        if value < before:
            yield invalid(f"{path}[{index}]", str(value), "values must be sorted in ascending order")

    def validate(value: Quantity, at: str) -> FieldErrors:
        if capacity < value:
            yield invalid(at, str(value), f"option is larger than capacity value: {capacity}")

    yield from validate_set(values, MAX_VALID_VALUES, validate, lambda value: str(value.value()), path)
    if len(values) > MAX_VALID_VALUES or all(value.compare(default) for value in values):
        yield invalid(path, str(default), "default value is not valid according to the requestPolicy")


def _validate_range(valid: CapacityRequestPolicyRange, default: Quantity, capacity: Quantity, path: str) -> FieldErrors:
    low, high, step = valid.min, valid.max, valid.step
    if low is None:
        yield required(f"{path}.min", "required when validRange is defined")
        return
    if capacity < low:
        yield invalid(f"{path}.min", str(low), f"min is larger than capacity value: {capacity}")
    if default < low:
        yield invalid(f"{path}.min", str(default), f"default is less than min: {low}")
    if high is not None:
        if high < low:
            yield invalid(f"{path}.max", str(low), f"min is larger than max: {high}")
        if capacity < high:
            yield invalid(f"{path}.max", str(high), f"max is larger than capacity value: {capacity}")
        if high < default:
            yield invalid(f"{path}.max", str(default), f"default is more than max: {high}")
    if step is not None:
        first = low.add(step)
        if capacity < first:
            detail = f"one step {first} is larger than capacity value: {capacity}"
            yield invalid(f"{path}.step", str(step), detail)
        for value in (default,) if high is None else (default, high):
            if step.value() == 0 or (value.value() - low.value()) % step.value():
                detail = f"value is not a multiple of a given step ({step}) from ({low})"
                yield invalid(f"{path}.step", str(value), detail)


def _validate_consumption(consumption: DeviceCounterConsumption, path: str) -> FieldErrors:
    return validate_counters(consumption.counterSet, f"{path}.counterSet", consumption.counters, f"{path}.counters")


def validate_counters(name: str, name_at: str, counters: dict[str, Counter], path: str) -> FieldErrors:
    """Check the name of a counter set, and the counters in it or consumed of it."""
    if name:
        yield from validate_dns_label(name, name_at)
    else:
        yield required(name_at)
    if counters:
        yield from validate_map(
            counters, MAX_COUNTERS, _MAX_SHOWN_COUNTER, validate_dns_label, lambda counter, at: [], path
        )
    else:
        yield required(path)


def _validate_device_place(device: Device, path: str, options: ValidationOptions) -> FieldErrors:
    places: list[str] = []
    if device.nodeName:
        places.append("`nodeName`")
        yield from validate_node_name(device.nodeName, f"{path}.nodeName")
    elif device.nodeName is not None:
        yield invalid(f"{path}.nodeName", device.nodeName, "must not be empty")
    if device.nodeSelector is not None:
        places.append("`nodeSelector`")
        yield from validate_node_selector(device.nodeSelector, f"{path}.nodeSelector", options)
    if device.allNodes:
        places.append("`allNodes`")
    elif device.allNodes is not None:
        yield invalid(f"{path}.allNodes", device.allNodes, UNSET_OR_TRUE)
    if not places:
        yield required(path, _ONE_PLACE)
    elif len(places) > 1:
        yield invalid(path, f"{{{', '.join(places)}}}", _ONE_PLACE)


def validate_node_name(name: str, path: str) -> FieldErrors:
    return [invalid(path, name, message) for message in subdomain_errors(name)]


def _validate_mappings(device: Device, path: str) -> FieldErrors:
    """Check what a device takes of its node's allocatable resources."""
    for resource, mapping in device.nodeAllocatableResourceMappings.items():
        at, key, multiplier = f"{path}[{resource}]", mapping.capacityKey, mapping.allocationMultiplier
        if not is_native_resource(resource):
            yield invalid(at, AsJSON(resource), "must be a node allocatable resource name")
        if multiplier is None and key is None:
            detail = "at least one of allocationMultiplier or capacityKey must be set"
            yield invalid(at, "", detail)
        if multiplier is not None and multiplier.sign() <= 0:
            yield invalid(f"{at}.allocationMultiplier", str(multiplier), "must be positive")
        if key == "":
            yield invalid(f"{at}.capacityKey", "", "capacityKey must not be an empty string")
        elif key is not None and key not in device.capacity:
            yield not_found(f"{at}.capacityKey", AsJSON(key))


MAX_DEVICES = 128
#: Where a device has taints, list attributes, or consumes counters.
MAX_ADVANCED_DEVICES = 64
MAX_COUNTER_SETS = 8

_ONE_PLACE_OF_SLICE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
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
    places: list[str] = []
    if spec.nodeName:
        places.append("`nodeName`")
        yield from validate_node_name(spec.nodeName, "spec.nodeName")
    elif spec.nodeName is not None:
        detail = "must be either unset or set to a non-empty string"
        yield invalid("spec.nodeName", spec.nodeName, detail)
    if spec.nodeSelector is not None:
        places.append("`nodeSelector`")
        yield from validate_node_selector(spec.nodeSelector, "spec.nodeSelector", options)
        terms = spec.nodeSelector.nodeSelectorTerms
        if len(terms) != 1:
            shown, detail = AsJSON(internal_form(terms)), "must have exactly one node selector term"
            yield invalid("spec.nodeSelector.nodeSelectorTerms", shown, detail)
    for name in ("allNodes", "perDeviceNodeSelection"):
        value = getattr(spec, name)
        if value:
            places.append(f"`{name}`")
        elif value is not None:
            yield invalid(f"spec.{name}", value, UNSET_OR_TRUE)
    if not places:
        yield required("spec", _ONE_PLACE_OF_SLICE)
    elif len(places) > 1:
        yield invalid("spec", f"{{{', '.join(places)}}}", f"{_ONE_PLACE_OF_SLICE}, but multiple fields are set")


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
