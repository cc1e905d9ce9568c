"""Select the fewest pods to evict from one node so that a pod fits.

All pods of lower priority are removed; if the pod fits then, they are put back one by one, those whose eviction
violates a budget first, then the most important first, as long as the pod still fits. The others are the victims.
Kubernetes: SelectVictimsOnNode.
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


def select_victims(candidates: Candidates, slot: int, budgets: DisruptionBudgets) -> Selection | tuple[str, ...]:
    """Return the victims on a slot with pods of lower priority, or the reasons against it."""
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
    broken = len(frozenset(victims).intersection(violating))
    return Selection(slot, tuple(sorted(victims, key=importance)), broken)


def _passes(candidates: Candidates, slot: int) -> bool:
    if candidates.rejection is not None:
        return False
    cluster = candidates.cluster
    return all(item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in candidates.deciding)


@contextmanager
def glimpse(candidates: Candidates) -> Iterator[None]:
    """Rewind the change log after a block that leaves the cluster as it was.

    Only the deciding filters may be asked inside, and only about single slots. Wide ones among them follow the log
    while they are asked, so with them it is not rewound.
    """
    changes = candidates.cluster.nodes.changes
    position = changes.position
    try:
        yield
    finally:
        if all(item.plugin.local for item in candidates.deciding):
            changes.rewind(position)


def importance(record: PodRecord) -> tuple[int, float, str]:
    """Return a key that sorts the most important pod first: by priority, then by the earliest start."""
    return (-record.priority, started_at(record), record.key)


def started_at(record: PodRecord) -> float:
    """Return when a pod was started; infinity if it was not yet."""
    text = record.pod.status.startTime
    return inf if text is None else _seconds(text)


@lru_cache(maxsize=1 << 16)
def _seconds(text: str) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return inf
