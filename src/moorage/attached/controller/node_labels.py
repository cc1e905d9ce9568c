"""Write the labels of nodes that answer the questions of lowered pods, and repair their mirror: one patch for a node.

Every patch is refused if the node has changed meanwhile, so that no answer about earlier taints is written. The policy
that mirrors nodes removes match labels in the write that changes taints; here they are written again. What users or
kubelets forge is removed, with an event. Keys: nodes; ALL_NODES; match labels, for questions not asked any more; and
objects whose questions have to wait, which are named with their kind.
Kubernetes: has no such labels. Differs: a question that is being evaluated leaves its label as it is.
"""

from collections.abc import Iterable
from typing import Final

from moorage.attach.formats import MIRRORED, TRUE, Raw, is_match_label, is_mirror_label
from moorage.attach.mirror import mirror_labels
from moorage.attached.controller.asking import FORGET_SECONDS, Questions
from moorage.attached.controller.lowered_pods import TEMPLATE_KINDS
from moorage.attached.controller.registry import AttachedContext, AttachedController
from moorage.attached.controller.repairs import repairs_counter
from moorage.attached.names import MIRRORING
from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NOTHING, Action, Patch, Plan, Report, warn
from moorage.control.framework.world import World, controller_of
from moorage.match.tolerations import ProgramCache
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node
from moorage.plan.explain.sentence.words import listed

#: No node has this name.
ALL_NODES: Final = "*"
_RETIRED_KEPT = 4096
FORGED, NOT_MIRRORED, TOO_MANY = "MatchLabelForged", "MirrorRepaired", "TooManyMatchLabels"
#: Between a kind and the key of an object; no name of a node has it.
_OF: Final = ":"


class NodeLabels(AttachedController):
    """Reconciles nodes with the questions that are asked."""

    name = "node-labels"
    workers = 64
    watches = (KINDS.NODE, KINDS.POD, *TEMPLATE_KINDS)

    def __init__(self, attached: AttachedContext) -> None:
        super().__init__(attached)
        self.asked = Questions(ProgramCache(evaluations=self.context.evaluations, patiently=True))
        self._adopted: dict[str, dict[str, float]] = {}  # labels that nodes had before this process, and since when
        self._retired: set[str] = set()  # labels of forgotten questions
        metrics = self.context.metrics
        about = "Questions that are answered by match labels of nodes."
        metrics.gauge_function("moorage_attach_match_questions", about, lambda: float(self.asked.answered))
        about = "Questions that wait for their match labels, because too many others are asked."
        metrics.gauge_function("moorage_attach_match_questions_waiting", about, lambda: float(self.asked.waiting))
        about = "Patches of nodes that wrote or removed match labels."
        self._writes = metrics.counter("moorage_attach_match_label_writes_total", about).labels()
        self._repairs = repairs_counter(self.context.metrics)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NODE:
            found = new or old
            return (found.name,) if found is not None and not _is_alike(old, new) else ()
        change = self.asked.changed(old, new)
        keys = [*change.unasked, ALL_NODES] if change.is_new else [*change.unasked]
        # The pods of a workload wait because of its template, which is where the event is.
        if change.waiting and new is not None and (kind is not KINDS.POD or controller_of(new.view.metadata) is None):
            keys.append(f"{kind.name}{_OF}{new.key}")
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if key == ALL_NODES:
            return Plan(wakes=tuple(node.name for node in world.all(KINDS.NODE)))
        if is_match_label(key):
            return self._reconcile_question(key, now)
        if _OF in key:
            return self._reconcile_waiting(key, world)
        node = world.get(KINDS.NODE, key)
        if node is None:
            self._adopted.pop(key, None)
            return NOTHING
        return self._reconcile_node(node, now)

    def _reconcile_question(self, label: str, now: float) -> Plan:
        left = self.asked.seconds_left(label, now)
        if left is None:
            return NOTHING
        if left > 0:
            return Plan(again_after=left)
        self.asked.forget(label)
        if len(self._retired) >= _RETIRED_KEPT:
            self._retired.clear()
        self._retired.add(label)
        return Plan(wakes=(ALL_NODES,))

    def _reconcile_waiting(self, key: str, world: World) -> Plan:
        kind_name, _, name = key.partition(_OF)
        kind = next(each for each in self.watches if each.name == kind_name)
        found, why = world.get(kind, name), self.asked.why_waiting(kind, name)
        if found is None or not why:
            return NOTHING
        text = (
            f"Its pods need a match label on nodes, of which there are too many: {why}; they wait until one is not used"
        )
        return Plan((warn(found, TOO_MANY, text),))

    def _reconcile_node(self, node: Object, now: float) -> Plan:
        view: Node = node.view
        labels = view.metadata.labels
        changes: dict[str, str | None] = {}
        wanted = mirror_labels(_document(view))
        stale = [key for key in labels if (is_mirror_label(key) or key == MIRRORED) and key not in wanted]
        changes.update(dict.fromkeys(stale))
        changes.update({key: value for key, value in wanted.items() if labels.get(key) != value})
        unmirrored = list(changes) if MIRRORED in labels else []
        true, undecided = self.asked.true_of(view.spec.taints)
        forged, again_after = self._wrong_match_labels(node, true, undecided.keys(), changes, now)
        changes.update({label: TRUE for label in true if labels.get(label) != TRUE})
        if not changes:
            if undecided:
                raise next(iter(undecided.values()))
            return Plan(again_after=again_after)
        actions: list[Action] = [_patch(node, changes)]
        if forged:
            why = "not true of its taints; only moorage attach may write such labels"
            actions.append(warn(node, FORGED, f"Removed {_named(forged)}: {why}"))
        if unmirrored:
            why = f"its taints and labels have other values; is the policy {MIRRORING} there?"
            actions.append(warn(node, NOT_MIRRORED, f"Repaired {_named(unmirrored)}: {why}"))
        return Plan(tuple(actions), again_after, wakes=(node.name,) if undecided else ())

    def _wrong_match_labels(
        self, node: Object, true: set[str], undecided: Iterable[str], changes: dict[str, str | None], now: float
    ) -> tuple[list[str], float | None]:
        """Note which match labels have to go; return those that were forged, and when to look at the others again.

        Those that a node had before this process, and that are not asked for, stay as long as forgotten questions.
        """
        known = self._adopted.get(node.name)
        there = [label for label in node.view.metadata.labels if is_match_label(label)]
        if known is None:
            known = {label: now for label in there if not self.asked.is_answered(label)}
            self._adopted[node.name] = known
        forged: list[str] = []
        again: float | None = None
        for label in there:
            if label in true or label in undecided:
                continue
            is_answered = self.asked.is_answered(label)
            if not is_answered and label in known and (left := known[label] + FORGET_SECONDS - now) > 0:
                again = left if again is None else min(again, left)
                continue
            changes[label] = None
            if is_answered or not (label in known or label in self._retired):
                forged.append(label)
        return forged, again

    def done(self, key: str, plan: Plan, now: float) -> None:
        patch = plan.actions[0]
        if not isinstance(patch, Patch):
            return
        assert isinstance(patch.patch, dict)
        labels = patch.patch["metadata"]["labels"]
        if any(map(is_match_label, labels)):
            self._writes.inc()
        for action in plan.actions[1:]:
            if isinstance(action, Report):
                self._repairs.labels(_REASONS[action.reason]).inc()


#: The reasons of events, as the metric of repairs has them.
_REASONS = {FORGED: "forged match label", NOT_MIRRORED: "labels of a node"}


def _is_alike(old: Object | None, new: Object | None) -> bool:
    """Whether nothing has changed that labels depend on, nor the labels."""
    if old is None or new is None:
        return False
    before, after = old.view, new.view
    return bool(before.spec.taints == after.spec.taints and before.metadata.labels == after.metadata.labels)


def _document(node: Node) -> Raw:
    taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.spec.taints]
    return {"metadata": {"labels": node.metadata.labels}, "spec": {"taints": taints}}


def _patch(node: Object, labels: dict[str, str | None]) -> Patch:
    metadata = {"uid": node.uid, "resourceVersion": str(node.revision), "labels": labels}
    return Patch(KINDS.NODE, "", node.name, {"metadata": metadata}, patch_type=PatchType.MERGE)


def _named(labels: list[str]) -> str:
    """Write `label a`, or `labels a, b, c and 4 more`."""
    return f"label{'s' if len(labels) > 1 else ''} {listed(sorted(labels))}"
