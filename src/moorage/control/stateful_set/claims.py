"""Pods and claims of a StatefulSet: documents of new ones, and owner references by retention policy.

Claims with another controller, or owned by an earlier object of the same name, are left alone. Kubernetes:
newStatefulSetPod, isClaimOwnerUpToDate, updateClaimOwnerRefForSetAndPod, PodClaimIsStale.
"""

from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.pods_of import controller_reference, pod_from_template
from moorage.control.stateful_set.members import (
    POD_INDEX_LABEL,
    POD_NAME_LABEL,
    REVISION_LABEL,
    ordinal_of,
    pod_name,
    wanted_ordinals,
)
from moorage.model.kinds import KINDS
from moorage.model.types.workload import StatefulSet


def numbered_pod(stateful_set: Object, template: Raw, revision: str, ordinal: int) -> Raw:
    pod = pod_from_template(stateful_set, template)
    name = pod_name(stateful_set, ordinal)
    metadata = pod["metadata"]
    labels = {**(metadata.get("labels") or {}), POD_NAME_LABEL: name, POD_INDEX_LABEL: str(ordinal)}
    pod["metadata"] = {**metadata, "name": name, "labels": {**labels, REVISION_LABEL: revision}}
    spec = {**pod["spec"], "hostname": name}
    service = stateful_set.view.spec.serviceName
    if service:
        spec["subdomain"] = service
    volumes = _volumes(stateful_set, spec.get("volumes") or [], ordinal)
    if volumes:
        spec["volumes"] = volumes
    return {**pod, "spec": spec}


def _volumes(stateful_set: Object, given: list[Raw], ordinal: int) -> list[Raw]:
    """Return a volume for each claim, then the template's volumes with other names."""
    names = claim_names(stateful_set, ordinal)
    made = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in names.items()]
    return made + [volume for volume in given if volume.get("name") not in names]


def claim_names(stateful_set: Object, ordinal: int) -> dict[str, str]:
    """Return the names of a pod's claims, by the names of their templates."""
    templates = stateful_set.view.spec.volumeClaimTemplates
    return {one.metadata.name: f"{one.metadata.name}-{stateful_set.name}-{ordinal}" for one in templates}


def claims_of(stateful_set: Object, ordinal: int) -> list[Raw]:
    spec = stateful_set.raw["spec"]
    selected = (spec.get("selector") or {}).get("matchLabels") or {}
    names = claim_names(stateful_set, ordinal)
    claims: list[Raw] = []
    for template in spec.get("volumeClaimTemplates") or ():
        given = template.get("metadata") or {}
        metadata: Raw = {
            **given,
            "name": names[given.get("name", "")],
            "namespace": stateful_set.namespace,
            "labels": {**(given.get("labels") or {}), **selected},
        }
        claim = {name: value for name, value in template.items() if name != "status"}
        claims.append({**claim, "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata})
    return claims


CLAIM = KINDS["v1", "PersistentVolumeClaim"]
_RETAIN, _DELETE = "Retain", "Delete"


class Retention(NamedTuple):
    """Whether claims are deleted with the set, and when their pod is scaled away."""

    when_deleted: bool
    when_scaled: bool


def retention_of(view: StatefulSet) -> Retention:
    policy = view.spec.persistentVolumeClaimRetentionPolicy
    if policy is None:
        return Retention(False, False)
    return Retention(policy.whenDeleted == _DELETE, policy.whenScaled == _DELETE)


def is_stale(claim: Object, pod: str) -> bool:
    """Return whether the claim is owned by an earlier pod of that name, with which it will be deleted."""
    return any(_is_for(one, "v1", "Pod", pod) for one in _references(claim))


def has_other_controller(claim: Object, stateful_set: Object, pod: Object) -> bool:
    """Return whether another controller owns the claim; irrelevant without a policy."""
    if retention_of(stateful_set.view) == Retention(False, False):
        return False
    for one in _references(claim):
        owner = _ours(one, stateful_set, pod)
        if owner is not None:
            if one.get("uid") != owner.uid:
                return True
        elif one.get("controller"):
            return True
    return False


def wanted_owners(claim: Object, stateful_set: Object, pod: Object) -> list[Raw] | None:
    """Return the claim's owner references as they should be; None to leave them."""
    references = _references(claim)
    for one in references:
        owner = _ours(one, stateful_set, pod)
        if owner is not None and one.get("uid") != owner.uid:
            return None
    others = [one for one in references if _ours(one, stateful_set, pod) is None]
    if has_other_controller(claim, stateful_set, pod):
        return others if len(others) < len(references) else None
    wanted = others + _own(stateful_set, pod)
    ours = {(one.get("uid"), bool(one.get("controller"))) for one in references if one not in others}
    if ours == {(one["uid"], True) for one in wanted[len(others) :]}:
        return None
    return wanted


def _own(stateful_set: Object, pod: Object) -> list[Raw]:
    """Return the reference to the condemned pod or to the set, as the policy says."""
    retention = retention_of(stateful_set.view)
    is_condemned = ordinal_of(pod) not in wanted_ordinals(stateful_set.view)
    if retention.when_scaled and is_condemned:
        return [controller_reference(pod)]
    return [controller_reference(stateful_set)] if retention.when_deleted else []


def _references(claim: Object) -> list[Raw]:
    found: list[Raw] = claim.raw["metadata"].get("ownerReferences") or []
    return found


def _ours(reference: Raw, stateful_set: Object, pod: Object) -> Object | None:
    """Return which of the two a reference names, whatever its UID."""
    for owner in (stateful_set, pod):
        if _is_for(reference, owner.kind.api_version, owner.kind.name, owner.name):
            return owner
    return None


def _is_for(reference: Raw, api_version: str, kind: str, name: str) -> bool:
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == (api_version, kind, name)
