"""Sort pods into classes that every label selector treats alike, and count those that a selector matches.

A class is a namespace, labels, and whether deletion has begun. A predicate is evaluated once per class, and only for
classes that have the label it is filed under, if it names one: ten thousand Deployments whose selectors each name their
own `app` cost ten thousand evaluations and not their square. Counts are kept per node and per topology domain.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from weakref import ref

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.codes import ABSENT, LabelColumn
from moorage.columns.shape import LabelClass, Shape
from moorage.match.label_selector import Selector
from moorage.match.requirement import DOUBLE_EQUALS, EQUALS, IN

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


class CountedPods(PodCounts):
    """Counts as one who asked for them holds them: they are kept up to date for as long as this exists."""

    __slots__ = ("__weakref__",)

    def __init__(self, counts: PodCounts) -> None:
        self.on = counts.on


class _Counted(msgspec.Struct, eq=False):
    """A registered predicate, the labels it is filed under, its counts, and what its readers hold."""

    predicate: PodPredicate
    needs: tuple[Label, ...] | None
    reads_namespaces: bool
    counts: PodCounts = msgspec.field(default_factory=PodCounts)
    held: "ref[CountedPods] | None" = None

    def includes(self, label_class: LabelClass) -> bool:
        namespace, labels, deleting = label_class
        return self.predicate(namespace, dict(labels), deleting)

    def hold(self) -> CountedPods:
        held = self.held() if self.held is not None else None
        if held is None:
            held = CountedPods(self.counts)
            self.held = ref(held)
        return held

    @property
    def is_unused(self) -> bool:
        return self.held is None or self.held() is None


class PodClasses:
    """The classes of the known shapes, and the predicates that are counted."""

    __slots__ = ("_any", "_by_label", "_classes", "_counted", "_with_label")

    def __init__(self) -> None:
        self._classes: dict[LabelClass, list[Shape]] = {}
        self._with_label: dict[Label, dict[LabelClass, None]] = {}
        self._counted: dict[Hashable, _Counted] = {}
        self._by_label: dict[Label, list[_Counted]] = {}
        self._any: list[_Counted] = []

    def add(self, shape: Shape) -> None:
        """Count the pods of a new shape where they belong."""
        label_class = shape.label_class
        filed = (counted for label in label_class[1] for counted in self._by_label.get(label, ()))
        shape.tracked.extend(c.counts for c in (*self._any, *filed) if c.includes(label_class))
        shapes = self._classes.get(label_class)
        if shapes is None:
            shapes = self._classes[label_class] = []
            for label in label_class[1]:
                self._with_label.setdefault(label, {})[label_class] = None
        shapes.append(shape)

    def forget(self, shapes: Set[Shape]) -> None:
        """Forget shapes, the classes that no other shape has, and predicates that are not asked about any more."""
        for label_class in {shape.label_class for shape in shapes}:
            left = [shape for shape in self._classes[label_class] if shape not in shapes]
            if left:
                self._classes[label_class] = left
                continue
            del self._classes[label_class]
            for label in label_class[1]:
                filed = self._with_label[label]
                del filed[label_class]
                if not filed:
                    del self._with_label[label]
        self._forget_unused()

    def _forget_unused(self) -> None:
        unused = {key: counted for key, counted in self._counted.items() if counted.is_unused}
        if not unused:
            return
        for key, counted in unused.items():
            del self._counted[key]
            for label in dict.fromkeys(counted.needs or ()):
                filed = [other for other in self._by_label[label] if other is not counted]
                if filed:
                    self._by_label[label] = filed
                else:
                    del self._by_label[label]
        self._any = [counted for counted in self._any if not counted.is_unused]
        dropped = {id(counted.counts) for counted in unused.values()}
        for shape in self._every_shape():
            left = [counts for counts in shape.tracked if id(counts) not in dropped]
            if len(left) != len(shape.tracked):
                shape.tracked = left
                shape.twins.clear()

    def _every_shape(self) -> Iterator[Shape]:
        return (shape for shapes in self._classes.values() for shape in shapes)

    def count(
        self, key: Hashable, predicate: PodPredicate, needs: tuple[Label, ...] | None, reads_namespaces: bool
    ) -> CountedPods:
        counted = self._counted.get(key)
        if counted is None:
            counted = self._counted[key] = _Counted(predicate, needs, reads_namespaces)
            if needs is None:
                self._any.append(counted)
            for label in dict.fromkeys(needs or ()):
                self._by_label.setdefault(label, []).append(counted)
            self._count_all(counted)
        return counted.hold()

    def namespaces_changed(self) -> None:
        """Count again, into the same counts, for predicates that read namespace labels."""
        for counted in self._counted.values():
            if counted.reads_namespaces:
                for shape in self._every_shape():
                    if counted.counts in shape.tracked:
                        shape.tracked.remove(counted.counts)
                counted.counts.on.clear()
                self._count_all(counted)

    def _count_all(self, counted: _Counted) -> None:
        for label_class in self._candidates(counted.needs):
            if counted.includes(label_class):
                for shape in self._classes[label_class]:
                    shape.tracked.append(counted.counts)
                    for slot, pods in shape.slots.items():
                        counted.counts.change(slot, pods)

    def _candidates(self, needs: tuple[Label, ...] | None) -> Iterable[LabelClass]:
        if needs is None:
            return self._classes
        return {label_class: None for label in needs for label_class in self._with_label.get(label, ())}
