"""Which events may make InterPodAffinity change its mind about a pod that it rejected.

Kubernetes: isSchedulableAfterPodChange and isSchedulableAfterNodeChange of interpodaffinity, with which some pods wait
for five minutes. Differs: a pod that went helps if it matched *one* of the anti-affinity terms, or was the last of
a kind that the waiting pod belongs to itself; a node that came helps pods that only others keep away.
"""

from collections.abc import Mapping

from moorage.columns.cluster import Cluster
from moorage.columns.pod_classes import Label, label_needed
from moorage.columns.shape import Shape
from moorage.match.pod_affinity import compile_pod_affinity
from moorage.model.types.pod import Pod
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.framework.requeue import on
from moorage.schedule.plugins.pod_affinity.pod_affinity_domains import AffinityWant, is_about


def _is_wanted(want: AffinityWant, pod: Pod, cluster: Cluster) -> bool:
    """Whether the pod is of the kind that the affinity terms ask for: it has to meet all of them."""
    return bool(want.terms.required_affinity) and _is_of_kind(
        want, pod.metadata.namespace, pod.metadata.labels, cluster
    )


def _is_of_kind(want: AffinityWant, namespace: str, labels: Mapping[str, str], cluster: Cluster) -> bool:
    return all(is_about(term, namespace, labels, cluster) for term in want.terms.required_affinity)


def _is_own_kind(want: AffinityWant, cluster: Cluster) -> bool:
    """Whether the pod asks for its own kind: then it may go anywhere once nobody of the kind is left."""
    return _is_of_kind(want, want.namespace, want.labels, cluster)


def _shunned(want: AffinityWant, pod: Pod, cluster: Cluster) -> frozenset[int]:
    """Which of the anti-affinity terms are about the pod."""
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
    """A new node helps if it is in a domain of each affinity term; nothing else can be said against an empty one."""
    labels = event.new.metadata.labels
    return all(term.topologyKey in labels for term in want.terms.required_affinity)


def _moved(want: AffinityWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """A node that is in another domain than before takes its pods with it."""
    old, new = event.old.metadata.labels, event.new.metadata.labels
    own = (*want.terms.required_affinity, *want.terms.required_anti_affinity)
    keys = {term.topologyKey for term in own} | {term.matcher.topologyKey for term in want.existing_terms}
    return any(old.get(key) != new.get(key) for key in keys)


# -- by labels --------------------------------------------------------------------------------------------------------


def _wanted_labels(want: AffinityWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """A pod that is wanted meets all affinity terms, so the labels of one term will do."""
    needed = (label_needed(term.selector) for term in want.terms.required_affinity)
    known = next((labels for labels in needed if labels is not None), None)
    return known if known is not None or want.terms.required_affinity else ()


def _own_terms_labels(want: AffinityWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """One that is wanted, or that one of the anti-affinity terms is about."""
    needed = [_wanted_labels(want, shape, cluster)]
    needed += (label_needed(term.selector) for term in want.terms.required_anti_affinity)
    if any(labels is None for labels in needed):
        return None
    return tuple(label for labels in needed for label in labels or ())


def _shuns_nobody(event: Event) -> bool:
    """Whether the pod has no anti-affinity, which is about others' labels."""
    affinity = event.old.spec.affinity
    away = affinity.podAntiAffinity if affinity is not None else None
    return away is None or not away.requiredDuringSchedulingIgnoredDuringExecution


REQUEUE_ON = (
    on(EventKind.OWN_LABELS, EventKind.NAMESPACE_LABELS),
    on(EventKind.POD_ADDED, hint=_came, needs=_wanted_labels),
    on(EventKind.POD_REMOVED, hint=_went, needs=_own_terms_labels, by_labels=_shuns_nobody),
    on(EventKind.POD_LABELS, hint=_was_relabelled, needs=_own_terms_labels),
    on(EventKind.NODE_ADDED, hint=_has_domains),
    on(EventKind.NODE_LABELS, hint=_moved),
)
