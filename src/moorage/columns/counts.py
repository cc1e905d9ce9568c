"""How many pods there are of a kind, per node and per domain, kept up to date and never recomputed.

`PodCounts` answers "how many pods on this node does the selector match?", `DomainCounts` the same for all nodes that
share a label value. Both change by one when a pod comes or goes. Pod (anti-)affinity and topology spread read them.
"""

import numpy as np
from numpy.typing import NDArray

from moorage.columns.label_column import LabelColumn
from moorage.columns.slots import SlotArray


class DomainCounts:
    """Pods per value of one label key; index 0 collects the nodes without the label."""

    __slots__ = ("_counts", "column")

    def __init__(self, column: LabelColumn, per_slot: NDArray[np.int32]) -> None:
        self.column = column
        self._counts = np.bincount(column.codes, weights=per_slot, minlength=len(column.values)).astype(np.int64)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Pods per code of the column, as long as the column has codes."""
        missing = len(self.column.values) - len(self._counts)
        if missing > 0:
            self._counts = np.concatenate([self._counts, np.zeros(missing + len(self._counts), np.int64)])
        return self._counts

    def change(self, code: int, by: int) -> None:
        self.counts[code] += by

    def per_slot(self) -> NDArray[np.int64]:
        """For every slot, the pods in its domain (meaningless where the slot lacks the label)."""
        return self.counts[self.column.codes]

    def in_named_domains(self) -> int:
        """Pods on nodes that carry the label."""
        return int(self.counts[1:].sum())


class PodCounts:
    """Pods per slot that something is true of, with a version that moves when any count does."""

    __slots__ = ("_domains", "_per_slot", "version")

    def __init__(self, per_slot: SlotArray) -> None:
        self._per_slot = per_slot
        self._domains: dict[str, DomainCounts] = {}
        self.version = 0

    @property
    def per_slot(self) -> NDArray[np.int32]:
        return self._per_slot.values

    def change(self, slot: int, by: int) -> None:
        self._per_slot.values[slot] += by
        self.version += 1
        for domain in self._domains.values():
            domain.change(domain.column.codes[slot], by)

    def by_domain(self, column: LabelColumn) -> DomainCounts:
        domain = self._domains.get(column.key)
        if domain is None:
            domain = self._domains[column.key] = DomainCounts(column, self.per_slot)
        return domain

    def relabel(self, column: LabelColumn, slot: int, old_code: int, new_code: int) -> None:
        """A node moved to another domain, and its pods with it."""
        domain = self._domains.get(column.key)
        pods = int(self.per_slot[slot])
        self.version += 1
        if domain is not None and pods:
            domain.change(old_code, -pods)
            domain.change(new_code, pods)
