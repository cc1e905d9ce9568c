"""Carry out the cycle's decisions by calls to the API server: bindings, conditions, evictions, events.

The cycle never waits for any of it. Safety rests on three rules:

- a pod counts on the node it was given until the watch shows where it is, or until it is certainly not bound;
- after a lost answer the server is asked; if the pod has no node, the *same* binding is sent again, since the lost one
  may still arrive, and the server binds a pod once;
- a refusal is believed only after a look at the pod: another scheduler may have bound it, which then counts at once.

Kubernetes: bindingCycle, handleBindingCycleError and handleSchedulingFailure. Differs: after a lost answer the node is
not given away.
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial

from moorage.client.background_calls import BackgroundCalls
from moorage.client.protocol import Client, Unreachable
from moorage.columns.cluster import PodRecord
from moorage.columns.volumes.storage import VolumeDecision
from moorage.model.api_error import ApiError
from moorage.model.types.pod_status import PodCondition
from moorage.schedule.actions import POD_SCHEDULED, Action, Bind, NoNode
from moorage.schedule.cycle import Scheduler
from moorage.schedule.diagnosis import event_note
from moorage.schedule.live.assumptions import Assumption, Assumptions
from moorage.schedule.live.metrics import SchedulerMetrics
from moorage.schedule.live.pod_feed import PodFeed
from moorage.schedule.live.pod_status import POD, PodStatusWriter
from moorage.schedule.live.recording import Reporter
from moorage.schedule.live.volume_binder import VolumeBinder, VolumesNotBound
from moorage.telemetry.logs import get_logger

BINDINGS_AT_ONCE = 512
_LOG = get_logger("scheduler")
_FIRST_PAUSE, _MAX_PAUSE = 0.1, 10.0
_SCHEDULER_ERROR = "SchedulerError"


class _Found(Enum):
    """What the API server says of a pod after a binding failed."""

    GONE = auto()
    HERE = auto()  # it is on the node we wanted
    ELSEWHERE = auto()
    UNBOUND = auto()
    UNKNOWN = auto()


class Binder:
    """Sends bindings and status patches in the background."""

    def __init__(
        self,
        client: Client,
        scheduler: Scheduler,
        pods: PodFeed,
        assumptions: Assumptions,
        volumes: VolumeBinder,
        reporter: Reporter,
        metrics: SchedulerMetrics,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client
        self._scheduler = scheduler
        self._pods = pods
        self._assumptions = assumptions
        self._volumes = volumes
        self._reporter = reporter
        self._metrics = metrics
        self._clock = clock
        self._sleep = sleep
        self._wake = wake
        self._bindings = BackgroundCalls(BINDINGS_AT_ONCE)
        self._waits = BackgroundCalls(1 << 20)  # for volumes, which may take minutes
        others = BackgroundCalls(64)
        self._errands = (self._bindings, self._waits, others)
        self._status = PodStatusWriter(client, others, sleep)
        self._evictions = Evictions(client, scheduler, self._status, reporter, others)

    def carry_out(self, action: Action, began: float) -> None:
        """Begin to carry out a decision of an attempt that began then."""
        if isinstance(action, Bind):
            assumption = self._assumptions.make(action, began)
            decisions = self._scheduler.cluster.storage.decisions.get(assumption.key) if action.record.claims else None
            if decisions:
                self._waits.send(partial(self._bind_with_volumes, assumption, decisions))
            else:
                self._bindings.send(partial(self._bind, assumption))
        else:
            self._no_node(action)

    def _no_node(self, action: NoNode) -> None:
        record = action.record
        pod = record.pod
        self._reporter.failed_scheduling(record.key, pod, action.note)
        self._status.say(record.key, pod, action.condition, action.nominated)
        if action.victims or action.demoted:
            self._evictions.carry_out(action)
        self._status.trim(self._scheduler.queue)

    async def close(self) -> None:
        """Stop everything under way; what has been sent may still happen."""
        for errands in self._errands:
            await errands.close()

    # -- bindings -----------------------------------------------------------------------------------------------------

    async def _bind_with_volumes(self, assumption: Assumption, decisions: tuple[VolumeDecision, ...]) -> None:
        record, node = assumption.action.record, assumption.action.node
        self._status.say(assumption.key, record.pod, nominated=node)
        try:
            await self._volumes.bind(assumption, decisions)
        except VolumesNotBound as error:
            self._failed(assumption, f'running PreBind plugin "VolumeBinding": {error}')
            return
        await self._bind(assumption)

    async def _bind(self, assumption: Assumption) -> None:
        namespace, _, name = assumption.key.partition("/")
        node, pause = assumption.action.node, _FIRST_PAUSE
        while self._assumptions.holds(assumption):
            began = self._clock()
            try:
                await self._client.bind(namespace, name, assumption.uid, node)
            except Unreachable as error:
                why, is_answer = str(error), False
            except ApiError as error:
                why, is_answer = error.message, error.code != 429
            else:
                self._metrics.bound(assumption, began, self._clock())
                self._done(assumption)
                return
            _LOG.debug(2, "A binding failed", pod=assumption.key, node=node, err=why)
            while (found := await self._look(assumption)) is _Found.UNKNOWN:
                await self._sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
            if found is _Found.HERE:
                self._metrics.bound(assumption, began, self._clock())
                self._done(assumption)
                return
            if found is not _Found.UNBOUND:
                return
            if is_answer:
                self._failed(assumption, f'running Bind plugin "DefaultBinder": {why}')
                return
            await self._sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)

    async def _look(self, assumption: Assumption) -> _Found:
        """Ask the server for the pod, and count it where it is unless the watch has told meanwhile."""
        namespace, _, name = assumption.key.partition("/")
        try:
            pod = (await self._client.get(POD, name, namespace)).view
        except (Unreachable, ApiError) as error:
            if not isinstance(error, ApiError) or error.code != 404:
                return _Found.UNKNOWN
            pod = None
        if pod is None or pod.metadata.uid != assumption.uid:
            if self._assumptions.holds(assumption):
                self._pods.pod_gone(assumption.key, assumption.latest, self._clock())
                self._wake()
            return _Found.GONE
        if not pod.spec.nodeName:
            return _Found.UNBOUND
        if self._assumptions.holds(assumption):
            self._pods.pod_changed(assumption.key, pod, self._clock())
            self._wake()
        return _Found.HERE if pod.spec.nodeName == assumption.action.node else _Found.ELSEWHERE

    def _done(self, assumption: Assumption) -> None:
        self._status.forget(assumption.key)
        self._reporter.scheduled(assumption.key, assumption.action.record.pod, assumption.action.node)

    def _failed(self, assumption: Assumption, why: str) -> None:
        """Requeue a pod that is certainly not bound, and report why."""
        if not self._assumptions.holds(assumption):
            return
        record = assumption.action.record
        _LOG.error("Error scheduling pod; retrying", pod=record.key, err=why)
        self._metrics.failed(assumption.action)
        self._pods.bind_failed(assumption, self._clock())
        self._reporter.failed_scheduling(record.key, record.pod, event_note(why))
        condition = PodCondition(type=POD_SCHEDULED, status="False", reason=_SCHEDULER_ERROR, message=why)
        self._status.say(record.key, record.pod, condition, "")
        self._wake()


class Evictions:
    """Delete preemption's victims and take back nominations that are void. Kubernetes: preemption/executor.go.

    A victim gets the DisruptionTarget condition first, then is deleted with its own grace period if it is still the
    same pod. If it cannot be deleted, the pod that waits for it is tried again.
    """

    def __init__(
        self,
        client: Client,
        scheduler: Scheduler,
        status: PodStatusWriter,
        reporter: Reporter,
        errands: BackgroundCalls,
    ) -> None:
        self._client = client
        self._scheduler = scheduler
        self._status = status
        self._reporter = reporter
        self._errands = errands

    def carry_out(self, action: NoNode) -> None:
        for lower in action.demoted:
            self._status.say(lower.key, lower.pod, nominated="")
        for victim in action.victims:
            if victim.pod.metadata.deletionTimestamp is None:
                self._errands.send(partial(self._evict, action, victim))

    async def _evict(self, action: NoNode, victim: PodRecord) -> None:
        preemptor = action.record
        pod = victim.pod
        namespace, _, name = victim.key.partition("/")
        text = f"{action.pod.scheduler}: preempting to accommodate a higher priority pod"
        target = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=text)
        names = {"preemptor": preemptor.key, "victim": victim.key, "node": action.nominated}
        try:
            await self._status.say_now(victim.key, pod, target)
            await self._client.delete(POD, name, namespace, uid=pod.metadata.uid)
        except ApiError as error:
            if error.code == 404 or error.reason == "Conflict":
                _LOG.debug(2, "Victim Pod is already deleted", **names)
            else:
                self._failed(victim.key, preemptor.key, error.message, names)
            return
        except Unreachable as error:
            self._failed(victim.key, preemptor.key, str(error), names)
            return
        _LOG.debug(2, "Preemptor Pod preempted victim Pod", **names)
        self._reporter.preempted(victim.key, pod, preemptor.key, preemptor.pod, action.nominated)

    def _failed(self, victim: str, preemptor: str, why: str, names: dict[str, str]) -> None:
        _LOG.error("Tried to preempted pod", err=why, **names)
        self._scheduler.eviction_failed(victim, preemptor)
