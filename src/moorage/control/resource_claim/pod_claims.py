"""The claims of one pod: which to create from templates, what to write into its status, which to reserve for it.

In: a pod and the caches. Out: a `PodPass`, with the error that ends it, in upstream's words. Kubernetes: syncPod and
handleClaim of pkg/controller/resourceclaim. Differs: names are generated here, as the API server generates them, so
that creating the claims and writing their names into the pod's status is one plan; claims of PodGroups are not known.
"""

from collections.abc import Callable
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.world import World, controller_of
from moorage.match.devices.claims import ClaimNameError, claim_name, is_reserved_for_pod, why_not_for_pod
from moorage.model.gates import DRA_ADMIN_ACCESS, DRA_PRIORITIZED_LIST, GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import KINDS
from moorage.model.types.devices import ResourceClaim, ResourceClaimSpec, ResourceClaimTemplate
from moorage.model.types.pod import Pod, PodResourceClaim

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
MAX_CONSUMERS = 256
_MAX_BASE_LENGTH = 57


class NewClaim(NamedTuple):
    """A claim to create, and whether it asks for admin access."""

    document: Raw
    admin_access: bool

    @property
    def key(self) -> str:
        metadata = self.document["metadata"]
        return f"{metadata['namespace']}/{metadata['name']}"


class PodPass(NamedTuple):
    """What to do about a pod's claims, in this order, up to the error, if any.

    `statuses` maps entries of the pod to names of claims; `event` is the message of FailedResourceClaimCreation.
    """

    creates: tuple[NewClaim, ...] = ()
    statuses: tuple[tuple[str, str], ...] = ()
    reserves: tuple[Object, ...] = ()
    error: str = ""
    event: str = ""


class _CannotCreateError(Exception):
    """A pod's claim cannot be created; the text is upstream's."""


def sync_pod(found: Object, world: World, gates: GateSet, new_suffix: Callable[[], str]) -> PodPass:
    """Return what to do about the claims of a pod that exists and is not being deleted."""
    pod: Pod = found.view
    creates: list[NewClaim] = []
    statuses: list[tuple[str, str]] = []
    for entry in pod.spec.resourceClaims:
        try:
            made = _existing_or_new(pod, entry, world, gates, new_suffix)
        except _CannotCreateError as error:
            event = f"PodResourceClaim {entry.name}: {error}"
            return PodPass(tuple(creates), error=f"pod {found.key}, {event}", event=event)
        if made is None:
            continue
        if isinstance(made, str):
            statuses.append((entry.name, made))
        else:
            creates.append(made)
            statuses.append((entry.name, made.document["metadata"]["name"]))
    reserves, error_text = _reserves(pod, world) if pod.spec.nodeName else ((), "")
    return PodPass(tuple(creates), tuple(statuses), reserves, error_text)


def _existing_or_new(
    pod: Pod, entry: PodResourceClaim, world: World, gates: GateSet, new_suffix: Callable[[], str]
) -> NewClaim | str | None:
    """Return a claim to create for an entry, or the name of one to record; None if nothing is to be done."""
    namespace = pod.metadata.namespace
    try:
        name, is_own = claim_name(pod, entry)
    except ClaimNameError as error:
        if not error.not_created:
            raise _CannotCreateError(f"checking for claim before creating it: {error}") from None
    else:
        if name is None:
            return None
        claim = world.view(KINDS.RESOURCE_CLAIM, f"{namespace}/{name}") if name else None
        if claim is not None and not (is_own and why_not_for_pod(pod, claim)):
            return None
    if entry.resourceClaimTemplateName is None:
        return None
    orphan = _generated_for(pod, entry.name, world)
    if orphan is not None:
        return orphan
    template = world.get(KINDS.RESOURCE_CLAIM_TEMPLATE, f"{namespace}/{entry.resourceClaimTemplateName}")
    if template is None:
        quoted = go_quote(entry.resourceClaimTemplateName)
        missing = f"{KINDS.RESOURCE_CLAIM_TEMPLATE.name.lower()}.resource.k8s.io {quoted} not found"
        raise _CannotCreateError(f"resource claim template {quoted}: {missing}")
    view: ResourceClaimTemplate = template.view
    admin_access = wants_admin_access(view.spec.spec)
    if admin_access and not gates.enabled(DRA_ADMIN_ACCESS):
        raise _CannotCreateError("admin access is requested, but the feature is disabled")
    if not gates.enabled(DRA_PRIORITIZED_LIST) and any(
        request.firstAvailable for request in view.spec.spec.devices.requests
    ):
        raise _CannotCreateError("template includes a prioritized list of subrequests, but the feature is disabled")
    return NewClaim(_new_claim(pod, entry.name, template, new_suffix), admin_access)


def wants_admin_access(spec: ResourceClaimSpec) -> bool:
    return any(request.exactly is not None and request.exactly.adminAccess for request in spec.devices.requests)


def _generated_for(pod: Pod, entry: str, world: World) -> str | None:
    """Return the name of a claim that was created for the entry, but is not in the pod's status."""
    for claim in world.owned(KINDS.RESOURCE_CLAIM, pod.metadata.uid):
        if owning_pod(claim.view)[0] and claim.view.metadata.annotations.get(POD_CLAIM_NAME) == entry:
            return claim.name
    return None


def _new_claim(pod: Pod, entry: str, template: Object, new_suffix: Callable[[], str]) -> Raw:
    """Return the claim for an entry of a pod, with the labels, annotations and spec of the template."""
    spec = template.raw["spec"]
    described = spec.get("metadata") or {}
    base = generate_name(pod.metadata.name, entry)
    metadata: Raw = {
        "name": base + new_suffix(),
        "generateName": base,
        "namespace": pod.metadata.namespace,
        "annotations": {**(described.get("annotations") or {}), POD_CLAIM_NAME: entry},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": pod.metadata.name,
                "uid": pod.metadata.uid,
                "controller": True,
            }
        ],
    }
    if described.get("labels"):
        metadata["labels"] = described["labels"]
    return {
        "apiVersion": KINDS.RESOURCE_CLAIM.api_version,
        "kind": KINDS.RESOURCE_CLAIM.name,
        "metadata": metadata,
        "spec": spec.get("spec") or {},
    }


def generate_name(pod: str, entry: str) -> str:
    """Return the first part of a claim's name; both names are cut in proportion if they are long."""
    base = f"{pod}-{entry}-"
    if len(base) <= _MAX_BASE_LENGTH:
        return base
    kept_of_pod, kept_of_entry = (len(name) * _MAX_BASE_LENGTH // len(base) for name in (pod, entry))
    return f"{pod[:kept_of_pod]}-{entry[:kept_of_entry]}"


def _reserves(pod: Pod, world: World) -> tuple[tuple[Object, ...], str]:
    """Return the allocated claims to reserve for a pod that was bound without the scheduler, and an error."""
    reserves: list[Object] = []
    for entry in pod.spec.resourceClaims:
        try:
            name, is_own = claim_name(pod, entry)
        except ClaimNameError as error:
            return tuple(reserves), str(error)
        if name is None:
            continue
        claim = world.get(KINDS.RESOURCE_CLAIM, f"{pod.metadata.namespace}/{name}")
        if claim is None:
            break
        problem = why_not_for_pod(pod, claim.view) if is_own else None
        if problem is not None:
            return tuple(reserves), problem
        if must_be_reserved(pod, claim.view):
            reserves.append(claim)
    return tuple(reserves), ""


def must_be_reserved(pod: Pod, claim: ResourceClaim) -> bool:
    """Return whether an allocated claim of a bound pod has room for it, but is not reserved for it."""
    status = claim.status
    return (
        status.allocation is not None
        and not is_reserved_for_pod(pod, claim)
        and len(status.reservedFor) < MAX_CONSUMERS
    )


def pod_needs_work(pod: Pod, world: World) -> bool:
    """Return whether a claim of the pod must be created or reserved, or cannot be told."""
    if pod.metadata.deletionTimestamp is not None:
        return False
    for entry in pod.spec.resourceClaims:
        try:
            name, is_own = claim_name(pod, entry)
        except ClaimNameError:
            return True
        if name is None:
            continue
        claim = world.view(KINDS.RESOURCE_CLAIM, f"{pod.metadata.namespace}/{name}")
        if claim is None:
            if entry.resourceClaimTemplateName is not None:
                return True
        elif pod.spec.nodeName and not (is_own and why_not_for_pod(pod, claim)) and must_be_reserved(pod, claim):
            return True
    return False


def owning_pod(claim: ResourceClaim) -> tuple[str, str]:
    """Return name and UID of the pod that controls the claim; both are empty if no pod does."""
    owner = controller_of(claim.metadata)
    return (owner.name, owner.uid) if owner and (owner.apiVersion, owner.kind) == ("v1", "Pod") else ("", "")
