"""Say why claims cannot be allocated on a node: for each request what became of the devices there.

Devices are counted by what keeps them out, in the order of match/devices/allocation/explain. Where enough are left
over, the requests stand in each other's way, or a constraint does.
"""

from moorage.columns.cluster import Cluster
from moorage.match.devices.allocation.explain import explain_request, tell_reasons
from moorage.match.devices.allocation.pools import DevicePool
from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest
from moorage.schedule.plugins.devices.device_needs import DeviceNeeds


def why_not_allocated(want: DeviceNeeds, cluster: Cluster, slot: int) -> tuple[str, ...]:
    """Return a sentence for each request that cannot be satisfied by itself, or one about all together."""
    want = want.needs_at(cluster, slot)
    pools = cluster.devices.pools_at(slot, want.features)
    said = [f"pool {pool} is {_state(pool)}" for pool in pools if pool.incomplete or pool.invalid]
    for facts, compiled in want.waiting:
        for alternatives in compiled.requests:
            where = f'claim "{facts.name}"'
            reasons = [why for one in alternatives if (why := _why_not(one, want, cluster, pools, slot, where))]
            if len(reasons) == len(alternatives):
                said += reasons
    return tuple(said) or _together(want)


def _state(pool: DevicePool) -> str:
    return f"invalid: {pool.invalid}" if pool.invalid else "incomplete: not all of its ResourceSlices are there"


def _why_not(
    request: CompiledRequest, want: DeviceNeeds, cluster: Cluster, pools: list[DevicePool], slot: int, where: str
) -> str:
    """Return why a request cannot be satisfied even alone; empty if it can."""
    number = sum(len(pool.devices) for pool in pools)
    devices = cluster.devices
    kept_out = explain_request(request, pools, devices.use, devices.node(slot), want.features)
    free = number - sum(kept_out.values())
    needed = max(request.count, 1)
    if free >= needed and not request.all_devices:
        return ""
    where = f"{where}, request {request.full_name} (class {request.view.deviceClassName})"
    if not number:
        return f"{where}: the node has no devices"
    reasons = tell_reasons(kept_out, number)
    asked = "all matching devices are asked for" if request.all_devices else f"{free} of {needed} devices"
    if not reasons:
        return "" if request.all_devices else f"{where}: {asked}"
    return f"{where}: {asked}; {'; '.join(reasons)}"


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
