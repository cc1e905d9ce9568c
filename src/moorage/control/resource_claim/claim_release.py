"""One claim: give up reservations for pods that are gone or done, deallocate it, delete it if it was generated.

In: a claim, the caches, and what the API server says of pods that are not in them. Out: actions. Kubernetes: syncClaim
of pkg/controller/resourceclaim. Differs: entries that name PodGroups are kept, as of every unknown consumer.
"""

from collections.abc import Callable, Iterator, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import Action, Answers, Delete, Question, Raw, Update
from moorage.control.framework.workloads import is_finished
from moorage.control.framework.world import World
from moorage.control.resource_claim.pod_claims import owning_pod
from moorage.model.kinds import KINDS
from moorage.model.types.devices import ResourceClaim, ResourceClaimConsumerReference
from moorage.model.types.pod import Pod
from moorage.model.well_known.finalizers import RESOURCE_CLAIM_IN_USE

WasDeleted = Callable[[str], bool]  # whether a pod with this UID is known to be gone


def is_done(pod: Pod) -> bool:
    """Return whether the pod's containers have stopped for good or will never start."""
    return is_finished(pod) or (pod.metadata.deletionTimestamp is not None and not pod.spec.nodeName)


def _is_pod(consumer: ResourceClaimConsumerReference) -> bool:
    return not consumer.apiGroup and consumer.resource == "pods"


def may_need_release(claim: ResourceClaim, world: World, was_deleted: WasDeleted) -> bool:
    """Return whether a claim must be looked at. Changes of its pods bring it here again."""
    metadata = claim.metadata
    if metadata.deletionTimestamp is not None and RESOURCE_CLAIM_IN_USE in metadata.finalizers:
        return True
    for consumer in claim.status.reservedFor:
        if _is_pod(consumer) and (
            was_deleted(consumer.uid)
            or _keeps(consumer, world.view(KINDS.POD, f"{metadata.namespace}/{consumer.name}")) is not True
        ):
            return True
    if claim.status.reservedFor:
        return False
    name, uid = owning_pod(claim)
    pod = world.view(KINDS.POD, f"{metadata.namespace}/{name}") if name else None
    return bool(name) and (pod is None or pod.metadata.uid != uid or is_done(pod))


def _keeps(consumer: ResourceClaimConsumerReference, pod: Pod | None) -> bool | None:
    """Return whether a cached pod keeps its reservation; None if it is not in the cache."""
    return None if pod is None else pod.metadata.uid == consumer.uid and not is_done(pod)


def questions_about(claim: Object, world: World, was_deleted: WasDeleted) -> Sequence[Question]:
    """Return the pods to look up: those that are not in the cache, maybe not yet."""
    view: ResourceClaim = claim.view
    return tuple(
        Question(KINDS.POD, claim.namespace, consumer.name)
        for consumer in view.status.reservedFor
        if _is_pod(consumer)
        and not was_deleted(consumer.uid)
        and world.get(KINDS.POD, f"{claim.namespace}/{consumer.name}") is None
    )


def release(found: Object, world: World, answers: Answers, was_deleted: WasDeleted) -> Iterator[Action]:
    """Yield the requests that bring a claim up to date."""
    claim: ResourceClaim = found.view
    consumers = claim.status.reservedFor
    remaining = [
        raw
        for consumer, raw in zip(consumers, (found.raw.get("status") or {}).get("reservedFor") or (), strict=True)
        if not _is_pod(consumer) or _stays(consumer, found.namespace, world, answers, was_deleted)
    ]
    is_protected = RESOURCE_CLAIM_IN_USE in claim.metadata.finalizers
    is_deleted = claim.metadata.deletionTimestamp is not None
    if len(remaining) < len(consumers):
        deallocates = not remaining and is_protected
        is_freed = deallocates or (is_protected and claim.status.allocation is None)
        yield _status(found, remaining, deallocates, _unprotected(found) if is_freed else None)
    elif is_protected and is_deleted and not remaining:
        if claim.status.allocation is not None:
            yield _status(found, remaining, True, _unprotected(found))
        else:
            yield _unprotected(found)
    if not remaining:
        name, uid = owning_pod(claim)
        pod = world.view(KINDS.POD, f"{found.namespace}/{name}") if name else None
        if pod is not None and (pod.metadata.uid != uid or is_done(pod)):
            yield Delete(KINDS.RESOURCE_CLAIM, found.namespace, found.name, found.uid)


def _stays(
    consumer: ResourceClaimConsumerReference, namespace: str, world: World, answers: Answers, was_deleted: WasDeleted
) -> bool:
    if was_deleted(consumer.uid):
        return False
    kept = _keeps(consumer, world.view(KINDS.POD, f"{namespace}/{consumer.name}"))
    if kept is not None:
        return kept
    question = Question(KINDS.POD, namespace, consumer.name)
    if question not in answers:  # it has left the cache since the questions were asked
        return True
    return any(pod.uid == consumer.uid for pod in answers[question])


def _status(found: Object, reserved_for: list[Raw], deallocates: bool, then: Update | None) -> Update:
    status = {**(found.raw.get("status") or {}), "reservedFor": reserved_for}
    if not reserved_for:
        del status["reservedFor"]
    if deallocates:
        status.pop("allocation", None)
    return Update(KINDS.RESOURCE_CLAIM, {**found.raw, "metadata": _metadata(found), "status": status}, "status", then)


def reserve(found: Object, pod: Object) -> Update:
    """Return the update that adds a pod to the consumers of a claim."""
    status = found.raw.get("status") or {}
    consumer = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    consumers = [*(status.get("reservedFor") or ()), consumer]
    return Update(
        KINDS.RESOURCE_CLAIM,
        {**found.raw, "metadata": _metadata(found), "status": {**status, "reservedFor": consumers}},
        "status",
    )


def _unprotected(found: Object) -> Update:
    metadata = _metadata(found)
    metadata["finalizers"] = [finalizer for finalizer in metadata["finalizers"] if finalizer != RESOURCE_CLAIM_IN_USE]
    return Update(KINDS.RESOURCE_CLAIM, {**found.raw, "metadata": metadata})


def _metadata(found: Object) -> Raw:
    return {**found.raw["metadata"], "resourceVersion": str(found.revision)}
