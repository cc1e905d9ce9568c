"""Compile pod (anti-)affinity terms: which pods, in which namespaces, a term is about.

Whether the two pods share a topology domain is for the scheduler to say. Kubernetes: framework.AffinityTerm
(kube-scheduler). `matchLabelKeys` were merged into the selector when the pod was created, see `label_keys`.
"""

from collections.abc import Sequence

import msgspec

from moorage.match.comparison import shown
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import Labels, SelectorError
from moorage.model.types.pod import Affinity, PodAffinity, PodAffinityTerm, PodAntiAffinity, WeightedPodAffinityTerm


class PodAffinityTermMatcher(msgspec.Struct, frozen=True):
    """A compiled term. A pod is meant if its namespace is, by name or by label, and its labels are selected."""

    topologyKey: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector

    def match(self, labels: Labels, namespace: str, namespace_labels: Labels) -> bool:
        if namespace not in self.namespaces and not self.namespace_selector.match(namespace_labels):
            return False
        return self.selector.match(labels)

    def explain(self, labels: Labels, namespace: str, namespace_labels: Labels) -> str | None:
        """Explain in one sentence why the pod is not meant; None exactly when `match` is true."""
        if namespace not in self.namespaces and (reason := self.namespace_selector.explain(namespace_labels)):
            names = ", ".join(map(shown, sorted(self.namespaces))) or "none"
            selected = "" if self.namespace_selector.nothing else f", nor does the namespaceSelector match: {reason}"
            return f"namespace {shown(namespace)} is not one of the term's namespaces ({names}){selected}"
        return self.selector.explain(labels)


class WeightedTermMatcher(msgspec.Struct, frozen=True):
    """A preferred term, with what it is worth."""

    weight: int
    term: PodAffinityTermMatcher


class PodAffinityTerms(msgspec.Struct, frozen=True):
    """All terms of a pod. With `errors`, the pod cannot be scheduled; they are in Kubernetes' words."""

    required_affinity: tuple[PodAffinityTermMatcher, ...] = ()
    required_anti_affinity: tuple[PodAffinityTermMatcher, ...] = ()
    preferred_affinity: tuple[WeightedTermMatcher, ...] = ()
    preferred_anti_affinity: tuple[WeightedTermMatcher, ...] = ()
    errors: tuple[str, ...] = ()


def compile_pod_affinity_term(term: PodAffinityTerm, namespace: str) -> PodAffinityTermMatcher:
    """Compile one term of a pod in this namespace; raises `SelectorError` if a selector is malformed."""
    own = not term.namespaces and term.namespaceSelector is None
    return PodAffinityTermMatcher(
        topologyKey=term.topologyKey,
        selector=compile_label_selector(term.labelSelector),
        namespaces=frozenset((namespace,) if own else term.namespaces),
        namespace_selector=compile_label_selector(term.namespaceSelector),
    )


def compile_pod_affinity(affinity: Affinity | None, namespace: str) -> PodAffinityTerms:
    """Compile all terms; a list with a malformed term becomes empty, and its first error is kept."""
    if affinity is None:
        return PodAffinityTerms()
    errors: list[str] = []
    toward, away = affinity.podAffinity or PodAffinity(), affinity.podAntiAffinity or PodAntiAffinity()

    def required(terms: Sequence[PodAffinityTerm], name: str) -> tuple[PodAffinityTermMatcher, ...]:
        try:
            return tuple(compile_pod_affinity_term(term, namespace) for term in terms)
        except SelectorError as error:
            errors.append(f"{name}: {error}")
            return ()

    def preferred(terms: Sequence[WeightedPodAffinityTerm], name: str) -> tuple[WeightedTermMatcher, ...]:
        compiled = required([weighted.podAffinityTerm for weighted in terms], name)
        return tuple(
            WeightedTermMatcher(weighted.weight, term) for weighted, term in zip(terms, compiled, strict=False)
        )

    return PodAffinityTerms(
        required_affinity=required(toward.requiredDuringSchedulingIgnoredDuringExecution, "requiredAffinityTerms"),
        required_anti_affinity=required(
            away.requiredDuringSchedulingIgnoredDuringExecution, "requiredAntiAffinityTerms"
        ),
        preferred_affinity=preferred(toward.preferredDuringSchedulingIgnoredDuringExecution, "preferredAffinityTerms"),
        preferred_anti_affinity=preferred(
            away.preferredDuringSchedulingIgnoredDuringExecution, "preferredAntiAffinityTerms"
        ),
        errors=tuple(errors),
    )
