"""Read the objects of an attached cluster as their users wrote them, so that all of a plan is about the originals.

What was lowered is read back, also in ReplicaSets and ControllerRevisions, so that no rollout begins. New objects are
lowered and read back where the cluster would lower them: what it refuses is refused here, in its words. Webhook and
policies of attach are not called any more, because nothing of what they do is left to be done.
Kubernetes: obeys what is stored. Differs: mirrors of nodes have no effect but on pods that are taken as written.
"""

from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from moorage.admit.admission import Rejected
from moorage.admit.messages.rejections import invalid_status
from moorage.admit.not_admitted import NotAdmitted
from moorage.attach import formats
from moorage.attach.decisions import to_be_lowered
from moorage.attach.objects import POD_PATHS, is_daemon_pod, lowered, pod_of
from moorage.attach.originals.marks import compares_unmarked, without_marks
from moorage.attach.originals.reading_back import original_object
from moorage.attach.pods import compares_node_versions, node_affinity_of
from moorage.attach.policies import lowering, mirror
from moorage.attach.refusals import Refused, Unreadable
from moorage.attach.tolerations import COMPARING, OF_POLICIES
from moorage.lint.finding import Severity
from moorage.lint.policies.offline_extensions import OfflineExtensions
from moorage.match.operators import TOLERATION, names_in
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import AttachedObjects, Inventory, Item, Key, Place, metadata_text
from moorage.plan.report.node_lists import shown_nodes

Raw = dict[str, Any]

_KUBE_SYSTEM: Final = "kube-system"
_OWN: Final = frozenset({lowering.NAME, mirror.NAME})
_CALLED: Final = frozenset(
    {KINDS.MUTATING_WEBHOOK_CONFIGURATION, KINDS.MUTATING_ADMISSION_POLICY, KINDS.MUTATING_ADMISSION_POLICY_BINDING}
)
_PATHS: Final = {**POD_PATHS, KINDS.CONTROLLER_REVISION: ("data", "spec", "template")}


class AttachedExtensions(OfflineExtensions):
    """Policies and webhooks, but for those of attach."""

    def learn(self, kind: Kind, view: Any, raw: Raw | None = None) -> None:
        if kind not in _CALLED or view.metadata.name not in _OWN:
            super().learn(kind, view, raw)


class Attachment(NamedTuple):
    """What lowers new objects: `operators` of tolerations, and versions in node affinity.

    `refuses_new`: only what is lowered already is lowered on, because attach is going to be uninstalled.
    """

    operators: frozenset[str]
    affinity: bool
    refuses_new: bool = False


def original_of(raw: Raw, kind: Kind, key: Key, place: Place, attached: AttachedObjects) -> Raw:
    """Return an object as its user wrote it; remember why it is taken as it is written."""
    path = _PATHS.get(kind)
    if path is None:
        return raw
    found = original_object(raw, path, is_daemon=kind is KINDS.POD and is_daemon_pod(raw))
    if found.problem:
        attached.as_written.setdefault(found.problem, {}).setdefault(key, place)
    attached.read_back += found.was_lowered
    return found.pod


def note_attached(inventory: Inventory) -> None:
    """Note, once each, what is taken as it is written, and nodes whose taints are not mirrored."""
    attached = inventory.attached
    for problem, objects in attached.as_written.items():
        if problem not in attached.noted:
            (key, place), more = next(iter(objects.items())), len(objects) - 1
            others = f"; so are {more:,} more objects" if more else ""
            text = f"is taken as it is written, not as its annotation says: {problem}{others}"
            inventory.note(Severity.WARNING, key, text, place)
    attached.noted |= attached.as_written.keys()
    if attached.read_back and formats.MIRRORED not in attached.noted:
        _note_without_mirror(inventory)


def _note_without_mirror(inventory: Inventory) -> None:
    bare = [item for item in inventory.of_kind("Node") if item.existing and not _is_mirrored(item)]
    if not bare:
        return
    inventory.attached.noted.add(formats.MIRRORED)
    have = "have" if len(bare) > 1 else "has"
    text = (
        f"{shown_nodes([item.key.name for item in bare])} {have} no label {formats.MIRRORED}: until attach mirrors "
        "taints there, the cluster places lowered pods as if there were none; this plan goes by the taints"
    )
    inventory.note(Severity.WARNING, "", text, bare[0].place)


def attachment_of(inventory: Inventory) -> Attachment | None:
    """Return what lowers new objects of an inventory; None if nothing does.

    Of a dump that has lowered objects, and nothing that lowers them, attach is assumed to be in its cluster.
    """
    every = frozenset(COMPARING) | {formats.CEL}
    if _found(inventory, KINDS.MUTATING_WEBHOOK_CONFIGURATION) is not None:
        return Attachment(every, affinity=True, refuses_new=_webhook_refuses_new(inventory))
    policy = _found(inventory, KINDS.MUTATING_ADMISSION_POLICY)
    if policy is not None:
        conditions = (policy.raw.get("spec") or {}).get("matchConditions") or ()
        refuses_new = any(each.get("name") == lowering.LOWERED_BEFORE for each in conditions)
        return Attachment(frozenset(OF_POLICIES), affinity=False, refuses_new=refuses_new)
    if inventory.attached.read_back and not inventory.is_live:
        return Attachment(every, affinity=True)
    return None


def _found(inventory: Inventory, kind: Kind) -> Item | None:
    return inventory.items.get(Key(kind.name, "", lowering.NAME))


def _webhook_refuses_new(inventory: Inventory) -> bool:
    webhooks = (item for item in inventory.of_kind("Deployment") if item.key.name == formats.WEBHOOK)
    containers = (one for item in webhooks for one in item.view.spec.template.spec.containers)
    return any(formats.REFUSES_NEW in one.args for one in containers)


def lowered_when_written(document: Raw, key: Key, kind: Kind, inventory: Inventory) -> Raw:
    """Return a manifest as its user wrote it, marked if the cluster lowers it. Raises NotAdmitted."""
    pod = pod_of(document)
    attachment = attachment_of(inventory) if pod is not None and compares_unmarked(pod) else None
    if pod is None or attachment is None or _is_exempt(document, key.namespace, inventory):
        return document
    given, there = without_marks(document), inventory.items.get(key)
    left = _left_alone(inventory.gates, attachment.operators)
    try:
        if attachment.affinity:
            changed = to_be_lowered(given, _stored(there), left, refuses_new=attachment.refuses_new)
        elif attachment.refuses_new and (there is None or there.lowered is None):
            return document  # which the API server refuses in its own words
        else:
            changed = lowered(given, left)
    except Unreadable:
        return document  # admission complains of types
    except Refused as refused:
        name = metadata_text(document, "name") or metadata_text(document, "generateName")
        status = invalid_status(kind, name, refused.errors)
        text = f'admission webhook "{lowering.NAME}" denied the request: {status["message"]}'
        raise NotAdmitted(Rejected(kind, name, refused.errors, refusal={**status, "message": text})) from None
    if not attachment.affinity and any(compares_node_versions(node_affinity_of(pod))):
        return document
    return original_object(changed, POD_PATHS[kind]).pod


def _stored(item: Item | None) -> Raw | None:
    """Return what the cluster has of an object."""
    if item is None:
        return None
    found: Raw = item.raw if item.lowered is None else item.lowered
    return {"apiVersion": item.kind.api_version, "kind": item.kind.name, **without_marks(found)}


def lowering_of_pods(inventory: Inventory) -> Callable[[Raw, str], Raw] | None:
    """Return what becomes of pods that controllers make, by namespace; None if nothing lowers them."""
    if attachment_of(inventory) is None:
        return None

    def lower_pod(document: Raw, namespace: str) -> Raw:
        if not compares_unmarked(document):
            return document
        given = {"apiVersion": KINDS.POD.api_version, "kind": KINDS.POD.name, **document}
        return lowered_when_written(given, Key(KINDS.POD.name, namespace, ""), KINDS.POD, inventory)

    return lower_pod


def _left_alone(gates: GateSet, operators: Collection[str]) -> frozenset[str]:
    """Return the operators that are not lowered: the cluster knows them, or nothing lowers them."""
    known = frozenset(COMPARING) & set(names_in(TOLERATION, gates))
    return frozenset(known | ((frozenset(COMPARING) | {formats.CEL}) - set(operators)))


def _is_exempt(document: Raw, namespace: str, inventory: Inventory) -> bool:
    """Whether an object, or its namespace, is left alone by what lowers."""
    found = inventory.items.get(Key("Namespace", "", namespace))
    labels = found.view.metadata.labels if found is not None else {}
    own = (document.get("metadata") or {}).get("labels") or {}
    return namespace == _KUBE_SYSTEM or formats.TRUE in (labels.get(formats.EXEMPT), own.get(formats.EXEMPT))


def _is_mirrored(item: Item) -> bool:
    return formats.MIRRORED in item.view.metadata.labels
