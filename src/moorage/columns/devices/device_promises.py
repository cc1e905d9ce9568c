"""Keep devices promised to pods: allocations from the moment of the decision until the watch shows them in the claims.

No device is given away twice: a promise holds until a version of its claim arrives that has an allocation or is as new
as what was written; a pod that goes away while its claims are being written keeps its promises until that has ended.
Kubernetes: the in-flight allocations and the assume cache of dynamicresources/dra_manager.go.
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from moorage.match.devices.allocation.result import RawAllocation
from moorage.match.devices.claims import ClaimKey
from moorage.match.devices.extended_resources import SPECIAL_NAME, RequestsAndMappings
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import AllocationResult


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
