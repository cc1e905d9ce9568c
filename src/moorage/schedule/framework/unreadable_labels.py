"""Name the label that keeps nodes from matching because its value cannot be compared.

Nodes with the same values of the labels that a selector reads are asked about once. Kubernetes: logs it.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from moorage.columns.node_table import NodeTable
from moorage.match.comparison import Unreadable, with_obstacle
from moorage.match.label_selector import Selector
from moorage.match.node_selector import NodeSelectorMatcher, RequiredNodeAffinity, label_obstacle
from moorage.schedule.framework.plugin import MAX_UNREADABLE_TOLD, ChosenSlots, UnreadableOn

_ANSWERS_KEPT = 1024  # at least, and this many
_ANSWERS_PER_NODE = 2
_Values = tuple[str | None, ...]


class UnreadableLabels:
    """One selector's answers. Without operators that compare, there is nothing to ask."""

    __slots__ = ("_answers", "_kept", "_keys", "_nodes", "_reader", "_reads_names")

    def __init__(self, reader: NodeSelectorMatcher | RequiredNodeAffinity, nodes: NodeTable) -> None:
        self._reader, self._nodes = reader, nodes
        self._keys: tuple[str, ...] = ()
        self._reads_names = False
        self._kept: tuple[int, list[UnreadableOn]] = (-1, [])
        self._answers: dict[_Values, Unreadable | None] = {}
        if reader.compares:
            selectors, self._reads_names = _selectors(reader)
            self._keys = tuple({r.key: None for selector in selectors for r in selector.requirements})

    def at(self, slot: int) -> Unreadable | None:
        if not self._keys:
            return None
        metadata = self._nodes.node(slot).metadata
        return self._reader.unreadable(metadata.labels, metadata.name)

    def everywhere(self) -> list[UnreadableOn]:
        """Return labels of nodes that cannot be compared: some of them, if each of many nodes has another value."""
        if self._keys and self._kept[0] != self._nodes.generation:
            slots = np.flatnonzero(self._nodes.alive)
            answers, inverse = self._ask(slots)
            numbers: dict[Unreadable, list[int]] = {}
            for number, answer in enumerate(answers):
                if answer is not None and (answer in numbers or len(numbers) < MAX_UNREADABLE_TOLD):
                    numbers.setdefault(answer, []).append(number)
            found = [UnreadableOn(one, slots[np.isin(inverse, of_it)]) for one, of_it in numbers.items()]
            self._kept = self._nodes.generation, found
        return self._kept[1]

    def reasons(self, slots: ChosenSlots, reason: str) -> Counter[str]:
        """Count a reason for slots, with what cannot be compared in parentheses."""
        if not self._keys or not len(slots):
            return Counter({reason: len(slots)})
        answers, inverse = self._ask(slots)
        counted: Counter[str] = Counter()
        for answer, nodes in zip(answers, np.bincount(inverse, minlength=len(answers)).tolist(), strict=True):
            counted[with_obstacle(reason, label_obstacle(answer))] += nodes
        return counted

    def _ask(self, slots: ChosenSlots) -> tuple[list[Unreadable | None], NDArray[np.intp]]:
        """Return an answer for each distinct combination of values, and which of them is each slot's."""
        columns = [self._nodes.label(key) for key in self._keys]
        codes = [column.codes[slots] for column in columns]
        rows = np.stack([*codes, slots.astype(np.int32)] if self._reads_names else codes, axis=1)
        unique, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        if len(self._answers) > max(_ANSWERS_KEPT, _ANSWERS_PER_NODE * len(self._nodes)):
            self._answers.clear()
        answers: list[Unreadable | None] = []
        for row, index in zip(unique.tolist(), first.tolist(), strict=True):
            # By values, since the code of a value that no node has any more is used again.
            key = tuple(column.values.values[code] for column, code in zip(columns, row, strict=False))
            if self._reads_names:
                answers.append(self.at(int(slots[index])))
                continue
            if key not in self._answers:
                self._answers[key] = self.at(int(slots[index]))
            answers.append(self._answers[key])
        return answers, inverse.reshape(-1)


def _selectors(reader: NodeSelectorMatcher | RequiredNodeAffinity) -> tuple[list[Selector], bool]:
    """Return the selectors of labels, and whether nodes are also told apart by name."""
    own = [reader.labels] if isinstance(reader, RequiredNodeAffinity) else []
    affinity = reader.affinity if isinstance(reader, RequiredNodeAffinity) else reader
    terms = affinity.terms if affinity is not None else ()
    return own + [term.labels for term in terms], any(term.fields for term in terms)
