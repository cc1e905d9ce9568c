"""Decide when pods have to go because of NoExecute taints of devices that their claims use.

In: slices, DeviceTaintRules and claims. Out: a `DeviceEviction` for a claim or a pod, or None. Only tolerations that
name the effect NoExecute count here (an expression counts as it is); of all that match a taint the smallest
`tolerationSeconds` counts, from the taint's `timeAdded` on. Kubernetes: pkg/controller/devicetainteviction. Pure: the
controller asks these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from moorage.match.devices.claims import ClaimNameError, claim_name, is_reserved_for_pod, why_not_for_pod
from moorage.match.devices.tolerations import as_taint, rule_selects
from moorage.match.taint_messages import describe_taint
from moorage.model.go.integers import wrap64
from moorage.model.go.times import seconds_of
from moorage.model.well_known.taints import NO_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moorage.match.devices.tolerations import DeviceTolerations
    from moorage.model.types.devices import (
        Device,
        DeviceRequestAllocationResult,
        DeviceTaint,
        DeviceTaintRule,
        DeviceToleration,
        ResourceClaim,
        ResourceSlice,
    )
    from moorage.model.types.pod import Pod

    CompileTolerations = Callable[[tuple[DeviceToleration, ...]], DeviceTolerations]

_SECOND = 10**9


class EvictingTaint(NamedTuple):
    """Where a taint stands: in a rule (`rule` is its UID), or in a slice. The key sorts rules first."""

    key: tuple[int, str, str, str, int]
    text: str
    rule: str = ""


class DeviceEviction(NamedTuple):
    """When pods have to go, in seconds since 1970, and all taints that say so."""

    when: float
    taints: tuple[EvictingTaint, ...]

    @property
    def reason(self) -> str:
        """List the taints as the controller's messages do."""
        return ", ".join(taint.text for taint in self.taints)


class DeviceLookup(Protocol):
    """Devices by driver, pool and name, with the slices that publish them."""

    def get(self, driver: str, pool: str, device: str) -> tuple[ResourceSlice, Device] | None: ...


class PublishedDevices:
    """The devices of all pools by name, in slices of the newest generation only."""

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        self._generations: dict[tuple[str, str], int] = {}
        self._devices: dict[tuple[str, str], dict[str, tuple[ResourceSlice, Device]]] = {}
        for slice_ in sorted(slices, key=lambda slice_: slice_.metadata.name):
            self._add(slice_)

    def _add(self, slice_: ResourceSlice) -> None:
        pool = slice_.spec.driver, slice_.spec.pool.name
        known = self._generations.get(pool)
        if known is not None and slice_.spec.pool.generation < known:
            return
        if known is None or slice_.spec.pool.generation > known:
            self._generations[pool] = slice_.spec.pool.generation
            self._devices[pool] = {}
        devices = self._devices[pool]
        for device in slice_.spec.devices:
            devices.setdefault(device.name, (slice_, device))

    def get(self, driver: str, pool: str, device: str) -> tuple[ResourceSlice, Device] | None:
        return self._devices.get((driver, pool), {}).get(device)

    def __iter__(self) -> Iterator[tuple[str, str, Device]]:
        """Yield the driver, the pool and the device."""
        for (driver, pool), devices in self._devices.items():
            for _, device in devices.values():
                yield driver, pool, device


def evicts(rule: DeviceTaintRule, driver: str, pool: str, device: str) -> bool:
    """Return whether a rule's taint, if it is NoExecute, concerns the pods that use this device."""
    return rule.spec.deviceSelector is not None and rule_selects(rule, driver, pool, device)


def claim_eviction(
    claim: ResourceClaim,
    devices: DeviceLookup,
    rules: Iterable[DeviceTaintRule],
    compile_tolerations: CompileTolerations,
) -> DeviceEviction | None:
    """Return when the pods that use an allocated claim have to go; None if they may stay."""
    when: float | None = None
    evicting: set[EvictingTaint] = set()
    result_before, tolerations = None, None
    for result, where, taint in taints_of_devices(claim, devices, rules):
        if tolerations is None or result is not result_before:
            result_before, tolerations = result, compile_tolerations(result.tolerations)
        tolerated = tolerated_seconds(taint, tolerations)
        if tolerated is None:
            continue
        evicting.add(where)
        added = seconds_of(taint.timeAdded)
        if added is not None and (when is None or added + tolerated < when):
            when = added + tolerated
    return None if when is None else DeviceEviction(when, tuple(sorted(evicting)))


def describe_evictions(
    claim: ResourceClaim,
    devices: DeviceLookup,
    rules: Iterable[DeviceTaintRule],
    compile_tolerations: CompileTolerations,
) -> Iterator[str]:
    """Yield which devices of a claim have which NoExecute taints that are not tolerated for ever."""
    for result, _, taint in taints_of_devices(claim, devices, rules):
        if tolerated_seconds(taint, compile_tolerations(result.tolerations)) is not None:
            device = f"{result.driver}/{result.pool}/{result.device}"
            yield f"device {device} has the taint {describe_taint(as_taint(taint))}:NoExecute"


def taints_of_devices(
    claim: ResourceClaim, devices: DeviceLookup, rules: Iterable[DeviceTaintRule]
) -> Iterator[tuple[DeviceRequestAllocationResult, EvictingTaint, DeviceTaint]]:
    """Yield the NoExecute taints of each device that is allocated for a claim."""
    if claim.status.allocation is None:
        return
    evicting = [rule for rule in rules if rule.spec.taint.effect == NO_EXECUTE]
    for result in claim.status.allocation.devices.results:
        published = devices.get(result.driver, result.pool, result.device)
        named = (rule for rule in evicting if evicts(rule, result.driver, result.pool, result.device))
        for where, taint in _evicting_taints(published, named):
            yield result, where, taint


def tolerated_seconds(taint: DeviceTaint, tolerations: DeviceTolerations) -> float | None:
    """Return for how long a NoExecute taint is tolerated after it was added: 0 if not at all, None for ever."""
    seconds: list[int] = []
    for toleration in tolerations.matching(taint):
        if toleration.effect != NO_EXECUTE and not toleration.expression:
            continue
        if toleration.tolerationSeconds is None:
            return None
        seconds.append(max(toleration.tolerationSeconds, 0))
    return wrap64(min(seconds) * _SECOND) / _SECOND if seconds else 0.0  # as Go's time.Duration wraps around


def _evicting_taints(
    published: tuple[ResourceSlice, Device] | None, rules: Iterable[DeviceTaintRule]
) -> Iterator[tuple[EvictingTaint, DeviceTaint]]:
    if published is not None:
        slice_, device = published
        place = slice_.spec.driver, slice_.spec.pool.name, device.name
        for index, taint in enumerate(device.taints):
            if taint.effect == NO_EXECUTE:
                text = f"ResourceSlice /{slice_.metadata.name}:{slice_.metadata.uid} {'/'.join(place)} taint #{index}"
                yield EvictingTaint((1, *place, index), text), taint
    for rule in rules:
        uid = rule.metadata.uid
        text = f"DeviceTaintRule /{rule.metadata.name}:{uid}"
        yield EvictingTaint((0, rule.metadata.name, "", "", 0), text, uid), rule.spec.taint


def pod_eviction(
    pod: Pod,
    find_claim: Callable[[str, str], ResourceClaim | None],
    eviction_of: Callable[[ResourceClaim], DeviceEviction | None],
) -> DeviceEviction | None:
    """Return when a pod has to go because of the claims it uses; None if it may stay.

    `find_claim` takes a namespace and a name, `eviction_of` is `claim_eviction`, which callers may remember.
    """
    if not pod.spec.nodeName:
        return None
    when: float | None = None
    taints: set[EvictingTaint] = set()
    for entry in pod.spec.resourceClaims:
        try:
            name, must_own = claim_name(pod, entry)
        except ClaimNameError:
            continue
        claim = None if name is None else find_claim(pod.metadata.namespace, name)
        if claim is None or (must_own and why_not_for_pod(pod, claim) is not None):
            continue
        eviction = eviction_of(claim) if is_reserved_for_pod(pod, claim) else None
        if eviction is not None:
            when = eviction.when if when is None else min(when, eviction.when)
            taints.update(eviction.taints)
    return None if when is None else DeviceEviction(when, tuple(sorted(taints)))
