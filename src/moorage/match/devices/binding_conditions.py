"""Binding conditions of allocated devices: what must be true before a pod is bound, and what must not.

Kubernetes: isClaimReadyForBinding and isClaimTimeout of the DynamicResources plugin.
"""

from collections.abc import Iterator

from moorage.model.go.quoting import go_quote
from moorage.model.types.devices import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim
from moorage.model.types.meta import Condition

FAILED = "device binding failed"
TIMED_OUT = "device binding timeout"


def waiting_devices(claim: ResourceClaim) -> Iterator[DeviceRequestAllocationResult]:
    """Return the claim's devices that have binding conditions."""
    allocation = claim.status.allocation
    return (one for one in (allocation.devices.results if allocation is not None else ()) if one.bindingConditions)


def has_binding_conditions(claim: ResourceClaim) -> bool:
    return any(True for _ in waiting_devices(claim))


def binding_failure(claim: ResourceClaim) -> str:
    """Return which failure condition is true, in Kubernetes' words; empty if none, before the device has a status."""
    for device in waiting_devices(claim):
        status = _status(claim, device)
        if status is None:
            return ""
        for name in device.bindingFailureConditions:
            failed = _condition(status, name)
            if failed is not None and failed.status == "True":
                about = f"claim={claim.metadata.name}, reason={failed.reason}, message={go_quote(failed.message)}"
                return f"{FAILED}: {about}"
        if not _is_ready(status, device):
            return ""
    return ""


def is_ready_for_binding(claim: ResourceClaim) -> bool:
    """Return whether all binding conditions are true and no failure condition is."""
    if claim.status.allocation is None or binding_failure(claim):
        return False
    for device in waiting_devices(claim):
        status = _status(claim, device)
        if status is None or not _is_ready(status, device):
            return False
    return True


def missing_conditions(claim: ResourceClaim) -> Iterator[str]:
    """Yield the binding conditions that are not true, each with its device."""
    for device in waiting_devices(claim):
        status = _status(claim, device)
        for name in device.bindingConditions:
            found = _condition(status, name) if status is not None else None
            if found is None or found.status != "True":
                yield f"{name} of {device.driver}/{device.pool}/{device.device} (claim {claim.metadata.name})"


def _is_ready(status: AllocatedDeviceStatus, device: DeviceRequestAllocationResult) -> bool:
    conditions = (_condition(status, name) for name in device.bindingConditions)
    return all(found is not None and found.status == "True" for found in conditions)


def _status(claim: ResourceClaim, device: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    wanted = (device.driver, device.pool, device.device)
    return next((one for one in claim.status.devices if (one.driver, one.pool, one.device) == wanted), None)


def _condition(status: AllocatedDeviceStatus, name: str) -> Condition | None:
    return next((one for one in status.conditions if one.type == name), None)
