"""Collect what pods ask of nodes and of PriorityClasses, and find what the input does not have.

A selector is judged only against nodes of the input, if there are any. Kubernetes: pods without a node stay Pending.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from moorage.lint.facts.class_references import ClassReferences
from moorage.lint.finding import SourcePlace
from moorage.lint.hints import did_you_mean
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.match.label_keys import REQUIRED
from moorage.match.node_selector import RequiredNodeAffinity, compile_required_node_affinity
from moorage.model.gates import all_gates
from moorage.model.types.pod import PodSpec

_MAX_KEPT = 2_000
_MAX_SECONDS = 3.0
_ALL_GATES = all_gates()
_SYSTEM_CLASSES = frozenset({"system-cluster-critical", "system-node-critical"})


class NodeLabels(Protocol):
    """A node of the input, by what selectors read."""

    @property
    def name(self) -> str: ...

    @property
    def labels(self) -> dict[str, str]: ...


class PlacementFacts:
    """Selectors of pods, and the PriorityClasses that they name."""

    def __init__(self) -> None:
        self._selectors: dict[bytes, tuple[PodSpec, SourcePlace]] = {}
        self._classes = ClassReferences("PriorityClass", "priority-class-missing", _SYSTEM_CLASSES)

    def add(self, subject: Subject) -> None:
        if subject.kind == "PriorityClass":
            self._classes.has(subject.view.metadata.name)
        if subject.pods is not None:
            self._add_class(subject)
            self._add_selector(subject)

    def _add_class(self, subject: Subject) -> None:
        assert subject.pods is not None
        spec = subject.pods.spec
        if spec.priorityClassName and spec.priority is None:  # a pod that has its priority has been let in
            self._classes.refer(spec.priorityClassName, subject, "priorityClassName")

    def _add_selector(self, subject: Subject) -> None:
        """Remember what a pod requires, once; a DaemonSet may have no node, and a pod may have one already."""
        pods = subject.pods
        assert pods is not None
        spec = pods.spec
        affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
        idle = getattr(subject.view.spec, "replicas", None) == 0
        if subject.kind == "DaemonSet" or spec.nodeName or idle or (not spec.nodeSelector and required is None):
            return
        shape = msgspec.msgpack.encode((spec.nodeSelector, required))
        if shape not in self._selectors and len(self._selectors) < _MAX_KEPT:
            field = "nodeSelector" if spec.nodeSelector else f"affinity.nodeAffinity.{REQUIRED}"
            self._selectors[shape] = spec, subject.place(f"{pods.spec_path}.{field}")

    def complaints(self, nodes: Sequence[NodeLabels]) -> Iterator[PlacedComplaint]:
        yield from self._classes.complaints()
        until = time.monotonic() + _MAX_SECONDS
        for spec, place in self._selectors.values() if nodes else ():
            if time.monotonic() > until:
                return
            required = compile_required_node_affinity(spec.nodeSelector, spec.affinity, _ALL_GATES)
            if not required.errors and not any(required.match(node.labels, node.name) for node in nodes):
                yield _unmatched(required, spec, nodes, place), place


def _unmatched(
    required: RequiredNodeAffinity, spec: PodSpec, nodes: Sequence[NodeLabels], place: SourcePlace
) -> Complaint:
    reasons = ((required.explain(node.labels, node.name) or "", node.name) for node in nodes)
    why, name = min(reasons, key=lambda reason: (reason[0].count(";"), "is missing" in reason[0], reason))
    who = "the node" if len(nodes) == 1 else f"none of the {len(nodes):,} nodes"
    does = "does not match" if len(nodes) == 1 else "matches"
    message = f"{who} of the input {does}, so that the pods stay Pending; node {name}: {why}"
    return Complaint("node-selector-unmatched", place.path, message, _advice(spec, nodes))


def _advice(spec: PodSpec, nodes: Sequence[NodeLabels]) -> str:
    """Suggest a key or a value that nodes have, for the first label that no node has."""
    keys = {key for node in nodes for key in node.labels}
    for key, value in spec.nodeSelector.items():
        if key not in keys:
            return did_you_mean(key, keys)
        values = sorted({node.labels[key] for node in nodes if key in node.labels})
        if value not in values:
            shown = ", ".join(values[:5]) + (f" and {len(values) - 5} more" if len(values) > 5 else "")
            return did_you_mean(value, values) or f"nodes have {key}: {shown}"
    return ""
