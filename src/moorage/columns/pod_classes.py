"""Sort pods into classes that every label selector treats alike, and count those that a selector matches.

A class is a namespace, labels, and whether deletion has begun. A predicate is evaluated once per class, and only for
classes that have the label it is filed under, if it names one: ten thousand Deployments whose selectors each name their
own `app` cost ten thousand evaluations and not their square. Counts are kept per node and per topology domain.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.shape import Shape
from moorage.columns.slots import ABSENT, Interner, LabelColumn
from moorage.match.label_selector import Selector
from moorage.match.requirement import DOUBLE_EQUALS, EQUALS, IN
from moorage.model.types.meta import ObjectMeta

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


LabelClass = tuple[str, tuple[tuple[str, str], ...], bool]  # namespace, labels, being deleted
# Given a pod's namespace and labels and whether it is being deleted: is it to be counted?
PodPredicate = Callable[[str, Mapping[str, str], bool], bool]
Label = tuple[str, str]

_LISTING = frozenset({IN, EQUALS, DOUBLE_EQUALS})


def label_needed(selector: Selector) -> tuple[Label, ...] | None:
    """Return labels of which a pod must have one for the selector to match; None if there is no such list."""
    for requirement in selector.requirements:
        if requirement.operator in _LISTING:
            return tuple((requirement.key, value) for value in requirement.values)
    return None


class _Counted(msgspec.Struct, eq=False):
    """A registered predicate, the labels it is filed under, and its counts."""

    predicate: PodPredicate
    needs: tuple[Label, ...] | None
    reads_namespaces: bool
    counts: PodCounts = msgspec.field(default_factory=PodCounts)

    def includes(self, label_class: LabelClass) -> bool:
        namespace, labels, deleting = label_class
        return self.predicate(namespace, dict(labels), deleting)


class PodClasses:
    """The classes met so far and the predicates that are counted."""

    __slots__ = ("_any", "_by_label", "_classes", "_counted", "_shapes", "_with_label")

    def __init__(self) -> None:
        self._classes: Interner[LabelClass] = Interner()
        self._shapes: list[list[Shape]] = []  # by class
        self._with_label: dict[Label, list[int]] = {}  # classes by label
        self._counted: dict[Hashable, _Counted] = {}
        self._by_label: dict[Label, list[_Counted]] = {}
        self._any: list[_Counted] = []

    def code(self, metadata: ObjectMeta) -> int:
        labels = tuple(sorted(metadata.labels.items()))
        code = self._classes.intern((metadata.namespace, labels, metadata.deletionTimestamp is not None))
        if code == len(self._shapes):
            self._shapes.append([])
            for label in labels:
                self._with_label.setdefault(label, []).append(code)
        return code

    def add(self, shape: Shape) -> None:
        """Count the pods of a new shape where they belong."""
        label_class = self._classes.values[shape.label_class]
        filed = (counted for label in label_class[1] for counted in self._by_label.get(label, ()))
        shape.tracked.extend(c.counts for c in (*self._any, *filed) if c.includes(label_class))
        self._shapes[shape.label_class].append(shape)

    def forget(self, shapes: set[Shape]) -> None:
        for code in {shape.label_class for shape in shapes}:
            self._shapes[code] = [shape for shape in self._shapes[code] if shape not in shapes]

    def count(
        self, key: Hashable, predicate: PodPredicate, needs: tuple[Label, ...] | None, reads_namespaces: bool
    ) -> PodCounts:
        counted = self._counted.get(key)
        if counted is None:
            counted = self._counted[key] = _Counted(predicate, needs, reads_namespaces)
            if needs is None:
                self._any.append(counted)
            for label in dict.fromkeys(needs or ()):
                self._by_label.setdefault(label, []).append(counted)
            self._count_all(counted)
        return counted.counts

    def namespaces_changed(self) -> None:
        """Count again, into the same counts, for predicates that read namespace labels."""
        for counted in self._counted.values():
            if counted.reads_namespaces:
                for shape in (shape for shapes in self._shapes for shape in shapes):
                    if counted.counts in shape.tracked:
                        shape.tracked.remove(counted.counts)
                counted.counts.on.clear()
                self._count_all(counted)

    def _count_all(self, counted: _Counted) -> None:
        for code in self._candidates(counted.needs):
            if counted.includes(self._classes.values[code]):
                for shape in self._shapes[code]:
                    shape.tracked.append(counted.counts)
                    for slot, pods in shape.slots.items():
                        counted.counts.change(slot, pods)

    def _candidates(self, needs: tuple[Label, ...] | None) -> Iterable[int]:
        if needs is None:
            return range(len(self._classes))
        return {code: None for label in needs for code in self._with_label.get(label, ())}
