"""Validate Namespaces, PriorityClasses, StorageClasses, VolumeAttributesClasses, Nodes and PodDisruptionBudgets.

Errors about taints are at `metadata.taints`, upstream's real path. Kubernetes: ValidateNamespace,
ValidatePriorityClass, ValidateStorageClass, ValidateNode, ValidatePodDisruptionBudget and their updates. Differs: the
alpha annotations that preceded taints are not read.
"""

import msgspec

from moorage.admit.kinds.fields import (
    repeated_places,
    validate_at_most_100_percent,
    validate_immutable,
    validate_int_or_percent,
)
from moorage.admit.kinds.row import KindRow, Rows, ungated
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    has_invalid_label_value,
    path_segment_errors,
    validate_label_name,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import STRICT, ValidationOptions, options_for_create
from moorage.admit.plugins.priority import SYSTEM_CLASSES
from moorage.admit.pod.ip_addresses import cidr_family, parse_cidr, validate_cidr
from moorage.admit.pod.resources import resource_rules, validate_quantity
from moorage.admit.pod.selectors import MUST_BE_POSITIVE
from moorage.admit.pod.spec import PREEMPTION_POLICIES
from moorage.admit.pod.tolerations import validate_taints
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.subresources import statuses
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.names import byte_length, dns1123_label_errors, label_key_errors
from moorage.model.text.patterns import whole
from moorage.model.types.core import Namespace
from moorage.model.types.node import Node
from moorage.model.types.policy import PodDisruptionBudget, PodDisruptionBudgetSpec, PriorityClass
from moorage.model.types.storage import StorageClass, TopologySelectorTerm, VolumeAttributesClass

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"

_MAX_PARAMETERS = 512
_LARGEST_PARAMETERS = 256 * 1024


def validate_namespace(namespace: Namespace, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(namespace.metadata, "metadata", namespaced=False, name_rule=dns1123_label_errors)
    yield from validate_namespace_finalizers(namespace)


def validate_namespace_finalizers(namespace: Namespace) -> FieldErrors:
    for finalizer in namespace.spec.finalizers:
        yield from [field.invalid("spec.finalizers", finalizer, message) for message in label_key_errors(finalizer)]
        if "/" not in finalizer and finalizer not in ("kubernetes", "orphan", "foregroundDeletion"):
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield field.invalid("spec.finalizers", finalizer, detail)


def validate_namespace_update(new: Namespace, old: Namespace, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta_update(new.metadata, old.metadata, "metadata")


def validate_priority_class(priority: PriorityClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(priority.metadata, "metadata", namespaced=False)
    name = priority.metadata.name
    if name.startswith(SYSTEM_PREFIX):
        if problem := _system_class_problem(priority):
            detail = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: "
            yield field.forbidden("metadata.name", detail + problem)
    elif priority.value > HIGHEST_USER_PRIORITY:
        yield field.forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}")
    if priority.preemptionPolicy is not None:
        yield from field.required_one_of(priority.preemptionPolicy, PREEMPTION_POLICIES, "preemptionPolicy")


def _system_class_problem(priority: PriorityClass) -> str | None:
    name = priority.metadata.name
    known = next((one for one in SYSTEM_CLASSES if one.metadata.name == name), None)
    if known is None:
        return f"{name} is not a known system priority class"
    if known.value != priority.value:
        return f"value of {name} PriorityClass must be {known.value}"
    return f"globalDefault of {name} PriorityClass must be false" if priority.globalDefault else None


def validate_priority_class_update(new: PriorityClass, old: PriorityClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.value != old.value:
        yield field.forbidden("value", "may not be changed in an update.")
    yield from validate_immutable(new.preemptionPolicy, old.preemptionPolicy, "preemptionPolicy")


def validate_storage_class(storage: StorageClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(storage.metadata, "metadata", namespaced=False)
    if storage.provisioner:
        yield from validate_label_name(storage.provisioner.lower(), "provisioner")
    else:
        yield field.required("provisioner")
    yield from _validate_parameters(storage.parameters, "parameters")
    yield from field.one_of(storage.reclaimPolicy or None, ("Delete", "Retain"), "reclaimPolicy")
    modes = ("Immediate", "WaitForFirstConsumer")
    if storage.volumeBindingMode is None:
        yield field.required("volumeBindingMode")
    elif storage.volumeBindingMode not in modes:
        yield field.not_supported("volumeBindingMode", AsJSON(storage.volumeBindingMode), modes)
    yield from _validate_topologies(storage.allowedTopologies, "allowedTopologies")


def validate_attributes_class(attributes_class: VolumeAttributesClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(attributes_class.metadata, "metadata", namespaced=False)
    if attributes_class.driverName:
        yield from validate_label_name(attributes_class.driverName.lower(), "driverName")
    else:
        yield field.required("driverName")
    yield from _validate_parameters(attributes_class.parameters, "parameters")
    if not attributes_class.parameters:
        yield field.required("parameters", "must contain at least one key/value pair")


def validate_attributes_class_update(
    new: VolumeAttributesClass, old: VolumeAttributesClass, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name in ("driverName", "parameters"):
        if getattr(new, name) != getattr(old, name):
            yield field.forbidden(name, f"updates to {name} are forbidden.")
    yield from validate_attributes_class(new, options)


def validate_storage_class_update(new: StorageClass, old: StorageClass, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from validate_immutable(getattr(new, name), getattr(old, name), name)


def _validate_parameters(parameters: dict[str, str], path: str) -> FieldErrors:
    if len(parameters) > _MAX_PARAMETERS:
        yield field.too_long(path, _MAX_PARAMETERS)
        return
    yield from [field.invalid(path, key, "field can not be empty.") for key in parameters if not key]
    if sum(byte_length(key) + byte_length(value) for key, value in parameters.items()) > _LARGEST_PARAMETERS:
        yield field.too_long(path, _LARGEST_PARAMETERS)


def _validate_topologies(terms: tuple[TopologySelectorTerm, ...], path: str) -> FieldErrors:
    earlier: set[frozenset[tuple[str, frozenset[str]]]] = set()
    for index, term in enumerate(terms):
        topologies: dict[str, frozenset[str]] = {}
        for position, requirement in enumerate(term.matchLabelExpressions):
            at = f"{path}[{index}].matchLabelExpressions[{position}]"
            if not requirement.values:
                yield field.required(f"{at}.values")
            values = requirement.values
            for place in repeated_places(values):
                yield field.duplicate(f"{at}.values[{place}]", values[place])
            yield from validate_label_name(requirement.key, f"{at}.key")
            if requirement.key in topologies:
                yield field.duplicate(f"{at}.key", requirement.key)
            topologies[requirement.key] = frozenset(values)
        if frozenset(topologies.items()) in earlier:
            yield field.duplicate(f"{path}[{index}].matchLabelExpressions", "")
        earlier.add(frozenset(topologies.items()))


NO_DUAL_STACK = "invalid PodCIDRs. failed to check with dual stack with error"
ONE_CIDR_A_FAMILY = "may specify no more than one CIDR for each IP family"
CIDR_CHANGED = 'node updates may not change podCIDR except from "" to valid'
PROVIDER_CHANGED = 'node updates may not change providerID except from "" to valid'

_MAX_FEATURE_LENGTH = 253
_is_feature = whole(r"[A-Z][a-zA-Z0-9]*(?:/[a-zA-Z][a-zA-Z0-9]*)*")
_FEATURE_WORDS = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node(node: Node, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(node.metadata, "metadata", namespaced=False)
    yield from validate_taints(node.spec.taints, "metadata.taints")
    yield from _validate_amounts(node)
    swap = node.status.nodeInfo.swap
    if swap is not None and swap.capacity is not None and swap.capacity <= 0:
        yield field.invalid("metadata.nodeSwapStatus.capacity", swap.capacity, MUST_BE_POSITIVE)
    yield from _validate_declared_features(node.status.declaredFeatures, "status.declaredFeatures")
    yield from _validate_pod_cidrs(_pod_cidrs(node), "spec.podCIDRs")


def validate_node_update(new: Node, old: Node, options: ValidationOptions) -> FieldErrors:
    """Validate the node as a new one first, so that its errors can appear twice, as upstream."""
    yield from validate_node(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_amounts(new)
    yield from _validate_declared_features(new.status.declaredFeatures, "status.declaredFeatures")
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(new.status.addresses):
        if (address.type, address.address) in seen:
            shown = GoStruct(Type=address.type, Address=address.address)
            yield field.duplicate(f"status.addresses[{index}]", AsJSON(shown))
        seen.add((address.type, address.address))
    before, after = _pod_cidrs(old), _pod_cidrs(new)
    if before and len(before) != len(after):
        yield field.forbidden("spec.podCIDRs", CIDR_CHANGED)
    elif before:
        pairs = zip(before, after, strict=True)
        yield from [field.forbidden("spec.podCIDRs", CIDR_CHANGED) for earlier, later in pairs if earlier != later]
    if old.spec.providerID and old.spec.providerID != new.spec.providerID:
        yield field.forbidden("spec.providerID", PROVIDER_CHANGED)
    yield from validate_taints(new.spec.taints, "metadata.taints")
    if new.spec.externalID != old.spec.externalID:
        yield field.forbidden("spec.externalID", "may not be updated")


def _pod_cidrs(node: Node) -> tuple[str, ...]:
    """Return the ranges, of which the older single field is the first: where they differ, only that one counts."""
    ranges, first = node.spec.podCIDRs, node.spec.podCIDR
    return (first,) if first and first != (ranges[0] if ranges else "") else ranges


def _validate_amounts(node: Node) -> FieldErrors:
    for name, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        for resource, amount in amounts.items():
            is_whole = resource_rules(resource).is_whole
            yield from validate_quantity(amount, f"status.{name}.{resource}", is_whole=is_whole)


def _validate_declared_features(features: tuple[str, ...], path: str) -> FieldErrors:
    for index, feature in enumerate(features):
        if len(feature) > _MAX_FEATURE_LENGTH:
            detail = f"invalid feature name {go_quote(feature)}: must be no more than {_MAX_FEATURE_LENGTH} characters"
            yield field.invalid(f"{path}[{index}]", feature, detail)
        elif not _is_feature(feature):
            detail = f"invalid feature name {go_quote(feature)}: {_FEATURE_WORDS}"
            yield field.invalid(f"{path}[{index}]", feature, detail)
        following = features[index + 1 : index + 2]
        if following == (feature,):
            yield field.duplicate(f"{path}[{index + 1}]", feature)
        elif following and feature > following[0]:
            yield field.invalid(f"{path}[{index + 1}]", following[0], "list must be sorted alphabetically")


def _validate_pod_cidrs(ranges: tuple[str, ...], path: str) -> FieldErrors:
    yield from [error for index, text in enumerate(ranges) for error in validate_cidr(text, f"{path}[{index}]")]
    if len(ranges) < 2:
        return
    parsed = [parse_cidr(text) for text in ranges]
    for index, text in enumerate(ranges):
        if parsed[index] is None:
            detail = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {text})"
            yield field.internal_error(path, f"{NO_DUAL_STACK}:{detail}")
            break
    families = {cidr_family(*one) for one in parsed if one is not None}
    if None in parsed or len(families) < 2 or len(ranges) > 2:
        yield field.invalid(path, AsJSON(ranges), ONE_CIDR_A_FAMILY)


BOTH_SET = "minAvailable and maxUnavailable cannot be both set"
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate_disruption_budget(budget: PodDisruptionBudget, options: ValidationOptions) -> FieldErrors:
    """Validate the metadata, and only of what is otherwise valid, as the generic registry does."""
    errors = list(_validate_spec(budget.spec, STRICT))
    return errors or validate_object_meta(
        budget.metadata, "metadata", name_rule=path_segment_errors, any_finalizer=True
    )


def validate_disruption_budget_update(
    new: PodDisruptionBudget, old: PodDisruptionBudget, options: ValidationOptions
) -> FieldErrors:
    selector_options = STRICT
    if has_invalid_label_value(old.spec.selector):
        selector_options = msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=True)
    yield from _validate_spec(new.spec, selector_options)


def _validate_spec(spec: PodDisruptionBudgetSpec, options: ValidationOptions) -> FieldErrors:
    if spec.minAvailable is not None and spec.maxUnavailable is not None:
        yield field.invalid("spec", AsJSON(internal_form(spec)), BOTH_SET)
    for name, value in (("minAvailable", spec.minAvailable), ("maxUnavailable", spec.maxUnavailable)):
        if value is not None:
            yield from validate_int_or_percent(value, f"spec.{name}")
            yield from validate_at_most_100_percent(value, f"spec.{name}")
    yield from validate_label_selector(spec.selector, "spec.selector", options)
    yield from field.one_of(spec.unhealthyPodEvictionPolicy, _EVICTION_POLICIES, "spec.unhealthyPodEvictionPolicy")


def _validate_node_status(new: Node, old: Node, gates: GateSet) -> FieldErrors:
    return validate_node_update(new, old, options_for_create(gates))


ROWS: Rows = {
    Node: KindRow(
        validate_node,
        validate_node_update,
        defaults.default_node,
        strategies.prepare_node,
        validate_status=_validate_node_status,
        prepare_status=strategies.prepare_node_status,
    ),
    VolumeAttributesClass: KindRow(validate_attributes_class, validate_attributes_class_update),
    StorageClass: KindRow(validate_storage_class, validate_storage_class_update, defaults.default_storage_class),
    Namespace: KindRow(
        validate_namespace,
        validate_namespace_update,
        defaults.default_namespace,
        strategies.prepare_namespace,
        validate_status=ungated(statuses.validate_namespace_status),
    ),
    PriorityClass: KindRow(
        validate_priority_class,
        validate_priority_class_update,
        defaults.default_priority_class,
        strategies.prepare_counted,
    ),
    PodDisruptionBudget: KindRow(
        validate_disruption_budget,
        validate_disruption_budget_update,
        prepare=strategies.prepare_disruption_budget,
        validate_status=ungated(statuses.validate_budget_status),
        has_generation=True,
        checks_metadata=False,
    ),
}
