"""Count for InterPodAffinity, for each topology key, the pods in each domain that a term is about.

A topology key with few domains (zones) makes the domain a trait of the slot; one with about as many domains as nodes
(hostnames) would make every slot a class of its own, so there what follows from the count is the trait.
Kubernetes: preFilterState and preScoreState of interpodaffinity, which are computed for each pod.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT, LabelColumn
from moorage.columns.owned_terms import OwnedTerm, TermKind, term_key
from moorage.columns.pod_classes import DomainCounts, PodCounts, label_needed
from moorage.columns.shape import Shape
from moorage.match.pod_affinity import PodAffinityTermMatcher, PodAffinityTerms
from moorage.schedule.framework.wide import Following, Trait, has_small_domains

# What the counts of many small domains come to, as bits of one trait.
NO_DOMAIN, NO_MATCH, REPELS = 1, 2, 4
ANY_BREACH = NO_DOMAIN | NO_MATCH | REPELS

Source = tuple[PodCounts, int]


def is_about(term: PodAffinityTermMatcher, namespace: str, labels: Mapping[str, str], cluster: Cluster) -> bool:
    """Return whether an incoming pod's term is about a pod.

    As in Kubernetes, which looks up the selected namespaces beforehand and then asks the namespaceSelector once more
    with no labels at all: one that a namespace without labels meets is met by every namespace.
    """
    if namespace not in term.namespaces:
        known = cluster.namespaces.get(namespace)
        selector = term.namespace_selector
        if not selector.match({}) and (known is None or not selector.match(known)):
            return False
    return term.selector.match(labels)


class AffinityWant(Following):
    """A shape's terms, its own and those of placed pods about it, and the counts they are judged by."""

    def __init__(self, shape: Shape, terms: PodAffinityTerms, hard_weight: int) -> None:
        super().__init__()
        self.namespace = shape.namespace
        self.labels = shape.labels
        self.terms = terms
        self.hard_weight = hard_weight
        self.matches_itself = False
        self.existing_terms: list[OwnedTerm] = []
        # One for each of the pod's own terms, and one for each topology key of what others have to say.
        self.affinity: list[DomainCounts] = []
        self.anti_affinity: list[DomainCounts] = []
        self.existing: list[DomainCounts] = []
        self.preferences: list[DomainCounts] = []
        self.domains: list[DomainCounts] = []  # all of these
        self.coarse: list[LabelColumn] = []  # the keys with large domains, each of them a trait
        self.small: set[str] = set()  # the other keys
        # The same counts by the size of their domains; for large ones, with the trait that says which domain it is.
        self.coarse_affinity: list[tuple[int, DomainCounts]] = []
        self.coarse_repelling: list[tuple[int, DomainCounts]] = []
        self.coarse_preferences: list[tuple[int, DomainCounts]] = []
        self.small_affinity: list[DomainCounts] = []
        self.small_repelling: list[DomainCounts] = []
        self.small_preferences: list[DomainCounts] = []
        self.has_small_filters = False
        self._terms_known = -1
        self._namespace_generation = -1
        self._said: dict[Hashable, str] = {}

    # -- following the cluster ------------------------------------------------------------------------------------

    def is_current(self, cluster: Cluster) -> bool:
        if self._namespace_generation != cluster.namespace_generation:
            return False
        if self._terms_known != cluster.affinity_terms.generation:
            if self._terms_about_this(cluster) != self.existing_terms:
                return False
            self._terms_known = cluster.affinity_terms.generation
        return True

    def _terms_about_this(self, cluster: Cluster) -> list[OwnedTerm]:
        of_namespace = cluster.namespaces.get(self.namespace, {})
        return [
            term
            for term in cluster.affinity_terms.about(self.labels)
            if term.matcher.match(self.labels, self.namespace, of_namespace)
        ]

    def rebuild(self, cluster: Cluster) -> None:
        nodes = cluster.nodes
        self._said.clear()
        self._namespace_generation = cluster.namespace_generation
        self._terms_known = cluster.affinity_terms.generation
        self.existing_terms = self._terms_about_this(cluster)
        required = self.terms.required_affinity
        self.matches_itself = all(is_about(term, self.namespace, self.labels, cluster) for term in required)
        together = _count(cluster, required)
        self.affinity = [DomainCounts(nodes.label(term.topologyKey), [(together, 1)]) for term in required]
        self.anti_affinity = [
            DomainCounts(nodes.label(term.topologyKey), [(_count(cluster, (term,)), 1)])
            for term in self.terms.required_anti_affinity
        ]
        repelling = (t for t in self.existing_terms if t.kind is TermKind.REQUIRED_ANTI_AFFINITY)
        self.existing = _by_key(cluster, ((term.matcher.topologyKey, (term.owners, 1)) for term in repelling))
        self.preferences = _by_key(cluster, self._weighed(cluster))
        self.domains = [*self.affinity, *self.anti_affinity, *self.existing, *self.preferences]
        for domain in self.domains:
            domain.recount()
        self.is_idle = not self.domains
        self._sort_by_size(len(nodes))

    def _sort_by_size(self, nodes: int) -> None:
        columns = {domain.column.key: domain.column for domain in self.domains}
        self.small = {key for key, column in columns.items() if has_small_domains(column, nodes)}
        self.coarse = [column for key, column in columns.items() if key not in self.small]
        rows = {column.key: row for row, column in enumerate(self.coarse)}

        def split(domains: list[DomainCounts]) -> tuple[list[DomainCounts], list[tuple[int, DomainCounts]]]:
            small = [domain for domain in domains if domain.column.key in self.small]
            return small, [(rows[domain.column.key], domain) for domain in domains if domain.column.key in rows]

        self.small_affinity, self.coarse_affinity = split(self.affinity)
        self.small_repelling, self.coarse_repelling = split(self.anti_affinity + self.existing)
        self.small_preferences, self.coarse_preferences = split(self.preferences)
        self.has_small_filters = bool(self.small_affinity or self.small_repelling)

    def _weighed(self, cluster: Cluster) -> Iterable[tuple[str, Source]]:
        """Yield everything that adds to a score: topology key, pods, and how much each of them adds."""
        for sign, preferred in ((1, self.terms.preferred_affinity), (-1, self.terms.preferred_anti_affinity)):
            for weighted in preferred:
                yield weighted.term.topologyKey, (_count(cluster, (weighted.term,)), sign * weighted.weight)
        for term in self.existing_terms:
            if term.kind is TermKind.PREFERRED:
                yield term.matcher.topologyKey, (term.owners, term.weight)
            elif term.kind is TermKind.REQUIRED_AFFINITY and self.hard_weight:
                yield term.matcher.topologyKey, (term.owners, self.hard_weight)

    def follow(self, cluster: Cluster, slot: int) -> None:
        self._said.clear()
        for domain in self.domains:
            changed = domain.follow(slot)
            if domain.column.key in self.small:
                self.touch_neighbours(domain.column, changed, slot)

    # -- what the counts come to ----------------------------------------------------------------------------------

    @property
    def begins_a_series(self) -> bool:
        """Return whether the pod is the first that meets its own affinity terms: it may go anywhere."""
        return self.matches_itself and not any(domain.pods for domain in self.affinity)

    def verdicts_of_small_domains(self) -> Trait:
        """Return for all slots which rules their small domains break."""
        bits = np.zeros(len(self.domains[0].column.codes), np.int64)
        for domain in self.small_affinity:
            codes = domain.column.codes
            bits |= np.where(codes == ABSENT, NO_DOMAIN, np.where(domain.counts[codes] > 0, 0, NO_MATCH))
        for domain in self.small_repelling:
            bits |= np.where(domain.counts[domain.column.codes] > 0, REPELS, 0)
        return bits

    def verdict_of_small_domains_at(self, slot: int) -> int:
        bits = 0
        for domain in self.small_affinity:
            if domain.column.codes.item(slot) == ABSENT:
                bits |= NO_DOMAIN
            elif domain.at(slot) <= 0:
                bits |= NO_MATCH
        for domain in self.small_repelling:
            if domain.at(slot) > 0:
                bits |= REPELS
        return bits

    def say_once(self, key: Hashable, text: Callable[[], str]) -> str:
        """Return a text that is the same for many slots until something changes."""
        sentence = self._said.get(key)
        if sentence is None:
            sentence = self._said[key] = text()
        return sentence


def _count(cluster: Cluster, terms: tuple[PodAffinityTermMatcher, ...]) -> PodCounts:
    """Count the pods that all of these terms of an incoming pod are about."""

    def counts(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
        return all(is_about(term, namespace, labels, cluster) for term in terms)

    if not terms:
        return PodCounts()
    needs = next((labels for term in terms if (labels := label_needed(term.selector)) is not None), None)
    key = ("pod affinity", *(term_key(term) for term in terms))
    return cluster.count_pods(key, counts, needs, any(not term.namespace_selector.nothing for term in terms))


def _by_key(cluster: Cluster, sources: Iterable[tuple[str, Source]]) -> list[DomainCounts]:
    by_key: dict[str, list[Source]] = {}
    for key, source in sources:
        by_key.setdefault(key, []).append(source)
    return [DomainCounts(cluster.nodes.label(key), of_key) for key, of_key in by_key.items()]
