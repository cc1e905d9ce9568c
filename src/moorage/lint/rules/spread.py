"""DoNotSchedule spread where nodes the pod may not use count as domains.

In: spread constraints, and the nodes of the input. Out: `spread-over-taints`, when all input is read. Kubernetes: with
nodeTaintsPolicy unset, tainted nodes count (Ignore); an empty domain that no pod can enter keeps the minimum at 0, and
soon every other domain exceeds maxSkew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from moorage.lint.facts.facts import PlacedComplaint
from moorage.lint.subject import Complaint
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.tolerations import compile_tolerations
from moorage.model.types.node import Taint
from moorage.model.types.pod import TopologySpreadConstraint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.lint.finding import Excerpt, Place
    from moorage.lint.rules.rollout import Deadlock
    from moorage.lint.subject import PodPart, Subject
    from moorage.model.gates import GateSet
    from moorage.model.types.node import Node
    from moorage.model.types.pod import PodSpec

_HOSTNAME = "kubernetes.io/hostname"
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_KEEPING_OUT = ("NoSchedule", "NoExecute")
_MAX_NODES = 20_000
_MAX_WAITING = 2_000


class _Node(msgspec.Struct, frozen=True):
    """All of a node that spreading asks for; its status, which is most of it, is not kept."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]


class _Spread(msgspec.Struct, frozen=True):
    """A constraint that waits for the nodes, with all of the pod that decides which nodes it may use."""

    constraint: TopologySpreadConstraint
    spec: PodSpec
    path: str
    place: Place
    excerpt: Excerpt


class _Waiting(msgspec.Struct, frozen=True):
    deadlock: Deadlock
    place: Place
    excerpt: Excerpt


class Domains:
    """The nodes of the input, and the complaints that depend on them."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._nodes: list[_Node] = []
        self._spreads: dict[bytes, _Spread] = {}
        self._deadlocks: list[_Waiting] = []
        self._sizes: dict[tuple[str, tuple[str, ...]], set[int]] = {}

    def add_node(self, node: Node) -> None:
        if len(self._nodes) < _MAX_NODES:
            taints = (*node.spec.taints, _UNSCHEDULABLE) if node.spec.unschedulable else node.spec.taints
            keeping_out = tuple(taint for taint in taints if taint.effect in _KEEPING_OUT)
            self._nodes.append(_Node(node.metadata.name, node.metadata.labels, keeping_out))

    def add_spread(self, subject: Subject, pods: PodPart) -> None:
        """Remember the constraints that can go wrong, once for each combination with what the pod tolerates."""
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
                path = f"{pods.spec_path}.topologySpreadConstraints[{index}]"
                place = subject.place(path)
                excerpt = subject.excerpt(place)
                self._spreads[shape] = _Spread(constraint, spec, path, place, excerpt)

    def add_deadlock(self, subject: Subject, deadlock: Deadlock) -> bool:
        """Remember a rollout that may stop. False if it stops whatever nodes there are, or too many wait already."""
        if deadlock.occupied is None or len(self._deadlocks) >= _MAX_WAITING:
            return False
        place = subject.place(deadlock.complaint.path)
        self._deadlocks.append(_Waiting(deadlock, place, subject.excerpt(place)))
        return True

    def complaints(self) -> Iterator[PlacedComplaint]:
        for waiting in self._deadlocks:
            if self._stops(waiting.deadlock):
                yield PlacedComplaint(waiting.deadlock.complaint, waiting.place, waiting.excerpt)
        for spread in self._spreads.values():
            if message := self._blocked_domains(spread):
                hint = "add nodeTaintsPolicy: Honor to the constraint: only nodes the pod may use then count as domains"
                complaint = Complaint("spread-over-taints", spread.path, message, hint)
                yield PlacedComplaint(complaint, spread.place, spread.excerpt)

    def _stops(self, deadlock: Deadlock) -> bool:
        """Whether the old pods may leave no domain free for a new one; where they have to be together, in one place."""
        keys = (deadlock.topology_key, deadlock.within)
        if keys not in self._sizes:
            self._sizes[keys] = self._sizes_of_places(*keys)
        sizes, occupied = self._sizes[keys], deadlock.occupied
        return not sizes or occupied is None or occupied in sizes or max(sizes) < occupied

    def _sizes_of_places(self, key: str, within: tuple[str, ...]) -> set[int]:
        """Return how many domains of the key there are in each combination of the others' values."""
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
        """The nodes that count as (part of) a domain: those with the key that node selector and affinity allow."""
        key = spread.constraint.topologyKey
        with_key = (node for node in self._nodes if key in node.labels)
        if spread.constraint.nodeAffinityPolicy == "Ignore":
            return with_key
        required = compile_required_node_affinity(spread.spec.nodeSelector, spread.spec.affinity, self._gates)
        return (node for node in with_key if required.match(node.labels, node.name))
