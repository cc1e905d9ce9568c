"""Find a pod's claims on devices, their state and binding conditions, and which of them scheduling can tell apart.

In: a pod and the ResourceClaims there are. Out: `DeviceClaimFacts`, which a shape carries in place of claim names, and
their key. A thousand pods with a claim each from one template are then one shape. Kubernetes: PreEnqueue, PreFilter and
PreBind of the DynamicResources plugin, which prepare each pod by itself, and dynamic-resource-allocation/resourceclaim.
Differs: claims of whole PodGroups are not known.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.match.devices.extended_resources import SPECIAL_NAME
from moorage.model.go.quoting import go_quote
from moorage.model.types.devices import (
    AllocatedDeviceStatus,
    DeviceClass,
    DeviceRequestAllocationResult,
    ResourceClaim,
    ResourceClaimSpec,
)
from moorage.model.types.meta import Condition
from moorage.model.types.pod import Pod, PodResourceClaim

ClaimKey = tuple[str, str]  # namespace and name
WhyBroken = Callable[
    [ResourceClaim], str
]  # why an allocated claim's devices cannot be used anywhere; empty if they can
_ENCODER = msgspec.msgpack.Encoder(enc_hook=str, order="deterministic")


class DeviceClaimState(StrEnum):
    """What has become of a claim."""

    UNUSABLE = "not there, being deleted, or another pod's"
    BEING_ALLOCATED = "promised to another pod that is about to be bound"
    ALLOCATED = "allocated"
    WAITING = "allocated when its pod gets a node"
    EXTENDED = "made for extended resources when its pod gets a node"


class DeviceClaimFacts(msgspec.Struct, frozen=True):
    """One claim of a pod, as it was when the shape was made. `problem` is upstream's text if it is unusable."""

    entry: PodResourceClaim
    state: DeviceClaimState
    name: str = ""
    claim: ResourceClaim | None = None
    problem: str = ""
    is_itself: bool = False  # no other claim is meant
    classes: tuple[DeviceClass | None, ...] = ()  # of its requests and subrequests, if it waits
    broken: str = ""  # why its devices cannot be used anywhere, although they are allocated
    resources: tuple[tuple[str, DeviceClass], ...] = ()  # the extended resources that it is for, and their classes


def claim_keys(pod: Pod) -> tuple[ClaimKey, ...]:
    """Return the claims of a pod that have a name so far, in its order."""
    keys = []
    for entry in pod.spec.resourceClaims:
        try:
            name = claim_name(pod, entry)[0]
        except ClaimNameError:
            continue
        if name is not None:
            keys.append((pod.metadata.namespace, name))
    return tuple(keys)


def claim_facts(
    pod: Pod,
    claims: Mapping[ClaimKey, ResourceClaim],
    classes: Mapping[str, DeviceClass],
    promised: Container[ClaimKey],
    why_broken: WhyBroken = lambda claim: "",
) -> tuple[DeviceClaimFacts, ...]:
    """Return the facts about a pod's claims, in its order, without those that it turned out not to need."""
    facts = (_facts(pod, entry, claims, classes, promised, why_broken) for entry in pod.spec.resourceClaims)
    return tuple(known for known in facts if known is not None)


def _facts(
    pod: Pod,
    entry: PodResourceClaim,
    claims: Mapping[ClaimKey, ResourceClaim],
    classes: Mapping[str, DeviceClass],
    promised: Container[ClaimKey],
    why_broken: WhyBroken,
) -> DeviceClaimFacts | None:
    try:
        name, is_own = claim_name(pod, entry)
    except ClaimNameError as error:
        return DeviceClaimFacts(entry, DeviceClaimState.UNUSABLE, problem=str(error), is_itself=True)
    if name is None:
        return None
    key = (pod.metadata.namespace, name)
    claim = claims.get(key)
    problem = _problem(pod, key, claim, is_own)
    if problem or claim is None:
        return DeviceClaimFacts(entry, DeviceClaimState.UNUSABLE, name, claim, problem, is_itself=True)
    if claim.status.allocation is not None:
        state = DeviceClaimState.ALLOCATED
        return DeviceClaimFacts(entry, state, name, claim, is_itself=not is_own, broken=why_broken(claim))
    if key in promised:
        text = f"resource claim {key[0]}/{name} is in the process of being allocated"
        return DeviceClaimFacts(entry, DeviceClaimState.BEING_ALLOCATED, name, claim, text, is_itself=True)
    named = tuple(map(classes.get, class_names(claim.spec)))
    return DeviceClaimFacts(entry, DeviceClaimState.WAITING, name, claim, classes=named)


def extended_facts(resources: tuple[tuple[str, DeviceClass], ...], claim: ResourceClaim | None) -> DeviceClaimFacts:
    """Return the facts about the claim for a pod's extended resources; `made` is one from an earlier attempt."""
    entry = PodResourceClaim(name=SPECIAL_NAME)
    return DeviceClaimFacts(entry, DeviceClaimState.EXTENDED, SPECIAL_NAME, claim, resources=resources)


def _problem(pod: Pod, key: ClaimKey, claim: ResourceClaim | None, is_own: bool) -> str:
    if claim is None:
        return f'could not find resource claim "{key[0]}/{key[1]}"'
    if claim.metadata.deletionTimestamp is not None:
        return f"resourceclaim {go_quote(claim.metadata.name)} is being deleted"
    return (why_not_for_pod(pod, claim) or "") if is_own else ""


def class_names(spec: ResourceClaimSpec) -> tuple[str, ...]:
    """Return the class of each request and subrequest of a claim."""
    names: list[str] = []
    for request in spec.devices.requests:
        alternatives = (request.exactly,) if request.exactly is not None else request.firstAvailable
        names += [alternative.deviceClassName for alternative in alternatives]
    return tuple(names)


def device_facts_key(facts: Iterable[DeviceClaimFacts], by_name: bool = False) -> bytes:
    """Return a key that is equal for two pods exactly when scheduling cannot tell their claims apart."""
    places: dict[str, int] = {}  # of the names, since a pod may have one claim twice
    parts = [(places.setdefault(claim.name, len(places)), *_key(claim, by_name)) for claim in facts]
    return _ENCODER.encode(parts) if parts else b""


def _key(facts: DeviceClaimFacts, by_name: bool) -> tuple[Any, ...]:
    name = facts.name if by_name or facts.is_itself else ""
    if facts.state is DeviceClaimState.EXTENDED:
        classes = [(resource, served_by.metadata.name, served_by.spec) for resource, served_by in facts.resources]
        return facts.state, facts.claim is not None, classes
    if facts.claim is None or facts.state is DeviceClaimState.UNUSABLE:
        return facts.state, facts.problem
    if facts.state is DeviceClaimState.ALLOCATED:
        status = facts.claim.status
        selector = status.allocation.nodeSelector if status.allocation is not None else None
        results = status.allocation.devices.results if status.allocation is not None else ()
        return facts.state, name, selector, facts.broken, [result.request for result in results]
    return facts.state, name, facts.claim.spec, [device_class and device_class.spec for device_class in facts.classes]


if TYPE_CHECKING:
    from moorage.model.types.devices import ResourceClaim
    from moorage.model.types.pod import Pod, PodResourceClaim

NOT_CREATED = "ResourceClaim not created yet"
UNSUPPORTED = "none of the supported fields are set"


class ClaimNameError(Exception):
    """A pod's entry names no claim: the claim was not created yet, or the entry has no field that is known."""

    def __init__(self, message: str, *, not_created: bool) -> None:
        super().__init__(message)
        self.not_created = not_created


def claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of the claim and whether the pod must own it.

    None is a claim that is not needed. Raises ClaimNameError.
    """
    if entry.resourceClaimName is not None:
        return entry.resourceClaimName, False
    if entry.resourceClaimTemplateName is not None:
        for status in pod.status.resourceClaimStatuses:
            if status.name == entry.name:
                return status.resourceClaimName, True
    where = f'pod "{pod.metadata.namespace}/{pod.metadata.name}"'
    if entry.resourceClaimTemplateName is not None:
        raise ClaimNameError(f"{where}: {NOT_CREATED}", not_created=True)
    raise ClaimNameError(f"{where}, spec.resourceClaim {go_quote(entry.name)}: {UNSUPPORTED}", not_created=False)


def why_not_for_pod(pod: Pod, claim: ResourceClaim) -> str | None:
    """Return why a claim from a template is not this pod's own, or None."""
    ours, theirs = pod.metadata, claim.metadata
    is_here = ours.namespace == theirs.namespace
    for owner in theirs.ownerReferences:
        if owner.controller:
            if is_here and owner.uid == ours.uid:
                return None
            break
    names = f"ResourceClaim {theirs.namespace}/{theirs.name}", f"Pod {ours.namespace}/{ours.name}"
    if not is_here:
        return f"{names[0]} is not in the same namespace as {names[1]}"
    return f"{names[0]} was not created for {names[1]} (Pod is not owner)"


def is_reserved_for_pod(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.metadata.uid for consumer in claim.status.reservedFor)


FAILED = "device binding failed"
TIMED_OUT = "device binding timeout"


def waiting_devices(claim: ResourceClaim) -> Iterator[DeviceRequestAllocationResult]:
    """Return the claim's devices that have binding conditions."""
    allocation = claim.status.allocation
    return (
        result for result in (allocation.devices.results if allocation is not None else ()) if result.bindingConditions
    )


def has_binding_conditions(claim: ResourceClaim) -> bool:
    return any(True for _ in waiting_devices(claim))


def binding_failure(claim: ResourceClaim) -> str:
    """Return which failure condition is true, in Kubernetes' words; empty if none, before the device has a status."""
    for device in waiting_devices(claim):
        status = _status(claim, device)
        if status is None:
            return ""
        for name in device.bindingFailureConditions:
            failed = _condition(status, name)
            if failed is not None and failed.status == "True":
                about = f"claim={claim.metadata.name}, reason={failed.reason}, message={go_quote(failed.message)}"
                return f"{FAILED}: {about}"
        if not _is_ready(status, device):
            return ""
    return ""


def is_ready_for_binding(claim: ResourceClaim) -> bool:
    """Return whether all binding conditions are true and no failure condition is."""
    if claim.status.allocation is None or binding_failure(claim):
        return False
    for device in waiting_devices(claim):
        status = _status(claim, device)
        if status is None or not _is_ready(status, device):
            return False
    return True


def missing_conditions(claim: ResourceClaim) -> Iterator[str]:
    """Yield the binding conditions that are not true, each with its device."""
    for device in waiting_devices(claim):
        status = _status(claim, device)
        for name in device.bindingConditions:
            condition = _condition(status, name) if status is not None else None
            if condition is None or condition.status != "True":
                yield f"{name} of {device.driver}/{device.pool}/{device.device} (claim {claim.metadata.name})"


def _is_ready(status: AllocatedDeviceStatus, device: DeviceRequestAllocationResult) -> bool:
    conditions = (_condition(status, name) for name in device.bindingConditions)
    return all(condition is not None and condition.status == "True" for condition in conditions)


def _status(claim: ResourceClaim, device: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    identity = (device.driver, device.pool, device.device)
    return next(
        (device for device in claim.status.devices if (device.driver, device.pool, device.device) == identity), None
    )


def _condition(status: AllocatedDeviceStatus, name: str) -> Condition | None:
    return next((condition for condition in status.conditions if condition.type == name), None)
