"""Find rolling updates that can never finish, and spread constraints that count nodes the pod may not use.

`Domains` decides both when all nodes of the input are known.
Kubernetes: with required anti-affinity against the workload's own pods, a new pod may not run beside an old one; with
maxUnavailable 0 (also by rounding) no old one is removed before the new one is ready. Required affinity to the own pods
makes free nodes in other zones useless. In DoNotSchedule constraints with nodeTaintsPolicy unset, tainted nodes count
(Ignore); an empty domain that no pod can enter keeps the minimum at 0, and soon every other domain exceeds maxSkew.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, check, collector
from moorage.lint.finding import SourcePlace
from moorage.lint.rules.budgets import scaled
from moorage.lint.subject import Complaint, PlacedComplaint, PodPart, Subject
from moorage.match.evaluation.accounts import EVALUATION_BUDGET, Evaluations
from moorage.match.label_keys import REQUIRED
from moorage.match.label_selector import compile_label_selector
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.requirement import SelectorError
from moorage.match.tolerations import ProgramCache, compile_tolerations
from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_AFFINITY, GateSet
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodAffinityTerm, PodSpec, TopologySpreadConstraint
from moorage.model.well_known.labels import HOSTNAME, NAMESPACE_NAME, POD_TEMPLATE_HASH, REVISION_HASH
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, UNSCHEDULABLE

_UNSCHEDULABLE = Taint(UNSCHEDULABLE, "", NO_SCHEDULE)
_KEEPING_OUT = (NO_SCHEDULE, NO_EXECUTE)
_MAX_NODES = 20_000
_MAX_WAITING = 2_000


class Deadlock(msgspec.Struct, frozen=True):
    """A rollout that stops unless there are more than `occupied` domains of the topology key; None: always.

    `within`: keys in which new pods must equal the old ones, so that only domains with the same values count.
    """

    complaint: Complaint
    topology_key: str
    occupied: int | None
    within: tuple[str, ...] = ()


@check(
    Theme.LABEL_KEYS,
    Rule(
        "rollout-deadlock", WARNING, "Required anti-affinity against its own pods can block a rolling update for good."
    ),
)
def check_rollout(subject: Subject, facts: Facts, refusals: frozenset[str]) -> Iterator[Complaint]:
    if subject.pods is not None:
        for deadlock in deadlocks(subject, subject.pods, facts.gates):
            if not facts.of(Domains).add_deadlock(subject, deadlock):
                yield deadlock.complaint


def deadlocks(subject: Subject, pods: PodPart, gates: GateSet) -> Iterator[Deadlock]:
    """Yield the anti-affinity terms of a workload that keep its new pods from the places of the old ones."""
    affinity = pods.spec.affinity
    if affinity is None or affinity.podAntiAffinity is None or subject.kind not in ("Deployment", "DaemonSet"):
        return
    if subject.kind == "Deployment":
        why = _deployment_never_frees(subject)
        revision_key = POD_TEMPLATE_HASH
        replicas = subject.view.spec.replicas
        occupied: int | None = 1 if replicas is None else replicas
    else:
        why = _daemon_set_never_frees(subject)
        revision_key = REVISION_HASH
        occupied = None  # the new pod must stand on the very node of the old one
    if why is None:
        return
    namespace = subject.view.metadata.namespace or "default"
    joined = affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution if affinity.podAffinity else ()
    within = tuple(term.topologyKey for term in joined if _selects_old_pods(term, pods, namespace, revision_key))
    if occupied is None:
        within = ()
    beside = f", but has to be in the same {' and '.join(dict.fromkeys(within))}" if within else ""
    for index, term in enumerate(affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution):
        if not _selects_old_pods(term, pods, namespace, revision_key):
            continue
        path = f"{pods.spec_path}.affinity.podAntiAffinity.{REQUIRED}[{index}]"
        free = f"without a free {term.topologyKey}{' there' if within else ''}"
        waits = f"{free}, the rolling update waits forever" if occupied else "it waits forever"
        complaint = Complaint(
            "rollout-deadlock",
            path,
            f"a new pod may not run where an old pod of this {subject.kind} runs{beside}, and {why}: {waits}",
            _way_out(revision_key, gates),
        )
        yield Deadlock(complaint, term.topologyKey, occupied, within)


def _way_out(revision_key: str, gates: GateSet) -> str:
    if not gates.enabled(MATCH_LABEL_KEYS_IN_POD_AFFINITY):
        return (
            "let the strategy free a place first: maxUnavailable: 1, maxSurge: 0 (matchLabelKeys: "
            f"[{revision_key}] helps only with --feature-gates={MATCH_LABEL_KEYS_IN_POD_AFFINITY.name}=true)"
        )
    return (
        f"add to this term (or let the strategy free a place first: maxUnavailable: 1, maxSurge: 0):\n"
        f"  matchLabelKeys:\n  - {revision_key}\n"
        "The old pods still carry the old rule: the update that adds it needs a free place once more."
    )


def _deployment_never_frees(subject: Subject) -> str | None:
    """Return why no old pod is removed before a new one is ready; None if one is."""
    spec = subject.view.spec
    replicas = 1 if spec.replicas is None else spec.replicas
    if spec.strategy.type not in ("", "RollingUpdate") or replicas <= 0:
        return None
    rolling = spec.strategy.rollingUpdate
    given = rolling.maxUnavailable if rolling is not None and rolling.maxUnavailable is not None else "25%"
    surge = rolling.maxSurge if rolling is not None and rolling.maxSurge is not None else "25%"
    unavailable = scaled(given, replicas, round_up=False)
    surging = scaled(surge, replicas, round_up=True)
    # Both rounded to 0: Kubernetes then allows one pod to be unavailable, so that rollouts can proceed.
    if unavailable != 0 or surging is None or surging == 0:
        return None
    if isinstance(given, str) and given != "0%":
        return f"no old pod is removed before (maxUnavailable {given} of {replicas} rounds down to 0)"
    return "no old pod is removed before (maxUnavailable is 0)"


def _daemon_set_never_frees(subject: Subject) -> str | None:
    strategy = subject.view.spec.updateStrategy
    if strategy.type not in ("", "RollingUpdate") or strategy.rollingUpdate is None:
        return None
    if strategy.rollingUpdate.maxSurge in (None, 0, "0%", "0"):
        return None
    return "with maxSurge the old pod of a node is removed only when the new one is ready on the same node"


def _selects_old_pods(term: PodAffinityTerm, pods: PodPart, namespace: str, revision_key: str) -> bool:
    """Return whether a term of a new pod selects old ones, too."""
    if any(key == revision_key or key in pods.metadata.labels for key in term.matchLabelKeys):
        return False  # some label of the author's own may well tell the revisions apart
    return _selects_own_pods(term, pods, namespace)


def _selects_own_pods(term: PodAffinityTerm, pods: PodPart, namespace: str) -> bool:
    if not _namespace_included(term, namespace):
        return False
    if any(key in pods.metadata.labels for key in term.mismatchLabelKeys):
        return False  # `NotIn` the pods' own value leaves no pod of the same template
    return _matches(term.labelSelector, pods.metadata.labels)


def _namespace_included(term: PodAffinityTerm, namespace: str) -> bool:
    if term.namespaceSelector is None:
        return not term.namespaces or namespace in term.namespaces
    if namespace in term.namespaces:
        return True
    # Every namespace carries its name as a label; what others it has is not known here.
    return _matches(term.namespaceSelector, {NAMESPACE_NAME: namespace})


def _matches(selector: LabelSelector | None, labels: dict[str, str]) -> bool:
    try:
        return compile_label_selector(selector).match(labels)
    except SelectorError:
        return False


class NodeFacts(msgspec.Struct, frozen=True):
    """The fields of a node that spreading and selectors read."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]


class _Spread(msgspec.Struct, frozen=True):
    """A constraint to check when all nodes are known, with the spec of its pod."""

    constraint: TopologySpreadConstraint
    spec: PodSpec
    place: SourcePlace


@collector(
    Theme.LABEL_KEYS,
    Rule("spread-over-taints", WARNING, "Nodes the pod cannot use count as spread domains, so pods stay Pending."),
)
class Domains:
    """The nodes of the input, and the complaints that depend on them."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._programs = ProgramCache(evaluations=Evaluations(EVALUATION_BUDGET))
        self._nodes: list[NodeFacts] = []
        self._spreads: dict[bytes, _Spread] = {}
        self._deadlocks: list[tuple[Deadlock, SourcePlace]] = []
        self._sizes: dict[tuple[str, tuple[str, ...]], set[int]] = {}

    @property
    def nodes(self) -> Sequence[NodeFacts]:
        return self._nodes

    def add(self, subject: Subject) -> None:
        if subject.kind == "Node":
            self._add_node(subject.view)
        elif subject.pods is not None and subject.pods.spec.topologySpreadConstraints:
            self._add_spread(subject, subject.pods)

    def _add_node(self, node: Node) -> None:
        if len(self._nodes) < _MAX_NODES:
            taints = (*node.spec.taints, _UNSCHEDULABLE) if node.spec.unschedulable else node.spec.taints
            keeping_out = tuple(taint for taint in taints if taint.effect in _KEEPING_OUT)
            self._nodes.append(NodeFacts(node.metadata.name, node.metadata.labels, keeping_out))

    def _add_spread(self, subject: Subject, pods: PodPart) -> None:
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

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        for deadlock, place in self._deadlocks:
            if self._stops(deadlock):
                yield deadlock.complaint, place
        for spread in self._spreads.values():
            if message := self._blocked_domains(spread):
                hint = "add nodeTaintsPolicy: Honor to the constraint: only nodes the pod may use then count as domains"
                yield Complaint("spread-over-taints", spread.place.path, message, hint), spread.place

    def _stops(self, deadlock: Deadlock) -> bool:
        """Return whether the old pods may leave no domain free for a new one."""
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
        tolerations = compile_tolerations(spread.spec.tolerations, self._gates, self._programs)
        if not self._nodes:
            drained = tolerations.tolerates(_UNSCHEDULABLE)
            if key != HOSTNAME or drained:
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

    def _counted(self, spread: _Spread) -> Iterable[NodeFacts]:
        """Return the nodes that count as part of a domain: with the key, allowed by node selector and affinity."""
        key = spread.constraint.topologyKey
        with_key = (node for node in self._nodes if key in node.labels)
        if spread.constraint.nodeAffinityPolicy == "Ignore":
            return with_key
        required = compile_required_node_affinity(spread.spec.nodeSelector, spread.spec.affinity, self._gates)
        return (node for node in with_key if required.match(node.labels, node.name))
