"""Hold the cluster's devices (slices, classes, claims and taint rules), and one code per node for what it offers.

Nodes with the same code offer the same devices, in the same use: whether a claim can be allocated is asked once for
each code. Codes are repaired for nodes that changed; wide pools, whose devices many nodes share, have a generation
instead. Kubernetes: dynamicresources/dra_manager.go.
"""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from moorage.columns.codes import Interner
from moorage.columns.devices.pools import Pool, PublishedPools, WidePools
from moorage.columns.devices.use import DevicePromises, DeviceUse, holder_of
from moorage.columns.node_table import NodeTable
from moorage.match.devices.allocation.features import AllocatorFeatures
from moorage.match.devices.allocation.offer import Offer
from moorage.match.devices.allocation.pools import DevicePool
from moorage.match.devices.allocation.published import AllocationNode, PoolId
from moorage.match.devices.claims import (
    TIMED_OUT,
    ClaimKey,
    DeviceClaimFacts,
    DeviceClaimState,
    binding_failure,
    claim_facts,
    claim_keys,
    extended_facts,
)
from moorage.match.devices.extended_resources import classes_by_resource, requested_resources
from moorage.model.gates import (
    DRA_DEVICE_BINDING_CONDITIONS,
    DRA_EXTENDED_RESOURCE,
    DRA_RESOURCE_CLAIM_DEVICE_STATUS,
    GateSet,
)
from moorage.model.types.devices import AllocationResult, DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import EXTENDED_RESOURCE_CLAIM

DeviceObject = ResourceSlice | DeviceClass | ResourceClaim | DeviceTaintRule
# As long as there are fewer codes than this, and than this many for each node, those out of use are kept.
_FEW_CODES = 256
_CODES_PER_NODE = 4
_NO_SLOTS: set[int] = set()


class Devices:
    """All that scheduling reads of devices."""

    def __init__(self, nodes: NodeTable, gates: GateSet) -> None:
        self._nodes = nodes
        needed = (DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS)
        self._serves_resources = gates.enabled(DRA_EXTENDED_RESOURCE)
        self._has_binding_conditions = all(map(gates.enabled, needed))
        self.classes: dict[str, DeviceClass] = {}
        self.claims: dict[ClaimKey, ResourceClaim] = {}
        self.use = DeviceUse()
        self.pools = PublishedPools(gates)
        self.promises = DevicePromises(self._count)
        self.by_resource: dict[str, DeviceClass] = {}  # classes by the extended resources that they serve
        self.extended_claims: dict[str, ResourceClaim] = {}  # made for extended resources, by the UIDs of their pods
        self.timed_out: set[str] = set()  # UIDs of claims whose devices were not ready in time
        # Move when classes change, when wide pools or their use do, when wide pools do, and when all codes are new.
        self.class_generation = self.wide_generation = self.wide_slices = self.code_generation = 0
        self._wide = WidePools(self.pools.wide, nodes, gates)
        self._codes = nodes.slots.array(np.int64)
        self._interned: Interner[tuple[object, ...]] = Interner(())
        self._stale: set[int] = set()
        self._slots_of: dict[int, set[int]] = {}  # by code

    @property
    def codes(self) -> NDArray[np.int64]:
        """Return each slot's code; 0 is that of nodes without any device."""
        self.catch_up()
        return self._codes.values

    def code(self, slot: int) -> int:
        self.catch_up()
        return int(self._codes.values[slot])

    def offer(self, slot: int, features: AllocatorFeatures) -> Offer:
        """Return what a node offers, in the order in which the allocator tries it."""
        self.catch_up()
        node = self.node(slot)
        gathered = (pool.gather(node, features) for pool in self.pools.local_to(node.name))
        return self._wide.with_local((pool for pool in gathered if pool is not None), slot, node, features)

    def pools_at(self, slot: int, features: AllocatorFeatures) -> list[DevicePool]:
        """Return the pools that a node sees, in the order in which the allocator tries them."""
        return list(self.offer(slot, features).pools)

    @property
    def freedom(self) -> tuple[int, ...]:
        """Return a value that stays the same while on nodes of a code devices are only taken, never freed or added."""
        return self.class_generation, self.code_generation, self.wide_slices, self.use.freed

    def node(self, slot: int) -> AllocationNode:
        metadata = self._nodes.node(slot).metadata
        return AllocationNode(metadata.name, metadata.labels)

    def facts(self, pod: Pod) -> tuple[DeviceClaimFacts, ...]:
        """Return the facts about a pod's claims, with that for its extended resources, if devices serve them."""
        facts: tuple[DeviceClaimFacts, ...] = ()
        if pod.spec.resourceClaims:
            facts = claim_facts(pod, self.claims, self.classes, self.promises, self._why_broken)
        if self.by_resource:
            names = requested_resources(pod.spec)
            backed = tuple((name, self.by_resource[name]) for name in names if name in self.by_resource)
            if backed:
                facts += (extended_facts(backed, self.extended_claims.get(pod.metadata.uid)),)
        return facts

    def may_concern(self, pod: Pod) -> bool:
        """Return whether a pod may have claims."""
        return bool(pod.spec.resourceClaims or self.by_resource)

    def why_claims_wait(self, pod: Pod) -> str:
        """Return why a pod's claims are not there to be allocated or used; empty if they are."""
        return next((claim.problem for claim in self.facts(pod) if claim.state is DeviceClaimState.UNUSABLE), "")

    def has_promised_claims(self, pod: Pod) -> bool:
        """Return whether a pod uses a claim that is about to be allocated for another one."""
        promises = self.promises
        return bool(promises) and any(key in promises and not self._is_allocated(key) for key in claim_keys(pod))

    def _is_allocated(self, key: ClaimKey) -> bool:
        claim = self.claims.get(key)
        return claim is not None and claim.status.allocation is not None

    def _why_broken(self, claim: ResourceClaim) -> str:
        if not self._has_binding_conditions:
            return ""
        if claim.metadata.uid in self.timed_out:
            return f"{TIMED_OUT}: claim={claim.metadata.name}"
        return binding_failure(claim)

    def known(self, thing: DeviceObject) -> DeviceObject | None:
        """Return the object of the same kind and name that there is, if there is one."""
        name = thing.metadata.name
        if isinstance(thing, ResourceClaim):
            return self.claims.get((thing.metadata.namespace, name))
        if isinstance(thing, DeviceClass):
            return self.classes.get(name)
        if isinstance(thing, ResourceSlice):
            pool = self.pools.get((thing.spec.driver, thing.spec.pool.name))
            return pool.slices.get(name) if pool is not None else None
        return self.pools.rules.get(name)

    # -- events -------------------------------------------------------------------------------------------------

    def set(self, thing: DeviceObject, revision: int = 0) -> None:
        """Add or replace an object, which the API server has at this revision."""
        if isinstance(thing, ResourceSlice):
            self._slices_changed(self.pools.set_slice(thing))
        elif isinstance(thing, ResourceClaim):
            key = (thing.metadata.namespace, thing.metadata.name)
            old = self.claims.get(key)
            self.claims[key] = thing
            uid, allocation = thing.metadata.uid, thing.status.allocation
            if old is not None and old.metadata.uid != uid:
                self._forget(old)
            if thing.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
                self.extended_claims.update((owner, thing) for owner in _controllers(thing))
            if allocation is not None and key in self.promises:
                self.use.hand_over(holder_of(key), uid)  # and nothing has changed, if it was written as promised
            self.promises.shown(key, uid, allocation is not None, revision)
            if allocation is None:
                self.timed_out.discard(uid)
            self._count(uid, allocation)
        elif isinstance(thing, DeviceClass):
            self.classes[thing.metadata.name] = thing
            self._classes_changed()
        else:
            self._slices_changed(self.pools.set_rule(thing.metadata.name, thing))

    def remove(self, thing: DeviceObject) -> None:
        name = thing.metadata.name
        if isinstance(thing, ResourceSlice):
            self._slices_changed(self.pools.remove_slice(name))
        elif isinstance(thing, ResourceClaim):
            known = self.claims.pop((thing.metadata.namespace, name), None)
            if known is not None:
                self._forget(known)
                self.promises.gone((thing.metadata.namespace, name))
        elif isinstance(thing, DeviceClass):
            if self.classes.pop(name, None) is not None:
                self._classes_changed()
        else:
            self._slices_changed(self.pools.set_rule(name, None))

    def _classes_changed(self) -> None:
        self.class_generation += 1
        if self._serves_resources:
            self.by_resource = classes_by_resource(self.classes)

    def node_changed(self, slot: int) -> None:
        """Derive a node's code again: it is new, or its labels are."""
        self._stale.add(slot)

    def _slices_changed(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            if not node:
                self.wide_generation += 1
                self.wide_slices += 1
                self._wide.changed()
                self._stale.update(self._nodes.slot_of.values())
            elif (slot := self._nodes.slot_of.get(node)) is not None:
                self._touch(slot)

    def _touch(self, slot: int) -> None:
        self._stale.add(slot)
        self._nodes.changes.note(slot)

    # -- use ----------------------------------------------------------------------------------------------------

    def _forget(self, claim: ResourceClaim) -> None:
        self.timed_out.discard(claim.metadata.uid)
        if claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
            for owner in _controllers(claim):
                self.extended_claims.pop(owner, None)
        self._count(claim.metadata.uid, None)

    def _count(self, uid: str, allocation: AllocationResult | None) -> None:
        for identity in self.use.hold(uid, allocation):
            self._use_changed(identity)

    def _use_changed(self, identity: PoolId) -> None:
        pool = self.pools.get(identity)
        if pool is None:
            return
        if not pool.node:
            self.wide_generation += 1
        elif (slot := self._nodes.slot_of.get(pool.node)) is not None:
            self._touch(slot)

    # -- codes --------------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Derive the codes of the nodes that changed."""
        if not self._stale:
            return
        if len(self._interned) > max(_FEW_CODES, _CODES_PER_NODE * len(self._nodes)):
            self._interned = Interner(())
            self.code_generation += 1
            self._stale.update(self._nodes.slot_of.values())
            self._slots_of.clear()
        codes, alive, slots_of = self._codes.values, self._nodes.alive, self._slots_of
        for slot in self._stale:
            slots_of.get(codes.item(slot), _NO_SLOTS).discard(slot)
            codes[slot] = code = self._interned.intern(self._offer(slot)) if alive[slot] else 0
            if alive[slot]:
                slots_of.setdefault(code, set()).add(slot)
        self._stale.clear()

    def slot_with(self, code: int, likely: int) -> int | None:
        """Return a slot with a code: the likely one if it has it, otherwise the first; None if no node has it."""
        self.catch_up()
        slots = self._slots_of.get(code, _NO_SLOTS)
        return likely if likely in slots else min(slots, default=None)

    def _offer(self, slot: int) -> tuple[object, ...]:
        """Return what a node offers: its own pools without their names, and its part of the wide ones."""
        part = self._wide.look(slot)
        local = sorted(self.pools.local_to(self._nodes.node(slot).metadata.name), key=_identity)
        own = ((pool.content, pool.use(self.use)) for pool in local)
        return (part, *zip((self._wide.rank(pool.id) for pool in local), own, strict=True)) if part else tuple(own)


def _identity(pool: Pool) -> PoolId:
    return pool.id


def _controllers(claim: ResourceClaim) -> Iterator[str]:
    """Return the UIDs of the pods that a claim belongs to."""
    return (owner.uid for owner in claim.metadata.ownerReferences if owner.controller)
