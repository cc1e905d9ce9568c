"""Find the pods that have to leave a node for a pod: all less important pods go, and come back as long as they fit.

Where only the pods' requests decide, pods are not moved for that: what they request is added and subtracted. Otherwise
they are taken off the node and put back, and the filters are asked.
Kubernetes: SelectVictimsOnNode, which copies the node and does the latter.
"""

from collections.abc import Sequence
from math import inf
from operator import add, sub

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.columns.resources import PODS
from moorage.columns.shape import Shape
from moorage.model.go.times import seconds_of
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Plugin
from moorage.schedule.local_answers import Filter
from moorage.schedule.plugins.node_resources_fit import FitWant, NodeResourcesFit
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.glimpse import glimpse
from moorage.schedule.preemption.nominations import NominatedPods

_SHAPES_KEPT = 1 << 12


class Selection(msgspec.Struct, frozen=True):
    """The victims on one node, most important first, and how many of them violate a budget."""

    slot: int
    victims: tuple[PodRecord, ...]
    violations: int

    @property
    def highest_priority(self) -> int:
        return self.victims[0].priority

    @property
    def earliest_start(self) -> float:
        """Return when the longest running victim of the highest priority started."""
        highest = self.highest_priority
        return min(started_at(victim) for victim in self.victims if victim.priority == highest)


Outcome = Selection | tuple[str, ...]  # or the reasons against the node


def select_victims(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Outcome:
    """Return the victims on a slot with pods of lower priority, or the reasons against it.

    All pods of lower priority are removed; if the pod fits then, they are put back one by one, those whose eviction
    violates a budget first, then the most important first, as long as the pod still fits. The others are the victims.
    """
    outcome = select_by_counting(candidates, slot, budgets)
    return outcome if outcome is not None else select_by_trying(candidates, slot, budgets)


def select_by_counting(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Outcome | None:
    """Return the victims where requests alone decide; None where they do not."""
    counting = _counting(candidates)
    if counting is None or not counting.others_withstand(candidates, slot):
        return None
    want, lower = counting.want, _lower(candidates, slot)
    taken = {record: counting.taken(record.shape) for record in lower}
    left = [array.values.item(slot) for array, _ in want.room]
    for amounts in taken.values():
        left = list(map(add, left, amounts))
    # What pods that are nominated for the node will take, if there are any.
    kept = [counting.taken(record.shape) for record in counting.nominated(candidates.shape, slot)]
    reserved = list(map(sum, zip(*kept, strict=True)))
    if reserved and counting.objects_first:
        return None
    reasons = counting.reasons(candidates, slot, left, reserved)
    if reasons is not None:
        return reasons
    if reserved and counting.others:
        return None  # they would have to be asked with the nominated pods there
    violating, others = budgets.part(lower)
    victims: list[PodRecord] = []
    for record in (*violating, *others):
        less = list(map(sub, left, taken[record]))
        if want.suffices(less) and (not reserved or want.suffices(map(sub, less, reserved))):
            left = less
        else:
            victims.append(record)
    return _selection(slot, victims, violating)


class _Counting(msgspec.Struct, frozen=True, eq=False):
    """The deciding filters of a shape of which requests decide: the one that compares them, and those around it.

    `others` read pods, too, but do not refuse a node because pods leave it.
    """

    fit: NodeResourcesFit
    want: FitWant
    before: tuple[Filter, ...]
    after: tuple[Filter, ...]
    nominating: tuple[NominatedPods, ...]
    others: tuple[Filter, ...]
    objects_first: bool  # whether one of the others is asked before requests are compared
    known: dict[Shape, tuple[int, ...]] = msgspec.field(default_factory=dict)

    def taken(self, shape: Shape) -> tuple[int, ...]:
        """Return what a pod of a shape takes of what is compared."""
        amounts = self.known.get(shape)
        if amounts is None:
            if len(self.known) >= _SHAPES_KEPT:
                self.known.clear()
            taken = shape.taken
            amounts = self.known[shape] = (1 + taken.get(PODS, 0), *(taken.get(name, 0) for name, _ in self.want.needs))
        return amounts

    def others_withstand(self, candidates: Candidates, slot: int) -> bool:
        """Return whether the other filters let a slot pass, whichever of its pods leave."""
        cluster = candidates.cluster
        return all(item.plugin.withstands(item.prepared.want, cluster, slot) for item in self.others)

    def nominated(self, shape: Shape, slot: int) -> list[PodRecord]:
        """Return the pods for which the node must have room, too."""
        return [record for plugin in self.nominating for record in plugin.awaited(shape, slot)]

    def reasons(
        self, candidates: Candidates, slot: int, left: Sequence[int], reserved: Sequence[int]
    ) -> tuple[str, ...] | None:
        """Return the reasons against a slot with these amounts left; None if the pod fits there."""
        reasons = _refusal(candidates, slot, self.before) or self.fit.lacking(self.want, left)
        reasons = reasons or _refusal(candidates, slot, self.after)
        if not reasons and reserved:
            reasons = self.fit.lacking(self.want, list(map(sub, left, reserved)))
        return reasons or None


def _refusal(candidates: Candidates, slot: int, filters: Sequence[Filter]) -> tuple[str, ...]:
    """Return the reasons of the first of some filters that refuses a slot."""
    for item in filters:
        if not item.plugin.filter_slot(item.prepared.want, candidates.cluster, slot):
            verdict = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
            return verdict.reasons if verdict is not None else ()
    return ()


_NOTE = object()


def can_count(candidates: Candidates) -> bool:
    """Return whether victims of a shape are found by counting."""
    return _counting(candidates) is not None


def _counting(candidates: Candidates) -> _Counting | None:
    """Return how to count for a shape; None if pods that leave may change more than what is free."""
    kept: tuple[tuple[Filter, ...], _Counting | None] | None = candidates.notes.get(_NOTE)
    if kept is None or kept[0] is not candidates.deciding:
        kept = candidates.notes[_NOTE] = (candidates.deciding, _find_counting(candidates))
    return kept[1]


def _find_counting(candidates: Candidates) -> _Counting | None:
    if candidates.rejection is not None:
        return None
    deciding = candidates.deciding
    places = [place for place, item in enumerate(deciding) if type(item.plugin) is NodeResourcesFit]
    if len(places) != 1:
        return None
    (place,) = places
    fit, want = deciding[place].plugin, deciding[place].prepared.want
    nominating = tuple(item.plugin for item in deciding if isinstance(item.plugin, NominatedPods))
    moving = {item.plugin for item in deciding if item.plugin.reads_pods or not item.plugin.local}
    others = tuple(item for item in deciding if item.plugin in moving - {fit, *nominating})
    if not isinstance(fit, NodeResourcesFit) or want.backed or len(nominating) > 1:
        return None
    if any(type(item.plugin).withstands is Plugin.withstands for item in others):
        return None
    before = tuple(item for item in deciding[:place] if item.plugin not in moving)
    after = tuple(item for item in deciding[place + 1 :] if item.plugin not in moving)
    return _Counting(fit, want, before, after, nominating, others, objects_first=len(before) < place)


def select_by_trying(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Outcome:
    """Return the victims by asking the filters with pods off the node and on it."""
    cluster = candidates.cluster
    lower = _lower(candidates, slot)
    violating, others = budgets.part(lower)
    victims: list[PodRecord] = []
    with glimpse(candidates):
        for record in lower:
            cluster.remove_pod(record)
        away = dict.fromkeys(lower)
        try:
            if not _passes(candidates, slot):
                verdict = candidates.refusal(slot)
                return verdict.reasons if verdict is not None else ()
            for record in (*violating, *others):
                cluster.add_pod(record, slot)
                if _passes(candidates, slot):
                    del away[record]
                else:
                    cluster.remove_pod(record)
                    victims.append(record)
        finally:
            for record in away:
                cluster.add_pod(record, slot)
    return _selection(slot, victims, violating)


def _lower(candidates: Candidates, slot: int) -> list[PodRecord]:
    """Return the pods on a slot that are less important, most important first."""
    priority = candidates.shape.priority
    there = candidates.cluster.pods_on[slot].values()
    return sorted((record for record in there if record.shape.priority < priority), key=importance)


def _selection(slot: int, victims: Sequence[PodRecord], violating: Sequence[PodRecord]) -> Selection:
    broken = len(frozenset(victims).intersection(violating)) if violating else 0
    return Selection(slot, tuple(sorted(victims, key=importance)), broken)


def _passes(candidates: Candidates, slot: int) -> bool:
    if candidates.rejection is not None:
        return False
    cluster = candidates.cluster
    return all(item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in candidates.deciding)


def importance(record: PodRecord) -> tuple[int, float, str]:
    """Return a key that sorts the most important pod first: by priority, then by the earliest start."""
    return (-record.priority, started_at(record), record.key)


def started_at(record: PodRecord) -> float:
    """Return when a pod was started; infinity if it was not yet."""
    seconds = seconds_of(record.pod.status.startTime)
    return inf if seconds is None else seconds
