"""Decide on which nodes a DaemonSet's pods run, and add the tolerations and node affinity that its controller adds.

Kubernetes: pkg/controller/daemon (NodeShouldRunDaemonPod, AddOrUpdateDaemonPodTolerations,
ReplaceDaemonSetPodNodeNameNodeAffinity).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from moorage.match.comparison import Objection, Unreadable
from moorage.match.label_keys import REQUIRED
from moorage.match.node_selector import RequiredNodeAffinity, compile_required_node_affinity
from moorage.match.tolerations import TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodSpec, Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE

_NODE_NAME_FIELD = "metadata.name"
_TAINT_PREFIX = "node.kubernetes.io/"

#: What a DaemonSet's pods must survive: trouble with their node is what many of them are there for.
_ALWAYS_TOLERATED = (
    ("not-ready", NO_EXECUTE),
    ("unreachable", NO_EXECUTE),
    ("disk-pressure", NO_SCHEDULE),
    ("memory-pressure", NO_SCHEDULE),
    ("pid-pressure", NO_SCHEDULE),
    ("unschedulable", NO_SCHEDULE),
)
_ON_THE_HOST_NETWORK = ("network-unavailable", NO_SCHEDULE)


class DaemonFit(msgspec.Struct, frozen=True):
    """Whether a node should get a pod, and whether one that is there may stay."""

    should_run: bool
    should_continue: bool


class DaemonObjections(NamedTuple):
    """Why a node should get no pod: another node's name in the template, labels, and taints that are not tolerated."""

    node_name: str
    labels: list[Objection]
    taints: list[Taint]

    @property
    def is_empty(self) -> bool:
        return not (self.node_name or self.labels or self.taints)


class DaemonTemplate:
    """A DaemonSet's pod spec, compiled once and asked about every node."""

    __slots__ = ("_affinity", "_node_name", "tolerations")

    def __init__(self, spec: PodSpec, gates: GateSet, programs: Any = None, on_evaluation_failed: Any = None) -> None:
        self._node_name = spec.nodeName
        self._affinity: RequiredNodeAffinity = compile_required_node_affinity(spec.nodeSelector, spec.affinity, gates)
        tolerations = daemon_tolerations(spec.tolerations, host_network=spec.hostNetwork)
        self.tolerations: TolerationSet = compile_tolerations(tolerations, gates, programs, on_evaluation_failed)

    def fits(self, node: Node) -> DaemonFit:
        name, taints = node.metadata.name, node.spec.taints
        if self._node_name not in ("", name) or not self._affinity.match(node.metadata.labels, name):
            return DaemonFit(should_run=False, should_continue=False)
        if self.tolerations.untolerated(taints, (NO_SCHEDULE, NO_EXECUTE)):
            stays = not self.tolerations.untolerated(taints, (NO_EXECUTE,))
            return DaemonFit(should_run=False, should_continue=stays)
        return DaemonFit(should_run=True, should_continue=True)

    def objections(self, node: Node) -> DaemonObjections:
        """Return all that keeps the node from getting a pod; empty exactly when it should run one."""
        name = node.metadata.name
        return DaemonObjections(
            self._node_name if self._node_name not in ("", name) else "",
            self._affinity.objections(node.metadata.labels, name),
            self.tolerations.untolerated(node.spec.taints, (NO_SCHEDULE, NO_EXECUTE)),
        )

    def sentences(self, objections: DaemonObjections) -> list[str]:
        """Return a sentence for each objection, with the taint or the inequality."""
        named = [f"the template asks for node {objections.node_name}"] if objections.node_name else []
        taints = [self.tolerations.explain(taint) or "" for taint in objections.taints]
        return [*named, *(why for why, _ in objections.labels), *taints]

    def unreadable_label(self, node: Node) -> Unreadable | None:
        """Describe a label of the node that keeps the pods away because it cannot be compared."""
        return self._affinity.unreadable(node.metadata.labels, node.metadata.name) if self._affinity.compares else None


def daemon_tolerations(given: Sequence[Toleration], *, host_network: bool) -> tuple[Toleration, ...]:
    """Add the automatic tolerations to the template's, each in the place of an equal one, or last."""
    tolerations = list(given)
    for name, effect in (*_ALWAYS_TOLERATED, *((_ON_THE_HOST_NETWORK,) if host_network else ())):
        added = Toleration(key=_TAINT_PREFIX + name, operator="Exists", effect=effect)
        # Equal in all but the seconds (Kubernetes: MatchToleration).
        same = [index for index, present in enumerate(tolerations) if replace(present, tolerationSeconds=None) == added]
        for index in same:
            tolerations[index] = added
        if not same:
            tolerations.append(added)
    return tuple(tolerations)


def pinned_affinity(affinity: dict[str, Any] | None, node: str) -> dict[str, Any]:
    """Return a raw affinity whose required node affinity is replaced: this node, and nothing else."""
    field = {"key": _NODE_NAME_FIELD, "operator": "In", "values": [node]}
    affinity = affinity or {}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return affinity | {"nodeAffinity": (affinity.get("nodeAffinity") or {}) | {REQUIRED: required}}


def pinned_to(spec: PodSpec) -> str:
    """Return the node that a DaemonSet's pod was made for; empty if it names none."""
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    for term in required.nodeSelectorTerms if required is not None else ():
        for field in term.matchFields:
            if field.key == _NODE_NAME_FIELD and len(field.values) == 1:
                return field.values[0]
    return ""
