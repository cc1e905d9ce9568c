"""Search a device for each request of each claim, one after the other, first fit, with full backtracking.

Devices are tried in the order of the pools; within a request only in that order, so that no set of devices is tried
twice. When everything after a device failed, devices that no request and no constraint can tell from it are skipped.
Kubernetes: allocateOne and allocateDevice in dynamic-resource-allocation/structured. Differs: a bound on steps instead
of a time-out, and the skipping of like devices, which does not change the answer.
"""

from __future__ import annotations

import sys
from enum import Enum
from math import inf
from typing import TYPE_CHECKING

from moorage.match.devices.allocation.capacity import Amounts, CounterBudget, consumed_amounts, fits_capacity
from moorage.match.devices.allocation.constraints import build_constraints, could_fit
from moorage.match.devices.allocation.features import AllocationError, SearchLimitError
from moorage.match.devices.allocation.likeness import derive_likeness
from moorage.match.devices.allocation.offer import Offer
from moorage.match.devices.allocation.result import PickedDevice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from moorage.match.devices.allocation.constraints import Constraint
    from moorage.match.devices.allocation.features import AllocatorFeatures
    from moorage.match.devices.allocation.offer import PoolBlock, Segment
    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import (
        AllocationNode,
        DeviceId,
        DevicesInUse,
        PoolId,
        PublishedDevice,
    )
    from moorage.match.devices.allocation.requests import AskedPools, CompiledClaim, CompiledRequest
    from moorage.match.devices.description import AttributeValue

#: The most devices that one claim can be allocated.
MAX_RESULTS = 32
#: The most steps for one pod on one node before the search is given up: devices looked at, selectors evaluated.
MAX_STEPS = 100_000
#: After this many steps, the search first makes sure that it can succeed.
_DOUBTFUL_STEPS = 2_000
#: Of requests, how many of the first devices no search can pick for them until a device is freed or changed.
Hopeless = dict["CompiledRequest", int]
#: How much evaluating a selector may cost in CEL's units, and how many pools are asked for a value, in one step.
_COST_OF_A_STEP, _POOLS_OF_A_STEP = 50, 16


class ClaimToAllocate:
    """A claim with its compiled requests. `name` is namespace/name, for errors."""

    __slots__ = ("compiled", "name")

    def __init__(self, name: str, compiled: CompiledClaim) -> None:
        self.name = name
        self.compiled = compiled


class _Outcome(Enum):
    """How an attempt ended; TOO_MANY means that the claim would get more devices than a result can hold."""

    DONE = "done"
    FAILED = "failed"
    TOO_MANY = "allocation max size exceeded"


_DONE, _FAILED, _TOO_MANY = _Outcome.DONE, _Outcome.FAILED, _Outcome.TOO_MANY


class _InVainError(Exception):
    """The search cannot succeed."""


class Search:
    """One attempt to allocate claims on one node; `pause` is called at every step, `picked` has the devices found."""

    def __init__(
        self,
        pools: Offer | Sequence[DevicePool],
        claims: Sequence[ClaimToAllocate],
        in_use: DevicesInUse,
        node: AllocationNode,
        features: AllocatorFeatures,
        max_steps: int = MAX_STEPS,
        hopeless: Hopeless | None = None,
        pause: Callable[[], None] | None = None,
    ) -> None:
        self._pause = pause
        self._hopeless = {} if hopeless is None else hopeless
        self.offer = pools if isinstance(pools, Offer) else Offer(pools)
        self._claims = claims
        self._in_use = in_use
        self._node = node
        self._features = features
        self._steps_left = max_steps
        self._doubt_at: float = -inf
        self._max_steps = max_steps
        self._all: dict[CompiledRequest, list[PublishedDevice]] = {}
        self._constraints: list[list[Constraint]] = []
        # Devices picked so far as a whole, with the claims they are for; shared ones with what is consumed so far.
        self._allocating: dict[DeviceId, set[int]] = {}
        self._sharing: dict[DeviceId, Amounts] = {}
        self._budgets: dict[PoolId, CounterBudget] = {}
        self._may_skip = True
        self._likeness: dict[PublishedDevice, object] = {}
        self.picked: list[list[PickedDevice]] = [[] for _ in claims]
        #: For each claim and request the index of the alternative that was chosen.
        self.chosen: list[list[int]] = [[0] * len(claim.compiled.requests) for claim in claims]

    def run(self) -> bool:
        """Search. Returns whether all claims were allocated; raises AllocationError."""
        deepest = 1000 + 4 * self._prepare()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), deepest))
        self._doubt_at = self._steps_left - _DOUBTFUL_STEPS
        try:
            outcome = self._claim(0)
        except _InVainError:
            return False
        if outcome is _TOO_MANY:
            raise AllocationError(_TOO_MANY.value)
        return outcome is _DONE

    # -- preparation --------------------------------------------------------------------------------------------

    def _prepare(self) -> int:
        """Check every request and find out what "all devices" are; return how deep the search may go."""
        levels = 0
        for claim in self._claims:
            fewest = 0
            for index, alternatives in enumerate(claim.compiled.requests):
                claim.compiled.check_features(index, claim.name, self._features)
                counts = []
                for request in alternatives:
                    request.check(claim.name, self._features)
                    if request.all_devices:
                        self._all[request] = self._all_devices(request, claim.name)
                    counts.append(self._count(request))
                fewest += min(counts)
                levels += 3 + min(max(counts), MAX_RESULTS)
            if fewest > MAX_RESULTS:
                limit = f"exceeds the claim limit of {MAX_RESULTS}"
                raise AllocationError(f"claim {claim.name}: number of requested devices {fewest} {limit}")
            constraints = build_constraints(claim.compiled.spec, claim.name, self._features.list_attributes)
            self._constraints.append(constraints)
            self._may_skip = self._may_skip and not any(constraint.keeps_state for constraint in constraints)
        return levels

    def _count(self, request: CompiledRequest) -> int:
        return len(self._all[request]) if request.all_devices else request.count

    def _all_devices(self, request: CompiledRequest, claim: str) -> list[PublishedDevice]:
        devices: list[PublishedDevice] = []
        where = f"claim {claim}, request {request.name}: asks for all devices, but resource pool"
        for pool in self.offer.pools:
            if pool.incomplete:
                raise AllocationError(f"{where} {pool} is currently being updated")
            if pool.invalid:
                raise AllocationError(f"{where} {pool} is currently invalid")
            devices += (
                device
                for device in pool.devices
                if self._selects(request, device, claim) and self._fits(request, device)
            )
        return devices

    # -- the levels: claims, requests, devices ------------------------------------------------------------------

    def _claim(self, claim: int) -> _Outcome:
        return _DONE if claim == len(self._claims) else self._request(claim, 0)

    def _request(self, claim: int, index: int) -> _Outcome:
        requests = self._claims[claim].compiled.requests
        if index == len(requests):
            outcome = self._claim(claim + 1)
            # Another choice for this claim may leave the next one an alternative with fewer devices.
            return _FAILED if outcome is _TOO_MANY else outcome
        alternatives = requests[index]
        if not alternatives[0].parent:
            return self._device(claim, index, alternatives[0], 0, 0)
        outcome = _TOO_MANY
        for choice, request in enumerate(alternatives):
            attempt = self._device(claim, index, request, 0, 0)
            if attempt is _DONE:
                self.chosen[claim][index] = choice
                return attempt
            if attempt is _FAILED:
                outcome = attempt
        return outcome

    def _device(self, claim: int, index: int, request: CompiledRequest, have: int, start: int) -> _Outcome:
        """Find a device for a request that has some already, trying those from a position on."""
        everything = self._all.get(request)
        if everything is not None and not everything:
            return _FAILED
        count = request.count if everything is None else len(everything)
        if have >= count:
            return self._request(claim, index + 1)
        if len(self.picked[claim]) + count - have > MAX_RESULTS:
            return _TOO_MANY
        if everything is not None:
            self._step()
            picked = self._pick(claim, request, everything[have], must=True)
            if picked is None:
                return _FAILED
            outcome = self._device(claim, index, request, have + 1, 0)
            if outcome is not _DONE:
                self._put_back(claim, picked)
            return outcome
        return self._any_device(claim, index, request, have, start)

    def _any_device(self, claim: int, index: int, request: CompiledRequest, have: int, start: int) -> _Outcome:
        name, failed, constraints = self._claims[claim].name, None, self._constraints[claim]
        for position in self._positions(claim, request, max(start, self._hopeless.get(request, 0))):
            self._step()
            device = self.offer.device(position)
            if self._is_unavailable(request, device, claim):
                self._note_hopeless(request, device, position)
                continue
            if not self._selects(request, device, name):
                self._note_hopeless(request, device, position)
                continue
            if constraints and not all(constraint.allows(request, device) for constraint in constraints):
                continue
            if not self._fits(request, device):
                self._note_hopeless(request, device, position)
                continue
            if failed is not None and self._may_skip and self._like(device) in failed:
                continue
            picked = self._pick(claim, request, device, must=False)
            if picked is None:
                self._note_hopeless(request, device, position, was_tried=True)
                continue
            outcome = self._device(claim, index, request, have + 1, position + 1)
            if outcome is _DONE:
                return outcome
            self._put_back(claim, picked)
            if outcome is _TOO_MANY:
                return outcome
            if self._may_skip:
                failed = failed or set()
                failed.add(self._like(device))
        return _FAILED

    def _positions(self, claim: int, request: CompiledRequest, start: int) -> Iterator[int]:
        """Yield the positions to try; where a constraint asks for a value, those of devices that have it."""
        values = (constraint.wanted(request) for constraint in self._constraints[claim])
        required = next((value for value in values if value is not None), None)
        if required is None:
            yield from range(start, self.offer.size)
            return
        for segment in self.offer.segments:
            first = max(segment.first, start - segment.begin + segment.first)
            if first < segment.last:
                places = self._places(claim, request, segment, first, required)
                yield from (place - segment.first + segment.begin for place in places)

    def _places(
        self, claim: int, request: CompiledRequest, segment: Segment, first: int, required: tuple[str, AttributeValue]
    ) -> Iterator[int]:
        """Yield the places of a segment's devices with a value, as far as their pools' devices can all be asked."""
        block = segment.block
        asked = request.asked_of(block, block.number(first))
        for place in block.having(*required, first, segment.last):
            failing = self._failing_pool(claim, request, block, asked, block.number(place))
            if failing is not None:
                yield from range(max(first, block.begins[failing]), segment.last)
                return
            yield place
        failing = self._failing_pool(claim, request, block, asked, block.number(segment.last - 1))
        if failing is not None:
            yield from range(max(first, block.begins[failing]), segment.last)

    def _failing_pool(
        self, claim: int, request: CompiledRequest, block: PoolBlock, asked: AskedPools, number: int
    ) -> int | None:
        """Ask about all pools up to one of them; return the first whose devices cannot all be asked about."""
        if asked.end > number:
            return None
        self._step((number + 1 - asked.end) // _POOLS_OF_A_STEP)
        while asked.end <= number:
            pool = block.pools[asked.end]
            if pool not in request.asked and not self._asks(claim, request, pool):
                return asked.end
            asked.end += 1
        return None

    def _asks(self, claim: int, request: CompiledRequest, pool: DevicePool) -> bool:
        """Ask the selectors about all devices of a pool; if one fails, the devices are tried one after the other."""
        try:
            for device in pool.devices:
                self._selects(request, device, self._claims[claim].name)
        except SearchLimitError:
            raise
        except AllocationError:
            return False
        request.asked.add(pool)
        return True

    def _note_hopeless(
        self, request: CompiledRequest, device: PublishedDevice, position: int, was_tried: bool = False
    ) -> None:
        """Remember a device that cannot be picked, if all before it cannot either, and not for what is picked now."""
        if position != self._hopeless.get(request, 0) or device.id in self._allocating or device.id in self._sharing:
            return
        if not was_tried or self._stays_refused(request, device):
            self._hopeless[request] = position + 1

    def _stays_refused(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        """Return whether a device was refused for its taints, or for counters of which there will not be more."""
        if self._features.device_taints and not all(map(request.tolerations.tolerates, device.excluding)):
            return True
        budget = self._budgets.get(device.published.pool)
        if budget is None or device.shareable:
            return False
        return budget.is_untouched and budget.only_falls and not budget.has_enough(device)

    def _step(self, steps: int = 1) -> None:
        self._steps_left -= steps
        if self._pause is not None:
            self._pause()
        if self._steps_left <= self._doubt_at:
            self._doubt_at = -inf
            if not could_fit(self.offer.pools, self._claims, self._in_use, self._selects, self._features):
                raise _InVainError
        if self._steps_left < 0:
            message = f"gave up allocating devices after {self._max_steps} steps"
            raise SearchLimitError(f"{message}: the claims' requests allow too many combinations")

    # -- one device ---------------------------------------------------------------------------------------------

    def _is_unavailable(self, request: CompiledRequest, device: PublishedDevice, claim: int) -> bool:
        allocating = self._allocating.get(device.id)
        if request.admin_access:
            return allocating is not None and claim in allocating
        return bool(allocating) or self._in_use.is_taken(device.id)

    def _selects(self, request: CompiledRequest, device: PublishedDevice, claim: str) -> bool:
        if device.device.bindingConditions and not self._features.binding_conditions:
            return False
        description = device.description
        selected = request.known(description)
        if selected is None:
            spent = request.spent
            selected = request.selects(description, claim)
            self._step((request.spent - spent) // _COST_OF_A_STEP)
        return selected and (device.nodes is None or device.is_on(self._node))

    def _fits(self, request: CompiledRequest, device: PublishedDevice) -> bool:
        if not self._features.consumable_capacity:
            return True
        consumed = self._in_use.consumed(device.id)
        sharing = self._sharing.get(device.id)
        if not (request.capacity or device.has_policies or consumed or sharing):
            return True
        return fits_capacity(request.capacity, device.device.capacity, consumed, sharing or {})

    def _pick(self, claim: int, request: CompiledRequest, device: PublishedDevice, must: bool) -> PickedDevice | None:
        """Allocate a device that is selected, if it is available and obeys the constraints.

        A device that `must` be had (one of all) and violates a constraint is an error.
        """
        shared = device.shareable and self._features.consumable_capacity
        if must and not (shared and request.admin_access) and self._is_unavailable(request, device, claim):
            return None
        picked = PickedDevice(request, device)
        if device.device.consumesCounters and not self._count_device(device, shared, picked):
            return None
        if self._features.device_taints and not all(map(request.tolerations.tolerates, device.excluding)):
            self._uncount(picked)
            return None
        added = 0
        constraints = self._constraints[claim]
        for constraint in constraints:
            if not constraint.add(request, device):
                break
            added += 1
        if added < len(constraints) or (must and not self._fits(request, device)):
            for constraint in reversed(constraints[:added]):
                constraint.remove(request)
            self._uncount(picked)
            if must and added < len(constraints):
                where = f"claim {self._claims[claim].name}, request {request.name}"
                why = "because a claim constraint would not be satisfied"
                raise AllocationError(f"{where}: cannot add device {'/'.join(device.id)} {why}")
            return None
        if shared:
            self._share(picked)
        else:
            self._allocating.setdefault(device.id, set()).add(claim)
        self.picked[claim].append(picked)
        return picked

    def _put_back(self, claim: int, picked: PickedDevice) -> None:
        self.picked[claim].pop()
        if picked.consumed is not None:
            self._unshare(picked, picked.consumed)
        else:
            self._allocating[picked.device.id].discard(claim)
        for constraint in reversed(self._constraints[claim]):
            constraint.remove(picked.request)
        self._uncount(picked)

    def _count_device(self, device: PublishedDevice, shared: bool, picked: PickedDevice) -> bool:
        """Take the counters that a device consumes; of a shared one that is in use already they are taken."""
        if not self._features.partitionable_devices:
            return False
        if shared and (device.id in self._sharing or self._in_use.consumed(device.id)):
            return True
        identity = device.published.pool
        budget = self._budgets.get(identity)
        if budget is None:
            budget = CounterBudget(self.offer.pool(identity), frozenset(self._in_use.in_pool(identity)))
            self._budgets[identity] = budget
        picked.counted = budget.take(device)
        return picked.counted

    def _uncount(self, picked: PickedDevice) -> None:
        if picked.counted:
            self._budgets[picked.device.published.pool].give_back(picked.device)

    def _share(self, picked: PickedDevice) -> None:
        identity = picked.device.id
        picked.consumed = consumed_amounts(picked.request.capacity, picked.device.device.capacity)
        before = self._sharing.get(identity)
        picked.was_shared = before is not None
        together = dict(before or {})
        for name, amount in picked.consumed.items():
            together[name] = together[name].add(amount) if name in together else amount
        self._sharing[identity] = together

    def _unshare(self, picked: PickedDevice, consumed: Amounts) -> None:
        identity = picked.device.id
        if not picked.was_shared:
            del self._sharing[identity]
            return
        together = self._sharing[identity]
        self._sharing[identity] = {name: amount.sub(consumed[name]) for name, amount in together.items()}

    def _like(self, device: PublishedDevice) -> object:
        """Return a value that is equal for devices that the rest of the search cannot tell apart."""
        likeness = self._likeness.get(device)
        if likeness is None:
            known = self._claims, self._selects, self._constraints, self._in_use
            likeness = self._likeness[device] = device if device.shareable else derive_likeness(device, *known)
        allocating = self._allocating.get(device.id)
        return (likeness, frozenset(allocating)) if allocating else likeness
