"""Find node selectors and topology keys that no node of the input fits, and classes that pods name and it lacks.

Selectors and keys are judged only against nodes of the input, if there are any; every kubelet sets
kubernetes.io/hostname, whether manifests of nodes show it or not. A class that is not in the input is missing if
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
from moorage.lint.meant_words import did_you_mean, meant_topology_key
from moorage.lint.rules.label_keys import affinity_terms
from moorage.lint.rules.spread import Domains
from moorage.lint.subject import Complaint, PlacedComplaint, PodPart, Subject
from moorage.match.label_keys import REQUIRED
from moorage.match.node_selector import RequiredNodeAffinity, compile_required_node_affinity
from moorage.model.gates import GateSet, all_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import PodSpec
from moorage.model.well_known.labels import HOSTNAME


class _Reference(msgspec.Struct):
    """The first place that names a class or uses a key, and how many more do."""

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


_NO_TOPOLOGY_KEY = "topology-key-missing"
_MAX_KEYS = 2_000
_PENDING = "the pods stay Pending"
_NOTHING = "it has no effect"


@collector(
    Theme.LABEL_KEYS,
    Rule(_NO_TOPOLOGY_KEY, WARNING, "No node of the input has the label that the topologyKey names."),
)
class TopologyKeys:
    """The topology keys of pods."""

    def __init__(self, gates: GateSet) -> None:
        self._uses: dict[tuple[str, str], _Reference] = {}

    def add(self, subject: Subject) -> None:
        if subject.pods is None or subject.kind == "DaemonSet":
            return
        for key, path, consequence in _keys_of(subject.pods):
            use = self._uses.get((key, consequence))
            if use is not None:
                use.others += 1
            elif len(self._uses) < _MAX_KEYS:
                self._uses[key, consequence] = _Reference(subject.place(f"{path}.topologyKey"))

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        nodes = facts.of(Domains).nodes
        known = {key for node in nodes for key in node.labels}
        for (key, consequence), use in self._uses.items() if nodes else ():
            if key in known:
                continue
            meant = meant_topology_key(key, sorted(known))
            hint = f"did you mean {meant}?" if meant and meant != key else f"label the nodes with {key}"
            more = f" (and {use.others} more places)" if use.others else ""
            message = f"no node of the input has the label {key}: {consequence}{more}"
            yield Complaint(_NO_TOPOLOGY_KEY, use.place.path, message, hint), use.place


def _keys_of(pods: PodPart) -> Iterator[tuple[str, str, str]]:
    """Yield every key but that of hosts, with the path of its rule and what follows if no node has it."""
    for index, constraint in enumerate(pods.spec.topologySpreadConstraints):
        if constraint.topologyKey not in ("", HOSTNAME):
            consequence = _PENDING if constraint.whenUnsatisfiable == "DoNotSchedule" else _NOTHING
            yield constraint.topologyKey, f"{pods.spec_path}.topologySpreadConstraints[{index}]", consequence
    for path, term in affinity_terms(pods) if pods.spec.affinity is not None else ():
        if term.topologyKey not in ("", HOSTNAME):
            is_hard = f".podAffinity.{REQUIRED}[" in path
            yield term.topologyKey, path, _PENDING if is_hard else _NOTHING
