"""Validate what the scheduler, drivers and controllers write into the status of a ResourceClaim.

Kubernetes: ValidateResourceClaimStatusUpdate (pkg/apis/resource/validation), AuthorizedForAdminStatus
(pkg/registry/resource). Differs: any user who may write the status may write all parts of it, whatever
DRAResourceClaimGranularStatusAuthorization says, because there are no roles.
"""

import re
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
from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.kinds.row import NamespaceLabels
from moorage.admit.messages.internal_form import internal_form
from moorage.admit.metadata import validate_dns_label, validate_object_meta_update
from moorage.admit.options import options_for_create
from moorage.admit.pod.ip_addresses import parse_cidr
from moorage.admit.scheduling.node_affinity import validate_node_selector
from moorage.model.field_error import (
    AsJSON,
    FieldError,
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
_is_uuid = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z").match
_is_hexadecimal = re.compile(r"[0-9a-fA-F]*\Z").match

#: A device, or the share of one: driver, pool, device and share ID.
DeviceID = tuple[str, str, str, str]


def device_id(found: views.DeviceRequestAllocationResult | views.AllocatedDeviceStatus) -> DeviceID:
    return (found.driver, found.pool, found.device, found.shareID or "")


def check_admin_label(namespace: str, path: str, labels_of: NamespaceLabels) -> list[FieldError]:
    """Check that a namespace is one of administrators, who may have access to devices in use."""
    labels = labels_of(namespace)
    if labels is None:
        missing = f"namespaces {go_quote(namespace)} not found"
        return [internal_error(path, f"could not retrieve namespace to verify admin access: {missing}")]
    return [] if labels.get(ADMIN_LABEL) == "true" else [forbidden(path, NEEDS_ADMIN_LABEL)]


def authorize_claim_status(
    new: views.ResourceClaim, old: views.ResourceClaim, labels_of: NamespaceLabels
) -> list[FieldError]:
    """Check that admin access was allocated in a namespace of administrators, unless it was before."""
    if _admin_result(old.status) is not None:
        return []
    index = _admin_result(new.status)
    if index is None:
        return []
    path = f"status.allocation.devices.results[{index}].adminAccess"
    return check_admin_label(new.metadata.namespace, path, labels_of)


def _admin_result(status: views.ResourceClaimStatus) -> int | None:
    results = () if status.allocation is None else status.allocation.devices.results
    return next((index for index, result in enumerate(results) if result.adminAccess), None)


def validate_claim_status(new: views.ResourceClaim, old: views.ResourceClaim, gates: GateSet) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    status, before = new.status, old.status
    errors += validate_set(
        status.reservedFor,
        MAX_CONSUMERS,
        _validate_consumer,
        lambda consumer: AsJSON(consumer.uid),
        "status.reservedFor",
    )
    errors += _validate_devices(status, "status.devices")
    if status.reservedFor and status.allocation is None:
        errors.append(forbidden("status.reservedFor", NOT_ALLOCATED))
    elif new.metadata.deletionTimestamp is not None and set(status.reservedFor) - set(before.reservedFor):
        errors.append(forbidden("status.reservedFor", NO_NEW_CONSUMERS))
    if status.allocation is None:
        return errors
    if before.allocation is not None:
        shown = internal_form(status.allocation)
        return errors + validate_immutable(status.allocation, before.allocation, "status.allocation", shown)
    return errors + _validate_allocation(status.allocation, request_names(new.spec.devices), gates)


def _validate_consumer(consumer: views.ResourceClaimConsumerReference, path: str) -> list[FieldError]:
    return [required(f"{path}.{name}") for name in ("resource", "name", "uid") if not getattr(consumer, name)]


def _validate_allocation(allocation: views.AllocationResult, names: RequestNames, gates: GateSet) -> list[FieldError]:
    path = "status.allocation"
    errors = validate_list(
        allocation.devices.results,
        MAX_RESULTS,
        lambda result, at: _validate_result(result, at, names),
        f"{path}.devices.results",
    )
    errors += validate_list(
        allocation.devices.config,
        2 * MAX_CONFIGURATIONS,
        lambda config, at: (
            required_one_of(config.source, _SOURCES, f"{at}.source")
            + validate_request_references(config.requests, f"{at}.requests", names)
            + validate_configuration(config, at)
        ),
        f"{path}.devices.config",
    )
    if allocation.nodeSelector is not None:
        options = options_for_create(gates)
        errors += validate_node_selector(allocation.nodeSelector, f"{path}.nodeSelector", options)
    return errors


def _validate_result(result: views.DeviceRequestAllocationResult, path: str, names: RequestNames) -> list[FieldError]:
    errors = validate_request_reference(result.request, f"{path}.request", names)
    errors += validate_driver_name(result.driver, f"{path}.driver")
    errors += validate_pool_name(result.pool, f"{path}.pool")
    errors += validate_dns_label(result.device, f"{path}.device")
    errors += validate_binding_conditions(result.bindingConditions, result.bindingFailureConditions, path)
    return errors + _validate_share(result.shareID, f"{path}.shareID")


def _validate_share(share: str | None, path: str) -> list[FieldError]:
    if share is None:
        return []
    if complaint := uuid_complaint(share):
        return [invalid(path, share, f"error validating uid: {complaint}")]
    return [] if len(share) == 36 and share == share.lower() else [invalid(path, share, NOT_NORMALIZED)]


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


def _validate_devices(status: views.ResourceClaimStatus, path: str) -> list[FieldError]:
    results = () if status.allocation is None else status.allocation.devices.results
    allocated = {device_id(result) for result in results}
    errors: list[FieldError] = []
    for index, device in enumerate(status.devices):
        errors += _validate_device(device, f"{path}[{index}]", allocated)
    seen: set[DeviceID] = set()
    for index, device in enumerate(status.devices):
        key = device_id(device)
        if key in seen:
            errors.append(duplicate(f"{path}[{index}]", _shown_id(key)))
        seen.add(key)
    return errors


def _shown_id(key: DeviceID) -> AsJSON:
    return AsJSON(GoStruct(zip(("Driver", "Pool", "Device", "ShareID"), key, strict=True)))


def _validate_device(device: views.AllocatedDeviceStatus, path: str, allocated: set[DeviceID]) -> list[FieldError]:
    errors = validate_driver_name(device.driver, f"{path}.driver")
    errors += validate_pool_name(device.pool, f"{path}.pool")
    errors += validate_dns_label(device.device, f"{path}.device")
    errors += _validate_share(device.shareID, f"{path}.shareID")
    key = device_id(device)
    if key not in allocated:
        errors.append(invalid(path, _shown_id(key), "must be an allocated device in the claim"))
    conditions = device.conditions
    if len(conditions) > MAX_DEVICE_CONDITIONS:
        errors.append(too_many(f"{path}.conditions", len(conditions), MAX_DEVICE_CONDITIONS))
    errors += validate_conditions(conditions, f"{path}.conditions")
    if device.data is not None:
        errors += validate_opaque_data(device.data, f"{path}.data")
    return errors + _validate_network_data(device.networkData, f"{path}.networkData")


def _validate_network_data(data: views.NetworkDeviceData | None, path: str) -> list[FieldError]:
    if data is None:
        return []
    errors: list[FieldError] = []
    if byte_length(data.interfaceName) > MAX_INTERFACE_NAME:
        errors.append(too_long(f"{path}.interfaceName", MAX_INTERFACE_NAME))
    if byte_length(data.hardwareAddress) > MAX_HARDWARE_ADDRESS:
        errors.append(too_long(f"{path}.hardwareAddress", MAX_HARDWARE_ADDRESS))
    return errors + validate_set(
        data.ips, MAX_ADDRESSES, _validate_interface_address, lambda address: address, f"{path}.ips"
    )


def _validate_interface_address(value: str, path: str) -> list[FieldError]:
    """Check an address with the length of its subnet, which must be written as Go would."""
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, NOT_AN_ADDRESS)]
    octets, length = parsed
    if len(octets) == 16 and octets[:12] == _MAPPED:
        octets = octets[12:]
        length -= 96 if length > 32 else 0
    address = IPv4Address(octets) if len(octets) == 4 else IPv6Address(octets)
    canonical = f"{address}/{length}"
    return [] if value == canonical else [invalid(path, value, f"must be in canonical form ({go_quote(canonical)})")]
