"""Pods and their ResourceClaims: which claim an entry names, whether the pod owns it and has it reserved.

Kubernetes: dynamic-resource-allocation/resourceclaim. Differs: claims of whole PodGroups are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.go.quoting import go_quote

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
