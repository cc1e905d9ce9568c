"""Prepare the devices of a pod's ResourceClaims before its containers start, and unprepare them when it ends.

A claim is prepared once for each node, whatever the number of its pods there. Kubernetes: pkg/kubelet/cm/dra. Differs:
every driver counts as registered on every node, and preparing cannot fail for a claim that is allocated and reserved.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.match.devices.claims import ClaimNameError, claim_name, is_reserved_for_pod, why_not_for_pod
from moorage.model.gates import DRA_EXTENDED_RESOURCE, GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.go.times import time_text
from moorage.model.types.devices import DeviceRequestAllocationResult, ResourceClaim
from moorage.model.types.pod import Pod

Raw = dict[str, Any]
#: Whether the driver of a pool, both by name, is simulated here.
Simulates = Callable[[str, str], bool]
FAILED_PREPARE = "FailedPrepareDynamicResources"
#: What the simulated drivers write into a claim's status.
READY, PREPARED, PREPARED_TEXT = "Ready", "DevicePrepared", "The simulated driver has prepared the device."
ATTACHED, ATTACHED_TEXT = "DeviceAttached", "The simulated driver has made the device ready for its node."
ANY_DRIVER = "<any>"


class NotPrepared(NamedTuple):
    """Reason and message of the event about a claim that cannot be prepared."""

    reason: str
    message: str


class _NotReady(Exception):
    """Why a claim cannot be prepared."""


class PreparedClaim:
    """A claim prepared on one node: its UID, its drivers and the UIDs of the pods that use it."""

    __slots__ = ("drivers", "pods", "uid")

    def __init__(self, uid: str, drivers: frozenset[str]) -> None:
        self.uid, self.drivers = uid, drivers
        self.pods: set[str] = set()


class DeviceClaims:
    """The claims known, by `namespace/name`, and those prepared, by node."""

    def __init__(self, gates: GateSet) -> None:
        self._extended = gates.enabled(DRA_EXTENDED_RESOURCE)
        self._known: dict[str, Object] = {}
        self._prepared: dict[tuple[str, str], PreparedClaim] = {}  # by node and claim
        self._of_pods: dict[str, list[tuple[str, str]]] = {}  # the same keys, by pod UID

    def changed(self, deltas: Iterable[Delta]) -> None:
        for old, new in deltas:
            if new is not None:
                self._known[new.key] = new
            elif old is not None:
                self._known.pop(old.key, None)

    def get(self, key: str) -> Object | None:
        return self._known.get(key)

    def keys(self, pod: Pod) -> set[str]:
        """Return the keys of a pod's claims, as far as they have names."""
        claim_keys: set[str] = set()
        with suppress(ClaimNameError):
            claim_keys.update(f"{pod.metadata.namespace}/{name}" for name, _ in self._claim_names(pod))
        return claim_keys

    def prepare(self, pod: Pod) -> NotPrepared | list[str]:
        """Prepare all claims of a pod or none. Return the keys of those that were not prepared before."""
        if not pod.spec.resourceClaims and pod.status.extendedResourceClaimStatus is None:
            return []
        node = pod.spec.nodeName
        try:
            claims = {claim.metadata.name: claim for claim in self._usable_claims(pod)}.values()
            for claim in claims:
                held = self._prepared.get((node, _key(claim)))
                if held is not None and held.uid not in (claim.metadata.uid, ""):
                    old = f"old ResourceClaim with same name {claim.metadata.name} and different UID {held.uid}"
                    raise _NotReady(f"{old} still exists (previous pod force-deleted?!)")
        except (_NotReady, ClaimNameError) as error:
            text = f"Failed to prepare dynamic resources: prepare dynamic resources: {error}"
            return NotPrepared(FAILED_PREPARE, text)
        new = []
        for claim in claims:
            key = _key(claim)
            if (node, key) not in self._prepared:
                new.append(key)
            self._use(pod, key, claim)
        return new

    def adopt(self, pod: Pod) -> None:
        """Note the claims of a pod that was running before this process started."""
        for key in self.keys(pod):
            claim = self._known.get(key)
            self._use(pod, key, None if claim is None else claim.view)

    def unprepare(self, pod: Pod) -> None:
        """Unprepare the claims of a pod that has ended, unless another pod of the node uses them."""
        for place in self._of_pods.pop(pod.metadata.uid, ()):
            held = self._prepared[place]
            held.pods.discard(pod.metadata.uid)
            if not held.pods:
                del self._prepared[place]

    def in_use(self) -> Mapping[str, int]:
        """Count the prepared claims by driver, and all of them."""
        counted: Counter[str] = Counter({ANY_DRIVER: 0})
        for held in self._prepared.values():
            counted.update((ANY_DRIVER, *held.drivers))
        return counted

    def _use(self, pod: Pod, key: str, claim: ResourceClaim | None) -> None:
        place, uid = (pod.spec.nodeName, key), pod.metadata.uid
        held = self._prepared.get(place)
        if held is None:
            held = self._prepared[place] = PreparedClaim("", frozenset())
        if claim is not None and not held.uid:
            held.uid, held.drivers = claim.metadata.uid, frozenset(result.driver for result in _results(claim))
        if uid not in held.pods:
            held.pods.add(uid)
            self._of_pods.setdefault(uid, []).append(place)

    def _claim_names(self, pod: Pod) -> Iterator[tuple[str, bool]]:
        """Yield the names of a pod's claims and whether the pod must own them. Raises ClaimNameError."""
        for entry in pod.spec.resourceClaims:
            name, is_own = claim_name(pod, entry)
            if name is not None:
                yield name, is_own
        extended = pod.status.extendedResourceClaimStatus
        if extended is not None and self._extended:
            yield extended.resourceClaimName, False

    def _usable_claims(self, pod: Pod) -> Iterator[ResourceClaim]:
        """Yield a pod's claims, which must be allocated and reserved for it. Raises _NotReady, ClaimNameError."""
        for name, is_own in self._claim_names(pod):
            known = self._known.get(f"{pod.metadata.namespace}/{name}")
            if known is None:
                missing = f"resourceclaims.resource.k8s.io {go_quote(name)} not found"
                raise _NotReady(f"fetch ResourceClaim {name}: {missing}")
            claim: ResourceClaim = known.view
            if is_own and (why := why_not_for_pod(pod, claim)):
                raise _NotReady(why)
            if not is_reserved_for_pod(pod, claim):
                ours = f"pod {pod.metadata.name} ({pod.metadata.uid})"
                raise _NotReady(f"{ours} is not allowed to use ResourceClaim {name} ({claim.metadata.uid})")
            if claim.status.allocation is None:
                raise _NotReady(f"ResourceClaim {name}: not allocated")
            yield claim


def device_statuses(claim: Object, now: float, simulates: Simulates, *, is_prepared: bool) -> list[Raw] | None:
    """Return `status.devices` of a claim with the conditions that drivers add; None if there is nothing to add.

    Binding conditions are met by drivers that are simulated, devices of a prepared claim are Ready.
    """
    view: ResourceClaim = claim.view
    reported = {_device(device): device for device in claim.raw["status"]["devices"]} if view.status.devices else {}
    statuses, changed = [], False
    for result in _results(view):
        status: Raw = {"driver": result.driver, "pool": result.pool, "device": result.device}
        if result.shareID is not None:
            status["shareID"] = result.shareID
        device = _device(status)
        status = reported.get(device, status)
        conditions = status.get("conditions") or []
        known = {condition.get("type") for condition in conditions}
        added = [
            {"type": kind, "status": "True", "lastTransitionTime": time_text(now), "reason": reason, "message": message}
            for kind, reason, message in _wanted_conditions(result, simulates, is_prepared)
            if kind not in known
        ]
        if added:
            status, changed = {**status, "conditions": [*conditions, *added]}, True
        if (added or device in reported) and status not in statuses:
            statuses.append(status)
    return statuses if changed else None


def awaits_driver(claim: ResourceClaim, simulates: Simulates) -> bool:
    """Return whether a claim has devices whose binding conditions a simulated driver is to meet."""
    return any(result.bindingConditions and simulates(result.driver, result.pool) for result in _results(claim))


def _wanted_conditions(
    result: DeviceRequestAllocationResult, simulates: Simulates, is_prepared: bool
) -> Iterator[tuple[str, str, str]]:
    if result.bindingConditions and simulates(result.driver, result.pool):
        for kind in result.bindingConditions:
            yield kind, ATTACHED, ATTACHED_TEXT
    if is_prepared:
        yield READY, PREPARED, PREPARED_TEXT


def _results(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    return () if claim.status.allocation is None else claim.status.allocation.devices.results


def _device(status: Raw) -> tuple[Any, ...]:
    return status.get("driver"), status.get("pool"), status.get("device"), status.get("shareID")


def _key(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"
