"""The devices that pods got: one line for each device of each claim, and how many of a node's devices are in use."""

from collections.abc import Iterable, Iterator

import msgspec

from moorage.admit.raw import Raw
from moorage.columns.cluster import Cluster
from moorage.columns.devices.devices import Devices
from moorage.control.framework.world import World
from moorage.match.devices.allocation.features import AllocationError
from moorage.match.devices.claims import claim_keys
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import AllocationResult, ResourceClaim, ResourceSlice
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.plugins.devices.device_needs import DeviceNeeds
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources


class DeviceLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One device that a claim was allocated. `shared`: others may have a share of it; `admin`: it takes nothing."""

    claim: str
    request: str
    driver: str
    pool: str
    device: str
    shared: bool = False
    admin: bool = False

    @property
    def name(self) -> str:
        more = " (shared)" if self.shared else " (admin access)" if self.admin else ""
        return f"{self.driver}/{self.pool}/{self.device}{more}"


def devices_of(pod: Pod, world: World) -> tuple[DeviceLine, ...]:
    """Return the devices of a pod's claims, in its order; empty for the many pods without claims."""
    return tuple(
        line
        for claim in claims_of(pod, world)
        if claim.status.allocation is not None
        for line in device_lines(claim.metadata.name, claim.status.allocation)
    )


def claims_of(pod: Pod, world: World) -> tuple[ResourceClaim, ...]:
    """Return the claims of a pod, that for its extended resources last."""
    if not pod.spec.resourceClaims and pod.status.extendedResourceClaimStatus is None:
        return ()
    names = [name for _, name in claim_keys(pod)]
    if pod.status.extendedResourceClaimStatus is not None:
        names.append(pod.status.extendedResourceClaimStatus.resourceClaimName)
    found = (world.view(KINDS.RESOURCE_CLAIM, f"{pod.metadata.namespace}/{name}") for name in dict.fromkeys(names))
    return tuple(claim for claim in found if claim is not None)


def device_lines(claim: str, allocation: AllocationResult) -> Iterator[DeviceLine]:
    for result in allocation.devices.results:
        yield DeviceLine(
            claim,
            result.request,
            result.driver,
            result.pool,
            result.device,
            result.shareID is not None,
            bool(result.adminAccess),
        )


def devices_at(candidates: Candidates, slot: int) -> tuple[DeviceLine, ...]:
    """Return the devices that a pod would get on a node on which it fits, with those that it has already."""
    for plugin, prepared in candidates.prepared.items():
        needs = prepared.want
        if plugin.name != DynamicResources.name or not isinstance(needs, DeviceNeeds) or prepared.rejection is not None:
            continue
        lines: list[DeviceLine] = []
        for one in needs.allocated:
            if one.facts.claim is not None and one.facts.claim.status.allocation is not None:
                lines += device_lines(one.facts.name, one.facts.claim.status.allocation)
        names = [facts.name for facts, _ in needs.waiting]
        for name, allocation in zip(names, _allocated(needs, candidates.cluster, slot, names), strict=False):
            lines += device_lines(name, convert_view(allocation, AllocationResult))
        return tuple(lines)
    return ()


def _allocated(needs: DeviceNeeds, cluster: Cluster, slot: int, names: list[str]) -> list[Raw]:
    if not names:
        return []
    try:
        return needs.allocate(cluster, slot, names) or []
    except AllocationError:
        return []


class DeviceCount(msgspec.Struct, frozen=True, rename="camel"):
    """How many devices of a driver a node has to itself, and how many of them are in use."""

    in_use: int
    published: int


def device_counts(cluster: Cluster) -> dict[str, dict[str, DeviceCount]]:
    """Return the counts of every node that has devices to itself, by node and driver."""
    names = (node.metadata.name for _, node in cluster.nodes)
    counts = {name: device_counts_of(cluster.devices, name) for name in names}
    return {name: found for name, found in counts.items() if found}


def device_counts_of(devices: Devices, node: str) -> dict[str, DeviceCount]:
    """Return the counts of one node's own devices, by driver."""
    found: dict[str, DeviceCount] = {}
    for pool in devices.pools.local_to(node):
        driver = pool.id[0]
        before = found.get(driver, DeviceCount(0, 0))
        published = len(set(_names(pool.slices.values())))
        used = sum(1 for _ in devices.use.in_pool(pool.id))
        found[driver] = DeviceCount(before.in_use + used, before.published + published)
    return found


def _names(slices: Iterable[ResourceSlice]) -> Iterator[str]:
    """Return the devices of a pool's newest generation."""
    known = list(slices)
    newest = max((one.spec.pool.generation for one in known), default=0)
    for one in known:
        if one.spec.pool.generation == newest:
            yield from (device.name for device in one.spec.devices)
