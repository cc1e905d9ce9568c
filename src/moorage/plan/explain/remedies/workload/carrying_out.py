"""Carry out suggested changes in a simulation, through its API, the way a person would.

A template is changed in the workload; pods that their workload does not replace by itself are deleted; a Job, a bare
pod and a claim on devices are recreated, since their specs cannot be changed; another pod that has to leave is evicted.
"""

import re
from collections.abc import Sequence

from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.control.framework.world import World, controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.json_patch import apply_merge_patch
from moorage.model.types.devices import DeviceClass, DeviceTaintRule, ResourceClaim
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.departures import USER
from moorage.plan.explain.remedies.acceptance import document_of, overlay
from moorage.plan.explain.remedies.change import Change, ObjectPatch
from moorage.plan.explain.remedies.differences import carried
from moorage.plan.input.applying import JOB_LABELS
from moorage.plan.input.inventory import Key
from moorage.plan.node_changes import add_nodes
from moorage.plan.pod_lines import PlannedPod
from moorage.plan.rollout import kind_of_workload
from moorage.plan.simulation.loading import WRITES_PER_POD
from moorage.plan.simulation.simulation import Simulation

_RULE = next(kind for kind in KINDS.values() if kind.view is DeviceTaintRule)
#: What one pod has been given, and no template has.
_OF_ONE_POD = ("nodeName", "priority", "preemptionPolicy")
_ADDED_BY_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences")
#: Workloads that replace their pods when the template changes, also those that wait.
_REPLACE_PODS = ("Deployment", "DaemonSet")


def carry_out(simulation: Simulation, changes: Sequence[Change], pod: PlannedPod, before: Pod) -> None:
    """Make changes, of which each pod includes those before it. Raises ApiError, ChangeError or CannotCarry."""
    simulation.api.actor = USER
    try:
        for change in changes:
            _change_others(simulation, change, pod)
        after = next((change.template for change in reversed(changes) if change.template is not None), None)
        if after is not None:
            _change_template(simulation, pod, before, after, recreates=any(one.recreates for one in changes))
        elif any(change.devices and not change.gone for change in changes):
            if pod.owner is None:
                _recreate_pod(simulation, pod, before, before)
            else:
                delete_waiting(simulation, workload_of(pod))
    finally:
        simulation.api.actor = ""


def workload_of(pod: PlannedPod) -> Key:
    """Return the workload whose pods count: the pod's, or the pod itself if it has none."""
    namespace, _, name = pod.key.partition("/")
    return pod.owner if pod.owner is not None else Key("Pod", namespace, name)


def template_owner(simulation: Simulation, pod: PlannedPod) -> Object | None:
    """Return the object whose template the pod is made of; None for a bare pod."""
    if pod.owner is None:
        return None
    world, namespace = simulation.world, pod.owner.namespace
    kind = kind_named(pod.owner.kind)
    shown = world.get(kind, f"{namespace}/{pod.owner.name}") if kind is not None else None
    if shown is not None:
        return shown
    reference = controller_of(pod.pod.metadata)  # of a workload that is not in the input
    kind = kind_named(reference.kind) if reference is not None else None
    return world.get(kind, f"{namespace}/{reference.name}") if kind is not None and reference is not None else None


def kind_named(name: str) -> Kind | None:
    """Return the kind of workloads with this name."""
    try:
        return kind_of_workload(name)
    except KeyError:
        return None


def template_like(pod: Pod) -> Raw:
    """Return of a pod what its template has, too."""
    document = document_of(pod)
    spec = {name: value for name, value in document.get("spec", {}).items() if name not in _OF_ONE_POD}
    return {"metadata": {"labels": document.get("metadata", {}).get("labels", {})}, "spec": spec}


def as_written(document: Raw) -> Raw:
    """Return a document as a user writes it to change what exists: without status and what the API server adds."""
    metadata = {name: value for name, value in document["metadata"].items() if name not in _ADDED_BY_SERVER}
    return {name: value for name, value in {**document, "metadata": metadata}.items() if name != "status"}


def as_new(document: Raw) -> Raw:
    """Return a document as a user writes it to create the object: also without what is generated for each one."""
    new = as_written(document)
    if document.get("kind") == KINDS.POD.name:
        new["spec"] = {name: value for name, value in new["spec"].items() if name not in _OF_ONE_POD}
    if document.get("kind") != KINDS.JOB.name or new["spec"].get("manualSelector"):
        return new
    template = new["spec"].get("template") or {}
    spec = {name: value for name, value in new["spec"].items() if name != "selector"}
    return {
        **new,
        "metadata": _without_generated_labels(new["metadata"]),
        "spec": {
            **spec,
            "template": {**template, "metadata": _without_generated_labels(template.get("metadata") or {})},
        },
    }


def _without_generated_labels(metadata: Raw) -> Raw:
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name not in JOB_LABELS}
    rest = {name: value for name, value in metadata.items() if name != "labels"}
    return {**rest, "labels": labels} if labels else rest


# -- objects beside the workload --------------------------------------------------------------------------------------


def _change_others(simulation: Simulation, change: Change, pod: PlannedPod) -> None:
    api = simulation.api
    if change.added is not None:
        add_nodes(simulation, change.added)
    for patch in change.patches:
        api.max_writes += WRITES_PER_POD * int(patch.patch.get("spec", {}).get("replicas") or 0)
        api.patch(patch.kind, patch.name, patch.namespace, patch.patch)
    for patch in change.recreated:
        _recreate(simulation, patch)
    if change.node is not None:
        _change_node(simulation, change.node)
    for rule in change.removed:
        api.delete(_RULE, rule.metadata.name)
    if change.gone:
        _move(simulation, change.gone)
        return
    for view in change.devices:
        if isinstance(view, DeviceClass):
            api.create(KINDS.DEVICE_CLASS, _document(KINDS.DEVICE_CLASS, document_of(view)))
        elif isinstance(view, ResourceClaim):
            _recreate_claim(simulation, view, pod)


def _document(kind: Kind, raw: Raw) -> Raw:
    return {"apiVersion": kind.api_version, "kind": kind.name, **raw}


def _recreate(simulation: Simulation, patch: ObjectPatch) -> None:
    """Delete an object and make it again with a change; of a StatefulSet also its claims that are not bound."""
    api, found = simulation.api, simulation.api.get(patch.kind, patch.name, patch.namespace)
    document = apply_merge_patch(_document(found.kind, found.raw), patch.patch)
    api.delete(patch.kind, patch.name, patch.namespace, propagation="Orphan")
    simulation.controllers.work()
    if patch.kind is KINDS.STATEFUL_SET:
        for name in unbound_claims(simulation.world, found):
            api.delete(KINDS.PERSISTENT_VOLUME_CLAIM, name, patch.namespace)
        simulation.controllers.work()
    api.create(patch.kind, as_new(document), patch.namespace)


def unbound_claims(world: World, stateful_set: Object) -> list[str]:
    """Return the claims of a StatefulSet that have no volume."""
    pattern = re.compile(
        "|".join(
            f"{re.escape(template.metadata.name)}-{re.escape(stateful_set.name)}-[0-9]+"
            for template in stateful_set.view.spec.volumeClaimTemplates
        )
    )
    claims = world.in_namespace(KINDS.PERSISTENT_VOLUME_CLAIM, stateful_set.namespace)
    return [one.name for one in claims if not one.view.spec.volumeName and pattern.fullmatch(one.name)]


def _change_node(simulation: Simulation, node: Node) -> None:
    found = simulation.api.get(KINDS.NODE, node.metadata.name)
    raw: Raw = overlay(found.raw, document_of(found.view), document_of(node))
    simulation.api.update(KINDS.NODE, raw)


def _move(simulation: Simulation, key: str) -> None:
    """Evict a pod, and recreate it if no controller does."""
    namespace, _, name = key.partition("/")
    api, found = simulation.api, simulation.api.get(KINDS.POD, name, namespace)
    is_bare = controller_of(found.view.metadata) is None
    api.evict(namespace, name)
    simulation.work()
    if is_bare:
        _create_pod(simulation, found.raw, namespace)


def _recreate_claim(simulation: Simulation, claim: ResourceClaim, pod: PlannedPod) -> None:
    """Recreate a claim, or the template that it was generated from, with another spec."""
    api, namespace = simulation.api, claim.metadata.namespace
    found = simulation.api.get(KINDS.RESOURCE_CLAIM, claim.metadata.name, namespace)
    old, new = document_of(found.view.spec), document_of(claim.spec)
    owner = controller_of(found.view.metadata)
    if owner is None:
        raw = {**as_new(found.raw), "spec": carried(found.raw["spec"], old, new)}
        api.delete(KINDS.RESOURCE_CLAIM, found.name, namespace)
        api.create(KINDS.RESOURCE_CLAIM, _document(KINDS.RESOURCE_CLAIM, raw), namespace)
        return
    entries = {entry.name: entry.resourceClaimTemplateName for entry in pod.pod.spec.resourceClaims}
    names = {status.resourceClaimName: status.name for status in pod.pod.status.resourceClaimStatuses}
    name = entries.get(names.get(found.name, "")) or next(filter(None, entries.values()), None)
    template = api.get(KINDS.RESOURCE_CLAIM_TEMPLATE, name or "", namespace)
    spec = {**template.raw["spec"], "spec": carried(template.raw["spec"]["spec"], old, new)}
    api.delete(KINDS.RESOURCE_CLAIM_TEMPLATE, template.name, namespace)
    api.create(
        KINDS.RESOURCE_CLAIM_TEMPLATE,
        _document(KINDS.RESOURCE_CLAIM_TEMPLATE, {**as_new(template.raw), "spec": spec}),
        namespace,
    )


# -- the workload -----------------------------------------------------------------------------------------------------


def _change_template(simulation: Simulation, pod: PlannedPod, before: Pod, after: Pod, *, recreates: bool) -> None:
    owner = template_owner(simulation, pod)
    if owner is None:
        _recreate_pod(simulation, pod, before, after)
        return
    api, old, new = simulation.api, template_like(before), template_like(after)
    spec = {**owner.raw["spec"], "template": carried(owner.raw["spec"]["template"], old, new)}
    if recreates:
        spec["strategy"] = {"type": "Recreate"}
    document = _document(owner.kind, {**owner.raw, "spec": spec})
    if owner.kind is not KINDS.JOB:
        api.update(owner.kind, document)
        return
    api.delete(KINDS.JOB, owner.name, owner.namespace)
    simulation.work()
    made = as_new(document)
    references = owner.raw["metadata"].get("ownerReferences")
    if references:
        made["metadata"]["ownerReferences"] = references
    api.create(KINDS.JOB, made, owner.namespace)


def _recreate_pod(simulation: Simulation, pod: PlannedPod, before: Pod, after: Pod) -> None:
    namespace, _, name = pod.key.partition("/")
    found = simulation.api.get(KINDS.POD, name, namespace)
    raw: Raw = carried(found.raw, template_like(before), template_like(after))
    simulation.api.delete(KINDS.POD, name, namespace, grace_seconds=0)
    simulation.work()  # quotas and claims take note of it
    _create_pod(simulation, raw, namespace)


def _create_pod(simulation: Simulation, raw: Raw, namespace: str) -> None:
    simulation.api.create(KINDS.POD, as_new(_document(KINDS.POD, raw)), namespace)


def keeps_waiting_pods(key: Key) -> bool:
    """Return whether a workload leaves pods that wait as they are when its template changes."""
    return key.kind not in (*_REPLACE_PODS, "Job", "Pod")


def delete_waiting(simulation: Simulation, key: Key) -> bool:
    """Delete the pods of a workload that have no node, for their workload to recreate. Return whether there are any."""
    waiting = [
        pod
        for pod in simulation.world.in_namespace(KINDS.POD, key.namespace)
        if not pod.view.spec.nodeName
        and pod.view.metadata.deletionTimestamp is None
        and (owner := simulation.owner_of(pod)) is not None
        and Key(*owner) == key
    ]
    for pod in waiting:
        simulation.api.delete(KINDS.POD, pod.name, pod.namespace, grace_seconds=0)
    return bool(waiting)
