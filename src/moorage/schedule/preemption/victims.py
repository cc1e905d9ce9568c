"""Whom to evict from one node so that a pod fits, and nobody more.

In: a shape's `Candidates`, a slot, the budgets. Out: a `Selection`, or the reasons why even an eviction of everybody
less important would not help. All less important pods are taken away; if the pod fits then, they come back one by one,
those whose eviction breaks a budget first, each time the most important first, as long as the pod still fits. Who could
not come back is a victim. Kubernetes: SelectVictimsOnNode.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from math import inf

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.schedule.engine.candidates import Candidates
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets


class Selection(msgspec.Struct, frozen=True):
    """The victims on one node, most important first, and how many of them break a budget."""

    slot: int
    victims: tuple[PodRecord, ...]
    violations: int

    @property
    def highest_priority(self) -> int:
        return self.victims[0].priority

    @property
    def earliest_start(self) -> float:
        """When the victim of the highest priority that has run longest began."""
        highest = self.highest_priority
        return min(started_at(victim) for victim in self.victims if victim.priority == highest)


def select_victims(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Selection | tuple[str, ...]:
    """The victims on a slot, or the reasons against it; there must be somebody less important."""
    cluster = candidates.cluster
    priority = candidates.shape.priority
    lower = sorted((r for r in cluster.pods_on[slot].values() if r.priority < priority), key=importance)
    violating, others = budgets.part(lower)
    victims: list[PodRecord] = []
    with glimpse(candidates):
        for record in lower:
            cluster.remove_pod(record)
        away = dict.fromkeys(lower)
        try:
            if not _passes(candidates, slot):
                return refusal(candidates, slot)
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
    broken = len(frozenset(victims).intersection(violating))
    return Selection(slot, tuple(sorted(victims, key=importance)), broken)


def refusal(candidates: Candidates, slot: int) -> tuple[str, ...]:
    """The reasons of the first filter that refuses a slot; none if none does."""
    if candidates.rejection is not None:
        return candidates.rejection[1].reasons
    for item in candidates.deciding:
        verdict = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
        if verdict is not None:
            return verdict.reasons
    return ()


def _passes(candidates: Candidates, slot: int) -> bool:
    if candidates.rejection is not None:
        return False
    cluster = candidates.cluster
    return all(item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in candidates.deciding)


@contextmanager
def glimpse(candidates: Candidates) -> Iterator[None]:
    """A block that leaves the cluster as it was, and nobody has to look again at the slots that it touched.

    Only the deciding filters may be asked inside, and only about single slots: others cannot begin to mind while it
    lasts. Wide ones among them follow the log of changes while they are asked, so for them it tells the whole story.
    """
    changes = candidates.cluster.nodes.changes
    position = changes.position
    try:
        yield
    finally:
        if all(item.plugin.local for item in candidates.deciding):
            changes.rewind(position)


def importance(record: PodRecord) -> tuple[int, float, str]:
    """Sorts the most important pod first: by priority, then by who has run longest."""
    return (-record.priority, started_at(record), record.key)


def started_at(record: PodRecord) -> float:
    """When a pod was started; one that was not yet is as young as can be."""
    text = record.pod.status.startTime
    return inf if text is None else _seconds(text)


@lru_cache(maxsize=1 << 16)
def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return inf
