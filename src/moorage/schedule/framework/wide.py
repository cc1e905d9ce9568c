"""Define wide plugins, whose answer for a node depends on pods elsewhere: pod affinity and topology spread.

Traits are the few numbers by which such a plugin tells slots apart: the zone, the number of matching pods on the host.
Slots with equal traits are one class, and the plugin judges classes instead of nodes. What it counts over all nodes is
in its want, which follows the nodes' change log (`Following`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.change_log import ChangeLog
from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT, LabelColumn
from moorage.schedule.framework.plugin import ChosenSlots, Mask, Plugin, Scores

Trait = NDArray[np.int64]
Traits = Sequence[Trait] | NDArray[np.int64]  # one row per trait
_MAX_RADIX = 1 << 62
_ALWAYS_FEW = 32
_FEW_CODES = 4  # for each slot
_FEW_DOMAINS = 32
_FEW_NODES = 8  # per domain, on average
_SHARE = 128  # if more than one slot in this many changed, counting all is quicker


def distinct(traits: Traits, slots: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the classes of equal traits: the index of one slot of each, and for each slot its class number."""
    packed = np.zeros(slots, np.int64)
    if slots == 0:
        return packed, packed
    radix = 1
    for trait in traits:
        lowest = int(trait.min())
        span = int(trait.max()) - lowest + 1
        if span == 1:
            continue
        if radix * span >= _MAX_RADIX:
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
            radix = int(packed.max()) + 1
        packed = packed * span + (trait - lowest)
        radix *= span
    if radix == 1:
        return np.zeros(1, np.int64), packed
    if radix <= _FEW_CODES * slots:  # mark the codes that occur instead of sorting the slots
        first_of = np.full(radix, -1, np.int64)
        first_of[packed[::-1]] = np.arange(slots - 1, -1, -1)  # of equal codes, the last one written is the first slot
        occurring = (first_of >= 0).nonzero()[0]
        classes = np.empty(radix, np.int64)
        classes[occurring] = np.arange(len(occurring))
        return first_of[occurring], classes[packed]
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return first, inverse


def too_many(changed: int, capacity: int) -> bool:
    """Return whether enough slots changed that recomputing all of them is quicker."""
    return changed > _ALWAYS_FEW + capacity // _SHARE


def has_small_domains(column: LabelColumn, nodes: int) -> bool:
    """Return whether a key has nearly as many values as there are nodes, too many for a trait."""
    domains = column.values.in_use
    return domains > _FEW_DOMAINS and domains * _FEW_NODES > nodes


class Following:
    """A want with counts over all nodes, kept up to date by looking again at the slots that changed.

    `touched` logs the other slots whose traits changed with those.
    """

    __slots__ = ("_position", "is_idle", "touched")

    def __init__(self) -> None:
        self._position = -1
        self.is_idle = False  # whether there is nothing to count
        self.touched: ChangeLog[int] = ChangeLog()

    def catch_up(self, cluster: Cluster) -> None:
        changes = cluster.nodes.changes
        current = self.is_current(cluster)
        if current and changes.position == self._position:
            return
        if current and self.is_idle:
            self._position = changes.position
            return
        changed = changes.since(self._position) if current and self._position >= 0 else None
        self._position = changes.position
        if changed is None or too_many(len(changed), cluster.nodes.slots.capacity):
            self.rebuild(cluster)
            self.touched.forget()
            return
        for slot in dict.fromkeys(changed):
            self.follow(cluster, slot)

    def touch_neighbours(self, column: LabelColumn, codes: Iterable[int], slot: int) -> None:
        """Log the other slots of some domains, given the slot that changed."""
        for code in codes:
            if code != ABSENT:
                for neighbour in column.members(code):
                    if neighbour != slot:
                        self.touched.note(neighbour)

    def is_current(self, cluster: Cluster) -> bool:
        """Return whether everything but the slots is as it was in `rebuild`."""
        return True

    def rebuild(self, cluster: Cluster) -> None:
        """Count everything."""

    def follow(self, cluster: Cluster, slot: int) -> None:
        """Count one slot again."""


W = TypeVar("W", bound=Following)


class WidePlugin(Plugin[W]):
    """A plugin that judges by traits; without traits all slots pass and score alike. Wants have caught up."""

    local: ClassVar[bool] = False

    def traits(self, want: W, cluster: Cluster) -> list[Trait]:
        """Return the traits of all slots."""
        return []

    def traits_at(self, want: W, cluster: Cluster, slot: int) -> tuple[int, ...]:
        """Return the traits of one slot."""
        return ()

    def has_filter(self, want: W) -> bool:
        """Return False where Kubernetes' PreFilter would return Skip."""
        return True

    def may_filter(self, want: W) -> bool:
        """Return whether it could filter once pods of the known shapes come or go."""
        return True

    def filter_traits(self, want: W, traits: Traits) -> Mask:
        """Return which entries pass; there is at least one trait."""
        return np.ones(len(traits[0]), np.bool_)

    def has_score(self, want: W) -> bool:
        """Return False where Kubernetes' PreScore would return Skip."""
        return True

    def score_traits(self, want: W, traits: Traits, sizes: NDArray[np.int64]) -> Scores:
        """Return 0–100 for each entry, normalised over all; `sizes` has the feasible slots of each."""
        return np.zeros(len(traits[0]), np.int64)

    # -- what every plugin does, by traits ------------------------------------------------------------------------

    def revision(self, want: W, cluster: Cluster) -> Any:
        want.catch_up(cluster)
        return (cluster.nodes.changes.position, want.touched.position)

    def filters_now(self, want: W, cluster: Cluster) -> bool:
        want.catch_up(cluster)
        return self.has_filter(want)

    def filter(self, want: W, cluster: Cluster) -> Mask:
        want.catch_up(cluster)
        traits = self.traits(want, cluster)
        return self.filter_traits(want, traits) if traits else np.ones(cluster.nodes.slots.capacity, np.bool_)

    def filter_slot(self, want: W, cluster: Cluster, slot: int) -> bool:
        want.catch_up(cluster)
        traits = self.traits_at(want, cluster, slot)
        return not traits or bool(self.filter_traits(want, [np.array([trait], np.int64) for trait in traits])[0])

    def reasons(self, want: W, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        want.catch_up(cluster)
        first, classes = distinct([trait[slots] for trait in self.traits(want, cluster)], len(slots))
        counted: Counter[str] = Counter()
        for slot, size in zip(slots[first].tolist(), np.bincount(classes).tolist(), strict=True):
            verdict = self.explain(want, cluster, slot)
            if verdict is not None:
                for reason in verdict.reasons:
                    counted[reason] += size
        return counted

    def curable(self, want: W, cluster: Cluster, slots: ChosenSlots) -> Mask:
        want.catch_up(cluster)
        first, classes = distinct([trait[slots] for trait in self.traits(want, cluster)], len(slots))
        return super().curable(want, cluster, slots[first])[classes]

    def scores_now(self, want: W, cluster: Cluster, feasible: Mask) -> bool:
        want.catch_up(cluster)
        return self.has_score(want)

    def score(self, want: W, cluster: Cluster, feasible: Mask) -> Scores:
        want.catch_up(cluster)
        scores = np.zeros(cluster.nodes.slots.capacity, np.int64)
        slots = feasible.nonzero()[0]
        traits = [trait[slots] for trait in self.traits(want, cluster)]
        if traits and len(slots):
            scores[slots] = self.score_traits(want, traits, np.ones(len(slots), np.int64))
        return scores
