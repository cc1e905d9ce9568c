"""Default, prepare and validate Endpoints and EndpointSlices.

Kubernetes: ValidateEndpoints (pkg/apis/core/validation), pkg/apis/discovery/validation, SetDefaults_Endpoints,
SetDefaults_EndpointPort, and the strategies of pkg/registry with their warnings.
"""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address

from moorage.admit.kinds.fields import repeated_places, validate_immutable
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import (
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_name,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.handlers import validate_port_number
from moorage.admit.pod.ip_addresses import validate_ip_address
from moorage.admit.raw import Raw, fill_absent, fill_empty, items, part
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.names import dns1123_label_errors, dns1123_subdomain_errors, label_value_errors
from moorage.model.schema.conversion import convert_view
from moorage.model.text.readers import reads_text
from moorage.model.types import networking as slices
from moorage.model.types.core import EndpointAddress, EndpointPort, Endpoints, EndpointSubset
from moorage.model.types.meta import ObjectMeta
from moorage.model.well_known.labels import ENDPOINTS_MANAGED_BY, SLICE_MANAGED_BY

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_MAX_ENDPOINTS, _MAX_ADDRESSES, _MAX_PORTS, _MAX_HINTS, _MAX_TOPOLOGY = 1000, 100, 20_000, 8, 16
_LINK_LOCAL_MULTICAST = (0xE0000000, 0xE00000FF)
#: Labels of objects that controllers write: their addresses need no warning.
_MANAGED_BY = {
    ENDPOINTS_MANAGED_BY: ("endpoint-controller",),
    SLICE_MANAGED_BY: (
        "endpointslice-controller.k8s.io",
        "endpointslicemirroring-controller.k8s.io",
    ),
}


def validate_endpoints(endpoints: Endpoints, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(endpoints.metadata, "metadata")
    yield from _validate_subsets(endpoints.subsets)


def validate_endpoints_update(new: Endpoints, old: Endpoints, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_object_meta(new.metadata, "metadata")
    if new.subsets != old.subsets:
        yield from _validate_subsets(new.subsets)


def _validate_subsets(subsets: tuple[EndpointSubset, ...]) -> FieldErrors:
    for index, subset in enumerate(subsets):
        path = f"subsets[{index}]"
        if not subset.addresses and not subset.notReadyAddresses:
            yield field.required(path, "must specify `addresses` or `notReadyAddresses`")
        for name in ("addresses", "notReadyAddresses"):
            for place, address in enumerate(getattr(subset, name)):
                yield from _validate_address(address, f"{path}.{name}[{place}]")
        for place, port in enumerate(subset.ports):
            yield from _validate_core_port(port, f"{path}.ports[{place}]", needs_name=len(subset.ports) > 1)


def _validate_address(address: EndpointAddress, path: str) -> FieldErrors:
    yield from validate_ip_address(address.ip, f"{path}.ip")
    if address.hostname:
        yield from validate_dns_label(address.hostname, f"{path}.hostname")
    if address.nodeName is not None:
        yield from validate_dns_subdomain(address.nodeName, f"{path}.nodeName")
    yield from validate_endpoint_ip(address.ip, f"{path}.ip")


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x")
def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address; an IPv4 address that is written as an IPv6 one is an IPv4 address, as in Go."""
    try:
        address = ip_address(".".join(part.lstrip("0") or "0" for part in text.split(".")) if ":" not in text else text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def validate_endpoint_ip(text: str, path: str) -> FieldErrors:
    """Refuse addresses at which no endpoint can be."""
    address = _parsed(text)
    if address is None or "%" in text:
        yield field.invalid(path, text, "must be a valid IP address")
        return
    if address.is_unspecified:
        yield field.invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield field.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield field.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if _is_link_local_multicast(address):
        yield field.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv4Address):
        return _LINK_LOCAL_MULTICAST[0] <= int(address) <= _LINK_LOCAL_MULTICAST[1]
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _validate_core_port(port: EndpointPort, path: str, *, needs_name: bool) -> FieldErrors:
    if needs_name and not port.name:
        yield field.required(f"{path}.name")
    elif port.name:
        yield from validate_dns_label(port.name, f"{path}.name")
    yield from validate_port_number(port.port, f"{path}.port")
    yield from field.required_one_of(port.protocol, _PROTOCOLS, f"{path}.protocol")
    if port.appProtocol is not None:
        yield from validate_label_name(port.appProtocol, f"{path}.appProtocol")


def validate_endpoint_slice(endpoint_slice: slices.EndpointSlice, options: ValidationOptions) -> FieldErrors:
    yield from _validate_slice(endpoint_slice)
    yield from _validate_all_endpoints(endpoint_slice)


def validate_endpoint_slice_update(
    new: slices.EndpointSlice, old: slices.EndpointSlice, options: ValidationOptions
) -> FieldErrors:
    yield from _validate_slice(new)
    if new.endpoints != old.endpoints:
        yield from _validate_all_endpoints(new)
    yield from validate_immutable(new.addressType, old.addressType, "addressType")


def _validate_slice(endpoint_slice: slices.EndpointSlice) -> FieldErrors:
    yield from validate_object_meta(endpoint_slice.metadata, "metadata")
    yield from field.required_one_of(endpoint_slice.addressType, _ADDRESS_TYPES, "addressType")
    if len(endpoint_slice.ports) > _MAX_PORTS:
        yield field.too_many("ports", len(endpoint_slice.ports), _MAX_PORTS)
        return
    repeated = set(repeated_places([port.name or "" for port in endpoint_slice.ports]))
    for index, port in enumerate(endpoint_slice.ports):
        path, name = f"ports[{index}]", port.name or ""
        if name:
            yield from validate_dns_label(name, f"{path}.name")
        if index in repeated:
            yield field.duplicate(f"{path}.name", name)
        if port.protocol is None:
            yield field.required(f"{path}.protocol")
        elif port.protocol not in _PROTOCOLS:
            yield field.not_supported(f"{path}.protocol", AsJSON(port.protocol), _PROTOCOLS)
        if port.appProtocol is not None:
            yield from validate_label_name(port.appProtocol, f"{path}.appProtocol")


def _validate_all_endpoints(endpoint_slice: slices.EndpointSlice) -> FieldErrors:
    if len(endpoint_slice.endpoints) > _MAX_ENDPOINTS:
        yield field.too_many("endpoints", len(endpoint_slice.endpoints), _MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoint_slice.endpoints):
        yield from _validate_endpoint(endpoint, endpoint_slice.addressType, f"endpoints[{index}]")


def _validate_endpoint(endpoint: slices.Endpoint, address_type: str, path: str) -> FieldErrors:
    if not endpoint.addresses:
        yield field.required(f"{path}.addresses", "must contain at least 1 address")
    elif len(endpoint.addresses) > _MAX_ADDRESSES:
        yield field.too_many(f"{path}.addresses", len(endpoint.addresses), _MAX_ADDRESSES)
    for place, address in enumerate(endpoint.addresses):
        at = f"{path}.addresses[{place}]"
        if address_type == "FQDN":
            yield from _validate_domain(address, at)
        elif address_type in ("IPv4", "IPv6"):
            yield from _validate_slice_ip(address, address_type, at, f"{path}.addresses")
    if endpoint.nodeName is not None:
        yield from validate_dns_subdomain(endpoint.nodeName, f"{path}.nodeName")
    if len(endpoint.deprecatedTopology) > _MAX_TOPOLOGY:
        yield field.too_many(f"{path}.deprecatedTopology", len(endpoint.deprecatedTopology), _MAX_TOPOLOGY)
    yield from validate_labels(endpoint.deprecatedTopology, f"{path}.deprecatedTopology")
    if endpoint.hostname is not None:
        yield from validate_dns_label(endpoint.hostname, f"{path}.hostname")
    if endpoint.hints is not None:
        yield from _validate_hints(endpoint.hints, f"{path}.hints")


def _validate_slice_ip(address: str, address_type: str, path: str, list_path: str) -> FieldErrors:
    errors = validate_ip_address(address, path)
    if not errors and address_type == "IPv6":
        errors = _validate_canonical(address, path)
    if errors:
        yield from errors
        return
    if (":" in address) != (address_type == "IPv6"):
        yield field.invalid(list_path, address, f"must be an {address_type} address")
    yield from validate_endpoint_ip(address, path)


def _validate_canonical(address: str, path: str) -> list[FieldError]:
    parsed = _parsed(address)
    if parsed is None or str(parsed) == address:
        return []
    return [field.invalid(path, address, f'must be in canonical form ("{parsed}")')]


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ", arguments=("",))
def _validate_domain(name: str, path: str) -> list[FieldError]:
    if not name:
        return [field.required(path)]
    name = name.removesuffix(".")
    if messages := dns1123_subdomain_errors(name):
        return [field.invalid(path, name, ",".join(messages))]
    labels = name.split(".")
    if len(labels) < 2:
        return [field.invalid(path, name, "should be a domain with at least two segments separated by dots")]
    wrong = ((label, messages) for label in labels if (messages := dns1123_label_errors(label)))
    return [field.invalid(path, label, ",".join(messages)) for label, messages in wrong][:1]


def _validate_hints(hints: slices.EndpointHints, path: str) -> FieldErrors:
    rules = (
        ("forZones", [zone.name for zone in hints.forZones], label_value_errors),
        ("forNodes", [node.name for node in hints.forNodes], dns1123_subdomain_errors),
    )
    for field_name, names, name_errors in rules:
        at = f"{path}.{field_name}"
        if len(names) > _MAX_HINTS:
            yield field.too_many(at, len(names), _MAX_HINTS)
            return
        repeated = set(repeated_places(names))
        for place, name in enumerate(names):
            if place in repeated:
                yield field.duplicate(f"{at}[{place}].name", name)
            for message in name_errors(name):
                yield field.invalid(f"{at}[{place}].name", name, message)


def _is_managed(metadata: ObjectMeta) -> bool:
    return any(metadata.labels.get(label) in managers for label, managers in _MANAGED_BY.items())


def _ip_warnings(path: str, text: str) -> Iterator[str]:
    """Yield a warning for an address that should be written otherwise. Kubernetes: GetWarningsForIP."""
    address = _parsed(text)
    if address is None or str(address) == text:
        return
    if validate_ip_address(text, path):
        yield f'{path}: non-standard IP address "{text}" is invalid: use "{address}"'
    else:
        yield f'{path}: IPv6 address "{text}" should be in RFC 5952 canonical format ("{address}")'


def endpoints_warnings(endpoints: Endpoints) -> list[str]:
    if _is_managed(endpoints.metadata):
        return []
    return [
        warning
        for index, subset in enumerate(endpoints.subsets)
        for name in ("addresses", "notReadyAddresses")
        for place, address in enumerate(getattr(subset, name))
        for warning in _ip_warnings(f"subsets[{index}].{name}[{place}].ip", address.ip)
    ]


def endpoint_slice_warnings(endpoint_slice: slices.EndpointSlice) -> list[str]:
    if _is_managed(endpoint_slice.metadata) or endpoint_slice.addressType == "FQDN":
        return []
    return [
        warning
        for index, endpoint in enumerate(endpoint_slice.endpoints)
        for place, address in enumerate(endpoint.addresses)
        for warning in _ip_warnings(f"endpoints[{index}].addresses[{place}]", address)
    ]


def address_type_warnings(endpoint_slice: slices.EndpointSlice) -> list[str]:
    return ["spec.addressType: FQDN endpoints are deprecated"] if endpoint_slice.addressType == "FQDN" else []


_LISTS = ("endpoints", "ports")


def default_endpoints(endpoints: Raw) -> None:
    for subset in items(endpoints, "subsets"):
        for port in items(subset, "ports"):
            fill_empty(port, {"protocol": "TCP"})


def default_endpoint_slice(endpoint_slice: Raw) -> None:
    for port in items(endpoint_slice, "ports"):
        fill_absent(port, {"name": "", "protocol": "TCP"})


def prepare_endpoints(new: Raw, old: Raw | None, gates: GateSet) -> None:
    if not new.get("subsets"):
        new.pop("subsets", None)


def prepare_endpoint_slice(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Count changes in the generation; drop deprecatedTopology, which v1 does not write; empty lists are null."""
    for endpoint in items(new, "endpoints"):
        endpoint.pop("deprecatedTopology", None)
        part(endpoint, "conditions")
    for name in _LISTS:
        new[name] = new.get(name) or None
    metadata = part(new, "metadata")
    if old is None:
        metadata["generation"] = 1
    elif _is_other(new, old):
        metadata["generation"] = (part(old, "metadata").get("generation") or 0) + 1


def _is_other(new: Raw, old: Raw) -> bool:
    if all(new.get(name) == old.get(name) for name in (*_LISTS, "addressType")):
        return (new["metadata"].get("labels") or {}) != (part(old, "metadata").get("labels") or {})
    after, before = convert_view(new, slices.EndpointSlice), convert_view(old, slices.EndpointSlice)
    return (after.addressType, after.endpoints, after.ports) != (before.addressType, before.endpoints, before.ports)


ROWS: Rows = {
    Endpoints: KindRow(
        validate_endpoints,
        validate_endpoints_update,
        default_endpoints,
        prepare_endpoints,
        warnings=endpoints_warnings,
    ),
    slices.EndpointSlice: KindRow(
        validate_endpoint_slice,
        validate_endpoint_slice_update,
        default_endpoint_slice,
        prepare_endpoint_slice,
        warnings=endpoint_slice_warnings,
        create_warnings=address_type_warnings,
    ),
}
