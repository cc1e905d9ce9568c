"""Explain a DaemonSet node by node: where it has a pod and how that is, where it has none and why.

Whether a node should run a pod is decided by the rule of the DaemonSet controller; room on the node is the scheduler's
matter, for a pod that is there and waits. Kubernetes: no event says why DESIRED is 0.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from moorage.client.protocol import Object
from moorage.lint.report.form import counted
from moorage.lint.report.reason_shapes import without_values
from moorage.match.daemon_pods import DaemonTemplate, daemon_tolerations, pinned_to
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.departures import EvictionLoop
from moorage.plan.explain.afterwards import workload_evictions
from moorage.plan.explain.explanation import Explanation, explain_pod, plain
from moorage.plan.explain.groups import Refused, plain_refusal
from moorage.plan.explain.node import refusals_at
from moorage.plan.explain.remedies.acceptance import AdmissionCheck
from moorage.plan.explain.remedies.change import Blockers, Change
from moorage.plan.explain.remedies.labels import label_changes
from moorage.plan.explain.remedies.remedy import remedy_of
from moorage.plan.explain.remedies.taints import taint_changes
from moorage.plan.explain.remedies.trials import Suggestion, Together, Trials, best_of
from moorage.plan.explain.replicas import failed_line, refused_pod
from moorage.plan.explain.sentence.standings import Standing
from moorage.plan.explain.suggesting import Help, plain_help
from moorage.plan.explain.target import Target, TargetError
from moorage.plan.input.inventory import Inventory, Item, Key, Note
from moorage.plan.pod_lines import ON_NODE, PlannedPod, PodDeadline, PodRows, State, record_of
from moorage.plan.report.node_lists import natural
from moorage.plan.report.plain import as_data
from moorage.plan.simulation.admission_notes import assumption_notes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.config.default_profile import program_cache
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Code, Profile, Verdict
from moorage.schedule.plugins.node_affinity import POD_REASON, NodeAffinity
from moorage.schedule.plugins.node_name import REASON as OTHER_NODE
from moorage.schedule.plugins.node_name import NodeName
from moorage.schedule.plugins.taint_toleration import TaintToleration, toleration_gap, untolerated_reason

#: The plugins of the scheduler that ask the same as the controller.
_SAME_RULE = (NodeName.name, TaintToleration.name, NodeAffinity.name)
#: Of more pods that wait, only the message of the scheduler is told.
_MAX_ASKED = 5_000
_KEY = re.compile(r"(?:label|taint) [^\s=:]+")
_CONTROLLER, _API_SERVER, _KUBELET, _SCHEDULER = "DaemonSet controller", "API server", "Kubelet", "Scheduler"


class DaemonState(StrEnum):
    """What there is of a DaemonSet on a node."""

    RUNNING = "Running"
    PENDING = "Pending"  # the pod is made for the node, and the scheduler does not put it there
    FAILED = "Failed"  # the kubelet refused the pod, or it had to leave
    REFUSED = "Refused"  # the API server refuses the pod
    MISSING = "Missing"  # the node should run a pod, which is not created yet
    STAYS = "Stays"  # the pod runs on, though none would be made here again
    NO_POD = "NoPod"  # the node should not run a pod


#: States of nodes that should run a pod and do not.
LACKING = (DaemonState.PENDING, DaemonState.FAILED, DaemonState.REFUSED, DaemonState.MISSING)


class DaemonNodes(msgspec.Struct, frozen=True):
    """Nodes in the same state for exactly the same reasons, and the pods there."""

    state: DaemonState
    refused: Refused
    pods: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.refused.nodes

    @property
    def distance(self) -> int:
        return self.refused.distance

    @property
    def gap(self) -> float:
        return self.refused.gap

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return self.refused.refusals


class Obstacle(msgspec.Struct, frozen=True):
    """The reason that keeps most nodes from getting a pod: in words for one of them, and how many it keeps out."""

    reason: str
    nodes: int


class DaemonExplanation(msgspec.Struct, frozen=True, rename="camel"):
    """Everything about one DaemonSet. The counts are those of `kubectl get daemonset`."""

    workload: str
    desired: int
    current: int
    ready: int
    up_to_date: int
    available: int
    nodes: int
    groups: tuple[DaemonNodes, ...]
    obstacle: Obstacle | None = None
    #: The first pod that waits, or else one that is refused, explained, with what would help it.
    pending: Explanation | None = None
    #: Changes with which the DaemonSet would run on nodes on which it does not.
    help: Help = Help()
    notes: tuple[Note, ...] = ()
    #: By pod: when a taint makes it leave its node, or made it leave, and what follows.
    deadlines: dict[str, PodDeadline] = {}
    eviction_loop: EvictionLoop | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a node that should run a pod does not."""
        return any(group.state in LACKING for group in self.groups)

    # What explanations of pods have, too.

    @property
    def standing(self) -> Standing:
        return Standing.PENDING if self.is_pending else Standing.COMPLETE

    @property
    def node(self) -> str:
        return ""

    @property
    def suggestions(self) -> tuple[Suggestion, ...]:
        return (*(self.pending.suggestions if self.pending is not None else ()), *self.help.suggestions)

    @property
    def together(self) -> Together | None:
        return self.help.together

    @property
    def not_all_tried(self) -> bool:
        return self.help.not_all_tried

    def to_dict(self) -> dict[str, Any]:
        """Return what `moorage explain -o json` prints, as plain data."""
        return plain_daemon_set(self)

    @property
    def counts(self) -> str:
        """The counts under the heads of `kubectl get daemonset`."""
        return (
            f"DESIRED {self.desired:,}  CURRENT {self.current:,}  READY {self.ready:,}  "
            f"UP-TO-DATE {self.up_to_date:,}  AVAILABLE {self.available:,}"
        )

    @property
    def message(self) -> str:
        """One sentence: what is wrong, or that nothing is."""
        if not self.nodes:
            return "there are no nodes in the input"
        if self.obstacle is not None and not self.desired:
            which = f"{self.obstacle.nodes:,} of {counted(self.nodes, 'node')}"
            most = f"all {counted(self.nodes, 'node')}" if self.obstacle.nodes == self.nodes > 1 else which
            return f"no node should run a pod; one reason keeps out {most}: {self.obstacle.reason}"
        lacking = sum(len(group.nodes) for group in self.of_state(*LACKING))
        if lacking:
            if self.desired == 1:
                return "the one node that should run a pod does not"
            verb = "does" if lacking == 1 else "do"
            return f"{lacking:,} of the {counted(self.desired, 'node')} that should run a pod {verb} not"
        return "every node that should run a pod does" if self.desired else "no node should run a pod"

    def of_state(self, *states: DaemonState) -> list[DaemonNodes]:
        return [group for group in self.groups if group.state in states]


def explain_daemon_set(
    simulation: Simulation, inventory: Inventory, item: Item, node: str = "", *, alone: bool = False
) -> DaemonExplanation:
    """Explain a DaemonSet; with `node`, that node only; with `alone`, pods that wait are not placed first."""
    if node and node not in simulation.cluster.nodes.slot_of:
        raise TargetError(f"there is no node {node!r} in the input")
    simulation.controllers.work()
    simulation.scheduling.take_in()
    if not alone:
        simulation.settle()
    found = simulation.world.get(KINDS.DAEMON_SET, f"{item.key.namespace}/{item.key.name}")
    if found is None:
        raise TargetError(f"there is no DaemonSet {item.key.name!r} in the input")
    return _Explaining(simulation, inventory, found, node).explanation()


class _Explaining:
    """One DaemonSet, its template compiled as its controller does, and its pods by node."""

    def __init__(self, simulation: Simulation, inventory: Inventory, found: Object, node: str) -> None:
        self.simulation, self.inventory, self.found = simulation, inventory, found
        self.key = Key(found.kind.name, found.namespace, found.name)
        self.gates: GateSet = simulation.settings.gates_of(Component.CONTROLLER_MANAGER)
        self.programs = program_cache(self.gates, simulation.evaluations)
        self.spec = found.view.spec.template.spec
        self.template = self._compiled(self.spec)
        self.only = node
        self.pods: dict[str, list[PlannedPod]] = {}
        for pod in PodRows(simulation).all():
            if pod.owner == self.key:
                self.pods.setdefault(pod.node or pinned_to(pod.pod.spec), []).append(pod)
        self.failed = failed_line(simulation, inventory, self.key)
        self._asked = 0
        nodes = (node for _, node in simulation.cluster.nodes)
        self.run_by = [node for node in nodes if self.template.fits(node).should_run]

    def _compiled(self, spec: Any) -> DaemonTemplate:
        return DaemonTemplate(spec, self.gates, self.programs)

    def explanation(self) -> DaemonExplanation:
        cluster = self.simulation.cluster.nodes
        groups: dict[tuple[DaemonState, tuple[Refusal, ...]], list[str]] = {}
        pods: dict[str, str] = {}
        for name in [self.only] if self.only else cluster.slot_of:
            pod = self._pod_of(name)
            state, refusals = self._state(cluster.node(cluster.slot_of[name]), pod)
            groups.setdefault((state, refusals), []).append(name)
            if pod is not None:
                pods[name] = pod.key
        made = [
            DaemonNodes(state, Refused(names, refusals), tuple(pods[name] for name in names if name in pods))
            for (state, refusals), found in groups.items()
            if (names := tuple(sorted(found, key=natural)))
        ]
        order = list(DaemonState)
        made.sort(key=lambda group: (order.index(group.state), group.refused.rank))
        status = self.found.view.status
        notes = (*self.inventory.notes, *assumption_notes(self.simulation, self.inventory))
        return DaemonExplanation(
            str(self.key),
            status.desiredNumberScheduled,
            status.currentNumberScheduled,
            status.numberReady,
            status.updatedNumberScheduled,
            status.numberAvailable,
            len(cluster),
            tuple(made),
            _obstacle(made) if not self.only else None,
            self._first_pending(made),
            self._help(made),
            tuple(dict.fromkeys(notes)),
            *workload_evictions(self.simulation, self.key),
        )

    # -- one node -----------------------------------------------------------------------------------------------------

    def _pod_of(self, node: str) -> PlannedPod | None:
        """Return the pod that is on a node or waits for it, else the last one that was."""
        pods = self.pods.get(node, [])
        present = [pod for pod in pods if pod.is_present]
        return present[0] if present else pods[-1] if pods else None

    def _state(self, node: Node, pod: PlannedPod | None) -> tuple[DaemonState, tuple[Refusal, ...]]:
        fit = self.template.fits(node)
        if pod is not None and pod.state in ON_NODE:
            if fit.should_run:
                return DaemonState.RUNNING, ()
            return DaemonState.STAYS, self._refusals(node)
        if not fit.should_run:
            return DaemonState.NO_POD, self._refusals(node)
        if pod is not None and pod.state is State.PENDING:
            return DaemonState.PENDING, self._waits(pod, node)
        if self.failed is not None:
            return DaemonState.REFUSED, (_said(_API_SERVER, self.failed.message),)
        if pod is not None and pod.state in (State.FAILED, State.EVICTED):
            return DaemonState.FAILED, (_said(_KUBELET, f"{pod.reason}: {pod.message}"),)
        return DaemonState.MISSING, (_said(_CONTROLLER, "the pod is not created yet"),)

    def _waits(self, pod: PlannedPod, node: Node) -> tuple[Refusal, ...]:
        self._asked += 1
        if self._asked > _MAX_ASKED:
            return (_said(_SCHEDULER, f"{pod.reason}: {pod.message}"),)
        slot = self.simulation.cluster.nodes.slot_of[node.metadata.name]
        return refusals_at(self.simulation, pod, slot) or (_said(_SCHEDULER, "it has not been tried again yet"),)

    def _refusals(self, node: Node) -> tuple[Refusal, ...]:
        """Return why the node should not run a pod, in the words of the scheduler's plugins."""
        objections, refusals = self.template.objections(node), []
        if objections.node_name:
            refusals.append(_said(NodeName.name, OTHER_NODE, f"the template asks for node {objections.node_name}"))
        tolerations = self.template.tolerations
        if objections.taints:
            details = tuple(tolerations.explain(taint) or "" for taint in objections.taints)
            gaps = tuple(toleration_gap(tolerations, taint) for taint in objections.taints)
            reason = untolerated_reason(objections.taints[0], tolerations)
            refusals.append(Refusal(TaintToleration.name, Verdict(Code.UNRESOLVABLE, (reason,), details, gaps)))
        if objections.labels:
            details, gaps = zip(*objections.labels, strict=True)
            refusals.append(Refusal(NodeAffinity.name, Verdict(Code.UNRESOLVABLE, (POD_REASON,), details, gaps)))
        return tuple(refusals)

    # -- what would help ----------------------------------------------------------------------------------------------

    def _first_pending(self, groups: Sequence[DaemonNodes]) -> Explanation | None:
        waiting = next((group for group in groups if group.state is DaemonState.PENDING), None)
        pod = self._pod_of(waiting.nodes[0]) if waiting is not None else None
        if pod is None and self.failed is not None:
            pod = refused_pod(self.found, self.key, self.failed.message)
        if pod is None:
            return None
        self.simulation.scheduler.nominations.remove(pod.key)
        target = Target(pod, record_of(self.simulation, pod.key, pod.pod))
        return explain_pod(self.simulation, self.inventory, target)

    def _help(self, groups: Sequence[DaemonNodes]) -> Help:
        """Suggest changes of the template or of a node with which nodes would get a pod, each tried."""
        nodes, simulation = self.simulation.cluster.nodes, self.simulation
        among = np.zeros(nodes.slots.capacity, np.bool_)
        for group in groups:
            if group.state is DaemonState.NO_POD:
                among[[nodes.slot_of[name] for name in group.nodes]] = True
        if not among.any():
            return Help()
        tolerations = daemon_tolerations(self.spec.tolerations, host_network=self.spec.hostNetwork)
        metadata = msgspec.structs.replace(
            self.found.view.spec.template.metadata, name=f"{self.key.name}-next", namespace=self.key.namespace
        )
        pod = Pod(metadata=metadata, spec=msgspec.structs.replace(self.spec, tolerations=tolerations))
        engine = simulation.scheduler.engines.get(self.spec.schedulerName)
        plugins = (engine or next(iter(simulation.scheduler.engines.values()))).profile.filters
        profile = Profile("daemons", tuple(one for one in plugins if one.name in _SAME_RULE), ())
        check = AdmissionCheck(pod, simulation.api.registry.admission, simulation.world.get, simulation.clock.now)
        trials = Trials(profile, simulation.cluster, pod, self.gates, self.programs, _propose, check)
        worked = [one for one in map(self._tried, trials.worked(among)) if one.nodes]
        planned = PlannedPod(f"{self.key.namespace}/{metadata.name}", pod, self.key, "", State.PENDING)

        def with_remedy(one: Suggestion) -> Suggestion:
            remedy = remedy_of((one.change,), planned, pod, simulation, self.inventory)
            return msgspec.structs.replace(one, remedy=remedy)

        found = tuple(map(with_remedy, best_of(worked)))
        together = trials.together(among) if not found else None
        return Help(found, together, trials.ran_out_of_time)

    def _tried(self, suggestion: Suggestion) -> Suggestion:
        """Return the suggestion with the nodes that get a pod by the controller's rule; none if others lose theirs."""
        change, nodes = suggestion.change, self.simulation.cluster.nodes
        template = self._compiled(change.pod.spec) if change.pod is not None else self.template
        if change.pod is not None and not all(template.fits(node).should_run for node in self.run_by):
            return msgspec.structs.replace(suggestion, nodes=())
        opened = tuple(
            name
            for name in suggestion.nodes
            if template.fits(change.node if change.node is not None else nodes.node(nodes.slot_of[name])).should_run
        )
        return msgspec.structs.replace(suggestion, nodes=opened)


def _propose(blockers: Blockers, gates: GateSet, programs: Any) -> Iterator[Change]:
    yield from taint_changes(blockers, gates, programs)
    yield from label_changes(blockers, gates)


def _said(who: str, reason: str, *details: str) -> Refusal:
    return Refusal(who, Verdict(Code.UNRESOLVABLE, (reason,), details))


def _obstacle(groups: Sequence[DaemonNodes]) -> Obstacle | None:
    """Return the reason that keeps most nodes out: what a label's or a taint's key has to do with it is one reason."""
    counts: Counter[str] = Counter()
    words: dict[str, str] = {}
    for group in groups if not any(one.state is not DaemonState.NO_POD for one in groups) else ():
        for refusal in group.refused.refusals:
            for detail in refusal.verdict.details:
                key = _KEY.match(detail)
                shape = key[0] if key is not None else without_values(detail)
                counts[shape] += len(group.nodes)
                words.setdefault(shape, detail)
    if not counts:
        return None
    shape, number = counts.most_common(1)[0]
    return Obstacle(words[shape], number)


def plain_daemon_set(told: DaemonExplanation) -> dict[str, Any]:
    """Return plain data, for JSON."""
    counts = ("workload", "desired", "current", "ready", "up_to_date", "available", "nodes")
    return {
        "version": 1,
        "standing": told.standing,
        "message": told.message,
        **{{"up_to_date": "upToDate"}.get(name, name): getattr(told, name) for name in counts},
        "obstacle": as_data(told.obstacle),
        "groups": [
            {
                "state": group.state.value,
                "nodes": list(group.nodes),
                "pods": list(group.pods),
                "distance": group.refused.distance,
                "gap": group.refused.gap,
                "refusals": [plain_refusal(refusal) for refusal in group.refused.refusals],
            }
            for group in told.groups
        ],
        "deadlines": [{"pod": pod, **as_data(deadline)} for pod, deadline in told.deadlines.items()],
        "evictionLoop": as_data(told.eviction_loop),
        "pending": plain(told.pending) if told.pending is not None else None,
        **plain_help(told.help),
        "notes": as_data(told.notes),
    }
