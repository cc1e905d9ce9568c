"""File the affinity terms of pods on the nodes, which decide where other pods may go.

Terms are filed under a label they select, so that finding those about a pod does not mean trying all.
Kubernetes: NodeInfo.PodsWithAffinity and PodsWithRequiredAntiAffinity, which are searched for each pod.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Set
from enum import StrEnum

import msgspec

from moorage.columns.pod_classes import Label, PodCounts, label_needed
from moorage.columns.shape import Shape
from moorage.match.pod_affinity import PodAffinityTermMatcher, compile_pod_affinity


class TermKind(StrEnum):
    """The field that a term comes from."""

    REQUIRED_AFFINITY = "required affinity"
    REQUIRED_ANTI_AFFINITY = "required anti-affinity"
    PREFERRED = "preferred affinity"  # anti-affinity if the weight is negative


class OwnedTerm(msgspec.Struct, frozen=True, eq=False):
    """A distinct term and the pods that own it. `weight` is 0 unless it is a preference."""

    kind: TermKind
    weight: int
    matcher: PodAffinityTermMatcher
    owners: PodCounts


class OwnedTerms:
    """The terms of the known shapes; `generation` moves when there is a new one, or one less."""

    __slots__ = ("_any", "_by_label", "_of", "_shapes", "_terms", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self._terms: dict[Hashable, OwnedTerm] = {}
        self._of: dict[Shape, list[Hashable]] = {}  # the keys of a shape's terms, as often as it states them
        self._shapes: Counter[Hashable] = Counter()  # how often a term is stated
        self._by_label: dict[Label, list[OwnedTerm]] = {}
        self._any: list[OwnedTerm] = []

    def add(self, shape: Shape) -> None:
        """Count the pods of a new shape as owners of its terms."""
        affinity = shape.spec.affinity
        if affinity is None or (affinity.podAffinity is None and affinity.podAntiAffinity is None):
            return
        terms = compile_pod_affinity(affinity, shape.namespace)
        for term in terms.required_affinity:
            self._own(shape, TermKind.REQUIRED_AFFINITY, 0, term)
        for term in terms.required_anti_affinity:
            self._own(shape, TermKind.REQUIRED_ANTI_AFFINITY, 0, term)
        for sign, preferred in ((1, terms.preferred_affinity), (-1, terms.preferred_anti_affinity)):
            for weighted in preferred:
                self._own(shape, TermKind.PREFERRED, sign * weighted.weight, weighted.term)

    def forget(self, shapes: Set[Shape]) -> None:
        """Forget shapes without pods, and the terms that no other shape has."""
        gone: list[OwnedTerm] = []
        for shape in shapes:
            for key in self._of.pop(shape, ()):
                self._shapes[key] -= 1
                if not self._shapes[key]:
                    del self._shapes[key]
                    gone.append(self._terms.pop(key))
        if not gone:
            return
        self.generation += 1
        for label in {label for term in gone for label in label_needed(term.matcher.selector) or ()}:
            self._by_label[label] = [term for term in self._by_label[label] if term not in gone]
            if not self._by_label[label]:
                del self._by_label[label]
        self._any = [term for term in self._any if term not in gone]

    def about(self, labels: Mapping[str, str]) -> Iterator[OwnedTerm]:
        """Yield the terms that may be about a pod with these labels, and all that are."""
        yield from self._any
        for label in labels.items():
            yield from self._by_label.get(label, ())

    def _own(self, shape: Shape, kind: TermKind, weight: int, matcher: PodAffinityTermMatcher) -> None:
        if matcher.selector.nothing:
            return
        key = (kind, weight, term_key(matcher))
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = OwnedTerm(kind, weight, matcher, PodCounts())
            self.generation += 1
            labels = label_needed(matcher.selector)
            if labels is None:
                self._any.append(term)
            for label in dict.fromkeys(labels or ()):
                self._by_label.setdefault(label, []).append(term)
        shape.tracked.append(term.owners)
        self._of.setdefault(shape, []).append(key)
        self._shapes[key] += 1


def term_key(matcher: PodAffinityTermMatcher) -> Hashable:
    """Return a value equal for terms about the same pods and the same topology key."""
    spaces = matcher.namespace_selector
    return (
        matcher.topologyKey,
        str(matcher.selector),
        matcher.selector.nothing,
        matcher.namespaces,
        str(spaces),
        spaces.nothing,
    )
