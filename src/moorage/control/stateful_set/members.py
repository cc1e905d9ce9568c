"""Pods and claims of a StatefulSet: ordinals, states, which to replace, status, new documents, owners of claims.

Claims with another controller, or owned by an earlier object of the same name, are left alone. Kubernetes:
stateful_set_utils.go, updateStatus, completeRollingUpdate, newStatefulSetPod, updateClaimOwnerRefForSetAndPod.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.actions import Raw
from moorage.control.framework.revisions import hash_of
from moorage.model.types.pod import Pod
from moorage.model.types.workload import StatefulSet
from moorage.model.well_known.labels import POD_INDEX, POD_NAME, REVISION_HASH


def pods_to_replace(view: StatefulSet, replicas: Sequence[Object | None], revision: str, now: float) -> list[Object]:
    """Return the outdated pods to delete, highest ordinal first, down to the partition."""
    update = view.spec.updateStrategy.rollingUpdate
    lowest = (update.partition or 0) if update is not None else 0
    candidates = replicas[lowest:][::-1]
    old = [pod for pod in candidates if pod is not None and hash_of(pod) != revision and not is_leaving(pod)]
    if update is not None and update.maxUnavailable is not None:
        max_unavailable = max(1, workloads.scaled(update.maxUnavailable, len(replicas), up=False))
        missing = sum(pod is None or is_unavailable(pod, view.spec.minReadySeconds, now) for pod in replicas)
        return old[: max(0, max_unavailable - missing)]
    for pod in candidates:
        if old and pod is old[0]:
            return old[:1]
        if pod is None or is_unavailable(pod, view.spec.minReadySeconds, now):
            return []
    return []


def stateful_set_status(
    stateful_set: Object, pods: Sequence[Object], current: str, update: str, now: float
) -> tuple[Raw, float | None]:
    """Return the status and when it may change by itself. `current` and `update` are revision names."""
    view: StatefulSet = stateful_set.view
    running = (pod.view for pod in pods if pod.view.status.phase == "Running")
    ready, available, again_after = workloads.readiness(running, view.spec.minReadySeconds, now)
    revisions = [hash_of(pod) for pod in pods if not is_leaving(pod)]
    of_current, of_update = revisions.count(current), revisions.count(update)
    replicas = workloads.desired_replicas(stateful_set)
    if view.spec.updateStrategy.type == "RollingUpdate" and of_update == ready == len(pods) == replicas:
        current, of_current = update, of_update
    before: Raw = stateful_set.raw.get("status") or {}
    status = workloads.nonempty(
        observedGeneration=view.metadata.generation,
        readyReplicas=ready,
        currentReplicas=of_current,
        updatedReplicas=of_update,
        currentRevision=current,
        updateRevision=update,
        conditions=before.get("conditions"),
    )
    status |= {"replicas": len(pods), "availableReplicas": available}
    status["collisionCount"] = view.status.collisionCount or 0
    return status, again_after


def parent_and_ordinal(name: str) -> tuple[str, int]:
    """Split `web-3` into `web` and 3; -1 without a number."""
    parent, dash, digits = name.rpartition("-")
    if not (dash and digits.isascii() and digits.isdigit()):
        return "", -1
    ordinal = workloads.int32(digits)
    return parent, -1 if ordinal is None else ordinal


def ordinal_of(pod: Object) -> int:
    return parent_and_ordinal(pod.name)[1]


def wanted_ordinals(stateful_set: Object) -> range:
    ordinals = stateful_set.view.spec.ordinals
    start = ordinals.start if ordinals is not None else 0
    return range(start, start + workloads.desired_replicas(stateful_set))


def pod_name(stateful_set: Object, ordinal: int) -> str:
    return f"{stateful_set.name}-{ordinal}"


def has_identity(pod: Object) -> bool:
    return bool(pod.view.metadata.labels.get(POD_NAME) == pod.name)


def is_leaving(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is not None


def is_running_and_ready(pod: Object) -> bool:
    view: Pod = pod.view
    return view.status.phase == "Running" and workloads.ready_condition(view) is not None


def is_unavailable(pod: Object, min_ready_seconds: int, now: float) -> bool:
    return workloads.available_in(pod.view, min_ready_seconds, now) != 0 or is_leaving(pod)


def numbered_pod(stateful_set: Object, template: Raw, revision: str, ordinal: int) -> Raw:
    pod = workloads.pod_from_template(stateful_set, template)
    name = pod_name(stateful_set, ordinal)
    metadata = pod["metadata"]
    labels = {**(metadata.get("labels") or {}), POD_NAME: name, POD_INDEX: str(ordinal)}
    pod["metadata"] = {**metadata, "name": name, "labels": {**labels, REVISION_HASH: revision}}
    volumes = _volumes(stateful_set, pod["spec"].get("volumes") or [], ordinal)
    optional = workloads.nonempty(subdomain=stateful_set.view.spec.serviceName, volumes=volumes)
    return {**pod, "spec": {**pod["spec"], "hostname": name, **optional}}


def _volumes(stateful_set: Object, given: list[Raw], ordinal: int) -> list[Raw]:
    """Return a volume for each claim, then the template's volumes with other names."""
    names = claim_names(stateful_set, ordinal)
    made = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in names.items()]
    return made + [volume for volume in given if volume.get("name") not in names]


def claim_names(stateful_set: Object, ordinal: int) -> dict[str, str]:
    """Return the names of a pod's claims, by the names of their templates."""
    templates = stateful_set.view.spec.volumeClaimTemplates
    return {template.metadata.name: f"{template.metadata.name}-{stateful_set.name}-{ordinal}" for template in templates}


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
    return any(_is_for(reference, "v1", "Pod", pod) for reference in _references(claim))


def has_other_controller(claim: Object, stateful_set: Object, pod: Object) -> bool:
    """Return whether another controller owns the claim; irrelevant without a policy."""
    if retention_of(stateful_set.view) == Retention(False, False):
        return False
    for reference in _references(claim):
        owner = _ours(reference, stateful_set, pod)
        if owner is not None:
            if reference.get("uid") != owner.uid:
                return True
        elif reference.get("controller"):
            return True
    return False


def wanted_owners(claim: Object, stateful_set: Object, pod: Object) -> list[Raw] | None:
    """Return the claim's owner references as they should be; None to leave them."""
    references = _references(claim)
    for one in references:
        owner = _ours(one, stateful_set, pod)
        if owner is not None and one.get("uid") != owner.uid:
            return None
    others = [reference for reference in references if _ours(reference, stateful_set, pod) is None]
    if has_other_controller(claim, stateful_set, pod):
        return others if len(others) < len(references) else None
    wanted = others + _own(stateful_set, pod)
    ours = {
        (reference.get("uid"), bool(reference.get("controller"))) for reference in references if reference not in others
    }
    if ours == {(one["uid"], True) for one in wanted[len(others) :]}:
        return None
    return wanted


def _own(stateful_set: Object, pod: Object) -> list[Raw]:
    """Return the reference to the condemned pod or to the set, as the policy says."""
    retention = retention_of(stateful_set.view)
    is_condemned = ordinal_of(pod) not in wanted_ordinals(stateful_set)
    if retention.when_scaled and is_condemned:
        return [workloads.controller_reference(pod)]
    return [workloads.controller_reference(stateful_set)] if retention.when_deleted else []


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
