"""Run the scheduling cycle: take a pod from the queue, choose a node, or victims, or say why there is none.

A state machine without I/O: events go in with the time, `step` returns actions, which `moorage plan` carries out at
once and the live scheduler sends to the API server. A pod counts on its node, and a
nomination holds, from the moment of the decision; nothing waits for the API server's answer.
Kubernetes: schedule_one.go and eventhandlers.go. Differs: every node is considered.
"""

from collections.abc import Callable, Collection, Mapping

import msgspec

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.match.evaluation.accounts import Undecided
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, PodCondition
from moorage.schedule.candidates import NO_SLOT, Candidates, Engine
from moorage.schedule.config.plugin_args import DefaultPreemptionArgs
from moorage.schedule.diagnosis import NO_NODES as NO_NODES_TEXT
from moorage.schedule.diagnosis import Diagnoses, event_note
from moorage.schedule.framework.events import Event, EventKind, node_events, pod_events
from moorage.schedule.framework.plugin import PostFilterResult, Profile
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.pod_queue import SchedulingQueue
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.nominations import NominatedPods, Nominations
from moorage.schedule.preemption.preemption import DefaultPreemption, PreemptionResult
from moorage.schedule.queue_timers import Backoff
from moorage.schedule.waiting_pods import NO_NODES, QueuedPod, RequeueTable

FAILED_SCHEDULING = "FailedScheduling"
POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
_DEFAULT_ARGS = DefaultPreemptionArgs()


class Bind(msgspec.Struct, frozen=True):
    """Bind the pod to the node, where the scheduler counts it already."""

    pod: QueuedPod
    slot: int
    node: str

    @property
    def record(self) -> PodRecord:
        return self.pod.record


class NoNode(msgspec.Struct, frozen=True):
    """No node for the pod now. `victims` are to be evicted, which makes room on `nominated`.

    `nominated` is the new `status.nominatedNodeName`; `demoted` are pods whose nomination for that node is void now.
    `is_error`: the attempt failed, whatever the nodes are like; `is_waiting`: plugins have not answered yet. `claim`
    names a ResourceClaim to deallocate or delete.
    """

    pod: QueuedPod
    message: str
    rejected_by: frozenset[str]
    nominated: str = ""
    victims: tuple[PodRecord, ...] = ()
    demoted: tuple[PodRecord, ...] = ()
    is_error: bool = False
    is_waiting: bool = False
    claim: PostFilterResult | None = None

    @property
    def record(self) -> PodRecord:
        return self.pod.record

    @property
    def note(self) -> str:
        return event_note(self.message)

    @property
    def condition(self) -> PodCondition:
        reason = SCHEDULER_ERROR if self.is_error else UNSCHEDULABLE
        return PodCondition(type=POD_SCHEDULED, status="False", reason=reason, message=self.message)


Action = Bind | NoNode


class Scheduler:
    """The queue, the engines of all profiles and preemption, over one cluster.

    `preemption` has the arguments of each profile's DefaultPreemption; None turns it off.
    """

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        cluster: Cluster,
        preemption: Mapping[str, DefaultPreemptionArgs | None] | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.cluster = cluster
        self.nominations = Nominations(cluster)
        self.budgets = DisruptionBudgets()
        self.engines = {name: _engine(profile, cluster, self.nominations) for name, profile in profiles.items()}
        self.queue = SchedulingQueue(
            {name: RequeueTable(e.profile.filters, cluster, e.want) for name, e in self.engines.items()},
            backoff,
            ungated=frozenset(name for name, p in profiles.items() if not p.respects_scheduling_gates),
            why_claims_wait=cluster.devices.why_claims_wait,
            has_promised_claims=cluster.devices.has_promised_claims,
            refresh=cluster.refresh,
        )
        args = {name: (preemption or {}).get(name, _DEFAULT_ARGS) for name in profiles}
        self._preemption = {
            name: DefaultPreemption(cluster, self.budgets, arg, self._is_leaving)
            for name, arg in args.items()
            if arg is not None
        }
        # Called when a pod is to be tried again though no event came in: its expressions have been evaluated.
        self.wake: Callable[[], None] = lambda: None
        self._leaving: set[str] = set()
        self._diagnoses = Diagnoses()

    def _is_leaving(self, record: PodRecord) -> bool:
        return record.key in self._leaving

    # -- the cycle ----------------------------------------------------------------------------------------------------

    def step(self, now: float) -> Action | None:
        """Try the next pod; None if no pod is to be tried now."""
        while (pod := self.queue.pop(now)) is not None:
            if pod.record.pod.metadata.deletionTimestamp is not None:
                self.queue.done(pod)
                continue
            nominated = self.nominations.remove(pod.key) if self.nominations else None
            try:
                return self._try(pod, nominated, now)
            except Undecided as undecided:
                action = self._wait(pod, nominated, undecided, now)
                if action is not None:
                    return action
        return None

    def _wait(self, pod: QueuedPod, nominated: int | None, undecided: Undecided, now: float) -> NoNode | None:
        """Let a pod wait for evaluations, with an event if that takes longer than a moment."""
        record = pod.record
        self.engines[pod.scheduler].forget(record.shape)
        if nominated is not None:
            self.nominations.add(record, nominated)

        def ready() -> None:
            self.queue.evaluated(pod)
            self.wake()

        undecided.when_ready((id(self), pod.key), ready, lambda: self.queue.get(pod.key) is pod)
        if self.queue.hold(pod, now):
            return None
        rejected_by = frozenset({DynamicResources.name if record.shape.devices else TaintToleration.name})
        self.queue.failed(pod, rejected_by, now)
        text = f"0/{len(self.cluster.nodes)} nodes are available: {undecided}."
        node = self.cluster.nodes.node(nominated).metadata.name if nominated is not None else ""
        return NoNode(pod, text, rejected_by, node, is_waiting=True)

    def _try(self, pod: QueuedPod, nominated: int | None, now: float) -> Action:
        """Find a node for a pod, or say why no node fits. Raises Undecided."""
        record = pod.record
        engine = self.engines[pod.scheduler]
        if not self.nominations and nominated is None:
            slot = engine.find(record)
        else:
            candidates = engine.candidates(self.cluster.refresh(record))
            slot = nominated if nominated is not None and candidates.passes(nominated) else candidates.best()
        if record.shape.devices and (error := engine.candidates(record.shape).failure(record)):
            return self._end_with_error(pod, error, nominated, now)
        if slot == NO_SLOT:
            return self._fail(pod, engine.candidates(record.shape), nominated, now)
        self.nominations.forget(record.key)
        engine.reserve(record, slot)
        self.cluster.add_pod(record, slot)
        self.queue.done(pod)
        if self.queue.is_listening:
            if nominated is not None and nominated != slot:
                self.queue.happened(Event(EventKind.POD_REMOVED, record.pod), now)
            self.queue.happened(Event(EventKind.POD_ADDED, None, record.pod), now)
        return Bind(pod, slot, self.cluster.nodes.node(slot).metadata.name)

    def _end_with_error(self, pod: QueuedPod, error: str, nominated: int | None, now: float) -> NoNode:
        """Fail an attempt whatever the nodes are like: the pod is tried again with backoff."""
        self.queue.failed(pod, frozenset(), now)
        self.nominations.forget(pod.key)
        if nominated is not None:
            self.queue.happened(Event(EventKind.POD_REMOVED, pod.record.pod, by=pod.key), now)
        return NoNode(pod, error, frozenset(), is_error=True)

    def _fail(self, pod: QueuedPod, candidates: Candidates, nominated: int | None, now: float) -> NoNode:
        record = pod.record
        if not len(self.cluster.nodes):
            self.nominations.forget(record.key)
            self.queue.failed(pod, frozenset({NO_NODES}), now, NO_NODES_TEXT if _is_like_others(record) else "")
            return NoNode(pod, NO_NODES_TEXT, frozenset({NO_NODES}))
        undone = candidates.post_filter(record) if record.shape.devices else None
        outcome = self._preempt(pod.scheduler, candidates, nominated)
        message, rejected_by = self._diagnosis(candidates, outcome, undone)
        pod.evaluated_until = 0.0
        demoted: list[PodRecord] = []
        victims: tuple[PodRecord, ...] = ()
        keeps = nominated
        if outcome.selection is not None:
            keeps, victims = outcome.selection.slot, outcome.selection.victims
            self._leaving.update(victim.key for victim in victims)
            demoted = self.nominations.below(keeps, record.priority)
            for lower in demoted:
                self.nominations.remove(lower.key)
        elif outcome.gives_up:
            keeps = None
            self.nominations.forget(record.key)
        is_unlike = nominated is not None or keeps is not None or bool(self.nominations.awaited_by(record.key))
        is_shared = not is_unlike and not candidates.is_provisional and _is_like_others(record)
        self.queue.failed(pod, rejected_by, now, message if is_shared else "")
        if keeps is not None:
            self.nominations.add(record, keeps)
        released = [*demoted, record] if nominated is not None and keeps != nominated else demoted
        for freed in released:
            self.queue.happened(Event(EventKind.POD_REMOVED, freed.pod, by=record.key), now)
        if candidates.is_provisional:
            self.engines[pod.scheduler].forget(record.shape)
        node = self.nominations.awaited_by(record.key)
        if keeps is not None:
            node = self.cluster.nodes.node(keeps).metadata.name
        claim = undone if undone is not None and undone.claim is not None else None
        return NoNode(pod, message, rejected_by, node, victims, tuple(demoted), claim=claim)

    def _preempt(self, scheduler: str, candidates: Candidates, nominated: int | None) -> PreemptionResult:
        preemption = self._preemption.get(scheduler)
        return preemption.preempt(candidates, nominated) if preemption is not None else PreemptionResult(gives_up=True)

    def _diagnosis(
        self, candidates: Candidates, outcome: PreemptionResult, undone: PostFilterResult | None = None
    ) -> tuple[str, frozenset[str]]:
        diagnosis = self._diagnoses.of(candidates)
        return diagnosis.text(_preemption_half(undone, outcome)), diagnosis.rejected_by

    def why_not(self, record: PodRecord) -> str:
        """Return the FailedScheduling text for a pod without a feasible node; nothing changes."""
        if not len(self.cluster.nodes):
            return NO_NODES_TEXT
        candidates, outcome = self._attempt(record)
        if not record.shape.devices:
            return self._diagnosis(candidates, outcome)[0]
        return candidates.failure(record) or self._diagnosis(candidates, outcome, candidates.post_filter(record))[0]

    def preemption_half(self, record: PodRecord) -> str:
        """Return the end of that text: what preemption says, or would release. Empty if it finds victims."""
        candidates, outcome = self._attempt(record)
        return _preemption_half(candidates.post_filter(record) if record.shape.devices else None, outcome)

    def would_preempt(self, record: PodRecord) -> PreemptionResult:
        """Return the pods that preemption would evict for a pod now, or why none; nothing changes."""
        return self._attempt(record)[1]

    def _attempt(self, record: PodRecord) -> tuple[Candidates, PreemptionResult]:
        scheduler = QueuedPod(record, 0.0).scheduler
        candidates = self.engines[scheduler].candidates(self.cluster.refresh(record))
        return candidates, self._preempt(scheduler, candidates, self.nominations.slot_of(record.key))

    # -- pods without a node ------------------------------------------------------------------------------------------

    def knows(self, scheduler: str) -> bool:
        return scheduler in self.engines

    def add(self, record: PodRecord, now: float) -> None:
        """Queue a new pod without a node, with the nomination in its status."""
        self.queue.add(record, now)
        if record.pod.status.nominatedNodeName:
            self.nominations.nominate(record, record.pod.status.nominatedNodeName)

    def update(self, record: PodRecord, now: float) -> None:
        self.queue.update(record, now)
        slot, awaited = self.nominations.slot_of(record.key), self.nominations.awaited_by(record.key)
        if slot is not None:
            self.nominations.add(record, slot)
        elif awaited:
            self.nominations.nominate(record, awaited)

    def renominate(self, record: PodRecord, old: Pod, now: float) -> None:
        """Follow `status.nominatedNodeName` of a waiting pod, which other components may write.

        A nomination of our own stays until the API server shows it. Kubernetes: UpdateNominatedPod.
        """
        before, after = old.status.nominatedNodeName, record.pod.status.nominatedNodeName
        if before == after:
            return
        self.queue.set_apart(record.key, now)
        if after:
            self.nominations.nominate(record, after)
        else:
            self.nominations.forget(record.key)
        if before:
            self.queue.happened(Event(EventKind.POD_REMOVED, old, by=record.key), now)

    def delete(self, key: str, now: float) -> None:
        pod = self.queue.get(key)
        self.queue.remove(key)
        if self.nominations.forget(key) is not None and pod is not None:
            self.queue.happened(Event(EventKind.POD_REMOVED, pod.record.pod), now)

    def attempt_failed(self, now: float) -> list[QueuedPod]:
        """Return pods that were being tried when `step` raised to the queue, with backoff."""
        returned = self.queue.give_back(now)
        for pod in returned:
            if pod.record.slot >= 0:
                self.cluster.remove_pod(pod.record)
            self.cluster.devices.promises.release(pod.key)
        return returned

    def eviction_failed(self, victim: str, preemptor: str) -> None:
        """Try the preemptor again, because a victim could not be evicted."""
        self._leaving.discard(victim)
        self.queue.activate(preemptor)

    def bind_failed(self, action: Bind, now: float) -> None:
        """Take a pod off its node, because it could not be bound, and queue it again with backoff."""
        record = action.record
        if record.slot >= 0:
            self.cluster.remove_pod(record)
        self.engines[action.pod.scheduler].unreserve(record)
        self.queue.happened(Event(EventKind.POD_REMOVED, record.pod), now)
        if record.claims:
            self.queue.happened(Event(EventKind.VOLUME_CHANGED), now)
        if record.shape.devices:
            self.queue.happened(Event(EventKind.DEVICES_FREED), now)
        self.queue.add_again(action.pod, now)

    # -- pods on nodes ------------------------------------------------------------------------------------------------

    def pod_placed(self, record: PodRecord, slot: int, now: float) -> None:
        """Count a pod on its node, whichever scheduler bound it."""
        known = self.cluster.pods.get(record.key)
        if known is not None and known.slot == slot:
            self.pod_changed(record, now)
            return
        if known is not None:
            self.cluster.remove_pod(known)
        self.delete(record.key, now)
        self.cluster.add_pod(record, slot)
        self.queue.happened(Event(EventKind.POD_ADDED, None, record.pod), now)

    def pod_changed(self, record: PodRecord, now: float) -> None:
        known = self.cluster.pods[record.key]
        self.cluster.replace_pod(known, record)
        if self.queue.is_listening:
            for event in pod_events(known.pod, record.pod):
                self.queue.happened(event, now)

    def pod_gone(self, key: str, now: float) -> None:
        record = self.cluster.pods.get(key)
        self._leaving.discard(key)
        if record is not None:
            self.cluster.remove_pod(record)
            self.queue.happened(Event(EventKind.POD_REMOVED, record.pod), now)

    def retire_shapes(self, kept: Collection[Shape]) -> None:
        """Forget shapes without pods, except those in `kept`, and all that is kept of them."""
        retired = self.cluster.retire_shapes(kept)
        for engine in self.engines.values():
            engine.retire(retired)

    # -- everything else ----------------------------------------------------------------------------------------------

    def node_added(self, node: Node, now: float) -> int:
        slot = self.cluster.add_node(node)
        self.nominations.node_added(node.metadata.name, slot)
        self._tell(node_events(None, node), now)
        return slot

    def node_changed(self, node: Node, now: float) -> None:
        old = self.cluster.nodes.node(self.cluster.nodes.slot_of[node.metadata.name])
        self.cluster.update_node(node)
        self._tell(node_events(old, node), now)

    def node_gone(self, name: str, now: float) -> list[PodRecord]:
        """Remove a node; return the pods that were on it."""
        slot = self.cluster.nodes.slot_of[name]
        node = self.cluster.nodes.node(slot)
        self.nominations.node_gone(name, slot)
        stranded = self.cluster.remove_node(name)
        self._tell(node_events(node, None), now)
        for record in stranded:
            self._leaving.discard(record.key)
            self.queue.happened(Event(EventKind.POD_REMOVED, record.pod), now)
        return stranded

    def namespace_changed(self, name: str, labels: Mapping[str, str], now: float) -> None:
        old = self.cluster.namespaces.get(name)
        if old != labels:
            self.cluster.set_namespace(name, labels)
            self.queue.happened(Event(EventKind.NAMESPACE_LABELS, (name, old or {}), (name, labels)), now)

    def happened(self, event: Event, now: float) -> None:
        """Tell the queue of an event about storage or devices."""
        self.queue.happened(event, now)

    def _tell(self, events: tuple[Event, ...], now: float) -> None:
        for event in events:
            self.queue.happened(event, now)


def _engine(profile: Profile, cluster: Cluster, nominations: Nominations) -> Engine:
    """Return the profile's engine, with nominations as its last filter."""
    engine = Engine(profile, cluster)
    nominated = NominatedPods(nominations, lambda shape: engine.candidates(shape))
    engine.profile = msgspec.structs.replace(profile, filters=(*profile.filters, nominated))
    return engine


def _is_like_others(record: PodRecord) -> bool:
    """Return whether what plugins say of a pod without a node follows from its shape: devices are promised to pods."""
    return not record.shape.devices and not record.pod.spec.resourceClaims


def _preemption_half(undone: PostFilterResult | None, outcome: PreemptionResult) -> str:
    return ", ".join(filter(None, (undone.message if undone is not None else "", outcome.message)))
