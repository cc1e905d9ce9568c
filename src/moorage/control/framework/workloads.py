"""Helpers for controllers of pods: pod states, owner references, adoption, new pods, counts, status updates, hashes.

Kubernetes: pkg/controller's controller_utils and controller_ref_manager, pkg/api/v1/pod.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Create, Delete, Patch, Raw, Report, Update, note, patch_metadata, warn
from moorage.control.framework.pod_tally import PodFacts
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.world import World, controller_of
from moorage.match.label_selector import Selector, as_label_selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError
from moorage.model.generated_names import safe_encode
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.text.patterns import whole
from moorage.model.text.readers import reads_text
from moorage.model.types.meta import LabelSelector, ObjectMeta, OwnerReference
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod, PodCondition
from moorage.model.types.workload import JobCondition, JobStatus

ROLLING_UPDATE = "RollingUpdate"
_MAX_NAME_LENGTH = 253
_CONTAINER_LISTS = ("containers", "initContainers")
_is_percent = whole(r"[0-9]{1,9}%")
#: No vowels, to avoid words, and no characters that look alike.


# -- pods -------------------------------------------------------------------------------------------------------------


def ready_condition(pod: Pod) -> PodCondition | None:
    """Return the Ready condition if it is True."""
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return condition if condition.status == "True" else None
    return None


def is_finished(pod: Pod) -> bool:
    return pod.status.phase in FINISHED_PHASES


def is_active(pod: Pod) -> bool:
    return pod.metadata.deletionTimestamp is None and not is_finished(pod)


def is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletionTimestamp is not None and not is_finished(pod)


def available_in(pod: Pod, min_ready_seconds: int, now: float) -> float | None:
    """Return in how many seconds the pod is available: 0 if it is, None if it is not ready."""
    condition = ready_condition(pod)
    if condition is None:
        return None
    if min_ready_seconds <= 0:
        return 0.0
    since = seconds_of(condition.lastTransitionTime)
    return None if since is None else max(0.0, since + min_ready_seconds - now)


# -- owners -----------------------------------------------------------------------------------------------------------


def controller_reference(owner: Object) -> Raw:
    """Return an owner reference that makes the owner the controller."""
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.name,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def find_owner(kind: Kind, owner: OwnerReference, namespace: str, world: World) -> Object | None:
    """Return the object of this kind that a reference names, if it exists with the same UID."""
    found = world.get(kind, f"{namespace}/{owner.name}")
    return found if found is not None and found.uid == owner.uid else None


def owner_key(kind: Kind, found: Object, world: World) -> str | None:
    """Return the key of the controller of an object, if it is of this kind and exists with the same UID."""
    owner = controller_of(found.view.metadata)
    if owner is None or owner.kind != kind.name:
        return None
    controller = find_owner(kind, owner, found.namespace, world)
    return controller.key if controller is not None else None


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a controller's selector matches. An empty selector matches nothing."""
    if selector is None or not (selector.matchLabels or selector.matchExpressions):
        return False
    for key, value in selector.matchLabels.items():
        if labels.get(key) != value:
            return False
    if not selector.matchExpressions:
        return True
    compiled = _compiled(selector)
    return compiled is not None and compiled.match(labels)


#: Selectors by their identity, with the view they belong to, so that it is not used for another one.
_KNOWN: dict[int, tuple[LabelSelector, Selector | None]] = {}
_MAX_KNOWN = 1_024


def _compiled(selector: LabelSelector) -> Selector | None:
    """Compile a selector once, for all the objects that it is asked about; None if it is not valid."""
    known = _KNOWN.get(id(selector))
    if known is not None and known[0] is selector:
        return known[1]
    try:
        compiled = compile_label_selector(selector)
    except SelectorError:
        compiled = None
    if len(_KNOWN) >= _MAX_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(selector)] = selector, compiled
    return compiled


def concerned_owners(kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
    """Return the keys of the objects of a kind that control, controlled or may adopt a changed object."""
    if old is not None and new is not None and old.view.metadata is new.view.metadata:  # the status of a pod
        key = owner_key(kind, new, world)
        return () if key is None else (key,)
    keys: dict[str, None] = {}
    is_alike = (
        old is not None
        and new is not None
        and old.view.metadata.ownerReferences is new.view.metadata.ownerReferences
        and old.key == new.key
    )
    for found in (new,) if is_alike else (old, new):
        key = owner_key(kind, found, world) if found is not None else None
        if key is not None:
            keys[key] = None
    if new is None or controller_of(new.view.metadata) is not None or not new.view.metadata.labels:
        return keys
    metadata: ObjectMeta = new.view.metadata
    if old is not None:
        before: ObjectMeta = old.view.metadata
        if before.labels == metadata.labels and before.ownerReferences == metadata.ownerReferences:
            return keys
    for candidate in world.selecting(kind, new.namespace, metadata.labels):
        if selects(as_label_selector(candidate.view.spec.selector), metadata.labels):
            keys[candidate.key] = None
    return keys


class Claimed(NamedTuple):
    """The objects a controller owns or is about to own, and the patches of their owner references."""

    objects: list[Object]
    patches: list[Patch]


def claim(owner: Object, selector: LabelSelector | None, kind: Kind, world: World) -> Claimed:
    """Adopt and release at once, where there are few objects."""
    return finish(claim_in_steps(owner, selector, kind, world))


def claim_in_steps(
    owner: Object,
    selector: LabelSelector | None,
    kind: Kind,
    world: World,
    *,
    only_active_pods: bool = False,
    is_member: Callable[[Object], bool] = lambda found: True,
) -> Steps[Claimed]:
    """Adopt orphans that the selector matches, release objects that it no longer matches.

    Objects for which `is_member` is false are neither adopted nor kept.
    """
    view: Any = owner.view
    is_leaving = view.metadata.deletionTimestamp is not None
    objects: list[Object] = []
    patches: list[Patch] = []
    selected: dict[int, bool] = {}  # by the identity of labels, which pods of one template share
    for part in in_parts(world.owned(kind, owner.uid)):
        for found in part:
            if only_active_pods and not is_active(found.view):
                continue
            labels = found.view.metadata.labels
            is_selected = selected.get(id(labels))
            if is_selected is None:
                is_selected = selected[id(labels)] = selects(selector, labels)
            if is_selected and is_member(found):
                objects.append(found)
            elif not is_leaving:
                patches.append(patch_metadata(found, {"ownerReferences": [{"$patch": "delete", "uid": owner.uid}]}))
        yield
    if is_leaving:
        return Claimed(objects, patches)
    for part in in_parts(world.orphans_for(kind, owner.namespace, selector)):
        for found in part:
            if _may_be_adopted(found, selector, only_active=only_active_pods) and is_member(found):
                objects.append(found)
                patches.append(patch_metadata(found, {"ownerReferences": [controller_reference(owner)]}))
        yield
    return Claimed(objects, patches)


def _may_be_adopted(found: Object, selector: LabelSelector | None, *, only_active: bool) -> bool:
    metadata: ObjectMeta = found.view.metadata
    if metadata.deletionTimestamp is not None or not selects(selector, metadata.labels):
        return False
    return not only_active or is_active(found.view)


def has_all_it_claims(owner: Object, selector: LabelSelector | None, world: World) -> bool:
    """Return whether `claim_in_steps` of active pods would have nothing to adopt and nothing to release."""
    if owner.view.metadata.deletionTimestamp is not None:
        return True
    if any(facts.is_active and not selects(selector, dict(facts.labels)) for facts in world.tally_of_owner(owner.uid)):
        return False
    orphans = world.orphans_for(KINDS.POD, owner.namespace, selector)
    return not any(_may_be_adopted(orphan, selector, only_active=True) for orphan in orphans)


class Readiness(NamedTuple):
    """How many pods are ready and available, and in how many seconds the next becomes available."""

    ready: int
    available: int
    again_after: float | None


def readiness_of(tally: Iterable[tuple[PodFacts, int]], min_ready_seconds: int, now: float) -> Readiness:
    """Return the readiness of pods that have been counted by their facts."""
    ready = available = 0
    waits: list[float] = []
    for facts, count in tally:
        if facts.ready_since is None:
            continue
        ready += count
        since = seconds_of(facts.ready_since) if min_ready_seconds > 0 else now
        if since is None:
            continue
        left = since + min_ready_seconds - now if min_ready_seconds > 0 else 0.0
        if left > 0:
            waits.append(left)
        else:
            available += count
    return Readiness(ready, available, min(waits, default=None))


def readiness(pods: Iterable[Pod], min_ready_seconds: int, now: float) -> Readiness:
    known: dict[int, tuple[bool, float | None]] = {}  # by the identity of conditions, which pods of one template share
    ready, waits = 0, list[float]()
    for pod in pods:
        conditions = pod.status.conditions
        found = known.get(id(conditions))
        if found is None:
            is_ready = ready_condition(pod) is not None
            found = known[id(conditions)] = is_ready, available_in(pod, min_ready_seconds, now)
        ready += found[0]
        if found[1] is not None:
            waits.append(found[1])
    return Readiness(ready, waits.count(0), min(filter(None, waits), default=None))


# -- new pods ---------------------------------------------------------------------------------------------------------


def pod_from_template(owner: Object, template: Raw) -> Raw:
    """Return a pod made from the template, controlled by `owner`, with a generated name."""
    described = template.get("metadata") or {}
    prefix = f"{owner.name}-"
    metadata: Raw = {"generateName": prefix if len(prefix) <= _MAX_NAME_LENGTH else owner.name}
    for field in ("labels", "annotations", "finalizers"):
        if described.get(field):
            metadata[field] = described[field]
    metadata["ownerReferences"] = [controller_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


# -- numbers, hashes, statuses ----------------------------------------------------------------------------------------


def desired_replicas(found: Object) -> int:
    replicas = found.view.spec.replicas
    return 1 if replicas is None else int(replicas)


def scaled(value: int | str | None, total: int, *, up: bool) -> int:
    """Resolve a number or percentage of the total, rounded up or down; 0 if malformed."""
    if value is None or isinstance(value, int):
        return value or 0
    if not _is_percent(value):
        return 0
    share = int(value[:-1]) * total
    return -(-share // 100) if up else share // 100


@reads_text("1", "0", "x")
def digits(text: str, max_length: int = 10) -> int | None:
    """Return a number that is written in ASCII digits; None if it is malformed or too long."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= max_length else None


def int32(text: str) -> int | None:
    """Return a count that is written in ASCII digits; None if it is malformed or too large."""
    number = digits(text)
    return number if number is not None and number < 2**31 else None


def namespace_is_terminating(error: ApiError) -> bool:
    return error.has_cause("NamespaceTerminating")


def telling_part(template: Raw) -> Raw:
    """Return what hashes are made of: without empty resources, which the API shows of every container."""
    spec = template.get("spec")
    if not isinstance(spec, dict):
        return template
    lists = {name: [_without_empty_resources(one) for one in spec[name]] for name in _CONTAINER_LISTS if spec.get(name)}
    return {**template, "spec": {**spec, **lists}}


def _without_empty_resources(container: Any) -> Any:
    if isinstance(container, dict) and container.get("resources") == {}:
        return {name: value for name, value in container.items() if name != "resources"}
    return container


def template_hash(template: Raw, collisions: int | None) -> str:
    """Return a short hash for names and labels. Differs: of the template as JSON, not as Go prints it."""
    text = json.dumps(telling_part(template), sort_keys=True, separators=(",", ":"))
    if collisions is not None:
        text += str(collisions)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    return safe_encode(str(number))


def ending_condition(status: JobStatus) -> JobCondition | None:
    """Return the condition that says that a Job is finished."""
    return next((one for one in status.conditions if one.type in ("Complete", "Failed") and one.status == "True"), None)


def job_end(status: JobStatus) -> str:
    """Return `Complete` or `Failed`, or an empty text."""
    ending = ending_condition(status)
    return "" if ending is None else ending.type


def status_update(found: Object, status: Raw, annotations: Raw | None = None) -> tuple[Update, ...]:
    """Return the status update, with additional annotations; empty if nothing changes."""
    raw = found.raw
    metadata = raw["metadata"]
    present = metadata.get("annotations") or {}
    wanted = {**present, **(annotations or {})}
    if wanted == present and (raw.get("status") or {}) == status:
        return ()
    document = {**raw, "status": status}
    if wanted != present:
        document["metadata"] = {**metadata, "annotations": wanted}
    return (Update(found.kind, document, "status"),)


def new_pod_report(owner: Object) -> Report:
    return note(owner, "SuccessfulCreate", "Created pod: {name}")


def delete_pod(owner: Object, name: str, uid: str) -> Delete:
    return Delete(KINDS.POD, owner.namespace, name, uid, report=note(owner, "SuccessfulDelete", f"Deleted pod: {name}"))


def refusal_report(owner: Object, action: Create | Delete, error: ApiError) -> Report:
    reason, doing = ("FailedCreate", "creating") if isinstance(action, Create) else ("FailedDelete", "deleting")
    return warn(owner, reason, f"Error {doing}: {error.message}")


def condition(kind: str, status: str, reason: str, message: str, now: float, *other_times: str) -> Raw:
    """Return a condition that changes now. `other_times`: fields that have the same time."""
    times = dict.fromkeys((*other_times, "lastTransitionTime"), time_text(now))
    return {"type": kind, "status": status, **times, "reason": reason, "message": message}


def disruption_target(pod: Pod, reason: str, message: str, now: float) -> Raw:
    """Return the condition of a pod that is about to be deleted."""
    target = condition("DisruptionTarget", "True", reason, message, now)
    return {**target, **nonempty(observedGeneration=pod.metadata.generation)}


def nonempty(**fields: object) -> Raw:
    """Return the fields of a status that the API omits if they are empty or 0."""
    return {field: value for field, value in fields.items() if value}


def set_condition(conditions: Sequence[Raw], new: Raw, now: float) -> list[Raw]:
    """Set a condition by its type. Its lastTransitionTime stays while the status does."""
    index = next((index for index, one in enumerate(conditions) if one.get("type") == new["type"]), len(conditions))
    old = conditions[index] if index < len(conditions) else {}
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else None
    return [*conditions[:index], {**new, "lastTransitionTime": since or time_text(now)}, *conditions[index + 1 :]]


def is_ready(node: Node) -> bool:
    """Return whether the node's Ready condition is True: one that is Unknown or absent is not."""
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)
