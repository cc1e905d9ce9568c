"""Find node selectors that no node of the input matches, and classes that pods name and the input does not have.

A selector is judged only against nodes of the input, if there are any. A class that is not in the input is missing if
the input has others; else it is worth a note, once: it may be in the cluster. Kubernetes: pods without a node stay
Pending; pods without their class are refused.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from moorage.admit.world import missing_text
from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, collector
from moorage.lint.finding import Severity, SourcePlace
from moorage.lint.meant_words import did_you_mean
from moorage.lint.rules.spread import Domains
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.match.label_keys import REQUIRED
from moorage.match.node_selector import RequiredNodeAffinity, compile_required_node_affinity
from moorage.model.gates import GateSet, all_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import PodSpec


class _Reference(msgspec.Struct):
    """The first place that names a class, and how many more do."""

    place: SourcePlace
    others: int = 0


class ClassReferences:
    """The classes of one kind that the input has, and those that its pods name. `built_in` classes always exist."""

    def __init__(self, kind: Kind, rule: str, built_in: frozenset[str] = frozenset()) -> None:
        self._kind, self._rule, self._built_in = kind, rule, built_in
        self._classes: set[str] = set()
        self._named: dict[str, _Reference] = {}

    def has(self, name: str) -> None:
        """Note a class of the input."""
        self._classes.add(name)

    def refer(self, name: str, subject: Subject, field: str) -> None:
        """Note that the pods of an object name a class in a field of their spec."""
        assert subject.pods is not None
        if (known := self._named.get(name)) is not None:
            known.others += 1
        elif name not in self._built_in and len(self._named) < _MAX_KEPT:
            self._named[name] = _Reference(subject.place(f"{subject.pods.spec_path}.{field}"))

    def complaints(self) -> Iterator[PlacedComplaint]:
        for name, reference in self._named.items():
            if name in self._classes:
                continue
            more = f" (and {reference.others} more name it)" if reference.others else ""
            message = missing_text(self._kind, name, KINDS.POD)
            hint = did_you_mean(name, self._classes | self._built_in)
            severity = None
            if self._classes:
                message += f"{more}; the input has {', '.join(sorted(self._classes)[:3])}"
            else:
                message += more
                severity = Severity.INFO
            place = reference.place
            yield Complaint(self._rule, place.path, message, hint, severity=severity), place


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


@collector(
    Theme.BUDGETS,
    Rule("priority-class-missing", WARNING, "The pods name a PriorityClass that is not in the input."),
    Rule("node-selector-unmatched", WARNING, "No node of the input has the labels that the pods ask for."),
)
class PlacementFacts:
    """Selectors of pods, and the PriorityClasses that they name."""

    def __init__(self, gates: GateSet) -> None:
        self._selectors: dict[bytes, tuple[PodSpec, SourcePlace]] = {}
        self._classes = ClassReferences(KINDS.PRIORITY_CLASS, "priority-class-missing", _SYSTEM_CLASSES)

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

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        nodes = facts.of(Domains).nodes
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
    return Complaint("node-selector-unmatched", place.path, message, label_advice(spec, nodes))


def label_advice(spec: PodSpec, nodes: Sequence[NodeLabels]) -> str:
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
