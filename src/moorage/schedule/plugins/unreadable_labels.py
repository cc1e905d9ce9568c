"""Name the label that keeps nodes from matching because its value cannot be compared.

Nodes with the same values of the labels that a selector reads are asked about once. Kubernetes: logs it.
"""

from collections import Counter

import numpy as np

from moorage.columns.node_table import NodeTable
from moorage.match.comparison import Unreadable, with_obstacle
from moorage.match.label_selector import Selector
from moorage.match.node_selector import NodeSelectorMatcher, RequiredNodeAffinity, label_obstacle
from moorage.schedule.framework.plugin import ChosenSlots, UnreadableOn


class UnreadableLabels:
    """One selector's answers. Without operators that compare, there is nothing to ask."""

    __slots__ = ("_kept", "_keys", "_nodes", "_reader", "_reads_names")

    def __init__(self, reader: NodeSelectorMatcher | RequiredNodeAffinity, nodes: NodeTable) -> None:
        self._reader, self._nodes = reader, nodes
        self._keys: tuple[str, ...] = ()
        self._reads_names = False
        self._kept: tuple[int, list[UnreadableOn]] = (-1, [])
        if reader.compares:
            selectors, self._reads_names = _selectors(reader)
            self._keys = tuple({r.key: None for selector in selectors for r in selector.requirements})

    def at(self, slot: int) -> Unreadable | None:
        if not self._keys:
            return None
        metadata = self._nodes.node(slot).metadata
        return self._reader.unreadable(metadata.labels, metadata.name)

    def groups(self, slots: ChosenSlots) -> list[tuple[Unreadable | None, ChosenSlots]]:
        """Return the slots by the label of theirs that cannot be compared; None for all others."""
        if not self._keys or not len(slots):
            return [(None, slots)]
        values = [self._nodes.label(key).codes[slots] for key in self._keys]
        rows = np.stack([*values, slots.astype(np.int32)] if self._reads_names else values)
        _, first, inverse = np.unique(rows, axis=1, return_index=True, return_inverse=True)
        answers = [self.at(int(slots[index])) for index in first.tolist()]
        by_answer: dict[Unreadable | None, list[int]] = {}
        for number, answer in enumerate(answers):
            by_answer.setdefault(answer, []).append(number)
        inverse = inverse.reshape(-1)
        return [(answer, slots[np.isin(inverse, numbers)]) for answer, numbers in by_answer.items()]

    def everywhere(self) -> list[UnreadableOn]:
        """Return all labels of nodes that cannot be compared."""
        if self._keys and self._kept[0] != self._nodes.generation:
            groups = self.groups(np.flatnonzero(self._nodes.alive))
            found = [UnreadableOn(one, slots) for one, slots in groups if one is not None]
            self._kept = self._nodes.generation, found
        return self._kept[1]

    def reasons(self, slots: ChosenSlots, reason: str) -> Counter[str]:
        """Count a reason for slots, with what cannot be compared in parentheses."""
        counted: Counter[str] = Counter()
        for found, group in self.groups(slots):
            counted[with_obstacle(reason, label_obstacle(found))] += len(group)
        return counted


def _selectors(reader: NodeSelectorMatcher | RequiredNodeAffinity) -> tuple[list[Selector], bool]:
    """Return the selectors of labels, and whether nodes are also told apart by name."""
    own = [reader.labels] if isinstance(reader, RequiredNodeAffinity) else []
    affinity = reader.affinity if isinstance(reader, RequiredNodeAffinity) else reader
    terms = affinity.terms if affinity is not None else ()
    return own + [term.labels for term in terms], any(term.fields for term in terms)
