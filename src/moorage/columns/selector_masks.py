"""Evaluate compiled node selectors for all nodes at once, or for one slot.

A requirement is evaluated once per distinct value of its label; where values are listed (In, NotIn, …) their codes are
looked up, so that a hostname costs nothing although every node has its own.
Kubernetes: component-helpers/scheduling/corev1/nodeaffinity, per node.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from moorage.columns.codes import CodeReader, resized
from moorage.columns.node_table import NodeTable
from moorage.match.label_selector import Selector
from moorage.match.node_selector import (
    FieldRequirement,
    NodeSelectorMatcher,
    NodeSelectorTermMatcher,
    PreferredTerms,
    RequiredNodeAffinity,
)
from moorage.match.requirement import (
    DOES_NOT_EXIST,
    DOUBLE_EQUALS,
    EQUALS,
    EXISTS,
    IN,
    NOT_EQUALS,
    NOT_IN,
    Requirement,
)

Mask = NDArray[np.bool_]

# The answer for the values that the requirement lists (for the last two: for nodes without the label); all others get
# the opposite one.
_LISTED = {IN: True, EQUALS: True, DOUBLE_EQUALS: True, NOT_IN: False, NOT_EQUALS: False}
_ABSENT = {EXISTS: False, DOES_NOT_EXIST: True}


class LabelPredicate:
    """One requirement on a label."""

    __slots__ = ("_answers", "_column", "_reader", "_requirement")

    def __init__(self, requirement: Requirement, nodes: NodeTable) -> None:
        self._requirement = requirement
        self._column = nodes.label(requirement.key)
        self._reader = CodeReader(self._column.values)
        self._answers: Mask = np.zeros(0, np.bool_)

    def mask(self) -> Mask:
        if self._reader.is_behind:
            self._learn()
        return self._answers[self._column.codes]

    def at(self, slot: int) -> bool:
        if self._reader.is_behind:
            self._learn()
        return bool(self._answers[self._column.codes[slot]])

    def _learn(self) -> None:
        values = self._column.values
        requirement = self._requirement
        operator = requirement.operator
        listed = _LISTED.get(operator, _ABSENT.get(operator))
        if listed is None:
            key, match = requirement.key, requirement.match
            self._answers = resized(self._answers, len(values))
            for unread in self._reader.unread():
                value = values.values[unread]
                self._answers[unread] = match({} if value is None else {key: value})
        else:
            named: tuple[str | None, ...] = requirement.values if operator in _LISTED else (None,)
            self._answers = np.full(len(values), not listed, np.bool_)
            self._answers[[code for value in named if (code := values.code_of.get(value)) is not None]] = listed
        self._reader.done()


class NamePredicate:
    """One requirement on metadata.name; any other field reads as empty."""

    __slots__ = ("_nodes", "_requirement")

    def __init__(self, requirement: FieldRequirement, nodes: NodeTable) -> None:
        self._requirement = requirement
        self._nodes = nodes

    def mask(self) -> Mask:
        requirement = self._requirement
        # "/" is in no node's name, so this is the answer for all names but the one that is asked for.
        mask = np.full(self._nodes.slots.capacity, requirement.match("/"), np.bool_)
        slot = self._nodes.slot_of.get(requirement.value)
        if slot is not None:
            mask[slot] = requirement.match(requirement.value)
        return mask

    def at(self, slot: int) -> bool:
        return self._requirement.match(self._nodes.node(slot).metadata.name)


class _Combined:
    """Predicates combined by `and` or by `or`; `of_none` is the answer without any."""

    __slots__ = ("_of_none", "_parts", "_slots")

    def __init__(self, parts: "Sequence[NodePredicate]", nodes: NodeTable, of_none: bool) -> None:
        self._parts = tuple(parts)
        self._slots = nodes.slots
        self._of_none = of_none

    def mask(self) -> Mask:
        parts = self._parts
        if not parts:
            return np.full(self._slots.capacity, self._of_none, np.bool_)
        mask = parts[0].mask()
        for part in parts[1:]:
            mask = mask & part.mask() if self._of_none else mask | part.mask()
        return mask

    def at(self, slot: int) -> bool:
        if self._of_none:
            return all(part.at(slot) for part in self._parts)
        return any(part.at(slot) for part in self._parts)


#: A predicate over nodes: `mask()` answers for every slot (slots without a node may have any value), `at` for one.
NodePredicate: TypeAlias = LabelPredicate | NamePredicate | _Combined


def all_of(parts: Sequence[NodePredicate], nodes: NodeTable) -> NodePredicate:
    return _Combined(parts, nodes, True)


def any_of(parts: Sequence[NodePredicate], nodes: NodeTable) -> NodePredicate:
    return _Combined(parts, nodes, False)


class SoleSlot:
    """The only node that a predicate allows, as a local disk or a device of one node does; kept while nodes stay."""

    __slots__ = ("_generation", "_predicate", "_slot")

    def __init__(self, predicate: NodePredicate) -> None:
        self._predicate = predicate
        self._generation = -1
        self._slot: int | None = None

    def find(self, nodes: NodeTable) -> int | None:
        """Return its slot; -1 if no node is allowed, None if several may be."""
        if self._generation != nodes.generation:
            slots = np.flatnonzero(self._predicate.mask() & nodes.alive)
            self._generation = nodes.generation
            self._slot = None if len(slots) > 1 else int(slots[0]) if len(slots) else -1
        return self._slot


class WeightedSum:
    """The sum of the weights of the preferred terms that match."""

    __slots__ = ("_capacity_of", "_terms")

    def __init__(self, terms: tuple[tuple[int, NodePredicate], ...], nodes: NodeTable) -> None:
        self._terms = terms
        self._capacity_of = nodes.slots

    def every(self) -> NDArray[np.int64]:
        total = np.zeros(self._capacity_of.capacity, np.int64)
        for weight, term in self._terms:
            total += weight * term.mask()
        return total

    def at(self, slot: int) -> int:
        return sum(weight for weight, term in self._terms if term.at(slot))


def label_predicate(selector: Selector, nodes: NodeTable) -> NodePredicate:
    if selector.nothing:
        return any_of((), nodes)
    return all_of(tuple(LabelPredicate(requirement, nodes) for requirement in selector.requirements), nodes)


def selector_predicate(matcher: NodeSelectorMatcher, nodes: NodeTable) -> NodePredicate:
    """Compile a node selector: a pod's required affinity, or a volume's."""
    return any_of(tuple(_term(term, nodes) for term in matcher.terms), nodes)


def required_predicate(required: RequiredNodeAffinity, nodes: NodeTable) -> NodePredicate:
    """Compile `spec.nodeSelector` and the required node affinity of a pod."""
    if required.affinity is None:
        return label_predicate(required.labels, nodes)
    affinity = selector_predicate(required.affinity, nodes)
    return (
        affinity if required.labels.everything else all_of((label_predicate(required.labels, nodes), affinity), nodes)
    )


def preferred_sum(preferred: PreferredTerms, nodes: NodeTable) -> WeightedSum:
    return WeightedSum(tuple((weight, _term(term, nodes)) for weight, term in preferred.terms), nodes)


def _term(term: NodeSelectorTermMatcher, nodes: NodeTable) -> NodePredicate:
    if term.errors or term.labels.nothing:
        return any_of((), nodes)
    labels: tuple[NodePredicate, ...] = tuple(
        LabelPredicate(requirement, nodes) for requirement in term.labels.requirements
    )
    return all_of((*labels, *(NamePredicate(field, nodes) for field in term.fields)), nodes)
