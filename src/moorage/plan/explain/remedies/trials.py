"""Try proposed changes on the cluster, and suggest those that the API server accepts and that work.

Changes that open most nodes come first, then the smallest. Where no single change is enough, several changes are found
that open the nearest node together. Kubernetes has nothing like it.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.model.gates import GateSet
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.change import Blockers, Change, ChangeKind
from moorage.plan.explain.remedies.devices import device_changes
from moorage.plan.explain.remedies.extended_resources import extended_resource_changes
from moorage.plan.explain.remedies.labels import label_changes
from moorage.plan.explain.remedies.neighbours import affinity_changes, spread_changes
from moorage.plan.explain.remedies.remedy import Remedy
from moorage.plan.explain.remedies.resources import departures, port_changes, resource_changes, volume_changes
from moorage.plan.explain.remedies.taints import taint_changes
from moorage.plan.report.node_lists import natural, shown_nodes
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Mask, Profile, Verdict

MAX_TRIALS = 300
MAX_SECONDS = 20.0  # a search for devices among many combinations may take a second in each trial
MAX_SUGGESTIONS = 12
_DELETE_PENDING = "delete the pods that wait: their workload recreates them with the new template"
_NEAREST = 3
_MAX_RANKED = 50
_MAX_STEPS = 5


class Suggestion(msgspec.Struct, frozen=True):
    """A change that works, and the nodes on which the pod fits then, in the order of the input."""

    change: Change
    nodes: tuple[str, ...]
    pending_before: int = 0  # pods of the workload that wait, are refused or are missing without the change
    pending_after: int = 0  # and with it
    worse_off: tuple[str, ...] = ()  # a sentence for each pod of others that is worse off with it
    deletes_pending: bool = False  # pods that wait have to be deleted, since their workload does not replace them
    lands_on: tuple[str, ...] = ()  # where the pods of the workload are then that wait now, or are made again
    remedy: Remedy | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to know before the change is made: who still waits, who is worse off, what else has to be done."""
        note = (self.change.note,) if self.change.note else ()
        return (*remarks_on(self), *note, *((_DELETE_PENDING,) if self.deletes_pending else ()))

    @property
    def effect(self) -> str:
        """What the change does for the workload, in a few words."""
        if self.change.kind is ChangeKind.REPLICAS:
            return "every pod that is left has a node"
        return effect_of(self, self.nodes)

    @property
    def kind(self) -> ChangeKind:
        return self.change.kind

    @property
    def summary(self) -> str:
        return self.change.summary

    @property
    def sentence(self) -> str:
        return self.change.sentence

    @property
    def yaml(self) -> str:
        return self.change.yaml

    @property
    def command(self) -> str:
        return self.change.command

    @property
    def note(self) -> str:
        return self.change.note


class Together(msgspec.Struct, frozen=True):
    """Changes of which none is enough, but all of them are, for this node."""

    node: str
    changes: tuple[Change, ...]
    pending_before: int = 0
    pending_after: int = 0
    worse_off: tuple[str, ...] = ()
    lands_on: tuple[str, ...] = ()

    @property
    def effect(self) -> str:
        return effect_of(self, (self.node,))

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*remarks_on(self), *dict.fromkeys(change.note for change in self.changes if change.note))


def effect_of(change: "Suggestion | Together", nodes: Sequence[str]) -> str:
    """Say how many pods of a workload get a node, and which; of one that was not tried as a whole, where a pod fits."""
    waiting, left = change.pending_before, change.pending_after
    if not waiting:
        return f"it fits on {shown_nodes(nodes)}" if nodes else "no other pod has to leave"
    solved = waiting - left
    if left:
        who = f"{solved:,} of {waiting:,} pods that wait get{'s' * (solved == 1)} a node"
    else:
        every = {1: "the pod gets", 2: "both pods get"}.get(waiting, f"all {waiting:,} pods get")
        who = f"{every} a node"
    if not change.lands_on:
        return who
    then = "; its pods are then on " if len(change.lands_on) > solved else ": "
    return f"{who}{then}{shown_nodes(sorted(change.lands_on, key=natural))}"


def remarks_on(change: Suggestion | Together) -> Iterator[str]:
    """Yield how many pods still wait after a change, and who is worse off."""
    if change.pending_after:
        verb = "waits" if change.pending_after == 1 else "wait"
        pods = f"{change.pending_before:,} pod{'' if change.pending_before == 1 else 's'}"
        yield f"{change.pending_after:,} of the {pods} that wait now still {verb}"
    yield from change.worse_off


Propose = Callable[[Blockers, GateSet, Any], Iterator[Change]]
#: Returns a change as the API server would store it, None if it would refuse it.
Accept = Callable[[Change], Change | None]


def _accept_all(change: Change) -> Change | None:
    return change


def propose(blockers: Blockers, gates: GateSet, programs: Any = None) -> Iterator[Change]:
    yield from taint_changes(blockers, gates, programs)
    yield from label_changes(blockers, gates)
    yield from resource_changes(blockers)
    yield from port_changes(blockers)
    yield from affinity_changes(blockers, gates)
    yield from spread_changes(blockers, gates)
    yield from volume_changes(blockers)
    yield from device_changes(blockers, gates)
    yield from extended_resource_changes(blockers, gates)
    yield from departures(blockers)


def passing(candidates: Candidates) -> Mask:
    """Return the slots that every filter lets pass, without caching."""
    if candidates.rejection is not None:
        return np.zeros(candidates.cluster.nodes.slots.capacity, np.bool_)
    mask = candidates.considered()
    for item in candidates.filters:
        mask &= candidates.mask(item)
    return mask


class Trials:
    """Tries changes. `among` are the nodes in question, on none of which the pod fits as it is."""

    def __init__(
        self,
        profile: Profile,
        cluster: Cluster,
        pod: Pod,
        gates: GateSet,
        programs: Any = None,
        proposals: Propose = propose,
        accepts: Accept = _accept_all,
    ) -> None:
        self._profile = profile
        self._cluster = cluster
        self._pod = pod
        self._gates = gates
        self._programs = programs
        self._proposals = proposals
        self._accepts = accepts
        self._until = time.process_time() + MAX_SECONDS
        self.ran_out_of_time = False

    def _is_late(self) -> bool:
        self.ran_out_of_time = self.ran_out_of_time or time.process_time() > self._until
        return self.ran_out_of_time

    def suggestions(self, among: Mask) -> list[Suggestion]:
        """Return the best changes with which the pod fits somewhere."""
        return best_of(self.worked(among))

    def worked(self, among: Mask) -> list[Suggestion]:
        """Return all changes with which the pod fits somewhere, or may if its siblings are changed, too."""
        blockers = Blockers(self._pod, self._candidates(self._pod), among)
        worked = []
        for number, change in enumerate(self._proposals(blockers, self._gates, self._programs)):
            if number >= MAX_TRIALS or self._is_late():
                break
            slots = np.flatnonzero(self._opened(change) & among)
            accepted = self._accepts(change) if len(slots) or change.for_siblings else None
            if accepted is None:
                continue
            if accepted is not change:
                slots = np.flatnonzero(self._opened(accepted) & among)
            if len(slots) or change.for_siblings:
                worked.append(Suggestion(accepted, tuple(self._name(slot) for slot in slots.tolist())))
        return worked

    def together(self, among: Mask) -> Together | None:
        """Return several changes that together open one of the nearest nodes."""
        for slot in self._nearest(among) if not self._is_late() else ():
            changes = self._open(slot)
            if changes:
                return Together(self._name(slot), changes)
        return None

    def _nearest(self, among: Mask) -> list[int]:
        """Return some of the slots with the fewest objections to the pod; of many, those that few plugins refuse."""
        number = Blockers(self._pod, self._candidates(self._pod), among).number()
        slots = np.flatnonzero(among)
        few = slots[np.argsort(number[slots], kind="stable")][:_MAX_RANKED].tolist()
        return sorted(few, key=self._distance)[:_NEAREST]

    def _distance(self, slot: int) -> tuple[int, float]:
        """Return how many objections there are to the pod, and how far the node is, as nodes are ranked."""
        verdicts = self._verdicts(self._pod, slot).values()
        return sum(verdict.objections for verdict in verdicts), sum(verdict.gap for verdict in verdicts)

    # -- trying -------------------------------------------------------------------------------------------------------

    def _candidates(self, pod: Pod) -> Candidates:
        return Candidates(self._profile, self._cluster.shape_of(pod, by_name=True), self._cluster)

    def _name(self, slot: int) -> str:
        return self._cluster.nodes.node(slot).metadata.name

    def _opened(self, change: Change) -> Mask:
        if change.node is not None:
            return self._opened_by_node(change.node)
        with ExitStack() as stack:
            if change.gone:
                stack.enter_context(self._cluster.as_if_gone([self._cluster.pods[change.gone]]))
            stack.enter_context(self._with_devices(change))
            return passing(self._candidates(change.pod if change.pod is not None else self._pod))

    @contextmanager
    def _with_devices(self, change: Change) -> Iterator[None]:
        """Let claims, classes and rules be as the change has them, inside the block."""
        devices = self._cluster.devices
        before = [(one, devices.known(one)) for one in (*change.devices, *change.removed)]
        for one in change.devices:
            devices.set(one)
        for one in change.removed:
            devices.remove(one)
        try:
            yield
        finally:
            for one, known in before:
                if known is None:
                    devices.remove(one)
                else:
                    devices.set(known)

    def _opened_by_node(self, node: Node) -> Mask:
        """Return whether the pod fits on the node once that is changed, as a mask."""
        nodes = self._cluster.nodes
        slot = nodes.slot_of[node.metadata.name]
        before = nodes.node(slot)
        mask = np.zeros(nodes.slots.capacity, np.bool_)
        self._cluster.update_node(node)
        try:
            mask[slot] = self._candidates(self._pod).passes(slot)
        finally:
            self._cluster.update_node(before)
        return mask

    def _open(self, slot: int) -> tuple[Change, ...] | None:
        """Change the pod, one obstacle after the other, until it fits on the slot."""
        pod = self._pod
        steps: list[Change] = []
        among = np.zeros(self._cluster.nodes.slots.capacity, np.bool_)
        among[slot] = True
        objections = self._objections(pod, slot)
        with ExitStack() as stack:
            while objections and len(steps) < _MAX_STEPS:
                found = self._step(pod, slot, among, objections)
                if found is None:
                    return None
                step, pod, objections = found
                stack.enter_context(self._with_devices(step))
                steps.append(step)
        return tuple(steps) if not objections else None

    def _step(
        self, pod: Pod, slot: int, among: Mask, objections: dict[str, int]
    ) -> tuple[Change, Pod, dict[str, int]] | None:
        """Find the smallest change after which there are fewer objections to the slot, and no new ones."""
        candidates = self._candidates(pod)
        for name in objections:
            blockers = Blockers(pod, candidates, among, frozenset({name}))
            proposed = self._proposals(blockers, self._gates, self._programs)
            changes = [one for one in proposed if one.pod is not None or (one.devices and not one.gone)]
            for change in sorted(changes, key=lambda change: (change.size, change.move)):
                if self._is_late():
                    return None
                left = self._objections_after(change, pod, slot)
                if not _is_better(left, objections):
                    continue
                accepted = self._accepts(change)
                if accepted is None:
                    continue
                if accepted is not change:
                    left = self._objections_after(accepted, pod, slot)
                if _is_better(left, objections):
                    return accepted, accepted.pod if accepted.pod is not None else pod, left
        return None

    def _objections_after(self, change: Change, pod: Pod, slot: int) -> dict[str, int]:
        with self._with_devices(change):
            return self._objections(change.pod if change.pod is not None else pod, slot)

    def _objections(self, pod: Pod, slot: int) -> dict[str, int]:
        """Count the objections of each plugin that refuses the slot to the pod, in run order."""
        return {name: verdict.objections for name, verdict in self._verdicts(pod, slot).items()}

    def _verdicts(self, pod: Pod, slot: int) -> dict[str, Verdict]:
        candidates = self._candidates(pod)
        verdicts = {}
        for plugin in self._profile.filters:
            prepared = candidates.prepared[plugin]
            verdict = prepared.rejection
            if verdict is None and prepared.filters:
                verdict = plugin.explain(prepared.want, self._cluster, slot)
            if verdict is not None:
                verdicts[plugin.name] = verdict
        return verdicts


def _is_better(left: dict[str, int], objections: dict[str, int]) -> bool:
    return left.keys() <= objections.keys() and sum(left.values()) < sum(objections.values())


#: Changes that move a threshold, each of the same size.
_THRESHOLDS = frozenset({ChangeKind.THRESHOLD, ChangeKind.DEVICE_THRESHOLD, ChangeKind.NODE_AFFINITY})


def best_of(suggestions: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the best suggestions; of changes to the same part, a larger one only if it opens more nodes.

    What opens most nodes comes first. Thresholds are the exception: the nearest one that helps is read before those of
    the same operator that reach further.
    """
    by_part: dict[str, list[Suggestion]] = {}
    opening = (one for one in suggestions if one.nodes)
    for one in sorted(opening, key=lambda one: (one.change.size, one.change.move, -len(one.nodes))):
        kept = by_part.setdefault(one.change.part, [])
        if not kept or len(one.nodes) > len(kept[-1].nodes):
            kept.append(one)
    groups: dict[Any, list[Suggestion]] = {}
    for part, kept in by_part.items():
        for number, one in enumerate(kept):
            rest = (one.change.size, 0 if one.change.kind in _THRESHOLDS else number)
            groups.setdefault((part, *rest), []).append(one)
    ordered = sorted(groups.values(), key=lambda group: _rank(group[-1]))
    return [one for group in ordered for one in group][:MAX_SUGGESTIONS]


def _rank(suggestion: Suggestion) -> tuple[int, int, float, str]:
    change = suggestion.change
    return -len(suggestion.nodes), change.size, change.move, change.summary
