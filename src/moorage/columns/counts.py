"""Count the pods that a selector matches, per node and per topology domain, and keep the counts up to date."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moorage.columns.interning import ABSENT, LabelColumn

Counts = NDArray[np.int64]
UNCHANGED = (ABSENT, ABSENT)


class PodCounts:
    """Pods per slot for which a predicate holds; slots without any are left out."""

    __slots__ = ("on",)

    def __init__(self) -> None:
        self.on: dict[int, int] = {}

    def change(self, slot: int, by: int) -> None:
        pods = self.on.get(slot, 0) + by
        if pods:
            self.on[slot] = pods
        else:
            del self.on[slot]

    def every(self, capacity: int) -> Counts:
        per_slot = np.zeros(capacity, np.int64)
        if self.on:
            slots = np.fromiter(self.on.keys(), np.int64, len(self.on))
            per_slot[slots] = np.fromiter(self.on.values(), np.int64, len(self.on))
        return per_slot


class DomainCounts:
    """Pods of several sources, each times its weight, added up per value of one label key.

    Slots without the label, and those that do not count, are in no domain; code 0 counts nothing.
    """

    __slots__ = ("_counts", "_seen", "_values", "column", "pods", "sources")

    def __init__(self, column: LabelColumn, sources: Sequence[tuple[PodCounts, int]]) -> None:
        self.column = column
        self._values = column.values.values
        self.sources = tuple(sources)
        self.pods = 0  # in all domains together, unweighted
        self._counts: Counts = np.zeros(0, np.int64)
        self._seen: dict[int, tuple[int, int, int]] = {}  # slot → code, weighted pods, pods, where there are any

    @property
    def counts(self) -> Counts:
        """Return weighted pods per code of the column."""
        missing = len(self._values) - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing + len(self._counts), np.int64)])
        return self._counts

    def at(self, slot: int) -> int:
        """Return weighted pods in the domain of a slot."""
        return int(self.counts.item(self.column.codes.item(slot)))

    def recount(self, counts_here: NDArray[np.bool_] | None = None) -> None:
        """Count all slots; with a mask, only the slots for which it is true."""
        column = self.column
        slots, pods, weighted = self._counted()
        codes = column.codes[slots]
        if counts_here is not None:
            codes = np.where(counts_here[slots], codes, ABSENT)
        self._counts = np.bincount(codes, weights=weighted, minlength=len(column.values)).astype(np.int64)
        self._counts[ABSENT] = 0
        self.pods = int(pods[codes != ABSENT].sum())
        columns = (array.tolist() for array in (codes, weighted, pods))
        self._seen = dict(zip(slots.tolist(), zip(*columns, strict=True), strict=True))

    def _counted(self) -> tuple[Counts, Counts, Counts]:
        """Return the slots with pods, these pods, and the pods times their weights: most slots have none."""
        if len(self.sources) == 1:
            (source, weight) = self.sources[0]
            on = source.on
            slots = np.fromiter(on.keys(), np.int64, len(on))
            pods = np.fromiter(on.values(), np.int64, len(on))
            return slots, pods, pods * weight
        capacity = len(self.column.codes) if self.sources else 0
        pods, weighted = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        for source, weight in self.sources:
            per_slot = source.every(capacity)
            pods += per_slot
            weighted += per_slot * weight
        slots = np.flatnonzero(pods)
        return slots, pods[slots], weighted[slots]

    def follow(self, slot: int, counts_here: bool = True) -> tuple[int, int]:
        """Count one slot again; return the two domains whose counts changed (0 stands for none)."""
        pods = weighted = 0
        for source, weight in self.sources:
            here = source.on.get(slot)
            if here:
                pods += here
                weighted += here * weight
        old = self._seen.get(slot)
        if not pods:
            if old is None:
                return UNCHANGED
            del self._seen[slot]
            self._add(old[0], -old[1], -old[2])
            return old[0], ABSENT
        code = int(self.column.codes[slot]) if counts_here else ABSENT
        new = (code, weighted, pods)
        if new == old:
            return UNCHANGED
        self._seen[slot] = new
        if old is not None:
            self._add(old[0], -old[1], -old[2])
        self._add(code, weighted, pods)
        return (ABSENT if old is None else old[0]), code

    def _add(self, code: int, weighted: int, pods: int) -> None:
        if code != ABSENT:
            self.counts[code] += weighted
            self.pods += pods
