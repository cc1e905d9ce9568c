"""Make stand-ins for controllers that pods name and that the input does not have.

`kubectl get pods,deployments` prints no ReplicaSets. Without a controller a pod would not be replaced, and the garbage
collector would delete it. A ReplicaSet that a Deployment of the input must own (by its name and the pod's template
hash) gets the Deployment's template; all others that of their pods. A workload without uid gets the one its pods name.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from moorage.admit.raw import Raw, copy_document
from moorage.control.framework.workloads import is_active
from moorage.control.framework.world import controller_of
from moorage.lint.finding import Severity
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.model.well_known.annotations import CONTROLLER_HASH, DEPLOYMENT_REVISION
from moorage.model.well_known.labels import POD_INDEX, POD_NAME, POD_TEMPLATE_HASH, REVISION_HASH
from moorage.plan.input.inventory import Inventory, Item, Key

_REPLICA_SET, _DEPLOYMENT, _STATEFUL_SET = "ReplicaSet", "Deployment", "StatefulSet"
_WITH_REVISIONS = ("DaemonSet", "StatefulSet")
_STAND_IN = "plan.moorage.dev/controller"
#: What the server writes into a pod's spec, and what the next pod does not inherit.
_OF_ONE_POD = ("nodeName", "priority", "preemptionPolicy", "hostname", "subdomain")
_replace = msgspec.structs.replace


class StandIns(NamedTuple):
    """Workloads to add. `shown` has what they stand in for by uid, if that is of another kind.

    `kept` are the UIDs of owners for which there is no stand-in, and whose pods stay all the same.
    """

    workloads: list[Raw]
    kept: set[str]
    shown: dict[str, tuple[str, str, str]]


def adopt_uids(inventory: Inventory) -> None:
    """Give workloads without a uid the one by which their dependents name them; no two get the same."""
    given = {item.view.metadata.uid for item in inventory.items.values() if item.existing}
    for item in list(inventory.items.values()):
        owner = controller_of(item.view.metadata)
        above = inventory.items.get(Key(owner.kind, item.key.namespace, owner.name)) if owner is not None else None
        if owner is None or above is None or above.existing or owner.uid in given:
            continue
        if above.view.metadata.uid != owner.uid:
            given.add(owner.uid)
            _set_metadata(above, "uid", owner.uid, owner.uid)
            above.existing = True


def complete_claim_references(inventory: Inventory) -> None:
    """Write a claim's uid into the volume that it is bound to, where a dump by hand leaves it out."""
    for item in inventory.of_kind("PersistentVolume"):
        reference = item.view.spec.claimRef
        if reference is None or reference.uid:
            continue
        claim = inventory.items.get(Key("PersistentVolumeClaim", reference.namespace, reference.name))
        if claim is not None and claim.view.spec.volumeName == item.key.name:
            uid = claim.view.metadata.uid
            raw = copy_document(item.raw)
            raw["spec"]["claimRef"]["uid"] = uid
            item.raw = raw
            spec = _replace(item.view.spec, claimRef=_replace(reference, uid=uid))
            item.view = _replace(item.view, spec=spec)


def stand_ins(inventory: Inventory) -> StandIns:
    """Return the stand-ins for absent owners. Every workload of the input must have its uid."""
    groups: dict[tuple[str, Key], list[Item]] = {}
    known = {item.view.metadata.uid for item in inventory.items.values()}
    for item in inventory.of_kind("Pod"):
        owner = controller_of(item.view.metadata)
        if owner is not None and owner.uid not in known:
            key = Key(owner.kind, item.key.namespace, owner.name)
            groups.setdefault((owner.uid, key), []).append(item)
    made = StandIns([], set(), {})
    newest: dict[Key, str] = {}
    for (uid, _), pods in groups.items():
        deployment = deployment_of(inventory, pods[0])
        if deployment is not None:
            newest[deployment.key] = uid
    for (uid, _), pods in groups.items():
        deployment = deployment_of(inventory, pods[0])
        owner = controller_of(pods[0].view.metadata)
        if owner is None:
            continue
        if deployment is not None:
            current = newest[deployment.key] == uid
            made.workloads.append(_replica_set_of(deployment, owner, pods, is_current=current))
        elif owner.kind == "DaemonSet":
            made.kept.add(uid)
        elif owner.kind == _STATEFUL_SET:
            made.workloads.append(_stateful_set(owner, pods))
        else:
            if owner.kind != _REPLICA_SET:
                made.shown[uid] = owner.kind, pods[0].key.namespace, owner.name
                for item in pods:
                    _give_to_replica_set(item, uid)
            made.workloads.append(_replica_set(owner, pods))
    return made


def revision_stand_ins(inventory: Inventory) -> Iterator[Raw]:
    """Return the ControllerRevisions of DaemonSets and StatefulSets whose pods exist, where the input has none.

    The revision of the youngest pod, or that which a StatefulSet calls its update revision, has the present template.
    """
    pods: dict[str, list[Item]] = {}
    for item in inventory.of_kind("Pod"):
        owner = controller_of(item.view.metadata)
        if owner is not None and owner.kind in _WITH_REVISIONS:
            pods.setdefault(owner.uid, []).append(item)
    given = {_owner_uid(item) for item in inventory.of_kind("ControllerRevision")}
    for workload in inventory.of_kind(*_WITH_REVISIONS):
        if workload.view.metadata.uid in given:
            continue
        of_hash: dict[str, Item] = {}
        for item in pods.get(workload.view.metadata.uid, ()):
            if REVISION_HASH not in item.view.metadata.labels:
                _label(item, REVISION_HASH, f"{workload.key.name}-0")
            of_hash[item.view.metadata.labels[REVISION_HASH]] = item
        current = getattr(workload.view.status, "updateRevision", "") or next(reversed(of_hash), "")
        for value, item in of_hash.items():
            template = workload.raw["spec"]["template"] if value == current else _template(item)
            yield _revision(workload, value, template, 2 if value == current else 1)


def _owner_uid(item: Item) -> str:
    owner = controller_of(item.view.metadata)
    return owner.uid if owner is not None else ""


def _revision(workload: Item, value: str, template: Raw, number: int) -> Raw:
    metadata, is_daemon = workload.view.metadata, workload.key.kind == "DaemonSet"
    labels = {**((workload.raw["spec"]["template"].get("metadata") or {}).get("labels") or {})}
    labels[REVISION_HASH if is_daemon else CONTROLLER_HASH] = value
    name = f"{metadata.name}-{value}" if is_daemon else value
    about = {"name": name, "namespace": metadata.namespace, "uid": f"{metadata.uid}-{value}", "labels": labels}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {**about, "ownerReferences": [_reference_to(workload)]},
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }


def _reference_to(item: Item) -> Raw:
    named = {"apiVersion": "apps/v1", "kind": item.key.kind, "name": item.key.name, "uid": item.view.metadata.uid}
    return {**named, "controller": True, "blockOwnerDeletion": True}


def _give_to_replica_set(pod: Item, uid: str) -> None:
    """Name the stand-in as the pod's controller, where it is of another kind than the absent one."""
    changed = {"apiVersion": "apps/v1", "kind": _REPLICA_SET}
    references = [{**one, **changed} if one["uid"] == uid else one for one in pod.raw["metadata"]["ownerReferences"]]
    owners = tuple(_replace(one, **changed) if one.uid == uid else one for one in pod.view.metadata.ownerReferences)
    _set_metadata(pod, "ownerReferences", references, owners)


def deployment_of(inventory: Inventory, pod: Item) -> Item | None:
    """Return the Deployment whose ReplicaSet must own the pod."""
    metadata: ObjectMeta = pod.view.metadata
    owner = controller_of(metadata)
    suffix = f"-{metadata.labels.get(POD_TEMPLATE_HASH, '')}"
    if owner is None or owner.kind != _REPLICA_SET or not owner.name.endswith(suffix):
        return None
    return inventory.items.get(Key(_DEPLOYMENT, metadata.namespace, owner.name.removesuffix(suffix)))


def _replica_set_of(deployment: Item, owner: OwnerReference, pods: list[Item], *, is_current: bool) -> Raw:
    spec = deployment.raw["spec"]
    hashed = {POD_TEMPLATE_HASH: pods[0].view.metadata.labels.get(POD_TEMPLATE_HASH, "")}
    template = copy_document(spec["template"]) if is_current else _template(pods[0])
    labels = {**((template.get("metadata") or {}).get("labels") or {}), **hashed}
    template["metadata"] = {**(template.get("metadata") or {}), "labels": labels}
    selector = copy_document(spec.get("selector") or {})
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **hashed}
    made = _workload(_REPLICA_SET, owner, pods, selector, template)
    made["metadata"]["ownerReferences"] = [_reference_to(deployment)]
    made["metadata"]["annotations"] = {DEPLOYMENT_REVISION: "2" if is_current else "1"}
    made["metadata"]["labels"] = labels
    return made


def _replica_set(owner: OwnerReference, pods: list[Item]) -> Raw:
    if not _common_labels(pods):
        for item in pods:
            _label(item, _STAND_IN, owner.name)
    selector = {"matchLabels": _common_labels(pods)}
    return _workload(_REPLICA_SET, owner, pods, selector, _template(pods[0]))


def _label(pod: Item, name: str, value: str) -> None:
    """Give the pod a label by which its controller can tell it from others."""
    labels = {**(pod.raw["metadata"].get("labels") or {}), name: value}
    _set_metadata(pod, "labels", labels, labels)


def _set_metadata(item: Item, field: str, raw: object, view: object) -> None:
    item.raw = {**item.raw, "metadata": {**item.raw["metadata"], field: raw}}
    item.view = _replace(item.view, metadata=_replace(item.view.metadata, **{field: view}))


def _stateful_set(owner: OwnerReference, pods: list[Item]) -> Raw:
    template = _template(pods[0])
    own = (POD_NAME, POD_INDEX, REVISION_HASH)
    labels = {name: value for name, value in _common_labels(pods).items() if name not in own}
    template["metadata"]["labels"] = labels
    name, claims, volumes = pods[0].key.name, [], []
    for volume in template["spec"].get("volumes") or []:
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim == f"{volume.get('name')}-{name}":
            storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            claims.append({"metadata": {"name": volume["name"]}, "spec": storage})
        else:
            volumes.append(volume)
    template["spec"]["volumes"] = volumes
    made = _workload(_STATEFUL_SET, owner, pods, {"matchLabels": labels}, template)
    ordinals = sorted(int(text) for item in pods if (text := item.key.name.rpartition("-")[2]).isdecimal())
    start = ordinals[0] if ordinals else 0
    made["spec"] |= {"replicas": ordinals[-1] - start + 1 if ordinals else len(pods), "serviceName": ""}
    made["spec"] |= {"ordinals": {"start": start}, "volumeClaimTemplates": claims, "podManagementPolicy": "Parallel"}
    made["spec"]["updateStrategy"] = {"type": "OnDelete"}
    return made


def _workload(kind: str, owner: OwnerReference, pods: list[Item], selector: Raw, template: Raw) -> Raw:
    metadata = {"name": owner.name, "namespace": pods[0].key.namespace, "uid": owner.uid}
    counted = sum(is_active(item.view) for item in pods)
    spec = {"replicas": counted, "selector": selector, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _common_labels(pods: list[Item]) -> dict[str, str]:
    first, *others = (item.view.metadata.labels for item in pods)
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


def _template(pod: Item) -> Raw:
    spec: dict[str, Any] = copy_document(pod.raw["spec"])
    for name in _OF_ONE_POD:
        spec.pop(name, None)
    spec.setdefault("restartPolicy", "Always")
    metadata = pod.raw["metadata"]
    return {"metadata": {"labels": dict(metadata.get("labels") or {})}, "spec": spec}


def note_cycles(inventory: Inventory) -> None:
    """Note objects that own themselves by way of others, which no controller follows."""
    seen: set[Key] = set()
    for start in inventory.items:
        path: list[Key] = []
        for key in _owners_above(inventory, start):
            if key in path:
                cycle = " → ".join(map(str, [*path[path.index(key) :], key]))
                inventory.note(Severity.WARNING, key, f"owns itself: {cycle}", inventory.items[key].place)
                break
            if key in seen:
                break
            seen.add(key)
            path.append(key)


def _owners_above(inventory: Inventory, key: Key | None) -> Iterator[Key]:
    while key is not None and key in inventory.items:
        yield key
        owner = controller_of(inventory.items[key].view.metadata)
        key = Key(owner.kind, key.namespace, owner.name) if owner is not None else None
