"""Find the fields of a pod, a template, a volume or a device kind that need a gate."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from moorage.lint.facts.device_gates import device_gates
from moorage.match.operators import NODE_SELECTOR, TOLERATION, gate_of
from moorage.model.gates import (
    DYNAMIC_RESOURCE_ALLOCATION,
    GATES,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    TAINT_TOLERATION_CEL,
    Gate,
)
from moorage.model.types.node import NodeSelectorTerm
from moorage.model.types.pod import PodAffinityTerm, PodSpec
from moorage.model.types.storage import PersistentVolume

_GATES = {gate.name: gate for gate in GATES}


class Use(NamedTuple):
    """One field that needs a gate."""

    gate: Gate
    path: str


def uses_in_spec(spec: PodSpec, path: str) -> list[Use]:
    """Return all uses in a pod's spec, which stands at `path` in its object."""
    return [*_tolerations(spec, path), *_node_affinity(spec, path), *_label_keys(spec, path)]


def uses_in_volume(volume: PersistentVolume) -> list[Use]:
    affinity = volume.spec.nodeAffinity
    required = affinity.required if affinity is not None else None
    terms = required.nodeSelectorTerms if required is not None else ()
    return list(_selector_terms(terms, "spec.nodeAffinity.required.nodeSelectorTerms"))


def uses_in_devices(kind: str, view: Any) -> list[Use]:
    """Return all uses in a claim, a template, a slice, a class or a rule; that there is one counts for none."""
    found = (Use(_GATES[gate.name], path) for gate, path in device_gates(kind, view))
    return [use for use in found if use.gate is not DYNAMIC_RESOURCE_ALLOCATION]


def _tolerations(spec: PodSpec, path: str) -> Iterator[Use]:
    for number, toleration in enumerate(spec.tolerations):
        where = f"{path}.tolerations[{number}]"
        if toleration.expression:
            yield Use(TAINT_TOLERATION_CEL, f"{where}.expression")
        elif (gate := gate_of(toleration.operator, TOLERATION)) is not None:
            yield Use(gate, f"{where}.operator")


def _node_affinity(spec: PodSpec, path: str) -> Iterator[Use]:
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    if affinity is None:
        return
    where = f"{path}.affinity.nodeAffinity"
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution
    if required is not None:
        terms = f"{where}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
        yield from _selector_terms(required.nodeSelectorTerms, terms)
    for number, preferred in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
        term = f"{where}.preferredDuringSchedulingIgnoredDuringExecution[{number}].preference"
        yield from _selector_term(preferred.preference, term)


def _selector_terms(terms: Iterable[NodeSelectorTerm], path: str) -> Iterator[Use]:
    for number, term in enumerate(terms):
        yield from _selector_term(term, f"{path}[{number}]")


def _selector_term(term: NodeSelectorTerm, path: str) -> Iterator[Use]:
    for number, requirement in enumerate(term.matchExpressions):
        if (gate := gate_of(requirement.operator, NODE_SELECTOR)) is not None:
            yield Use(gate, f"{path}.matchExpressions[{number}].operator")


def _label_keys(spec: PodSpec, path: str) -> Iterator[Use]:
    for where, term in _pod_terms(spec, path):
        for name in ("matchLabelKeys", "mismatchLabelKeys"):
            if getattr(term, name):
                yield Use(MATCH_LABEL_KEYS_IN_POD_AFFINITY, f"{where}.{name}")
    for number, constraint in enumerate(spec.topologySpreadConstraints):
        if constraint.matchLabelKeys:
            where = f"{path}.topologySpreadConstraints[{number}].matchLabelKeys"
            yield Use(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, where)


def _pod_terms(spec: PodSpec, path: str) -> Iterator[tuple[str, PodAffinityTerm]]:
    if spec.affinity is None:
        return
    for name in ("podAffinity", "podAntiAffinity"):
        affinity = getattr(spec.affinity, name)
        if affinity is None:
            continue
        where = f"{path}.affinity.{name}"
        for number, term in enumerate(affinity.requiredDuringSchedulingIgnoredDuringExecution):
            yield f"{where}.requiredDuringSchedulingIgnoredDuringExecution[{number}]", term
        for number, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
            preferred = f"{where}.preferredDuringSchedulingIgnoredDuringExecution[{number}].podAffinityTerm"
            yield preferred, weighted.podAffinityTerm
