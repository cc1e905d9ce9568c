"""What would happen to each object if a gate it depends on were disabled now, and in which order to disable.

In: an inventory that was read with all gates on. Out: `Finding`s: the fields that need a gate, and per component what
becomes of the object without it. The same functions decide here that decide in a cluster: admission says what would be
refused, in its words, and eviction says who would have to leave. Kubernetes: "Downgrade" and "Version Skew" of the
documents, as corrected by how Kubernetes works. Next: `report`.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from moorage.admit.admission import Rejected, admit
from moorage.admit.raw import Raw, copy_document
from moorage.match.taint_eviction import When, decide_eviction
from moorage.match.tolerations import compile_tolerations, describe_taint
from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    SEMVER_COMPARISON_OPERATORS,
    Component,
    Gate,
    GateSet,
)
from moorage.model.node import Node
from moorage.model.pod import Pod, PodSpec
from moorage.plan.gates.uses import Use, uses_in_spec, uses_in_volume
from moorage.plan.inventory import Inventory, Item

API, SCHEDULER = Component.API_SERVER, Component.SCHEDULER
MANAGER, KUBELET = Component.CONTROLLER_MANAGER, Component.KUBELET
_FINISHED = frozenset({"Succeeded", "Failed"})
_DROPPED_SILENTLY = frozenset({MATCH_LABEL_KEYS_IN_POD_AFFINITY.name, MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD.name})
_API_FIRST = (API, SCHEDULER, MANAGER, KUBELET)
#: The semver document wants the scheduler to stop first; all others stop new uses first.
_ORDERS = {SEMVER_COMPARISON_OPERATORS.name: (SCHEDULER, API, MANAGER, KUBELET)}


class Consequence(NamedTuple):
    """What one component would do. `breaks`: somebody would notice."""

    component: Component
    text: str
    breaks: bool


class Finding(NamedTuple):
    """One object that depends on one gate."""

    item: Item
    gate: Gate
    paths: tuple[str, ...]
    consequences: tuple[Consequence, ...]

    @property
    def breaks(self) -> bool:
        return any(consequence.breaks for consequence in self.consequences)


def order_of_disabling(gate: Gate) -> tuple[Component, ...]:
    """The components that read the gate, in the order in which to disable it; enabling goes the other way round."""
    return tuple(component for component in _ORDERS.get(gate.name, _API_FIRST) if component in gate.components)


def audit(inventory: Inventory, gates: Iterable[Gate]) -> list[Finding]:
    """Every object that depends on one of the gates, in the order of the input."""
    nodes: dict[str, Node] = {item.key.name: item.view for item in inventory.of_kind("Node")}
    wanted = {gate.name for gate in gates}
    findings: list[Finding] = []
    for item in inventory.items.values():
        by_gate: dict[str, list[Use]] = {}
        for use in _uses(item):
            if use.gate.name in wanted:
                by_gate.setdefault(use.gate.name, []).append(use)
        for uses in by_gate.values():
            gate = uses[0].gate
            consequences = tuple(_consequences(item, gate, inventory.gates, nodes))
            findings.append(Finding(item, gate, tuple(use.path for use in uses), consequences))
    return findings


def _uses(item: Item) -> list[Use]:
    kind = item.key.kind
    if kind == "Pod":
        return uses_in_spec(item.view.spec, "spec")
    if kind == "PersistentVolume":
        return uses_in_volume(item.view)
    if item.facts.template is None:
        return []
    return uses_in_spec(_template(item).spec, f"{'.'.join(item.facts.template)}.spec")


def _template(item: Item) -> Pod:
    """A template has the two parts of a pod that matter here."""
    view = item.view
    for step in item.facts.template or ():
        view = getattr(view, step)
    template: Pod = view
    return template


def _consequences(item: Item, gate: Gate, on: GateSet, nodes: dict[str, Node]) -> Iterator[Consequence]:
    off = on.with_gate(gate, False)
    kind = item.key.kind
    if kind == "PersistentVolume":
        yield Consequence(
            SCHEDULER, "no node satisfies its node affinity any more: pods that use it stay Pending", breaks=True
        )
        yield Consequence(API, "it stays, and may be updated; a new one like it is rejected", breaks=False)
    elif kind == "Pod" and item.existing:
        yield from _of_pod(item.view, gate, on, off, nodes)
    elif kind == "Pod":
        yield from _of_new_pod(item, gate, on, off)
    else:
        yield from _of_template(item, gate, on, off, nodes)


def _of_pod(pod: Pod, gate: Gate, on: GateSet, off: GateSet, nodes: dict[str, Node]) -> Iterator[Consequence]:
    if gate.name in _DROPPED_SILENTLY:
        yield Consequence(API, "keeps its keys and the selector that was made of them", breaks=False)
        return
    if pod.status.phase in _FINISHED:
        yield Consequence(API, "has finished: nothing changes", breaks=False)
        return
    if not pod.spec.nodeName:
        text = "stays Pending for as long as the gate is off, and is scheduled once it is on again"
        yield Consequence(SCHEDULER, text, breaks=True)
        return
    node = nodes.get(pod.spec.nodeName)
    yield from _of_running(pod, node, on, off)


def _of_new_pod(item: Item, gate: Gate, on: GateSet, off: GateSet) -> Iterator[Consequence]:
    """A manifest that no cluster has yet."""
    if gate.name in _DROPPED_SILENTLY:
        yield Consequence(API, "loses the keys without a word when it is created", breaks=True)
    elif refusal := _refusal(item.raw, on, off):
        yield Consequence(API, f"would be rejected: {refusal}", breaks=True)


def _of_running(pod: Pod, node: Node | None, on: GateSet, off: GateSet) -> Iterator[Consequence]:
    name = pod.spec.nodeName
    if node is None:
        text = f"runs on {name}, which is not in the input: whether it would be evicted cannot be told"
        yield Consequence(MANAGER, text, breaks=False)
        return
    leaves, why = _has_to_leave(pod.spec, node, on, off)
    if leaves:
        yield Consequence(MANAGER, f"would be evicted from {name}: {why}", breaks=True)
        yield Consequence(KUBELET, f"would be refused by {name} if it came again", breaks=True)
    else:
        yield Consequence(API, f"goes on running on {name}, and may be updated", breaks=False)


def _has_to_leave(spec: PodSpec, node: Node, on: GateSet, off: GateSet) -> tuple[bool, str]:
    before = decide_eviction(node.spec.taints, compile_tolerations(spec.tolerations, on))
    tolerations = compile_tolerations(spec.tolerations, off)
    after = decide_eviction(node.spec.taints, tolerations)
    if after.when is When.NEVER or (after.when, after.seconds) == (before.when, before.seconds):
        return False, ""
    decisive = tolerations.untolerated(node.spec.taints, frozenset({"NoExecute"}))
    if decisive:
        return True, f"taint {describe_taint(decisive[0])}:NoExecute is tolerated by nothing else"
    return True, f"in {after.seconds} s instead of {before.when.value}"


def _of_template(item: Item, gate: Gate, on: GateSet, off: GateSet, nodes: dict[str, Node]) -> Iterator[Consequence]:
    if gate.name in _DROPPED_SILENTLY:
        text = "new pods lose the keys without a word: they are placed as if the keys were not there"
        yield Consequence(API, text, breaks=True)
        return
    refusal = _refusal(_pod_of_template(item), on, off)
    if refusal:
        text = f"the template stays, but new pods of it are rejected: {refusal}"
        yield Consequence(API, text, breaks=True)
        yield Consequence(MANAGER, "its controller tries again with growing delays (FailedCreate)", breaks=False)
    if item.key.kind == "DaemonSet":
        spec = _template(item).spec
        lost = [name for name, node in nodes.items() if _is_lost(spec, node, off)]
        if lost:
            text = f"its pods are deleted from {_some(lost)}, and not made there"
            yield Consequence(MANAGER, text, breaks=True)


def _is_lost(spec: PodSpec, node: Node, off: GateSet) -> bool:
    """Whether the node has taints that nothing in the template tolerates without the gate."""
    effects = frozenset({"NoExecute", "NoSchedule"})
    return bool(compile_tolerations(spec.tolerations, off).untolerated(node.spec.taints, effects))


def _pod_of_template(item: Item) -> Raw:
    template: Raw = item.raw
    for step in item.facts.template or ():
        template = template[step]
    metadata = {**(template.get("metadata") or {}), "name": "pod"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}


def _refusal(pod: Raw, on: GateSet, off: GateSet) -> str:
    """What the API server would say of a new pod without the gate, and does not say with it."""
    said, also = (_complaints(copy_document(pod), gates) for gates in (off, on))
    return "; ".join(text for text in said if text not in also)


def _complaints(pod: Raw, gates: GateSet) -> list[str]:
    result = admit(pod, None, gates, plugins=())
    if not isinstance(result, Rejected):
        return []
    return [str(error) for error in result.errors] or [str(result.status["message"])]


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
