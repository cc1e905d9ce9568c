"""Tell what would happen to each object if a gate it depends on were disabled, and in which order to disable.

The inventory is read with all gates on. Admission says what would be refused, taint eviction which pods would have to
leave. Kubernetes: "Downgrade" and "Version Skew" of the KEPs; the scanning tool that KEP-5721 (semver operators) asks
operators to have.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.lint.facts.requirements import gates_needed
from moorage.lint.subject import PodPart, pod_part_of
from moorage.match.daemon_pods import DaemonTemplate
from moorage.match.evaluation.accounts import EVALUATION_BUDGET, Evaluations
from moorage.match.node_selector import compile_node_selector, compile_required_node_affinity
from moorage.match.taint_eviction import Eviction, When, decide_eviction
from moorage.match.taint_messages import describe_taint
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import (
    DYNAMIC_RESOURCE_ALLOCATION,
    GATES,
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    SEMVER_COMPARISON_OPERATORS,
    Component,
    Gate,
    GateSet,
)
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import FINISHED_PHASES, Pod, PodSpec, Toleration
from moorage.model.types.storage import PersistentVolume
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plan.gates.consequence import API, KUBELET, MANAGER, SCHEDULER, Consequence, refusal
from moorage.plan.gates.device_audit import DEVICE_KINDS, DeviceAudit
from moorage.plan.input.hints import what_it_makes
from moorage.plan.input.inventory import Inventory, Item
from moorage.plan.report.node_lists import shown_nodes

_GATES = {gate.name: gate for gate in GATES}
_KEEPING_OUT = frozenset({NO_EXECUTE, NO_SCHEDULE})
_OVER = frozenset({"Complete", "Failed"})
_DROPPED_SILENTLY = frozenset({MATCH_LABEL_KEYS_IN_POD_AFFINITY.name, MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD.name})
_NOT_USED = "and one that needs the gate to suit it would not be used while it is off"
_API_FIRST = (API, SCHEDULER, MANAGER, KUBELET)
#: KEP-5721 (semver operators) stops the scheduler first; all others stop new uses first.
_ORDERS = {SEMVER_COMPARISON_OPERATORS.name: (SCHEDULER, API, MANAGER, KUBELET)}


class Finding(NamedTuple):
    """One object that depends on one gate."""

    item: Item
    gate: Gate
    paths: tuple[str, ...]
    consequences: tuple[Consequence, ...]

    @property
    def breaks(self) -> bool:
        return any(consequence.breaks for consequence in self.consequences)


class Nodes:
    """Nodes that a pod may use and that a volume can be reached from; each distinct question is answered once.

    Only taints and node affinity count: what else a node lacks may be there tomorrow. `world` is what new pods are
    admitted by.
    """

    def __init__(self, by_name: dict[str, Node], world: AdmissionWorld) -> None:
        self.by_name, self.world = by_name, world
        self._compiled: dict[tuple[tuple[Toleration, ...], GateSet], TolerationSet] = {}
        self._found: dict[tuple[bytes, GateSet], list[str]] = {}
        self.programs = ProgramCache(evaluations=Evaluations(EVALUATION_BUDGET))

    def tolerations(self, spec: PodSpec, gates: GateSet) -> TolerationSet:
        key = tuple(spec.tolerations), gates
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = compile_tolerations(spec.tolerations, gates, self.programs)
        return compiled

    def open_to(self, spec: PodSpec, gates: GateSet) -> list[str]:
        affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
        key = msgspec.msgpack.encode(("pod", spec.tolerations, spec.nodeSelector, affinity)), gates
        found = self._found.get(key)
        if found is None:
            required = compile_required_node_affinity(spec.nodeSelector, spec.affinity, gates)
            tolerations = self.tolerations(spec, gates)
            keeps_out: dict[tuple[Taint, ...], bool] = {}
            found = self._found[key] = []
            for name, node in self.by_name.items():
                taints = tuple(node.spec.taints)
                if taints not in keeps_out:
                    keeps_out[taints] = bool(tolerations.untolerated(taints, _KEEPING_OUT))
                if not keeps_out[taints] and required.match(node.metadata.labels, name):
                    found.append(name)
        return found

    def reached_by(self, volume: PersistentVolume, gates: GateSet) -> list[str]:
        affinity = volume.spec.nodeAffinity
        if affinity is None or affinity.required is None:
            return list(self.by_name)
        key = msgspec.msgpack.encode(("volume", affinity.required)), gates
        found = self._found.get(key)
        if found is None:
            selector = compile_node_selector(affinity.required, gates)
            found = [name for name, node in self.by_name.items() if selector.match(node.metadata.labels, name)]
            self._found[key] = found
        return found


def order_of_disabling(gate: Gate) -> tuple[Component, ...]:
    """Return the components that read the gate, in the order in which to disable it; enable in reverse."""
    return tuple(component for component in _ORDERS.get(gate.name, _API_FIRST) if component in gate.components)


def audit(inventory: Inventory, gates: Iterable[Gate]) -> list[Finding]:
    nodes = Nodes({item.key.name: item.view for item in inventory.of_kind("Node")}, inventory.world())
    devices = DeviceAudit(inventory)
    wanted = {gate.name for gate in gates}
    findings: list[Finding] = []
    for item in inventory.items.values():
        paths: dict[str, list[str]] = {}
        for gate, path in gates_needed(item.key.kind, item.view, _pods_of(item)):
            if gate.name in wanted and gate.name != DYNAMIC_RESOURCE_ALLOCATION.name:
                paths.setdefault(gate.name, []).append(path)
        for name, found in paths.items():
            gate = _GATES[name]
            of_item = (
                devices.consequences(item, gate)
                if item.key.kind in DEVICE_KINDS
                else _consequences(item, gate, inventory.gates, nodes)
            )
            findings.append(Finding(item, gate, tuple(found), tuple(of_item)))
    return findings


def _pods_of(item: Item) -> PodPart | None:
    """Return the pods that an object is or makes, also those that are made of a PodTemplate."""
    if item.kind is KINDS.POD_TEMPLATE:
        template = item.view.template
        return PodPart(template.metadata, template.spec, "template.")
    return pod_part_of(item.key.kind, item.view)


def _consequences(item: Item, gate: Gate, on: GateSet, nodes: Nodes) -> Iterator[Consequence]:
    off = on.with_gate(gate, False)
    kind = item.key.kind
    if kind == "PersistentVolume" and item.existing:
        yield _of_volume(item.view, on, off, nodes)
        yield Consequence(API, "it stays, and may be updated; a new one like it is rejected", breaks=False)
    elif kind == "Pod" and item.existing:
        yield from _of_pod(item.view, gate, on, off, nodes)
    elif kind in ("Pod", "PersistentVolume") or (kind == "PodTemplate" and not item.existing):
        yield from _of_new(item, gate, on, off, nodes.world)
    else:
        yield from _of_template(item, gate, on, off, nodes)


def _of_pod(pod: Pod, gate: Gate, on: GateSet, off: GateSet, nodes: Nodes) -> Iterator[Consequence]:
    if gate.name in _DROPPED_SILENTLY:
        yield Consequence(API, "keeps its keys and the selector that was made of them", breaks=False)
        return
    if pod.status.phase in FINISHED_PHASES:
        yield Consequence(API, "has finished: nothing changes", breaks=False)
        return
    if not pod.spec.nodeName:
        yield _of_pending(pod.spec, on, off, nodes)
        return
    yield from _of_running(pod, nodes, on, off)


def _of_pending(spec: PodSpec, on: GateSet, off: GateSet, nodes: Nodes) -> Consequence:
    """By taints and node affinity alone: what else a node lacks may be there tomorrow."""
    with_it, without = (nodes.open_to(spec, gates) for gates in (on, off))
    lost = _missing(with_it, without)
    if without:
        text = (
            f"cannot be scheduled on {shown_nodes(lost)}, but on {shown_nodes(without)}"
            if lost
            else "is scheduled as before"
        )
        return Consequence(SCHEDULER, text, breaks=bool(lost))
    if nodes.by_name and not with_it:
        return Consequence(SCHEDULER, f"no node suits it yet, {_NOT_USED}", breaks=True)
    text = "stays Pending for as long as the gate is off, and is scheduled once it is on again"
    return Consequence(SCHEDULER, text, breaks=True)


def _of_volume(volume: PersistentVolume, on: GateSet, off: GateSet, nodes: Nodes) -> Consequence:
    with_it, without = (nodes.reached_by(volume, gates) for gates in (on, off))
    lost = _missing(with_it, without)
    if nodes.by_name and not with_it:
        return Consequence(SCHEDULER, f"no node satisfies its node affinity yet, {_NOT_USED}", breaks=True)
    if not without:
        text = "no node satisfies its node affinity any more: pods that use it stay Pending"
        return Consequence(SCHEDULER, text, breaks=True)
    if lost:
        others = shown_nodes(without)
        text = f"{shown_nodes(lost)} would not satisfy its node affinity any more: pods that use it go to {others}"
        return Consequence(SCHEDULER, text, breaks=True)
    return Consequence(SCHEDULER, "the same nodes satisfy its node affinity", breaks=False)


def _of_new(item: Item, gate: Gate, on: GateSet, off: GateSet, world: AdmissionWorld) -> Iterator[Consequence]:
    """A manifest that no cluster has yet."""
    if gate.name in _DROPPED_SILENTLY:
        yield Consequence(API, "loses the keys without a word when it is created", breaks=True, drops=True)
    elif refused := refusal(item.raw, on, off, world):
        yield Consequence(API, f"would be rejected: {refused}", breaks=True)


def _of_running(pod: Pod, nodes: Nodes, on: GateSet, off: GateSet) -> Iterator[Consequence]:
    name = pod.spec.nodeName
    node = nodes.by_name.get(name)
    if node is None:
        text = f"runs on {name}, which is not in the input: whether it would be evicted cannot be told"
        yield Consequence(MANAGER, text, breaks=False)
        return
    with_it, without = (nodes.tolerations(pod.spec, gates) for gates in (on, off))
    before, after = decide_eviction(node.spec.taints, with_it), decide_eviction(node.spec.taints, without)
    if not after.all_tolerated and before.all_tolerated:
        taint = without.untolerated(node.spec.taints, frozenset({NO_EXECUTE}))[0]
        text = f"would be evicted from {name}: taint {describe_taint(taint)}:NoExecute is tolerated by nothing else"
        yield Consequence(MANAGER, text, breaks=True)
        yield Consequence(KUBELET, f"would be refused by {name} if it came again", breaks=True)
    elif _time_left(after) < _time_left(before):
        then = "at once" if after.when is When.NOW else f"in {after.seconds} s"
        now = "never" if before.when is When.NEVER else f"in {before.seconds} s"
        yield Consequence(MANAGER, f"would be evicted from {name}: {then} instead of {now}", breaks=True)
    else:
        yield Consequence(API, f"goes on running on {name}, and may be updated", breaks=False)


def _time_left(eviction: Eviction) -> float:
    """For how many seconds a pod may stay."""
    return {When.NEVER: math.inf, When.NOW: 0.0}.get(eviction.when, eviction.seconds)


def _of_template(item: Item, gate: Gate, on: GateSet, off: GateSet, nodes: Nodes) -> Iterator[Consequence]:
    if _has_finished(item):
        yield Consequence(API, "has finished: nothing changes", breaks=False)
        return
    unless = _makes_nothing_unless(item)
    if gate.name in _DROPPED_SILENTLY:
        text = "new pods lose the keys without a word: they are placed as if the keys were not there"
        yield Consequence(API, unless + text, breaks=not unless, drops=True)
        return
    made, what = what_it_makes(item)
    refused = refusal(made, on, off, nodes.world)
    if refused and item.kind is KINDS.POD_TEMPLATE:  # nothing makes pods of it by itself
        yield Consequence(API, f"it stays, and may be updated; pods made of it are rejected: {refused}", breaks=False)
    elif refused:
        text = f"the template stays, but new {what} of it are rejected: {refused}"
        yield Consequence(API, unless + text, breaks=not unless)
        if not unless:
            yield Consequence(MANAGER, "its controller tries again with growing delays (FailedCreate)", breaks=False)
    if item.key.kind == "DaemonSet":
        yield from _of_daemons(item.view.spec.template.spec, on, off, nodes)


def _has_finished(item: Item) -> bool:
    """A Job that is over makes no pods, whatever happens."""
    conditions = (item.raw.get("status") or {}).get("conditions") or ()
    return item.key.kind == "Job" and any(
        condition.get("type") in _OVER and condition.get("status") == "True" for condition in conditions
    )


def _makes_nothing_unless(item: Item) -> str:
    """Old ReplicaSets, what is scaled to nothing and what is suspended make nothing for now; empty for all others."""
    spec = getattr(item.view, "spec", None)
    if getattr(spec, "suspend", None):
        return "is suspended; if it is resumed, "
    return "has no replicas; if it is scaled up, " if getattr(spec, "replicas", None) == 0 else ""


def _of_daemons(spec: PodSpec, on: GateSet, off: GateSet, nodes: Nodes) -> Iterator[Consequence]:
    """Where its controller would not have pods any more, and where only those that are there already."""
    with_it, without = DaemonTemplate(spec, on, nodes.programs), DaemonTemplate(spec, off, nodes.programs)
    deleted: list[str] = []
    kept: list[str] = []
    for name, node in nodes.by_name.items():
        fit = without.fits(node)
        if with_it.fits(node).should_run and not fit.should_run:
            (kept if fit.should_continue else deleted).append(name)
    if deleted:
        yield Consequence(MANAGER, f"its pods are deleted from {shown_nodes(deleted)}, and not made there", breaks=True)
    if kept:
        text = f"its pods stay on {shown_nodes(kept)}, but are not made there again once they are gone"
        yield Consequence(MANAGER, text, breaks=True)


def _missing(names: list[str], others: list[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def as_document(findings: list[Finding], gates: Iterable[Gate]) -> Raw:
    return {
        "gates": [
            {
                "name": gate.name,
                "disableOrder": [component.value for component in order_of_disabling(gate)],
                "findings": [_as_raw(finding) for finding in findings if finding.gate.name == gate.name],
            }
            for gate in gates
        ],
        "breaks": any(finding.breaks for finding in findings),
    }


def _as_raw(finding: Finding) -> Raw:
    key, place = finding.item.key, finding.item.place
    return {
        "kind": key.kind,
        "namespace": key.namespace,
        "name": key.name,
        "source": place.source,
        "fields": list(finding.paths),
        "breaks": finding.breaks,
        "consequences": [
            {"component": component.value, "text": text, "breaks": breaks}
            for component, text, breaks, _ in finding.consequences
        ],
    }
