"""Nodes: taints, amounts, pod address ranges.

In: views. Out: field errors; those about taints at `metadata.taints`, upstream's real path. Kubernetes: ValidateNode,
ValidateNodeUpdate. Differs: the alpha annotations that preceded taints are not read.
"""

import re

from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.containers.resource_names import resource_rules
from moorage.admit.pod.containers.resources import validate_quantity
from moorage.admit.pod.ip_addresses import cidr_family, parse_cidr, validate_cidr
from moorage.admit.scheduling.taints import validate_taints
from moorage.admit.scheduling.topology_spread import MUST_BE_POSITIVE
from moorage.model.field_error import AsJSON, FieldError, duplicate, forbidden, internal_error, invalid
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.types.node import Node

NO_DUAL_STACK = "invalid PodCIDRs. failed to check with dual stack with error"
ONE_CIDR_A_FAMILY = "may specify no more than one CIDR for each IP family"
CIDR_CHANGED = 'node updates may not change podCIDR except from "" to valid'
PROVIDER_CHANGED = 'node updates may not change providerID except from "" to valid'

_MAX_FEATURE_LENGTH = 253
_is_feature = re.compile(r"[A-Z][a-zA-Z0-9]*(?:/[a-zA-Z][a-zA-Z0-9]*)*\Z").match
_FEATURE_WORDS = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
    "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)


def validate_node(node: Node, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(node.metadata, "metadata", namespaced=False)
    errors += validate_taints(node.spec.taints, "metadata.taints")
    errors += _validate_amounts(node)
    swap = node.status.nodeInfo.swap
    if swap is not None and swap.capacity is not None and swap.capacity <= 0:
        errors.append(invalid("metadata.nodeSwapStatus.capacity", swap.capacity, MUST_BE_POSITIVE))
    errors += _validate_declared_features(node.status.declaredFeatures, "status.declaredFeatures")
    return errors + _validate_pod_cidrs(_pod_cidrs(node), "spec.podCIDRs")


def validate_node_update(new: Node, old: Node, options: ValidationOptions) -> list[FieldError]:
    """The strategy validates the node as if new first, so its errors can appear twice, as upstream."""
    errors = validate_node(new, options)
    errors += validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += _validate_amounts(new)
    errors += _validate_declared_features(new.status.declaredFeatures, "status.declaredFeatures")
    seen: set[tuple[str, str]] = set()
    for index, address in enumerate(new.status.addresses):
        if (address.type, address.address) in seen:
            shown = GoStruct(Type=address.type, Address=address.address)
            errors.append(duplicate(f"status.addresses[{index}]", AsJSON(shown)))
        seen.add((address.type, address.address))
    before, after = _pod_cidrs(old), _pod_cidrs(new)
    if before and len(before) != len(after):
        errors.append(forbidden("spec.podCIDRs", CIDR_CHANGED))
    elif before:
        pairs = zip(before, after, strict=True)
        errors += [forbidden("spec.podCIDRs", CIDR_CHANGED) for earlier, later in pairs if earlier != later]
    if old.spec.providerID and old.spec.providerID != new.spec.providerID:
        errors.append(forbidden("spec.providerID", PROVIDER_CHANGED))
    errors += validate_taints(new.spec.taints, "metadata.taints")
    if new.spec.externalID != old.spec.externalID:
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def _pod_cidrs(node: Node) -> tuple[str, ...]:
    """The ranges, of which the older single field is the first: where they differ, only that one counts."""
    ranges, first = node.spec.podCIDRs, node.spec.podCIDR
    return (first,) if first and first != (ranges[0] if ranges else "") else ranges


def _validate_amounts(node: Node) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amounts in (("capacity", node.status.capacity), ("allocatable", node.status.allocatable)):
        for resource, amount in amounts.items():
            is_whole = resource_rules(resource).is_whole
            errors += validate_quantity(amount, f"status.{name}.{resource}", is_whole=is_whole)
    return errors


def _validate_declared_features(features: tuple[str, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, feature in enumerate(features):
        if len(feature) > _MAX_FEATURE_LENGTH:
            detail = f"invalid feature name {go_quote(feature)}: must be no more than {_MAX_FEATURE_LENGTH} characters"
            errors.append(invalid(f"{path}[{index}]", feature, detail))
        elif not _is_feature(feature):
            detail = f"invalid feature name {go_quote(feature)}: {_FEATURE_WORDS}"
            errors.append(invalid(f"{path}[{index}]", feature, detail))
        following = features[index + 1 : index + 2]
        if following == (feature,):
            errors.append(duplicate(f"{path}[{index + 1}]", feature))
        elif following and feature > following[0]:
            errors.append(invalid(f"{path}[{index + 1}]", following[0], "list must be sorted alphabetically"))
    return errors


def _validate_pod_cidrs(ranges: tuple[str, ...], path: str) -> list[FieldError]:
    errors = [error for index, text in enumerate(ranges) for error in validate_cidr(text, f"{path}[{index}]")]
    if len(ranges) < 2:
        return errors
    parsed = [parse_cidr(text) for text in ranges]
    for index, text in enumerate(ranges):
        if parsed[index] is None:
            detail = f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {text})"
            errors.append(internal_error(path, f"{NO_DUAL_STACK}:{detail}"))
            break
    families = {cidr_family(*one) for one in parsed if one is not None}
    if None in parsed or len(families) < 2 or len(ranges) > 2:
        errors.append(invalid(path, AsJSON(ranges), ONE_CIDR_A_FAMILY))
    return errors
