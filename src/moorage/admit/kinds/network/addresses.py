"""IPAddresses and ServiceCIDRs.

In: views. Out: field errors. Kubernetes: ValidateIPAddress, ValidateServiceCIDR and their updates.
"""

from moorage.admit.kinds.network.ingress import validate_path_segment
from moorage.admit.kinds.row import KindRow, Rows, ungated, validate_only_metadata
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    validate_dns_subdomain,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.ip_addresses import address_errors, canonical_cidr_errors, cidr_family, parse_cidr
from moorage.admit.prepare import strategies
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
from moorage.model.types.networking import IPAddress, ServiceCIDR


def validate_address(address: IPAddress, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(address.metadata, "metadata", namespaced=False, name_rule=address_errors)
    parent = address.spec.parentRef
    if parent is None:
        yield field.required("spec.parentRef")
        return
    if parent.group:
        yield from validate_dns_subdomain(parent.group, "spec.parentRef.group")
    yield from validate_path_segment(parent.resource, "spec.parentRef.resource")
    yield from validate_path_segment(parent.name, "spec.parentRef.name")
    if parent.namespace:
        yield from validate_path_segment(parent.namespace, "spec.parentRef.namespace")


def validate_address_update(new: IPAddress, old: IPAddress, options: ValidationOptions) -> FieldErrors:
    yield from validate_address(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    if new.spec.parentRef != old.spec.parentRef:
        yield field.invalid("spec.parentRef", AsJSON(internal_form(new.spec.parentRef)), FIELD_IS_IMMUTABLE)


def validate_service_cidr(found: ServiceCIDR, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(found.metadata, "metadata", namespaced=False)
    yield from _validate_ranges(found)


def _validate_ranges(found: ServiceCIDR) -> FieldErrors:
    path, ranges = "spec.cidrs", found.spec.cidrs
    if not ranges:
        yield field.required(path, "at least one CIDR required")
        return
    if len(ranges) > 2:
        yield field.invalid(path, AsJSON(internal_form(found.spec)), "may only hold up to 2 values")
        return
    for index, text in enumerate(ranges):
        messages = canonical_cidr_errors(text)
        yield from (field.invalid(f"{path}[{index}]", text, message) for message in messages)
    families = [cidr_family(*parsed) for parsed in map(parse_cidr, ranges) if parsed is not None]
    if len(families) == 2 and families[0] == families[1]:
        detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        yield field.invalid(path, AsJSON(ranges), detail)


def validate_service_cidr_update(new: ServiceCIDR, old: ServiceCIDR, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    after, before = new.spec.cidrs, old.spec.cidrs
    if len(after) == len(before):
        for index, (now, then) in enumerate(zip(after, before, strict=True)):
            if now != then:
                yield field.invalid(f"spec.cidrs[{index}]", now, FIELD_IS_IMMUTABLE)
    elif len(before) == 1 and len(after) == 2:
        if after[0] != before[0]:
            yield field.invalid("spec.cidrs[0]", after[0], FIELD_IS_IMMUTABLE)
        yield from _validate_ranges(new)
    else:
        yield field.invalid("spec.cidrs", AsJSON(after), FIELD_IS_IMMUTABLE)


ROWS: Rows = {
    IPAddress: KindRow(validate_address, validate_address_update),
    ServiceCIDR: KindRow(
        validate_service_cidr,
        validate_service_cidr_update,
        prepare=strategies.prepare_first_status,
        validate_status=ungated(validate_only_metadata),
    ),
}
