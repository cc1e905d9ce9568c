"""Track which devices are in use: those that claims were allocated, and those promised to pods about to be bound.

Claims are counted by their UIDs, promises by the names of their claims until the watch shows them. No device is given
away twice: a promise holds from the moment of the decision until a version of its claim arrives that has an allocation
or is as new as what was written; a pod that goes away while its claims are being written keeps its promises until that
has ended. Kubernetes: dynamicresources/allocateddevices.go, the in-flight allocations and the assume cache of
dra_manager.go.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from moorage.match.devices.allocation.published import DeviceId, PoolId
from moorage.match.devices.allocation.result import RawAllocation
from moorage.match.devices.claims import ClaimKey
from moorage.match.devices.extended_resources import SPECIAL_NAME, RequestsAndMappings
from moorage.model.quantity import Quantity
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import AllocationResult

#: How one device is in use: as a whole, or the amounts that its shares consume, by name.
UseKey = tuple[bool, tuple[tuple[str, Quantity], ...]]


class _Held(msgspec.Struct, frozen=True):
    """What one claim holds: whole devices, and shares with what they consume."""

    whole: tuple[DeviceId, ...]
    shares: tuple[tuple[DeviceId, str, Mapping[str, Quantity]], ...]


_NOTHING = _Held((), ())


class DeviceUse:
    """Devices in use by claims. `hold` returns the pools whose use changed."""

    def __init__(self) -> None:
        self.shares: set[tuple[DeviceId, str]] = set()  # every share that exists, by its ID
        self._held: dict[str, _Held] = {}  # by the claim's UID
        self._whole: dict[DeviceId, int] = {}
        self._consumed: dict[DeviceId, dict[str, Quantity]] = {}
        self._in_pool: dict[PoolId, set[str]] = {}
        self.freed = 0  # moves when a device, or a share of one, is free again

    def hold(self, claim: str, allocation: AllocationResult | None) -> set[PoolId]:
        """Count what a claim holds from now on, given its UID."""
        new = _held_by(allocation) if allocation is not None else _NOTHING
        old = self._held.get(claim, _NOTHING)
        if new == old:
            return set()
        self.freed += old is not _NOTHING
        self._count(old, -1)
        self._count(new, 1)
        if new is _NOTHING:
            del self._held[claim]
        else:
            self._held[claim] = new
        return {device[:2] for device in (*_devices(old), *_devices(new))}

    def hand_over(self, holder: str, claim: str) -> None:
        """Count what a holder has as the claim's, given its UID, if the claim holds nothing yet."""
        if claim not in self._held and holder in self._held:
            self._held[claim] = self._held.pop(holder)

    def is_taken(self, device: DeviceId) -> bool:
        """Return whether a claim has the device as a whole."""
        return device in self._whole

    def consumed(self, device: DeviceId) -> Mapping[str, Quantity]:
        """Return what all shares of the device consume together."""
        return self._consumed.get(device, {})

    def in_pool(self, pool: PoolId) -> Iterable[str]:
        """Return the names of the pool's devices that are in use in any way."""
        return self._in_pool.get(pool, ())

    def key(self, device: DeviceId) -> UseKey:
        """Return how the device is in use; equal keys mean that an allocation cannot tell them apart."""
        consumed = self._consumed.get(device)
        return device in self._whole, tuple(sorted(consumed.items())) if consumed else ()

    def _count(self, held: _Held, by: int) -> None:
        for device in held.whole:
            users = self._whole.get(device, 0) + by
            if users:
                self._whole[device] = users
            else:
                del self._whole[device]
        for device, share, amounts in held.shares:
            consumed = self._consumed.setdefault(device, {})
            for name, amount in amounts.items():
                before = consumed.get(name, Quantity.from_int(0))
                consumed[name] = before.add(amount) if by > 0 else before.sub(amount)
                if consumed[name].is_zero():
                    del consumed[name]
            if not consumed:
                del self._consumed[device]
            if by > 0:
                self.shares.add((device, share))
            else:
                self.shares.discard((device, share))
        for device in _devices(held):
            names = self._in_pool.setdefault(device[:2], set())
            if device in self._whole or device in self._consumed:
                names.add(device[2])
            else:
                names.discard(device[2])
                if not names:
                    del self._in_pool[device[:2]]


def _devices(held: _Held) -> list[DeviceId]:
    return [*held.whole, *(share[0] for share in held.shares)]


def _held_by(allocation: AllocationResult) -> _Held:
    """Return what an allocation takes from others: not what it has for administrative access only."""
    whole, shares = [], []
    for result in allocation.devices.results:
        if result.adminAccess:
            continue
        device = (result.driver, result.pool, result.device)
        if result.shareID is None:
            whole.append(device)
        else:
            shares.append((device, result.shareID, result.consumedCapacity))
    return _Held(tuple(whole), tuple(shares)) if whole or shares else _NOTHING


class _Promise(msgspec.Struct):
    """One promise. `written` is the revision at which the API server has it, 0 if it has not.

    `extended` is what a claim for extended resources is created with.
    """

    pod: str
    uid: str  # of the claim; empty before it is created
    allocation: AllocationResult
    raw: RawAllocation
    written: int = 0
    extended: RequestsAndMappings | None = None


class DevicePromises(Mapping[ClaimKey, AllocationResult]):
    """All promises, by claim. `count` counts what a holder has, given its name."""

    def __init__(self, count: Callable[[str, AllocationResult | None], None]) -> None:
        self._count = count
        self._promises: dict[ClaimKey, _Promise] = {}
        self._of: dict[str, set[ClaimKey]] = {}  # by the pod's key
        self._being_written: dict[str, bool] = {}  # by the pod's key, and whether to release them then

    def make(self, pod: str, key: ClaimKey, uid: str, raw: RawAllocation) -> None:
        """Keep devices for a pod that is about to be bound, given a claim, its UID and its allocation."""
        self._drop(key)
        self._put(key, _Promise(pod, uid, convert_view(raw, AllocationResult), raw))

    def make_extended(self, pod: str, raw: RawAllocation, extended: RequestsAndMappings | None) -> None:
        """Keep devices for a pod whose claim for extended resources is created before it is bound."""
        key = special_key(pod)
        self._drop(key)
        self._put(key, _Promise(pod, "", convert_view(raw, AllocationResult), raw, extended=extended))

    def extended(self, pod: str) -> RequestsAndMappings | None:
        """Return the claim for extended resources that is to be created for a pod."""
        promise = self._promises.get(special_key(pod))
        return promise.extended if promise is not None else None

    def _put(self, key: ClaimKey, promise: _Promise) -> None:
        self._promises[key] = promise
        self._of.setdefault(promise.pod, set()).add(key)
        self._count(holder_of(key), promise.allocation)

    def of(self, pod: str) -> dict[ClaimKey, RawAllocation]:
        """Return what is promised to a pod, as it is written into the claims."""
        return {key: self._promises[key].raw for key in sorted(self._of.get(pod, ()))}

    def release(self, pod: str) -> None:
        """Take back what was promised to a pod; what was written stays until the watch shows it."""
        if pod in self._being_written:
            self._being_written[pod] = True
            return
        for key in self._of.get(pod, set()).copy():
            if not self._promises[key].written:
                self._drop(key)

    # -- writing ------------------------------------------------------------------------------------------------

    def begin_writing(self, pod: str) -> None:
        self._being_written.setdefault(pod, False)

    def end_writing(self, pod: str) -> None:
        """Release what was to be released meanwhile."""
        if self._being_written.pop(pod, False):
            self.release(pod)

    def written(self, key: ClaimKey, revision: int) -> None:
        """Keep a promise until the watch shows this revision of its claim."""
        promise = self._promises.get(key)
        if promise is not None:
            promise.written = revision

    def created(self, key: ClaimKey, new: ClaimKey, uid: str) -> None:
        """Move a promise from a claim that was not there to the one that was created."""
        promise = self._promises.get(key)
        if promise is not None:
            self._drop(key)
            self._put(new, _Promise(promise.pod, uid, promise.allocation, promise.raw))

    # -- what the watch shows -----------------------------------------------------------------------------------

    def shown(self, key: ClaimKey, uid: str, is_allocated: bool, revision: int) -> None:
        """Drop the promise of a claim that is allocated now, is another one, or has moved on."""
        promise = self._promises.get(key)
        if promise is not None and (is_allocated or promise.uid != uid or 0 < promise.written <= revision):
            self._drop(key)

    def gone(self, key: ClaimKey) -> None:
        self._drop(key)

    def _drop(self, key: ClaimKey) -> None:
        promise = self._promises.pop(key, None)
        if promise is None:
            return
        keys = self._of[promise.pod]
        keys.discard(key)
        if not keys:
            del self._of[promise.pod]
        self._count(holder_of(key), None)

    def __getitem__(self, key: ClaimKey) -> AllocationResult:
        return self._promises[key].allocation

    def __contains__(self, key: object) -> bool:
        return key in self._promises

    def __iter__(self) -> Iterator[ClaimKey]:
        return iter(self._promises)

    def __len__(self) -> int:
        return len(self._promises)


def special_key(pod: str) -> ClaimKey:
    """Return the key of the claim for a pod's extended resources before it is created."""
    namespace, _, name = pod.partition("/")
    return namespace, f"{SPECIAL_NAME}/{name}"


def holder_of(key: ClaimKey) -> str:
    """Return the name under which a promise is counted, which is no claim's UID."""
    return f"{key[0]}/{key[1]}"
