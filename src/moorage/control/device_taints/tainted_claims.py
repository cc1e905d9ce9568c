"""Allocated claims and the NoExecute taints of their devices, kept up to date change by change.

In: changes of slices, claims and DeviceTaintRules. Out: the claims whose eviction has changed. A change is compared
with the claims of its pools only. Kubernetes: the maps of pkg/controller/devicetainteviction, compared with all
claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.devices.eviction import PublishedDevices, claim_eviction, evicts, taints_of_devices
from moorage.match.devices.tolerations import has_evicting_taint
from moorage.match.evaluation.accounts import Undecided
from moorage.model.well_known.taints import NO_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moorage.match.devices.eviction import CompileTolerations, DeviceEviction
    from moorage.match.devices.tolerations import DeviceTolerations
    from moorage.model.types.devices import Device, DeviceTaint, DeviceTaintRule, ResourceClaim, ResourceSlice

Pool = tuple[str, str]  # driver and name


def claim_key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"


class TaintedClaims:
    """Slices by pool, evicting rules, allocated claims by pool, and the evictions that follow."""

    def __init__(self, compile_tolerations: CompileTolerations) -> None:
        self._compile = compile_tolerations
        self._slices: dict[Pool, dict[str, ResourceSlice]] = {}
        self._tainted: dict[Pool, PublishedDevices] = {}  # pools in which a device has a NoExecute taint
        self._rules: dict[str, DeviceTaintRule] = {}  # those that evict
        self._claims: dict[str, ResourceClaim] = {}
        self._by_pool: dict[Pool, dict[str, None]] = {}
        self.evictions: dict[str, DeviceEviction] = {}
        self._undecided: set[str] = set()  # claims with expensive expressions that are being evaluated

    def get(self, driver: str, pool: str, device: str) -> tuple[ResourceSlice, Device] | None:
        """Return a device if it may have NoExecute taints, with its slice."""
        published = self._tainted.get((driver, pool))
        return None if published is None else published.get(driver, pool, device)

    def find(self, namespace: str, name: str) -> ResourceClaim | None:
        """Return an allocated claim."""
        return self._claims.get(f"{namespace}/{name}")

    def eviction_of(self, claim: ResourceClaim) -> DeviceEviction | None:
        """Return when the pods of a claim have to go. Raises Undecided."""
        key = claim_key(claim)
        if key in self._undecided:
            self._set_eviction(key, self._decide(key))
        return self.evictions.get(key)

    def taints_of(self, claim: ResourceClaim) -> Iterator[tuple[str, DeviceTaint, DeviceTolerations]]:
        """Yield the NoExecute taints of a claim's devices, with the device's name and the tolerations for it."""
        for result, _, taint in taints_of_devices(claim, self, self._rules.values()):
            name = f"{result.driver}/{result.pool}/{result.device}"
            yield name, taint, self._compile(result.tolerations)

    def slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> list[ResourceClaim]:
        """Record a slice and return the claims whose eviction has changed."""
        pools = dict.fromkeys(_pool(one) for one in (old, new) if one is not None)
        if old is not None:
            self._slices.get(_pool(old), {}).pop(old.metadata.name, None)
        if new is not None:
            self._slices.setdefault(_pool(new), {})[new.metadata.name] = new
        concerned: list[str] = []
        for pool in pools:
            was_tainted = self._tainted.pop(pool, None) is not None
            slices = self._slices.get(pool)
            if not slices:
                self._slices.pop(pool, None)
            elif any(map(has_evicting_taint, slices.values())):
                self._tainted[pool] = PublishedDevices(slices.values())
            if was_tainted or pool in self._tainted:
                concerned += self._by_pool.get(pool, ())
        return self._reconsider(concerned)

    def rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> list[ResourceClaim]:
        """Record a rule and return the claims whose eviction has changed."""
        concerned: dict[str, None] = {}
        for rule in (old, new):
            if rule is not None and rule.spec.taint.effect == NO_EXECUTE:
                concerned.update(dict.fromkeys(self._near(rule)))
        if old is not None:
            self._rules.pop(old.metadata.name, None)
        if new is not None and new.spec.taint.effect == NO_EXECUTE:
            self._rules[new.metadata.name] = new
        return self._reconsider(concerned)

    def _near(self, rule: DeviceTaintRule) -> Iterator[str]:
        """Yield the claims with devices of pools that a rule selects."""
        selector = rule.spec.deviceSelector
        if selector is None:
            return
        for (driver, pool), claims in self._by_pool.items():
            if selector.driver in (None, driver) and selector.pool in (None, pool):
                yield from claims

    def claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> bool:
        """Record a claim and return whether the pods that use it are to be looked at."""
        changed = new if new is not None else old
        if changed is None:
            return False
        key = claim_key(changed)
        before, after = _pools_of(self._claims.get(key)), _pools_of(new)
        if before != after:
            for pool in before:
                claims = self._by_pool[pool]
                del claims[key]
                if not claims:
                    del self._by_pool[pool]
            for pool in after:
                self._by_pool.setdefault(pool, {})[key] = None
        had = key in self.evictions
        if new is None or new.status.allocation is None:
            self._claims.pop(key, None)
            self.evictions.pop(key, None)
            self._undecided.discard(key)
            return had
        self._claims[key] = new
        self._evaluate(key)
        return had or key in self.evictions or key in self._undecided

    def _reconsider(self, keys: Iterable[str]) -> list[ResourceClaim]:
        return [self._claims[key] for key in dict.fromkeys(keys) if self._evaluate(key)]

    def _evaluate(self, key: str) -> bool:
        """Find out when the pods of a claim have to go, and return whether that has changed, or is undecided."""
        before = self.evictions.get(key)
        try:
            after = self._decide(key)
        except Undecided:
            self._undecided.add(key)
            return True
        self._set_eviction(key, after)
        return before != after

    def _decide(self, key: str) -> DeviceEviction | None:
        if not self._tainted and not self._rules:
            return None
        return claim_eviction(self._claims[key], self, self._rules.values(), self._compile)

    def _set_eviction(self, key: str, eviction: DeviceEviction | None) -> None:
        self._undecided.discard(key)
        if eviction is None:
            self.evictions.pop(key, None)
        else:
            self.evictions[key] = eviction

    # -- rules --------------------------------------------------------------------------------------------------------

    def pending(self, rule: DeviceTaintRule) -> Iterator[ResourceClaim]:
        """Yield the claims whose pods a rule evicts."""
        for key, eviction in self.evictions.items():
            if any(taint.rule == rule.metadata.uid for taint in eviction.taints):
                yield self._claims[key]

    def evicted_by(self, rule: DeviceTaintRule) -> Callable[[ResourceClaim], DeviceEviction | None]:
        """Return what `eviction_of` would be if this rule were the only one."""
        return lambda claim: claim_eviction(claim, self, (rule,), self._compile)

    def selected(self, rule: DeviceTaintRule) -> list[ResourceClaim]:
        """Return the allocated claims that have a device of a pool that the rule selects."""
        return [self._claims[key] for key in dict.fromkeys(self._near(rule))]

    def count_allocated(self, rule: DeviceTaintRule) -> int:
        """Return how many devices in allocated claims a rule selects."""
        return sum(
            evicts(rule, result.driver, result.pool, result.device)
            for claim in self.selected(rule)
            if claim.status.allocation is not None
            for result in claim.status.allocation.devices.results
        )

    def count_published(self, rule: DeviceTaintRule) -> int:
        """Return how many devices of the newest generation of pools a rule selects."""
        count = 0
        for (driver, pool), slices in self._slices.items():
            newest = max(one.spec.pool.generation for one in slices.values())
            count += sum(
                evicts(rule, driver, pool, device.name)
                for one in slices.values()
                if one.spec.pool.generation == newest
                for device in one.spec.devices
            )
        return count


def _pool(one: ResourceSlice) -> Pool:
    return one.spec.driver, one.spec.pool.name


def _pools_of(claim: ResourceClaim | None) -> tuple[Pool, ...]:
    if claim is None or claim.status.allocation is None:
        return ()
    results = claim.status.allocation.devices.results
    return tuple(dict.fromkeys((result.driver, result.pool) for result in results))
