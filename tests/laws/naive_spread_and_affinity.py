"""Pod affinity and topology spread as Kubernetes does them: for one pod, from nothing, node by node, pod by pod.

Written to be compared with kube-scheduler's source line by line, and slow. The laws compare the real plugins with it.
"""

from collections import Counter
from collections.abc import Mapping
from math import floor, log

import msgspec

from moorage.match.label_selector import EVERYTHING, Selector, compile_label_selector, compile_label_set, conjunction
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.pod_affinity import PodAffinityTermMatcher, compile_pod_affinity
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, TopologySpreadConstraint

AFFINITY = ("UnschedulableAndUnresolvable", "node(s) didn't match pod affinity rules")
ANTI_AFFINITY = ("Unschedulable", "node(s) didn't match pod anti-affinity rules")
EXISTING = ("Unschedulable", "node(s) didn't satisfy existing pods anti-affinity rules")
SPREAD = ("Unschedulable", "node(s) didn't match pod topology spread constraints")
NO_LABEL = (
    "UnschedulableAndUnresolvable",
    "node(s) didn't match pod topology spread constraints (missing required label)",
)
HOSTNAME = "kubernetes.io/hostname"

Refusal = tuple[str, str]
Pair = tuple[str, str]


class World(msgspec.Struct, frozen=True):
    """Everything there is: nodes by name, the pods on each, and the labels of namespaces."""

    nodes: Mapping[str, Node]
    pods: Mapping[str, list[Pod]]
    namespaces: Mapping[str, Mapping[str, str]]
    gates: GateSet


# -- affinity ---------------------------------------------------------------------------------------------------------


def _incoming_term_is_about(term: PodAffinityTermMatcher, pod: Pod, world: World) -> bool:
    spaces = set(term.namespaces)
    if not term.namespace_selector.everything:
        spaces |= {name for name, labels in world.namespaces.items() if term.namespace_selector.match(labels)}
    if pod.metadata.namespace not in spaces and not term.namespace_selector.match({}):
        return False
    return term.selector.match(pod.metadata.labels)


def _existing_term_is_about(term: PodAffinityTermMatcher, pod: Pod, world: World) -> bool:
    labels = world.namespaces.get(pod.metadata.namespace, {})
    return term.match(pod.metadata.labels, pod.metadata.namespace, labels)


def _add(counts: Counter[Pair], node: Node, key: str, by: int) -> None:
    if key in node.metadata.labels:
        counts[key, node.metadata.labels[key]] += by


def affinity_refusals(pod: Pod, world: World) -> dict[str, Refusal]:
    """For each node that InterPodAffinity refuses, how."""
    terms = compile_pod_affinity(pod.spec.affinity, pod.metadata.namespace)
    wanted: Counter[Pair] = Counter()
    unwanted: Counter[Pair] = Counter()
    unwanting: Counter[Pair] = Counter()
    for name, node in world.nodes.items():
        for other in world.pods[name]:
            theirs = compile_pod_affinity(other.spec.affinity, other.metadata.namespace)
            for term in theirs.required_anti_affinity:
                if _existing_term_is_about(term, pod, world):
                    _add(unwanting, node, term.topologyKey, 1)
            if all(_incoming_term_is_about(term, other, world) for term in terms.required_affinity):
                for term in terms.required_affinity:
                    _add(wanted, node, term.topologyKey, 1)
            for term in terms.required_anti_affinity:
                if _incoming_term_is_about(term, other, world):
                    _add(unwanted, node, term.topologyKey, 1)
    begins = not wanted and all(_incoming_term_is_about(term, pod, world) for term in terms.required_affinity)
    refusals: dict[str, Refusal] = {}
    for name, node in world.nodes.items():
        labels = node.metadata.labels
        affine = [(term.topologyKey, labels.get(term.topologyKey)) for term in terms.required_affinity]
        if any(value is None for _, value in affine) or (
            not begins and any(wanted[key, value or ""] <= 0 for key, value in affine)
        ):
            refusals[name] = AFFINITY
        elif any(
            unwanted[term.topologyKey, labels[term.topologyKey]] > 0
            for term in terms.required_anti_affinity
            if term.topologyKey in labels
        ):
            refusals[name] = ANTI_AFFINITY
        elif any(unwanting[pair] > 0 for pair in labels.items()):
            refusals[name] = EXISTING
    return refusals


def affinity_scores(
    pod: Pod, world: World, feasible: list[str], hard_weight: int = 1, ignores_others: bool = False
) -> dict[str, int] | None:
    """The normalised score of each feasible node; None if there is nothing to score by."""
    terms = compile_pod_affinity(pod.spec.affinity, pod.metadata.namespace)
    if ignores_others and not terms.preferred_affinity and not terms.preferred_anti_affinity:
        return None
    points: Counter[Pair] = Counter()
    touched = False
    for name, node in world.nodes.items():
        for other in world.pods[name]:
            theirs = compile_pod_affinity(other.spec.affinity, other.metadata.namespace)
            adding = [(w.term, w.weight) for w in terms.preferred_affinity]
            adding += [(w.term, -w.weight) for w in terms.preferred_anti_affinity]
            due = [(t, weight) for t, weight in adding if _incoming_term_is_about(t, other, world)]
            adding = [(term, hard_weight) for term in theirs.required_affinity] if hard_weight else []
            adding += [(w.term, w.weight) for w in theirs.preferred_affinity]
            adding += [(w.term, -w.weight) for w in theirs.preferred_anti_affinity]
            due += [(t, weight) for t, weight in adding if _existing_term_is_about(t, pod, world)]
            for term, weight in due:
                touched |= term.topologyKey in node.metadata.labels
                _add(points, node, term.topologyKey, weight)
    if not touched:
        return None
    raw = {name: sum(points[pair] for pair in world.nodes[name].metadata.labels.items()) for name in feasible}
    lowest, highest = min(raw.values()), max(raw.values())
    if lowest == highest:
        return dict.fromkeys(feasible, 0)
    return {name: int(100.0 * ((value - lowest) / (highest - lowest))) for name, value in raw.items()}


# -- spread -----------------------------------------------------------------------------------------------------------


def _selector(constraint: TopologySpreadConstraint, pod: Pod, default: Selector | None) -> Selector:
    if default is not None:
        return default
    selector = compile_label_selector(constraint.labelSelector)
    keys = {key: pod.metadata.labels[key] for key in constraint.matchLabelKeys if key in pod.metadata.labels}
    return (
        selector if selector.nothing else conjunction((*compile_label_set(keys).requirements, *selector.requirements))
    )


def _matching(pods: list[Pod], selector: Selector, namespace: str) -> int:
    if selector.everything:
        return 0
    return sum(
        pod.metadata.deletionTimestamp is None
        and pod.metadata.namespace == namespace
        and selector.match(pod.metadata.labels)
        for pod in pods
    )


def _counts_here(constraint: TopologySpreadConstraint, pod: Pod, node: Node, gates: GateSet) -> bool:
    if constraint.nodeAffinityPolicy != "Ignore":
        required = compile_required_node_affinity(pod.spec.nodeSelector, pod.spec.affinity, gates)
        if not required.match(node.metadata.labels, node.metadata.name):
            return False
    if constraint.nodeTaintsPolicy == "Honor":
        tolerations = compile_tolerations(pod.spec.tolerations, gates)
        return not tolerations.untolerated(node.spec.taints, {"NoSchedule", "NoExecute"})
    return True


def _has_keys(node: Node, constraints: list[TopologySpreadConstraint]) -> bool:
    return all(constraint.topologyKey in node.metadata.labels for constraint in constraints)


def spread_refusals(pod: Pod, world: World) -> dict[str, Refusal]:
    """For each node that PodTopologySpread refuses, how."""
    hard = [c for c in pod.spec.topologySpreadConstraints if c.whenUnsatisfiable == "DoNotSchedule"]
    pods_in: list[dict[str, int]] = []
    for constraint in hard:
        selector = _selector(constraint, pod, None)
        counts: dict[str, int] = {}
        for name, node in world.nodes.items():
            if _has_keys(node, hard) and _counts_here(constraint, pod, node, world.gates):
                value = node.metadata.labels[constraint.topologyKey]
                found = _matching(world.pods[name], selector, pod.metadata.namespace)
                counts[value] = counts.get(value, 0) + found
        pods_in.append(counts)
    refusals: dict[str, Refusal] = {}
    for name, node in world.nodes.items():
        for constraint, counts in zip(hard, pods_in, strict=True):
            value_here = node.metadata.labels.get(constraint.topologyKey)
            if value_here is None:
                refusals[name] = NO_LABEL
                break
            few = len(counts) < (1 if constraint.minDomains is None else constraint.minDomains)
            fewest = 0 if few else min(counts.values())
            itself = _selector(constraint, pod, None).match(pod.metadata.labels)
            if counts.get(value_here, 0) + itself - fewest > constraint.maxSkew:
                refusals[name] = SPREAD
                break
    return refusals


def spread_scores(
    pod: Pod,
    world: World,
    feasible: list[str],
    defaults: tuple[TopologySpreadConstraint, ...] = (),
    default_selector: Selector = EVERYTHING,
    system: bool = True,
) -> dict[str, int] | None:
    """The normalised score of each feasible node; None if there is no soft constraint."""
    own = pod.spec.topologySpreadConstraints
    selector = None if own else default_selector
    if selector is not None and selector.everything:
        return None
    soft = [c for c in own or defaults if c.whenUnsatisfiable == "ScheduleAnyway"]
    if not soft:
        return None
    needs_all = bool(own) or not system
    scored = [name for name in feasible if not needs_all or _has_keys(world.nodes[name], soft)]
    raw = dict.fromkeys(scored, 0.0)
    for constraint in soft:
        key, matcher = constraint.topologyKey, _selector(constraint, pod, selector)
        values = {world.nodes[name].metadata.labels.get(key, "") for name in scored}
        weight = log((len(scored) if key == HOSTNAME else len(values)) + 2)
        counts: Counter[str] = Counter()
        for name, node in world.nodes.items():
            if (not needs_all or _has_keys(node, soft)) and _counts_here(constraint, pod, node, world.gates):
                found = _matching(world.pods[name], matcher, pod.metadata.namespace)
                counts[node.metadata.labels.get(key, "")] += found
        for name in scored:
            value = world.nodes[name].metadata.labels.get(key)
            if value is not None:
                on_host = _matching(world.pods[name], matcher, pod.metadata.namespace)
                raw[name] += (on_host if key == HOSTNAME else counts[value]) * weight + (constraint.maxSkew - 1)
    rounded = {name: floor(value) + (value - floor(value) >= 0.5) for name, value in raw.items()}
    lowest, highest = min(rounded.values(), default=0), max(rounded.values(), default=0)
    normal = {
        name: 100 if highest == 0 else 100 * (highest + lowest - value) // highest for name, value in rounded.items()
    }
    return {name: normal.get(name, 0) for name in feasible}
