"""Propose changes for a pod whose extended resources are served by devices: ask for fewer, free some, delete rules.

The claim is made by the scheduler, so that there is no claim to change: nothing can tolerate a taint of a device.
"""

from collections import Counter
from collections.abc import Iterator

from moorage.columns.resources import pod_requests
from moorage.match.devices.allocation.explain import explain_request
from moorage.match.devices.allocation.features import AllocatorFeatures, allocator_features
from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState
from moorage.model.gates import GateSet
from moorage.plan.explain.remedies.change import Blockers, Change, few
from moorage.plan.explain.remedies.devices import device_departures, offers_at, rule_deletions
from moorage.plan.explain.remedies.resources import lowered
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.devices.extended_needs import ExtendedNeeds


def extended_resource_changes(blockers: Blockers, gates: GateSet) -> Iterator[Change]:
    slots = blockers.only(DynamicResources.name)
    want = blockers.want(DynamicResources.name) if len(slots) else None
    if not isinstance(want, ExtendedNeeds):
        return
    offers, features = offers_at(blockers, slots), allocator_features(gates)
    levels: dict[str, Counter[int]] = {}
    taints: set[str] = set()
    for alike in offers:
        needs = want.needs_at(blockers.cluster, alike[0])
        for facts, compiled in needs.waiting:
            if facts.state is DeviceClaimState.EXTENDED:
                for resource, level in _levels(blockers, alike[0], facts, compiled, features):
                    levels.setdefault(resource, Counter())[level] += len(alike)
                taints |= _excluding(blockers, alike[0], compiled, features)
    requests = pod_requests(blockers.pod.spec)
    for resource, counts in levels.items():
        for level in few((level, counts[level]) for level in sorted(counts, reverse=True)):
            change = lowered(blockers.pod, resource, requests[resource], level)
            if change is not None:
                yield change
    for key in sorted(taints):
        yield from rule_deletions(blockers, key)
    if not blockers.pod.spec.resourceClaims:
        yield from device_departures(blockers, offers, gates)


def _levels(
    blockers: Blockers, slot: int, facts: DeviceClaimFacts, compiled: CompiledClaim, features: AllocatorFeatures
) -> Iterator[tuple[str, int]]:
    """Yield for each resource how much of it the pod could ask for on the node, if that is less than it does."""
    requests = pod_requests(blockers.pod.spec)
    for resource, device_class in facts.resources:
        of_class = [
            one
            for alternatives in compiled.requests
            for one in alternatives
            if one.view.deviceClassName == device_class.metadata.name
        ]
        asked = sum(max(one.count, 1) for one in of_class)
        free = min((_free(blockers, slot, one, features) for one in of_class), default=0)
        level = requests.get(resource, 0) - (asked - free)
        if 0 < level < requests.get(resource, 0):
            yield resource, level


def _free(blockers: Blockers, slot: int, request: CompiledRequest, features: AllocatorFeatures) -> int:
    devices = blockers.cluster.devices
    pools = devices.pools_at(slot, features)
    kept_out = explain_request(request, pools, devices.use, devices.node(slot), features)
    return sum(len(pool.devices) for pool in pools) - sum(kept_out.values())


def _excluding(blockers: Blockers, slot: int, compiled: CompiledClaim, features: AllocatorFeatures) -> set[str]:
    """Return the keys of taints that keep devices of the node from being allocated."""
    devices = blockers.cluster.devices
    asked = [one for alternatives in compiled.requests for one in alternatives]
    return {
        taint.key
        for pool in devices.pools_at(slot, features)
        for device in pool.devices
        for taint in device.excluding
        if any(one.why_unselected(device.description) is None for one in asked)
    }
