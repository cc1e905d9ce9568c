"""Write a pod's ResourceClaims before the pod is bound: finalizer, allocation and reservation; wait for its devices.

A crash leaves nothing behind that would not be found: an allocation is written together with the reservation of its
pod, which the resourceclaim controller takes back when there is no such pod. After a lost answer the claim is looked at
before anything is written again. Kubernetes: PreBind, bindClaim, Unreserve and PostFilter of the DynamicResources
plugin. Differs: looks when a claim changes, not every five seconds; pods that reserve a claim at the same time are
written together.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from moorage.client.protocol import Client, NotSent, Object, PatchType, Raw, Unreachable
from moorage.columns.devices.devices import Devices
from moorage.columns.devices.use import special_key
from moorage.match.devices.claims import (
    TIMED_OUT,
    ClaimKey,
    binding_failure,
    claim_keys,
    has_binding_conditions,
    is_ready_for_binding,
    missing_conditions,
)
from moorage.match.devices.extended_resources import SPECIAL_NAME, RequestsAndMappings
from moorage.model.api_error import ApiError
from moorage.model.gates import DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS, GateSet
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS
from moorage.model.types.devices import ResourceClaim, ResourceClaimConsumerReference
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import EXTENDED_RESOURCE_CLAIM
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE
from moorage.schedule.config.plugin_args import DEFAULT_BINDING_SECONDS
from moorage.schedule.framework.plugin import PostFilterResult
from moorage.schedule.live.metrics import ClaimMetrics
from moorage.schedule.live.pod_feed import Assumption, Assumptions
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_LOG = get_logger("scheduler")
_TRIES, _PAUSE = 5, 0.01  # after conflicts
_MAX_PAUSE = 10.0
_MAX_USERS = 256


class ClaimsNotBound(Exception):
    """A pod's claims could not be written, or its devices are not ready; the text says why."""


class _Writers:
    """The pods that write one claim now: they take turns, and each writes the reservations of all that wait."""

    __slots__ = ("lock", "newest", "number", "waiting")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.number = 0
        self.waiting: dict[str, Pod] = {}  # by UID, those that only reserve the claim
        self.newest: Object | None = None


class ClaimBinder:
    """Allocates and reserves ResourceClaims. `timeouts` has seconds by scheduler name.

    `newest` returns a claim as the watch has it, by its key.
    """

    def __init__(
        self,
        client: Client,
        devices: Devices,
        assumptions: Assumptions,
        gates: GateSet,
        timeouts: Mapping[str, float],
        newest: Callable[[str], Object | None] = lambda key: None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        wall_clock: Callable[[], float] = time.time,
        metrics: ClaimMetrics | None = None,
    ) -> None:
        self._client = client
        self._devices = devices
        self._assumptions = assumptions
        self._timeouts = timeouts
        self._newest = newest
        self._sleep = sleep
        self._wall_clock = wall_clock
        self._metrics = metrics or ClaimMetrics(Metrics())
        self._changed = asyncio.Event()
        self._writers: dict[ClaimKey, _Writers] = {}
        self._created: dict[str, ClaimKey] = {}  # for extended resources of pods that are being bound, by the pod's key
        self._has_conditions = all(
            map(gates.enabled, (DRA_DEVICE_BINDING_CONDITIONS, DRA_RESOURCE_CLAIM_DEVICE_STATUS))
        )

    def look_again(self) -> None:
        """Tell those who wait that a claim changed."""
        self._changed.set()
        self._changed = asyncio.Event()

    # -- writing ------------------------------------------------------------------------------------------------------

    async def write(self, assumption: Assumption) -> None:
        """Allocate and reserve all claims of a pod. Raises ClaimsNotBound; what was written stays."""
        pod, promises = assumption.action.record.pod, self._devices.promises
        promises.begin_writing(assumption.key)
        try:
            allocations = promises.of(assumption.key)
            for key in claim_keys(pod):
                await self._bind_claim(key, pod, allocations.get(key), assumption)
            needs = promises.extended(assumption.key)
            if needs is not None:
                await self._bind_extended(needs, allocations[special_key(assumption.key)], assumption)
        finally:
            promises.end_writing(assumption.key)

    async def _bind_extended(self, needs: RequestsAndMappings, allocation: Raw, assumption: Assumption) -> None:
        """Create the claim for a pod's extended resources, allocate and reserve it, and name it in the pod's status."""
        pod = assumption.action.record.pod
        try:
            created = await self._client.create(
                KINDS.RESOURCE_CLAIM, extended_claim(pod, needs), pod.metadata.namespace
            )
        except (ApiError, Unreachable) as error:
            self._metrics.created(is_success=False)
            # If it was created nevertheless, the watch shows it, and the next attempt deletes it.
            name = f"{pod.metadata.namespace}/{SPECIAL_NAME}"
            raise ClaimsNotBound(f"create claim for extended resources {name}: {_text(error)}") from None
        self._metrics.created(is_success=True)
        key = (created.namespace, created.name)
        self._created[assumption.key] = key
        self._devices.promises.created(special_key(assumption.key), key, created.uid)
        await self._bind_claim(key, pod, allocation, assumption, created)
        status = {"requestMappings": list(needs.mappings), "resourceClaimName": created.name}
        patch = {"metadata": {"uid": pod.metadata.uid}, "status": {"extendedResourceClaimStatus": status}}
        try:
            await self._client.patch(KINDS.POD, pod.metadata.name, pod.metadata.namespace, patch, subresource="status")
        except (ApiError, Unreachable) as error:
            doing = f"update pod {assumption.key} ExtendedResourceClaimStatus"
            raise ClaimsNotBound(f"{doing}: {_text(error)}") from None

    def forget(self, pod: str) -> None:
        """Forget what was made for a pod, given its key, because it is bound."""
        self._created.pop(pod, None)

    async def _bind_claim(
        self, key: ClaimKey, pod: Pod, allocation: Raw | None, assumption: Assumption, claim: Object | None = None
    ) -> None:
        writers = self._writers.setdefault(key, _Writers())
        writers.number += 1
        if allocation is None:
            writers.waiting[pod.metadata.uid] = pod
        try:
            async with writers.lock:
                if allocation is None:
                    await self._sleep(0)  # pods of the same moment join
                await self._write_claim(key, pod, allocation, assumption, claim, writers)
        finally:
            writers.number -= 1
            writers.waiting.pop(pod.metadata.uid, None)
            if not writers.number:
                del self._writers[key]

    async def _write_claim(
        self,
        key: ClaimKey,
        pod: Pod,
        allocation: Raw | None,
        assumption: Assumption,
        claim: Object | None,
        writers: _Writers,
    ) -> None:
        claim = claim or writers.newest or self._newest("/".join(key))
        tries, pause, is_lost = _TRIES, _PAUSE, False
        while True:
            try:
                if claim is None:
                    claim = await self._get(key)
                if _is_reserved(claim, pod) and (allocation is None or is_lost):
                    return
                pods = {pod.metadata.uid: pod, **writers.waiting}
                writers.newest = written = await self._reserve(claim, key, tuple(pods.values()), allocation)
            except NotSent:
                pass
            except Unreachable:
                is_lost = True
            except _Conflict as error:
                tries -= 1
                if not tries:
                    raise ClaimsNotBound(str(error)) from None
            else:
                self._devices.promises.written(key, written.revision)
                return
            if not self._assumptions.holds(assumption) and not is_lost:
                raise ClaimsNotBound(f"pod {assumption.key} is gone")
            await self._sleep(pause)
            pause = pause if tries < _TRIES else min(2 * pause, _MAX_PAUSE)
            claim = None

    async def _get(self, key: ClaimKey) -> Object:
        try:
            return await self._client.get(KINDS.RESOURCE_CLAIM, key[1], key[0])
        except ApiError as error:
            raise ClaimsNotBound(f"get updated claim {'/'.join(key)} after conflict: {error.message}") from None

    async def _reserve(self, stored: Object, key: ClaimKey, pods: tuple[Pod, ...], allocation: Raw | None) -> Object:
        """Write a claim once, in two calls if it has no finalizer."""
        name, claim = "/".join(key), stored.view
        expected = self._devices.claims.get(key)
        if claim.metadata.deletionTimestamp is not None or (
            expected is not None and expected.metadata.uid != claim.metadata.uid
        ):
            raise ClaimsNotBound(f"claim {name} got deleted in the meantime")
        if allocation is not None:
            if claim.status.allocation is not None:
                raise ClaimsNotBound(f"claim {name} got allocated elsewhere in the meantime")
            if RESOURCE_CLAIM_IN_USE not in claim.metadata.finalizers:
                protected = {"finalizers": [*claim.metadata.finalizers, RESOURCE_CLAIM_IN_USE]}
                stored = await self._patch(stored, {"metadata": protected}, "", f"add finalizer to claim {name}")
        users = [_raw_consumer(user) for user in claim.status.reservedFor]
        for pod in pods:
            if pod is pods[0] or (len(users) < _MAX_USERS and not _is_reserved(stored, pod)):
                users.append({"resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid})
        status: Raw = {"reservedFor": users}
        if allocation is not None:
            status["allocation"] = allocation
        if self._has_conditions:
            written = claim.status.allocation
            if allocation is None and written is None:
                raise ClaimsNotBound(f"claim {name} got deallocated elsewhere in the meantime")
            if (allocation or {}).get("allocationTimestamp") is None and (
                written is None or written.allocationTimestamp is None
            ):
                status["allocation"] = {**(allocation or {}), "allocationTimestamp": time_text(self._wall_clock())}
        doing = "add allocation and reservation to claim" if allocation is not None else "add reservation to claim"
        return await self._patch(stored, {"status": status}, "status", f"{doing} {name}")

    async def _patch(self, claim: Object, patch: Raw, subresource: str, doing: str) -> Object:
        """Change a claim unless another client has changed it meanwhile."""
        about = {**patch.get("metadata", {}), "uid": claim.uid, "resourceVersion": str(claim.revision)}
        patch, merge = {**patch, "metadata": about}, PatchType.MERGE
        try:
            return await self._client.patch(
                KINDS.RESOURCE_CLAIM, claim.name, claim.namespace, patch, subresource=subresource, patch_type=merge
            )
        except ApiError as error:
            if error.code == 409:
                raise _Conflict(f"{doing}: {error.message}") from None
            raise ClaimsNotBound(f"{doing}: {error.message}") from None

    # -- devices that have to get ready -------------------------------------------------------------------------------

    def waits(self, assumption: Assumption) -> bool:
        """Return whether devices of a pod have binding conditions that are not known to be true."""
        if not self._has_conditions:
            return False
        promised = self._devices.promises.of(assumption.key).values()
        results = (result for raw in promised for result in raw["devices"].get("results", ()))
        return any(result.get("bindingConditions") for result in results) or any(
            has_binding_conditions(claim) and not is_ready_for_binding(claim) for claim in self._claims(assumption)
        )

    async def wait(self, assumption: Assumption) -> None:
        """Return when the binding conditions of all devices are true. Raises ClaimsNotBound."""
        clock, error = asyncio.get_running_loop().time, ""
        began = clock()
        try:
            await self._wait(assumption)
        except ClaimsNotBound as problem:
            error = str(problem)
            raise
        finally:
            scheduler = assumption.action.pod.scheduler
            self._metrics.waited(scheduler, self._claims(assumption), clock() - began, error)

    async def _wait(self, assumption: Assumption) -> None:
        timeout = self._timeouts.get(assumption.action.pod.scheduler, DEFAULT_BINDING_SECONDS)
        try:
            async with asyncio.timeout(self._seconds_left(assumption, timeout)):
                while self._assumptions.holds(assumption):
                    changed = self._changed
                    if self.is_ready(assumption):
                        return
                    await changed.wait()
        except TimeoutError:
            late = [claim for claim in self._claims(assumption) if not is_ready_for_binding(claim)]
            self._devices.timed_out.update(claim.metadata.uid for claim in late)  # the next attempt deallocates them
            raise ClaimsNotBound(f"{TIMED_OUT}: claim={late[0].metadata.name if late else ''}") from None

    def is_ready(self, assumption: Assumption) -> bool:
        """Return whether all devices are ready; raise ClaimsNotBound if one failed."""
        claims = self._claims(assumption)
        for claim in claims:
            failure = binding_failure(claim) if self._has_conditions else ""
            if failure:
                raise ClaimsNotBound(failure)
        return not self._has_conditions or all(map(is_ready_for_binding, claims))

    def missing_conditions(self, assumption: Assumption) -> list[str]:
        """Return the binding conditions that are not true, with the claim and the device that they are of."""
        return [text for claim in self._claims(assumption) for text in missing_conditions(claim)]

    def _claims(self, assumption: Assumption) -> list[ResourceClaim]:
        pod, known, created = assumption.action.record.pod, self._devices.claims, self._created.get(assumption.key)
        keys = (*claim_keys(pod), created) if created is not None else claim_keys(pod)
        return [known[key] for key in keys if key in known]

    def _seconds_left(self, assumption: Assumption, timeout: float) -> float:
        """Return how long to wait for the claim whose time is up first."""
        ends = [_since(claim) + timeout for claim in self._claims(assumption) if _since(claim)]
        return max(0.0, min(ends) - self._wall_clock()) if ends else timeout

    # -- taking back --------------------------------------------------------------------------------------------------

    async def unreserve(self, pod: Pod) -> None:
        """Take back the pod's reservations; allocations stay, and the next attempt uses them.

        A claim that was made for extended resources is deleted.
        """
        created = self._created.pop(f"{pod.metadata.namespace}/{pod.metadata.name}", None)
        if created is not None:
            await self.delete(created)
        for key in claim_keys(pod):
            claim = await self._look(key)
            if claim is None or claim.view.status.allocation is None or not _is_reserved(claim, pod):
                continue
            user = {"$patch": "delete", "uid": pod.metadata.uid}
            patch = {"metadata": {"uid": claim.uid}, "status": {"reservedFor": [user]}}
            try:
                await self._client.patch(KINDS.RESOURCE_CLAIM, key[1], key[0], patch, subresource="status")
            except (ApiError, Unreachable) as error:
                # The next attempt of the pod finds its reservation, or the controller the pod that is gone.
                _LOG.error("unreserve", resourceclaim="/".join(key), err=str(error))

    async def _look(self, key: ClaimKey) -> Object | None:
        try:
            return await self._client.get(KINDS.RESOURCE_CLAIM, key[1], key[0])
        except (ApiError, Unreachable):
            return None

    async def undo(self, result: PostFilterResult, pod: Pod) -> None:
        """Deallocate or delete the claim that keeps a pod from all nodes."""
        if result.claim is not None:
            await (self.delete(result.claim) if result.delete else self.deallocate(result.claim, pod))

    async def deallocate(self, key: ClaimKey, pod: Pod) -> None:
        """Deallocate a claim that no other pod uses, so that the next attempt may choose other devices."""
        claim = await self._look(key)
        if claim is None or any(user.uid != pod.metadata.uid for user in claim.view.status.reservedFor):
            return
        document = _document(claim)
        kept = claim.raw.get("status") or {}
        gone = ("allocation", "reservedFor", "devices")
        document["status"] = {field: value for field, value in kept.items() if field not in gone}
        try:
            await self._client.update(KINDS.RESOURCE_CLAIM, document, subresource="status")
        except (ApiError, Unreachable) as error:
            _LOG.error("Deallocation of ResourceClaim", resourceclaim="/".join(key), err=str(error))

    async def delete(self, key: ClaimKey) -> None:
        """Delete a claim for extended resources that its pod cannot use."""
        claim = await self._look(key)
        try:
            if claim is not None and RESOURCE_CLAIM_IN_USE in claim.view.metadata.finalizers:
                document = _document(claim)
                kept = [finalizer for finalizer in claim.view.metadata.finalizers if finalizer != RESOURCE_CLAIM_IN_USE]
                document["metadata"]["finalizers"] = kept
                await self._client.update(KINDS.RESOURCE_CLAIM, document)
            if claim is not None:
                await self._client.delete(KINDS.RESOURCE_CLAIM, key[1], key[0], uid=claim.uid)
        except (ApiError, Unreachable) as error:
            _LOG.error("delete", resourceclaim="/".join(key), err=str(error))


class _Conflict(Exception):
    """A claim was changed by another client."""


def extended_claim(pod: Pod, needs: RequestsAndMappings) -> Raw:
    """Return the claim for a pod's extended resources, as it is created."""
    metadata = pod.metadata
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata.name, "uid": metadata.uid, "controller": True}
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM.api_version,
        "kind": KINDS.RESOURCE_CLAIM.name,
        "metadata": {
            "generateName": f"{metadata.name}-extended-resources-",
            "namespace": metadata.namespace,
            "ownerReferences": [owner],
            "annotations": {EXTENDED_RESOURCE_CLAIM: "true"},
        },
        "spec": {"devices": {"requests": list(needs.requests)}},
    }


def _text(error: ApiError | Unreachable) -> str:
    return error.message if isinstance(error, ApiError) else str(error)


def _raw_consumer(user: ResourceClaimConsumerReference) -> Raw:
    raw = {"resource": user.resource, "name": user.name, "uid": user.uid}
    return {"apiGroup": user.apiGroup, **raw} if user.apiGroup else raw


def _is_reserved(claim: Object, pod: Pod) -> bool:
    return any(user.uid == pod.metadata.uid for user in claim.view.status.reservedFor)


def _document(claim: Object) -> dict[str, Any]:
    """Return the object as it is written back; a conflict raises."""
    metadata = {**(claim.raw.get("metadata") or {}), "resourceVersion": str(claim.revision)}
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM.api_version,
        "kind": KINDS.RESOURCE_CLAIM.name,
        **claim.raw,
        "metadata": metadata,
    }


def _since(claim: ResourceClaim) -> float:
    """Return when a claim with binding conditions was allocated; 0 if it has none."""
    allocation = claim.status.allocation
    if allocation is None or allocation.allocationTimestamp is None or not has_binding_conditions(claim):
        return 0.0
    return seconds_of(allocation.allocationTimestamp) or 0.0
