"""Check the rights to the parts of a ResourceClaim's status: allocation and consumers, and each driver's devices.

A client that may write the status needs `resourceclaims/binding` to allocate or reserve, and `resourceclaims/driver`
of the driver to report about its devices; verbs of the latter begin with `associated-node:` for a service account on
the claim's node, and with `arbitrary-node:` for all clients. Kubernetes: AuthorizedForBinding and
AuthorizedForDeviceStatus of pkg/registry/resource, with DRAResourceClaimGranularStatusAuthorization.
"""

from collections.abc import Callable
from typing import NamedTuple

from moorage.model.field_error import FieldErrors, forbidden
from moorage.model.gates import (
    DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION,
    GateSet,
)
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.devices import AllocatedDeviceStatus, AllocationResult, ResourceClaim

BINDING, DRIVER = "binding", "driver"
_ASSOCIATED, _ARBITRARY = "associated-node:", "arbitrary-node:"


class StatusWriter(NamedTuple):
    """Who writes a status. `node` is that of a service account's pod.

    `denial(verb, subresource, namespace, name)` returns why the writer may not, or an empty text.
    """

    node: str
    denial: Callable[[str, str, str, str], str]


def claim_status_errors(
    new: ResourceClaim, old: ResourceClaim, writer: StatusWriter, verb: str, gates: GateSet
) -> FieldErrors:
    """Yield what a writer may not change of a claim's status. `verb` is that of the request."""
    if not gates.enabled(DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION):
        return
    after, before = new.status, old.status
    if (after.allocation, after.reservedFor) != (before.allocation, before.reservedFor):
        why = writer.denial(verb, BINDING, "", "")  # for claims of all namespaces, whatever their names
        if why:
            right = f'resource="resourceclaims/binding", verb="{verb}" permission'
            what = "changing status.allocation or status.reservedFor"
            yield forbidden("status.allocation", f"{what} requires {right}: {why}")
    if not gates.enabled(DRA_RESOURCE_CLAIM_DEVICE_STATUS) or after.allocation is None:
        return
    verbs = _driver_verbs(writer, verb, after.allocation)
    for driver in _changed_drivers(after.devices, before.devices):
        denials = [writer.denial(driver_verb, DRIVER, new.metadata.namespace, driver) for driver_verb in verbs]
        if all(denials):
            right = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
            yield forbidden("status.devices", f"changing status.devices requires {right}: {denials[0]}")


#: What a requester may not change of an object, from the views of the new and the old one.
AuthorizeChange = Callable[[ResourceClaim, ResourceClaim], FieldErrors]


def status_check(
    kind: Kind, subresource: str, writer: StatusWriter | None, verb: str, gates: GateSet
) -> AuthorizeChange | None:
    """Return the check of an update, if it is one of a claim's status by a writer whose rights matter."""
    if writer is None or kind is not KINDS.RESOURCE_CLAIM or subresource != "status":
        return None
    return lambda new, old: claim_status_errors(new, old, writer, verb, gates)


def may_write_all(writer: StatusWriter | None, verb: str, namespace: str, changes: object) -> bool:
    """Return whether a writer may make any change of these parts of a status, whatever the claim is."""
    if writer is None or not isinstance(changes, dict):
        return writer is None
    if ("allocation" in changes or "reservedFor" in changes) and writer.denial(verb, BINDING, "", ""):
        return False
    return "devices" not in changes or not writer.denial(_ARBITRARY + verb, DRIVER, namespace, "")


def _driver_verbs(writer: StatusWriter, verb: str, allocation: AllocationResult) -> list[str]:
    if writer.node and writer.node == _node_of(allocation):
        return [_ASSOCIATED + verb, _ARBITRARY + verb]
    return [_ARBITRARY + verb]


def _node_of(allocation: AllocationResult) -> str:
    """Return the only node that an allocation can be used on, if its selector names it."""
    selector = allocation.nodeSelector
    if selector is None or len(selector.nodeSelectorTerms) != 1:
        return ""
    [term] = selector.nodeSelectorTerms
    if term.matchExpressions or len(term.matchFields) != 1:
        return ""
    [field] = term.matchFields
    is_one_name = (field.key, field.operator, len(field.values)) == ("metadata.name", "In", 1)
    return field.values[0] if is_one_name else ""


def _changed_drivers(after: tuple[AllocatedDeviceStatus, ...], before: tuple[AllocatedDeviceStatus, ...]) -> list[str]:
    """Return the drivers of devices whose entries were added, changed or removed, in order."""
    old = {_key(device): device for device in before}
    changed = {device.driver for device in after if old.pop(_key(device), None) != device}
    return sorted(changed | {device.driver for device in old.values()})


def _key(device: AllocatedDeviceStatus) -> tuple[str, str, str, str]:
    return device.driver, device.pool, device.device, device.shareID or ""
