"""InterPodAffinity: filter and score nodes by affinity and anti-affinity to the pods in their topology domains.

A node passes if its domains hold pods that the required affinity terms ask for, none that the required anti-affinity
terms exclude, and none whose own required anti-affinity is about this pod. The first pod of a series that asks for its
own kind may go anywhere. Preferred terms of this pod and of the pods on the nodes add up, with their weights, to a
score; required affinity terms of pods on the nodes count as preferred with `hard_weight`.
Kubernetes: pkg/scheduler/framework/plugins/interpodaffinity.
Differs: the detail names the term, the domain and the count; counted when pods come and go, not for each pod.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT
from moorage.columns.owned_terms import TermKind
from moorage.columns.pod_classes import DomainCounts, Label, PodCounts, label_needed
from moorage.columns.shape import Shape
from moorage.match.comparison import shown
from moorage.match.pod_affinity import PodAffinityTermMatcher, compile_pod_affinity
from moorage.model.types.pod import Pod
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import MAX_SCORE, Mask, Prepared, Scores, Verdict, unresolvable, unschedulable
from moorage.schedule.framework.wide import Trait, Traits, WidePlugin
from moorage.schedule.plugins.pod_affinity_domains import ANY_BREACH, NO_MATCH, AffinityWant, is_about

AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"
_TERMS_NAMED = 20


# -- which events may help a pod that was rejected ---------------------------------------------------------------------


def _is_wanted(want: AffinityWant, pod: Pod, cluster: Cluster) -> bool:
    """Return whether the pod meets all affinity terms."""
    return bool(want.terms.required_affinity) and _is_of_kind(
        want, pod.metadata.namespace, pod.metadata.labels, cluster
    )


def _is_of_kind(want: AffinityWant, namespace: str, labels: Mapping[str, str], cluster: Cluster) -> bool:
    return all(is_about(term, namespace, labels, cluster) for term in want.terms.required_affinity)


def _is_own_kind(want: AffinityWant, cluster: Cluster) -> bool:
    """Return whether the pod meets its own terms: it may go anywhere once no such pod is left."""
    return _is_of_kind(want, want.namespace, want.labels, cluster)


def _shunned(want: AffinityWant, pod: Pod, cluster: Cluster) -> frozenset[int]:
    namespace, labels = pod.metadata.namespace, pod.metadata.labels
    terms = enumerate(want.terms.required_anti_affinity)
    return frozenset(index for index, term in terms if is_about(term, namespace, labels, cluster))


def _came(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return _is_wanted(want, event.new, cluster)


def _went(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    pod: Pod = event.old
    if _shunned(want, pod, cluster) or (_is_wanted(want, pod, cluster) and _is_own_kind(want, cluster)):
        return True
    theirs = compile_pod_affinity(pod.spec.affinity, pod.metadata.namespace).required_anti_affinity
    of_namespace = cluster.namespaces.get(want.namespace, {})
    return any(term.match(want.labels, want.namespace, of_namespace) for term in theirs)


def _was_relabelled(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    was_wanted, is_wanted = (_is_wanted(want, pod, cluster) for pod in (event.old, event.new))
    if was_wanted != is_wanted and (is_wanted or _is_own_kind(want, cluster)):
        return True
    return bool(_shunned(want, event.old, cluster) - _shunned(want, event.new, cluster))


def _has_domains(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a new node is in a domain of each affinity term; an empty node breaks no other rule."""
    labels = event.new.metadata.labels
    return all(term.topologyKey in labels for term in want.terms.required_affinity)


def _moved(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a node, and its pods with it, is in another domain than before."""
    old, new = event.old.metadata.labels, event.new.metadata.labels
    own = (*want.terms.required_affinity, *want.terms.required_anti_affinity)
    keys = {term.topologyKey for term in own} | {term.matcher.topologyKey for term in want.existing_terms}
    return any(old.get(key) != new.get(key) for key in keys)


def _wanted_labels(want: AffinityWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """Return the labels of one affinity term, since a pod has to meet all of them."""
    needed = (label_needed(term.selector) for term in want.terms.required_affinity)
    known = next((labels for labels in needed if labels is not None), None)
    return known if known is not None or want.terms.required_affinity else ()


def _own_terms_labels(want: AffinityWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """Return the labels of a pod that meets the affinity terms, or one of the anti-affinity terms."""
    needed = [_wanted_labels(want, shape, cluster)]
    needed += (label_needed(term.selector) for term in want.terms.required_anti_affinity)
    if any(labels is None for labels in needed):
        return None
    return tuple(label for labels in needed for label in labels or ())


def _has_no_anti_affinity(event: Event) -> bool:
    """Return whether the event's pod has no anti-affinity terms, which are about others' labels."""
    affinity = event.old.spec.affinity
    away = affinity.podAntiAffinity if affinity is not None else None
    return away is None or not away.requiredDuringSchedulingIgnoredDuringExecution


_REQUEUE_ON = (
    on(EventKind.OWN_LABELS, EventKind.NAMESPACE_LABELS),
    on(EventKind.POD_ADDED, hint=_came, needs=_wanted_labels),
    on(EventKind.POD_REMOVED, hint=_went, needs=_own_terms_labels, by_keys=_has_no_anti_affinity),
    on(EventKind.POD_LABELS, hint=_was_relabelled, needs=_own_terms_labels),
    on(EventKind.NODE_ADDED, hint=_has_domains),
    on(EventKind.NODE_LABELS, hint=_moved),
)


class InterPodAffinity(WidePlugin[AffinityWant]):
    """The InterPodAffinity plugin. `ignores_others`: a pod without preferences has no score."""

    name = "InterPodAffinity"
    requeue_on = _REQUEUE_ON

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
        unmet, excluded, repelled = self._unmet(want, slot), self._excluded(want, slot), self._repelled(want, slot)
        # The event counts the first reason; the details name everything.
        details = (*unmet, *excluded, *repelled)
        if unmet:
            return unresolvable(AFFINITY_REASON, *details)
        if excluded:
            return unschedulable(ANTI_AFFINITY_REASON, *details)
        return unschedulable(EXISTING_REASON, *details) if repelled else None

    def _unmet(self, want: AffinityWant, slot: int) -> list[str]:
        details = []
        for number, (term, domain) in enumerate(zip(want.terms.required_affinity, want.affinity, strict=True), 1):
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
        for number, (term, domain) in enumerate(
            zip(want.terms.required_anti_affinity, want.anti_affinity, strict=True), 1
        ):
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
                owners = want.say_once((domain.column.key, code), partial(_owners, want, domain, code))
                details.append(owners)
        return details


def describe_term(term: PodAffinityTermMatcher) -> str:
    if term.selector.nothing:
        return "no pod at all"
    spaces = [*sorted(term.namespaces)]
    if not term.namespace_selector.nothing:
        spaces.append(str(term.namespace_selector) or "all")
    return f"{str(term.selector) or 'any pod'} in namespaces {', '.join(map(shown, spaces))}"


def _owners(want: AffinityWant, domain: DomainCounts, code: int) -> str:
    """Describe the pods in a domain whose anti-affinity excludes the shape."""
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
