"""Say why claims cannot be allocated on a node: for each request what became of the devices there.

Devices are counted by what keeps them out, in the allocator's order: selectors, use, capacity, taints. Where enough are
left over, the requests stand in each other's way, or a constraint does.
"""

from collections import Counter

from moorage.columns.cluster import Cluster
from moorage.match.devices.allocation.capacity import fits_capacity
from moorage.match.devices.allocation.pools import DevicePool
from moorage.match.devices.allocation.problems import AllocationError
from moorage.match.devices.allocation.published import PublishedDevice
from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest
from moorage.schedule.plugins.devices.device_needs import DeviceNeeds

_MAX_REASONS = 3


def why_not_allocated(want: DeviceNeeds, cluster: Cluster, slot: int) -> tuple[str, ...]:
    """Return a sentence for each request that cannot be satisfied by itself, or one about all together."""
    pools = cluster.devices.pools_at(slot, want.features)
    said = [f"pool {pool} is {_state(pool)}" for pool in pools if pool.incomplete or pool.invalid]
    for facts, compiled in want.waiting:
        for alternatives in compiled.requests:
            reasons = [why for one in alternatives if (why := _why_not(one, want, cluster, pools, facts.name))]
            if len(reasons) == len(alternatives):
                said += reasons
    return tuple(said) or _together(want)


def _state(pool: DevicePool) -> str:
    return f"invalid: {pool.invalid}" if pool.invalid else "incomplete: not all of its ResourceSlices are there"


def _why_not(request: CompiledRequest, want: DeviceNeeds, cluster: Cluster, pools: list[DevicePool], claim: str) -> str:
    """Return why a request cannot be satisfied even alone; empty if it can."""
    devices = [device for pool in pools for device in pool.devices]
    kept_out: Counter[str] = Counter()
    free = 0
    for device in devices:
        reason = _kept_out(request, want, cluster, device, claim)
        if reason:
            kept_out[reason] += 1
        else:
            free += 1
    needed = max(request.count, 1)
    if free >= needed and not request.all_devices:
        return ""
    where = f'claim "{claim}", request {request.full_name} (class {request.view.deviceClassName})'
    if not devices:
        return f"{where}: the node has no devices"
    reasons = [f"{count} of {len(devices)}: {reason}" for reason, count in kept_out.most_common(_MAX_REASONS)]
    if len(kept_out) > _MAX_REASONS:
        reasons.append(f"{len(kept_out) - _MAX_REASONS} more reasons")
    asked = "all matching devices are asked for" if request.all_devices else f"{free} of {needed} devices"
    return f"{where}: {asked}; {'; '.join(reasons)}" if reasons else ""


def _kept_out(
    request: CompiledRequest, want: DeviceNeeds, cluster: Cluster, device: PublishedDevice, claim: str
) -> str:
    """Return what keeps one device from a request, as the part of a sentence; empty if nothing does."""
    try:
        if not request.selects(device.description, claim):
            return "not selected by the class's and the request's CEL selectors"
    except AllocationError as error:
        return str(error)
    use = cluster.devices.use
    if use.is_taken(device.id) and not request.admin_access:
        return "in use by another claim"
    taken = use.consumed(device.id)
    counts = want.features.consumable_capacity and (request.capacity or device.has_policies or taken)
    if counts and not fits_capacity(request.capacity, device.device.capacity, taken):
        return "not enough capacity is left"
    if want.features.device_taints:
        for taint in device.excluding:
            why = request.tolerations.explain(taint)
            if why:
                return why
    return ""


def _together(want: DeviceNeeds) -> tuple[str, ...]:
    """Say what is left if every request could be satisfied alone."""
    constraints = [text for _, compiled in want.waiting for text in _constraints(compiled)]
    if constraints:
        return (f"each request alone finds devices, but not together: {', '.join(constraints)}",)
    return ("each request alone finds devices, but there are not enough for all together",)


def _constraints(compiled: CompiledClaim) -> list[str]:
    return [
        f"{name} {attribute}"
        for one in compiled.spec.devices.constraints
        for name, attribute in (("matchAttribute", one.matchAttribute), ("distinctAttribute", one.distinctAttribute))
        if attribute is not None
    ]
