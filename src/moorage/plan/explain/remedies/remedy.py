"""Turn a suggestion of `moorage explain` into what to do: the object to change, the patch, the kubectl command.

A pod that a workload made is changed in the workload's template; of a pod on its own only tolerations may be added and
scheduling gates removed, for anything else it has to be recreated, and the manifest for that is given. `manifest` is
the whole object as it would be, by which the simulation tries the change.
"""

import shlex
from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.attach.objects import POD_PATHS
from moorage.attach.originals.reading_back import concerns_lowered, put_back
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.json_patch import apply_merge_patch
from moorage.model.types.devices import DeviceTaintRule
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.acceptance import document_of
from moorage.plan.explain.remedies.change import Change, ChangeKind, as_yaml
from moorage.plan.explain.remedies.differences import CannotCarry, Operation, carried, operations
from moorage.plan.explain.remedies.workload.carrying_out import as_new, as_written, template_like, unbound_claims
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.pod_lines import PlannedPod
from moorage.plan.simulation.simulation import Simulation

_encode = msgspec.json.Encoder().encode
_RULE = next(kind for kind in KINDS.values() if kind.view is DeviceTaintRule)
#: Workloads that do not replace their pods when the template changes.
_KEEP_PODS = ("ReplicaSet", "ReplicationController")
_IN_PLACE = (ChangeKind.TOLERATION, ChangeKind.THRESHOLD, ChangeKind.SCHEDULING_GATE)
_MAX_MANIFEST = 200_000  # characters
_MAX_CLAIMS = 6


class Target(msgspec.Struct, frozen=True):
    """The object to change."""

    apiVersion: str
    kind: str
    namespace: str
    name: str


class Remedy(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to do. Without `verb` it cannot be done from here, and `note` says why."""

    verb: str = ""  # patch or delete
    target: Target | None = None
    patch: Sequence[Operation] = ()
    patchType: str = ""
    command: str = ""
    manifest: str = ""
    note: str = ""


def remedy_of(
    changes: Sequence[Change], pod: PlannedPod, before: Pod, simulation: Simulation, inventory: Inventory
) -> Remedy:
    """Return what makes the changes, of which each includes those before it."""
    change = changes[-1]
    if change.added is not None:
        text = f"moorage plan --add-nodes {change.added.count} --like {change.added.like}"
        return Remedy(command=text, note="The command shows the plan with these nodes.")
    if change.patches:
        return _on_object(change, inventory)
    if change.recreated:
        return _recreated(change, simulation)
    if any(one.gone or one.devices for one in changes):
        return Remedy(command=change.command, note=_by_hand(changes))
    if change.node is not None:
        nodes = simulation.cluster.nodes
        return _on_node(change, nodes.node(nodes.slot_of[change.node.metadata.name]), change.node, inventory)
    if change.removed:
        return _without_rule(change)
    after = change.template
    if after is None:
        return Remedy(command=change.command, note="This is to be done by hand.")
    if change.kind is ChangeKind.VOLUME:
        return Remedy(note="This was tried without the volume: what is wrong with it has to be put right by hand.")
    if change.kind is ChangeKind.DEVICE_CLAIM:
        return Remedy(note="The missing object has to be created.")
    if all(one.kind is ChangeKind.SCHEDULING_GATE for one in changes):
        return _on_pod(changes, pod, before, after, inventory)
    workload = _workload(pod, inventory)
    if workload is not None:
        return _on_template(workload, before, after, change, inventory)
    if pod.owner is not None:
        return Remedy(note=f"{pod.owner} is not in the {inventory.whole}: its template is to be changed like this.")
    return _on_pod(changes, pod, before, after, inventory)


def _by_hand(changes: Sequence[Change]) -> str:
    if any(change.gone for change in changes):
        return "Moving another pod is not done from here: evict it, or change it so that it goes elsewhere."
    return "Claims and classes of devices have to be created or recreated: their specs cannot be changed."


# -- nodes and rules --------------------------------------------------------------------------------------------------


def _on_node(change: Change, before: Node, after: Node, inventory: Inventory) -> Remedy:
    item = inventory.items.get(Key("Node", "", after.metadata.name))
    if item is None:
        return Remedy(command=change.command, note=f"The node is not in the {inventory.whole}.")
    raw = _whole(item)
    return _patched(item, raw, carried(raw, _of_node(before), _of_node(after)), change.command)


def _of_node(node: Node) -> Raw:
    return {"metadata": {"labels": dict(node.metadata.labels)}, "spec": document_of(node.spec)}


def _without_rule(change: Change) -> Remedy:
    name = change.removed[0].metadata.name
    return Remedy("delete", Target(_RULE.api_version, _RULE.name, "", name), command=change.command)


# -- pods and workloads -----------------------------------------------------------------------------------------------


def _workload(pod: PlannedPod, inventory: Inventory) -> Item | None:
    """Return the workload whose template the pod has; the CronJob of its Job, if it has one."""
    item = inventory.items.get(pod.owner) if pod.owner is not None else None
    if item is None or item.key.kind != "Job":
        return item
    above = controller_of(item.view.metadata)
    owner_item = inventory.items.get(Key(above.kind, item.key.namespace, above.name)) if above is not None else None
    return owner_item if owner_item is not None and owner_item.key.kind == "CronJob" else item


def _on_object(change: Change, inventory: Inventory) -> Remedy:
    """Return the patch of another object, or of the workload's numbers."""
    patch = change.patches[0]
    if len(change.patches) > 1:
        return Remedy(command=change.command, note="Several objects have to be changed.")
    item = inventory.items.get(Key(patch.kind.name, patch.namespace, patch.name))
    if item is None:
        return Remedy(command=change.command, note=f"The object is not in the {inventory.whole}.")
    raw = _whole(item)
    return _patched(item, raw, apply_merge_patch(raw, patch.patch), change.command)


def _recreated(change: Change, simulation: Simulation) -> Remedy:
    """Return the object to make again, and what has to be deleted before."""
    patch = change.recreated[0]
    found = simulation.api.get(patch.kind, patch.name, patch.namespace)
    raw = {"apiVersion": patch.kind.api_version, "kind": patch.kind.name, **found.raw}
    manifest = _manifest(as_new(apply_merge_patch(raw, patch.patch)))
    where = f" -n {shlex.quote(patch.namespace)}"
    if patch.kind is not KINDS.STATEFUL_SET:
        command = f"kubectl delete {patch.kind.singular} {shlex.quote(patch.name)}{where}"
        note = "The class of a claim cannot be changed: delete the claim and recreate it from the manifest."
        return Remedy(command=command, manifest=manifest, note=note)
    command = f"kubectl delete statefulset {shlex.quote(patch.name)}{where} --cascade=orphan"
    claims = unbound_claims(simulation.world, found)
    more = f", the claims that wait ({', '.join(claims[:_MAX_CLAIMS])}{', …' if len(claims) > _MAX_CLAIMS else ''})"
    note = "Claim templates cannot be changed: delete the StatefulSet with this command"
    return Remedy(command=command, manifest=manifest, note=f"{note}{more if claims else ''}, and recreate it.")


def _on_template(item: Item, before: Pod, after: Pod, change: Change, inventory: Inventory) -> Remedy:
    raw, old, new = _whole(item), template_like(before), template_like(after)
    path = ("spec", "jobTemplate", "spec", "template") if item.key.kind == "CronJob" else ("spec", "template")
    try:
        changed = _with_part(raw, path, lambda template: carried(template, old, new))
    except CannotCarry as error:
        return Remedy(note=f"The template of {item.key} does not have {error}: it is to be changed by hand.")
    if change.recreates:
        changed["spec"] = {**changed["spec"], "strategy": {"type": "Recreate"}}
    if item.key.kind == "Job":
        manifest = _manifest(as_new(changed))
        return Remedy(manifest=manifest, note="The template of a Job cannot be changed: recreate the Job.")
    note = ""
    if item.key.kind in _KEEP_PODS:
        note = f"A {item.key.kind} keeps the pods it has: delete those that wait, and it makes others like this."
    elif item.key.kind == "CronJob":
        note = "It counts from the next Job on."
    return _patched(item, raw, changed, "", note)


def _on_pod(changes: Sequence[Change], pod: PlannedPod, before: Pod, after: Pod, inventory: Inventory) -> Remedy:
    namespace, _, name = pod.key.partition("/")
    item = inventory.items.get(Key("Pod", namespace, name))
    if item is None:
        return Remedy(note="The pod is not in the input yet: its workload would create it.")
    raw = _whole(item)
    new = document_of(after)
    # A toleration of a pod cannot be changed or taken away: the new one is added to those it has.
    old_tolerations = document_of(before)["spec"].get("tolerations", [])
    added = [toleration for toleration in new["spec"].get("tolerations", []) if toleration not in old_tolerations]
    in_place = item.lowered is None or not concerns_lowered(added, old_tolerations)
    if in_place and all(change.kind in _IN_PLACE for change in changes):
        changed = {**raw, "spec": dict(raw["spec"])}
        if added:
            changed["spec"]["tolerations"] = [*(raw["spec"].get("tolerations") or []), *added]
        if not after.spec.schedulingGates:
            changed["spec"].pop("schedulingGates", None)
        return _patched(item, raw, changed, "")
    try:
        changed = carried(raw, template_like(before), template_like(after))
    except CannotCarry as error:
        return Remedy(note=f"The pod does not have {error}: it is to be changed by hand.")
    return Remedy(
        target=_target(item),
        command=f"kubectl replace --force -n {shlex.quote(namespace)} -f pod.yaml",
        manifest=_manifest(as_new(changed)),
        note="This cannot be changed in a pod that exists: delete it and recreate it from the manifest.",
    )


# -- writing ----------------------------------------------------------------------------------------------------------


def _patched(item: Item, raw: Raw, changed: Raw, command: str, note: str = "") -> Remedy:
    patch = operations(*_as_stored(item, raw, changed))
    if not patch:
        return Remedy(target=_target(item), command=command, note="Nothing is left to change: it is so already.")
    return Remedy(
        "patch",
        _target(item),
        patch,
        "json",
        command or patch_command(item.kind, item.key.namespace, item.key.name, patch),
        _manifest(as_written(changed)),
        note,
    )


def _as_stored(item: Item, raw: Raw, changed: Raw) -> tuple[Raw, Raw]:
    """Return an object before and after a change as the cluster has it, which may have lowered it."""
    path, lowered = POD_PATHS.get(item.kind), item.lowered
    if lowered is None or path is None:
        return raw, changed
    before, stored = reduce(dict.__getitem__, path, raw), reduce(dict.__getitem__, path, lowered)
    as_sent = (_with_part(each, path, lambda pod: put_back(pod, before, stored)) for each in (raw, changed))
    return next(as_sent), next(as_sent)


def patch_command(kind: Kind, namespace: str, name: str, patch: Any, patch_type: str = "json") -> str:
    """Return the kubectl command for a patch."""
    where = f" -n {shlex.quote(namespace)}" if namespace else ""
    body = shlex.quote(_encode(patch).decode())
    return f"kubectl patch {kind.singular} {shlex.quote(name)}{where} --type={patch_type} -p {body}"


def _target(item: Item) -> Target:
    return Target(item.kind.api_version, item.key.kind, item.key.namespace, item.key.name)


def _whole(item: Item) -> Raw:
    return {"apiVersion": item.kind.api_version, "kind": item.key.kind, **item.raw}


def _manifest(document: Raw) -> str:
    text = as_yaml(document)
    return text if len(text) <= _MAX_MANIFEST else ""


def _with_part(document: Raw, path: tuple[str, ...], change: Any) -> Raw:
    if not path:
        changed: Raw = change(document)
        return changed
    return {**document, path[0]: _with_part(document.get(path[0]) or {}, path[1:], change)}
