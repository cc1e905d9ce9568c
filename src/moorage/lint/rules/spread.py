"""Find DoNotSchedule spread constraints that count nodes the pod may not use, when all nodes of the input are known.

Kubernetes: with nodeTaintsPolicy unset, tainted nodes count (Ignore); an empty domain that no pod can enter keeps the
minimum at 0, and soon every other domain exceeds maxSkew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.subject import Complaint
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.tolerations import compile_tolerations
from moorage.model.types.node import Taint
from moorage.model.types.pod import TopologySpreadConstraint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.lint.finding import SourcePlace
    from moorage.lint.rules.rollout import Deadlock
    from moorage.lint.subject import PlacedComplaint, PodPart, Subject
    from moorage.model.gates import GateSet
    from moorage.model.types.node import Node
    from moorage.model.types.pod import PodSpec

_HOSTNAME = "kubernetes.io/hostname"
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_KEEPING_OUT = ("NoSchedule", "NoExecute")
_MAX_NODES = 20_000
_MAX_WAITING = 2_000


class _Node(msgspec.Struct, frozen=True):
    """The fields of a node that spreading reads."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]


class _Spread(msgspec.Struct, frozen=True):
    """A constraint to check when all nodes are known, with the spec of its pod."""

    constraint: TopologySpreadConstraint
    spec: PodSpec
    place: SourcePlace


class Domains:
    """The nodes of the input, and the complaints that depend on them."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._nodes: list[_Node] = []
        self._spreads: dict[bytes, _Spread] = {}
        self._deadlocks: list[tuple[Deadlock, SourcePlace]] = []
        self._sizes: dict[tuple[str, tuple[str, ...]], set[int]] = {}

    def add_node(self, node: Node) -> None:
        if len(self._nodes) < _MAX_NODES:
            taints = (*node.spec.taints, _UNSCHEDULABLE) if node.spec.unschedulable else node.spec.taints
            keeping_out = tuple(taint for taint in taints if taint.effect in _KEEPING_OUT)
            self._nodes.append(_Node(node.metadata.name, node.metadata.labels, keeping_out))

    def add_spread(self, subject: Subject, pods: PodPart) -> None:
        """Remember the constraints that can go wrong, once for each combination with tolerations and affinity."""
        if subject.kind == "DaemonSet":
            return
        spec = pods.spec
        replicas = getattr(subject.view.spec, "replicas", None)
        for index, constraint in enumerate(spec.topologySpreadConstraints):
            if constraint.whenUnsatisfiable != "DoNotSchedule" or constraint.nodeTaintsPolicy is not None:
                continue
            if replicas is not None and replicas <= constraint.maxSkew:
                continue  # so few pods cannot exceed the skew
            affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
            shape = msgspec.msgpack.encode((constraint, spec.tolerations, spec.nodeSelector, affinity))
            if shape not in self._spreads and len(self._spreads) < _MAX_WAITING:
                place = subject.place(f"{pods.spec_path}.topologySpreadConstraints[{index}]")
                self._spreads[shape] = _Spread(constraint, spec, place)

    def add_deadlock(self, subject: Subject, deadlock: Deadlock) -> bool:
        """Remember a rollout that may stop. False if it stops with any nodes, or too many are remembered."""
        if deadlock.occupied is None or len(self._deadlocks) >= _MAX_WAITING:
            return False
        self._deadlocks.append((deadlock, subject.place(deadlock.complaint.path)))
        return True

    def complaints(self) -> Iterator[PlacedComplaint]:
        for deadlock, place in self._deadlocks:
            if self._stops(deadlock):
                yield deadlock.complaint, place
        for spread in self._spreads.values():
            if message := self._blocked_domains(spread):
                hint = "add nodeTaintsPolicy: Honor to the constraint: only nodes the pod may use then count as domains"
                yield Complaint("spread-over-taints", spread.place.path, message, hint), spread.place

    def _stops(self, deadlock: Deadlock) -> bool:
        """True if the old pods may leave no domain free for a new one."""
        keys = (deadlock.topology_key, deadlock.within)
        if keys not in self._sizes:
            self._sizes[keys] = self._sizes_of_places(*keys)
        sizes, occupied = self._sizes[keys], deadlock.occupied
        return not sizes or occupied is None or occupied in sizes or max(sizes) < occupied

    def _sizes_of_places(self, key: str, within: tuple[str, ...]) -> set[int]:
        """Return how many domains of the key there are for each combination of the other keys' values."""
        places: dict[tuple[str, ...], set[str]] = {}
        for node in self._nodes:
            labels = node.labels
            if key in labels and all(other in labels for other in within):
                places.setdefault(tuple(labels[other] for other in within), set()).add(labels[key])
        return {len(domains) for domains in places.values()}

    def _blocked_domains(self, spread: _Spread) -> str | None:
        """Return what is wrong with the constraint, or None if every domain can be entered, or none can."""
        key = spread.constraint.topologyKey
        tolerations = compile_tolerations(spread.spec.tolerations, self._gates)
        if not self._nodes:
            drained = tolerations.tolerates(_UNSCHEDULABLE)
            if key != _HOSTNAME or drained:
                return None
            return (
                "every node is a domain of its own here, also the control plane's and every cordoned one, which this "
                "pod does not tolerate: such a node stays empty, and once the others hold maxSkew pods each, the next "
                "pod stays Pending"
            )
        open_domains: set[str] = set()
        blocked: dict[str, str] = {}
        for node in self._counted(spread):
            domain = node.labels[key]
            untolerated = tolerations.untolerated(node.taints, _KEEPING_OUT)
            if untolerated:
                taint = untolerated[0]
                shown = f"{taint.key}={taint.value}" if taint.value else taint.key
                blocked.setdefault(domain, f"{shown}:{taint.effect} on node {node.name}")
            else:
                open_domains.add(domain)
        only_blocked = {domain: why for domain, why in blocked.items() if domain not in open_domains}
        if not only_blocked or not open_domains:
            return None
        domain, why = next(iter(only_blocked.items()))
        more = f" and {len(only_blocked) - 1} more" if len(only_blocked) > 1 else ""
        return (
            f"{key}={domain}{more} counts as a domain, though the pod does not tolerate {why}: it stays empty, and "
            f"once the other domains hold maxSkew ({spread.constraint.maxSkew}) pods each, the next pod stays Pending"
        )

    def _counted(self, spread: _Spread) -> Iterable[_Node]:
        """Return the nodes that count as part of a domain: with the key, allowed by node selector and affinity."""
        key = spread.constraint.topologyKey
        with_key = (node for node in self._nodes if key in node.labels)
        if spread.constraint.nodeAffinityPolicy == "Ignore":
            return with_key
        required = compile_required_node_affinity(spread.spec.nodeSelector, spread.spec.affinity, self._gates)
        return (node for node in with_key if required.match(node.labels, node.name))
