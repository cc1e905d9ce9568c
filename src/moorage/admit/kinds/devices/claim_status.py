"""Validate what the scheduler, drivers and controllers write into the status of a ResourceClaim.

Kubernetes: ValidateResourceClaimStatusUpdate (pkg/apis/resource/validation), AuthorizedForAdminStatus
(pkg/registry/resource). Which parts of it a user may write is checked by `claim_rights`.
"""

from ipaddress import IPv4Address, IPv6Address

from moorage.admit.kinds.devices.requests import (
    MAX_CONFIGURATIONS,
    RequestNames,
    request_names,
    validate_configuration,
    validate_request_reference,
    validate_request_references,
)
from moorage.admit.kinds.devices.shared import (
    validate_binding_conditions,
    validate_conditions,
    validate_driver_name,
    validate_list,
    validate_opaque_data,
    validate_pool_name,
    validate_set,
)
from moorage.admit.kinds.row import NamespaceLabels
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_dns_label, validate_object_meta_update
from moorage.admit.options import options_for_create
from moorage.admit.pod.ip_addresses import parse_cidr
from moorage.admit.pod.selectors import validate_node_selector
from moorage.model.field_error import (
    AsJSON,
    FieldErrors,
    duplicate,
    forbidden,
    internal_error,
    invalid,
    required,
    required_one_of,
    too_long,
    too_many,
)
from moorage.model.gates import GateSet
from moorage.model.go.quoting import GoStruct, go_quote
from moorage.model.names import byte_length
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types import devices as views

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
MAX_CONSUMERS = 256
MAX_RESULTS = 32
MAX_DEVICE_CONDITIONS = 8
MAX_ADDRESSES = 16
MAX_INTERFACE_NAME, MAX_HARDWARE_ADDRESS = 256, 128

NEEDS_ADMIN_LABEL = f"admin access to devices requires the `{ADMIN_LABEL}: true` label on the containing namespace"
NOT_ALLOCATED = "may not be specified when `allocated` is not set"
NO_NEW_CONSUMERS = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
NOT_NORMALIZED = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)
NOT_AN_ADDRESS = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
_SOURCES = ("FromClaim", "FromClass")
_MAPPED = bytes(10) + b"\xff\xff"
_is_uuid = whole(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_is_hexadecimal = whole(r"[0-9a-fA-F]*")

#: A device, or the share of one: driver, pool, device and share ID.
DeviceID = tuple[str, str, str, str]


def device_id(device: views.DeviceRequestAllocationResult | views.AllocatedDeviceStatus) -> DeviceID:
    return (device.driver, device.pool, device.device, device.shareID or "")


def check_admin_label(namespace: str, path: str, labels_of: NamespaceLabels) -> FieldErrors:
    """Check that a namespace is one of administrators, who may have access to devices in use."""
    labels = labels_of(namespace)
    if labels is None:
        missing = f"namespaces {go_quote(namespace)} not found"
        yield internal_error(path, f"could not retrieve namespace to verify admin access: {missing}")
        return
    if labels.get(ADMIN_LABEL) != "true":
        yield forbidden(path, NEEDS_ADMIN_LABEL)


def authorize_claim_status(
    new: views.ResourceClaim, old: views.ResourceClaim, labels_of: NamespaceLabels
) -> FieldErrors:
    """Check that admin access was allocated in a namespace of administrators, unless it was before."""
    if _admin_result(old.status) is not None:
        return
    index = _admin_result(new.status)
    if index is None:
        return
    path = f"status.allocation.devices.results[{index}].adminAccess"
    yield from check_admin_label(new.metadata.namespace, path, labels_of)


def _admin_result(status: views.ResourceClaimStatus) -> int | None:
    results = () if status.allocation is None else status.allocation.devices.results
    return next((index for index, result in enumerate(results) if result.adminAccess), None)


def validate_claim_status(new: views.ResourceClaim, old: views.ResourceClaim, gates: GateSet) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    status, before = new.status, old.status
    yield from validate_set(
        status.reservedFor,
        MAX_CONSUMERS,
        _validate_consumer,
        lambda consumer: AsJSON(consumer.uid),
        "status.reservedFor",
    )
    yield from _validate_devices(status, "status.devices")
    if status.reservedFor and status.allocation is None:
        yield forbidden("status.reservedFor", NOT_ALLOCATED)
    elif new.metadata.deletionTimestamp is not None and set(status.reservedFor) - set(before.reservedFor):
        yield forbidden("status.reservedFor", NO_NEW_CONSUMERS)
    if status.allocation is None:
        return
    if before.allocation is None:
        yield from _validate_allocation(status.allocation, request_names(new.spec.devices), gates)
    elif status.allocation != before.allocation:
        yield invalid("status.allocation", AsJSON(internal_form(status.allocation)), FIELD_IS_IMMUTABLE)


def _validate_consumer(consumer: views.ResourceClaimConsumerReference, path: str) -> FieldErrors:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not getattr(consumer, name)]


def _validate_allocation(allocation: views.AllocationResult, names: RequestNames, gates: GateSet) -> FieldErrors:
    path = "status.allocation"
    yield from validate_list(
        allocation.devices.results,
        MAX_RESULTS,
        lambda result, at: _validate_result(result, at, names),
        f"{path}.devices.results",
    )
    yield from validate_list(
        allocation.devices.config,
        2 * MAX_CONFIGURATIONS,
        lambda config, at: (
            *required_one_of(config.source, _SOURCES, f"{at}.source"),
            *validate_request_references(config.requests, f"{at}.requests", names),
            *validate_configuration(config, at),
        ),
        f"{path}.devices.config",
    )
    if allocation.nodeSelector is not None:
        options = options_for_create(gates)
        yield from validate_node_selector(allocation.nodeSelector, f"{path}.nodeSelector", options)


def _validate_result(result: views.DeviceRequestAllocationResult, path: str, names: RequestNames) -> FieldErrors:
    yield from validate_request_reference(result.request, f"{path}.request", names)
    yield from validate_driver_name(result.driver, f"{path}.driver")
    yield from validate_pool_name(result.pool, f"{path}.pool")
    yield from validate_dns_label(result.device, f"{path}.device")
    yield from validate_binding_conditions(result.bindingConditions, result.bindingFailureConditions, path)
    yield from _validate_share(result.shareID, f"{path}.shareID")


def _validate_share(share: str | None, path: str) -> FieldErrors:
    if share is None:
        return
    if complaint := uuid_complaint(share):
        yield invalid(path, share, f"error validating uid: {complaint}")
        return
    if len(share) != 36 or share != share.lower():
        yield invalid(path, share, NOT_NORMALIZED)


@reads_text("a", "0", "-", "{", "}", "urn:uuid:")
def uuid_complaint(text: str) -> str:
    """Return why text is no UUID in any of its forms, or an empty string. Kubernetes: github.com/google/uuid."""
    size = byte_length(text)
    if size == 45:
        if text[:9].lower() != "urn:uuid:":
            return f"invalid urn prefix: {go_quote(text[:9])}"
        text = text[9:]
    elif size == 38:
        if not (text.startswith("{") and text.endswith("}")):
            return "invalid bracketed UUID format"
        text = text[1:-1]
    elif size == 32:
        return "" if _is_hexadecimal(text) else "invalid UUID format"
    elif size != 36:
        return f"invalid UUID length: {size}"
    return "" if _is_uuid(text) else "invalid UUID format"


def _validate_devices(status: views.ResourceClaimStatus, path: str) -> FieldErrors:
    results = () if status.allocation is None else status.allocation.devices.results
    allocated = {device_id(result) for result in results}
    for index, device in enumerate(status.devices):
        yield from _validate_device(device, f"{path}[{index}]", allocated)
    seen: set[DeviceID] = set()
    for index, device in enumerate(status.devices):
        key = device_id(device)
        if key in seen:
            yield duplicate(f"{path}[{index}]", _shown_id(key))
        seen.add(key)


def _shown_id(key: DeviceID) -> AsJSON:
    return AsJSON(GoStruct(zip(("Driver", "Pool", "Device", "ShareID"), key, strict=True)))


def _validate_device(device: views.AllocatedDeviceStatus, path: str, allocated: set[DeviceID]) -> FieldErrors:
    yield from validate_driver_name(device.driver, f"{path}.driver")
    yield from validate_pool_name(device.pool, f"{path}.pool")
    yield from validate_dns_label(device.device, f"{path}.device")
    yield from _validate_share(device.shareID, f"{path}.shareID")
    key = device_id(device)
    if key not in allocated:
        yield invalid(path, _shown_id(key), "must be an allocated device in the claim")
    conditions = device.conditions
    if len(conditions) > MAX_DEVICE_CONDITIONS:
        yield too_many(f"{path}.conditions", len(conditions), MAX_DEVICE_CONDITIONS)
    yield from validate_conditions(conditions, f"{path}.conditions")
    if device.data is not None:
        yield from validate_opaque_data(device.data, f"{path}.data")
    yield from _validate_network_data(device.networkData, f"{path}.networkData")


def _validate_network_data(data: views.NetworkDeviceData | None, path: str) -> FieldErrors:
    if data is None:
        return
    if byte_length(data.interfaceName) > MAX_INTERFACE_NAME:
        yield too_long(f"{path}.interfaceName", MAX_INTERFACE_NAME)
    if byte_length(data.hardwareAddress) > MAX_HARDWARE_ADDRESS:
        yield too_long(f"{path}.hardwareAddress", MAX_HARDWARE_ADDRESS)
    yield from validate_set(
        data.ips, MAX_ADDRESSES, _validate_interface_address, lambda address: address, f"{path}.ips"
    )


def _validate_interface_address(value: str, path: str) -> FieldErrors:
    """Check an address with the length of its subnet, which must be written as Go would."""
    parsed = parse_cidr(value)
    if parsed is None:
        yield invalid(path, value, NOT_AN_ADDRESS)
        return
    octets, length = parsed
    if len(octets) == 16 and octets[:12] == _MAPPED:
        octets = octets[12:]
        length -= 96 if length > 32 else 0
    address = IPv4Address(octets) if len(octets) == 4 else IPv6Address(octets)
    canonical = f"{address}/{length}"
    if value != canonical:
        yield invalid(path, value, f"must be in canonical form ({go_quote(canonical)})")
