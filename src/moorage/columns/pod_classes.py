"""Sort pods into classes that every label selector treats alike: namespace, labels, and whether deletion has begun.

A predicate is evaluated once per class, and only for classes that have the label it is filed under, if it names one:
ten thousand Deployments whose selectors each name their own `app` cost ten thousand evaluations and not their square.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping

import msgspec

from moorage.columns.counts import PodCounts
from moorage.columns.interning import Interner
from moorage.columns.shape import Shape
from moorage.match.label_selector import Selector
from moorage.match.requirement import DOUBLE_EQUALS, EQUALS, IN
from moorage.model.types.meta import ObjectMeta

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
