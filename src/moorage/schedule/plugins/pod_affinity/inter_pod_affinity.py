"""InterPodAffinity: affinity and anti-affinity between pods × where pods are → which domains remain, which are better.

A node remains if the domains it is in hold pods that the required affinity terms ask for, none that the required
anti-affinity terms exclude, and none whose own required anti-affinity is about this pod. The first pod of a series that
asks for its own kind may go anywhere. Preferred terms of this pod and of the pods on the nodes add up, with their
weights, to a score; required affinity terms of pods on the nodes count as preferred with `hard_weight`.
Kubernetes: pkg/scheduler/framework/plugins/interpodaffinity.
Differs: the detail names the term, the domain and the count; counted when pods come and go, not for each pod.
"""

from collections.abc import Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.counts import DomainCounts, PodCounts
from moorage.columns.label_column import ABSENT
from moorage.columns.owned_terms import TermKind
from moorage.columns.shape import Shape
from moorage.match.comparison import shown
from moorage.match.pod_affinity import PodAffinityTermMatcher, compile_pod_affinity
from moorage.schedule.framework.plugin import MAX_SCORE, Mask, Prepared, Scores
from moorage.schedule.framework.traits import Trait, Traits
from moorage.schedule.framework.verdict import Verdict, unresolvable, unschedulable
from moorage.schedule.framework.wide import WidePlugin
from moorage.schedule.plugins.pod_affinity.pod_affinity_domains import ANY_BREACH, NO_MATCH, AffinityWant
from moorage.schedule.plugins.pod_affinity.pod_affinity_hints import REQUEUE_ON

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"
_TERMS_NAMED = 3


class InterPodAffinity(WidePlugin[AffinityWant]):
    """See the module. `ignores_others` (ignorePreferredTermsOfExistingPods): a pod without preferences has no score."""

    name = "InterPodAffinity"
    requeue_on = REQUEUE_ON

    def __init__(self, hard_weight: int = 1, ignores_others: bool = False) -> None:
        self._hard_weight = hard_weight
        self._ignores_others = ignores_others

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        terms = compile_pod_affinity(shape.spec.affinity, shape.namespace)
        want = AffinityWant(shape, terms, self._hard_weight)
        if terms.errors:
            text = terms.errors[0] if len(terms.errors) == 1 else f"[{', '.join(terms.errors)}]"
            return Prepared(want, rejection=unresolvable(f"parsing pod: {text}"))
        prefers = bool(terms.preferred_affinity or terms.preferred_anti_affinity)
        return Prepared(want, scores=prefers or not self._ignores_others)

    # -- by traits ------------------------------------------------------------------------------------------------

    def traits(self, want: AffinityWant, cluster: Cluster) -> list[Trait]:
        traits = [column.codes.astype(np.int64) for column in want.coarse]
        if want.has_small_filters:
            traits.append(want.verdicts_of_small_domains())
        if want.small_preferences:
            points = [domain.counts[domain.column.codes] for domain in want.small_preferences]
            traits.append(np.sum(points, axis=0, dtype=np.int64))
        return traits

    def traits_at(self, want: AffinityWant, cluster: Cluster, slot: int) -> tuple[int, ...]:
        traits = [column.codes.item(slot) for column in want.coarse]
        if want.has_small_filters:
            traits.append(want.verdict_of_small_domains_at(slot))
        if want.small_preferences:
            points = 0
            for domain in want.small_preferences:
                points += domain.at(slot)
            traits.append(points)
        return tuple(traits)

    def filter_traits(self, want: AffinityWant, traits: Traits) -> Mask:
        begins = want.begins_a_series
        passes: Mask | None = None
        if want.has_small_filters:
            passes = (traits[len(want.coarse)] & (ANY_BREACH - NO_MATCH if begins else ANY_BREACH)) == 0
        for row, domain in want.coarse_affinity:
            code = traits[row]
            met: Mask = (code != ABSENT) if begins else (domain.counts[code] > 0)
            passes = met if passes is None else passes & met
        for row, domain in want.coarse_repelling:
            met = domain.counts[traits[row]] <= 0
            passes = met if passes is None else passes & met
        return passes if passes is not None else np.ones(len(traits[0]), np.bool_)

    def has_filter(self, want: AffinityWant) -> bool:
        return bool(want.affinity or want.anti_affinity or any(domain.pods for domain in want.existing))

    def may_filter(self, want: AffinityWant) -> bool:
        return bool(want.affinity or want.anti_affinity or want.existing)

    def has_score(self, want: AffinityWant) -> bool:
        return any(domain.pods for domain in want.preferences)

    def score_traits(self, want: AffinityWant, traits: Traits, sizes: NDArray[np.int64]) -> Scores:
        points: Scores | None = traits[-1] if want.small_preferences else None
        for row, domain in want.coarse_preferences:
            added = domain.counts[traits[row]]
            points = added if points is None else points + added
        if points is None:
            return np.zeros(len(sizes), np.int64)
        lowest, highest = np.minimum.reduce(points), np.maximum.reduce(points)
        if lowest == highest:
            return np.zeros(len(sizes), np.int64)
        scaled: Scores = (float(MAX_SCORE) * ((points - lowest) / (highest - lowest))).astype(np.int64)
        return scaled

    # -- in words -------------------------------------------------------------------------------------------------

    def explain(self, want: AffinityWant, cluster: Cluster, slot: int) -> Verdict | None:
        want.catch_up(cluster)
        if details := self._unmet(want, slot):
            return unresolvable(AFFINITY_REASON, *details)
        if details := self._excluded(want, slot):
            return unschedulable(ANTI_AFFINITY_REASON, *details)
        if details := self._repelled(want, slot):
            return unschedulable(EXISTING_REASON, *details)
        return None

    def _unmet(self, want: AffinityWant, slot: int) -> list[str]:
        details = []
        for number, (term, domain) in enumerate(_pairs(want.terms.required_affinity, want.affinity), 1):
            code = int(domain.column.codes[slot])
            head = f"affinity term {number} ({describe_term(term)})"
            if code == ABSENT:
                details.append(f"{head}: the node has no label {shown(term.topologyKey)}")
            elif domain.counts[code] <= 0 and not want.begins_a_series:
                whole = "" if len(want.affinity) == 1 else " every term"
                details.append(f"{head}: no pod in {_place(domain, code)} matches{whole}")
        return details

    def _excluded(self, want: AffinityWant, slot: int) -> list[str]:
        details = []
        for number, (term, domain) in enumerate(_pairs(want.terms.required_anti_affinity, want.anti_affinity), 1):
            code = int(domain.column.codes[slot])
            if domain.counts[code] > 0:
                pods = _pods(int(domain.counts[code]))
                details.append(
                    f"anti-affinity term {number} ({describe_term(term)}): {pods} in {_place(domain, code)} match"
                )
        return details

    def _repelled(self, want: AffinityWant, slot: int) -> list[str]:
        details = []
        for domain in want.existing:
            code = int(domain.column.codes[slot])
            if domain.counts[code] > 0:
                said = want.say_once((domain.column.key, code), partial(_owners, want, domain, code))
                details.append(said)
        return details


def describe_term(term: PodAffinityTermMatcher) -> str:
    """A term in a few words: which pods, in which namespaces."""
    if term.selector.nothing:
        return "no pod at all"
    spaces = [*sorted(term.namespaces)]
    if not term.namespace_selector.nothing:
        spaces.append(str(term.namespace_selector) or "all")
    return f"{str(term.selector) or 'any pod'} in namespaces {', '.join(map(shown, spaces))}"


def _owners(want: AffinityWant, domain: DomainCounts, code: int) -> str:
    """Which pods in a domain object to the shape."""
    terms = (t for t in want.existing_terms if t.kind is TermKind.REQUIRED_ANTI_AFFINITY)
    here = [t.matcher for t in terms if t.matcher.topologyKey == domain.column.key and _in(domain, t.owners, code)]
    named = "; ".join(describe_term(term) for term in here[:_TERMS_NAMED])
    more = f" and {len(here) - _TERMS_NAMED} more" if len(here) > _TERMS_NAMED else ""
    return (
        f"{_pods(int(domain.counts[code]))} in {_place(domain, code)} exclude this one by anti-affinity: {named}{more}"
    )


def _in(domain: DomainCounts, owners: PodCounts, code: int) -> bool:
    codes = domain.column.codes
    return any(codes[slot] == code for slot in owners.on)


def _place(domain: DomainCounts, code: int) -> str:
    return f"{shown(domain.column.key)}={shown(domain.column.values.values[code] or '')}"


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"


def _pairs(
    terms: Iterable[PodAffinityTermMatcher], domains: Iterable[DomainCounts]
) -> Iterable[tuple[PodAffinityTermMatcher, DomainCounts]]:
    return zip(terms, domains, strict=True)
