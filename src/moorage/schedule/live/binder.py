"""Carry out the cycle's decisions by calls to the API server: bindings, conditions, evictions, events.

The cycle never waits for any of it. Safety rests on three rules:

- a pod counts on the node it was given until the watch shows where it is, or until it is certainly not bound;
- after a lost answer the server is asked; if the pod has no node, the *same* binding is sent again, since the lost one
  may still arrive, and the server binds a pod once;
- a refusal is believed only after a look at the pod: another scheduler may have bound it, which then counts at once.

Kubernetes: bindingCycle, handleBindingCycleError, handleSchedulingFailure and preemption/executor.go. Differs: after a
lost answer the node is not given away.
"""

from collections.abc import Awaitable, Callable
from enum import Enum, auto
from functools import partial
from typing import Protocol

from moorage.client.event_recorders import NORMAL, WARNING
from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, Object, Raw, Unreachable
from moorage.columns.cluster import PodRecord
from moorage.columns.storage import VolumeDecision
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.types.pod import PodCondition
from moorage.schedule.cycle import FAILED_SCHEDULING, POD_SCHEDULED, SCHEDULER_ERROR, Action, Bind, NoNode, Scheduler
from moorage.schedule.diagnosis import event_note
from moorage.schedule.live.claim_binder import ClaimBinder, ClaimsNotBound
from moorage.schedule.live.metrics import SchedulerMetrics
from moorage.schedule.live.pod_feed import Assumption, Assumptions, PodFeed
from moorage.schedule.live.pod_status import PodStatusWriter
from moorage.schedule.live.volume_binder import VolumeBinder, VolumesNotBound
from moorage.telemetry.logs import get_logger

BINDINGS_AT_ONCE = 512
_LOG = get_logger("scheduler")
_FIRST_PAUSE, _MAX_PAUSE = 0.1, 10.0


class _Found(Enum):
    """What the API server says of a pod after a binding failed."""

    GONE = auto()
    HERE = auto()  # it is on the node we wanted
    ELSEWHERE = auto()
    UNBOUND = auto()
    UNKNOWN = auto()


class Recorder(Protocol):
    """Where events go. `by` is the profile; references are raw; `kind` is Normal or Warning."""

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None, *, by: str
    ) -> None: ...

    def rewrite(self, regarding: Raw, reason: str, name: str, note: str, count: int, *, by: str) -> None: ...


class Reporter:
    """Reports events in Kubernetes' words, under the name of the pod's profile.

    `newest` returns a pod as the watch has it, by its key: a reference has the pod's newest resourceVersion, so that a
    repeated text after a change is an event of its own.
    """

    def __init__(self, recorder: Recorder, newest: Callable[[str], Object | None]) -> None:
        self._recorder = recorder
        self._newest = newest

    def scheduled(self, record: PodRecord, node: str) -> None:
        note = f"Successfully assigned {record.key} to {node}"
        self._report(record, NORMAL, "Scheduled", "Binding", note)

    def failed_scheduling(self, record: PodRecord, note: str) -> None:
        self._report(record, WARNING, FAILED_SCHEDULING, "Scheduling", note)

    def waiting_for_devices(self, record: PodRecord, node: str) -> None:
        note = f"waiting for binding conditions for device on node {node}"
        self._report(record, NORMAL, "BindingConditionsPending", "Scheduling", note)

    def preempted(self, victim: PodRecord, preemptor: PodRecord, node: str) -> None:
        note = f"Preempted by pod {preemptor.pod.metadata.uid} on node {node}"
        self._report(victim, NORMAL, "Preempted", "Preempting", note, preemptor)

    def _report(
        self, record: PodRecord, kind: str, reason: str, action: str, note: str, related: PodRecord | None = None
    ) -> None:
        reference = self._reference(related) if related is not None else None
        by = (related or record).pod.spec.schedulerName
        self._recorder.report(self._reference(record), kind, reason, action, note, reference, by=by)

    def _reference(self, record: PodRecord) -> Raw:
        namespace, _, name = record.key.partition("/")
        uid = record.pod.metadata.uid
        reference = {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid, "apiVersion": "v1"}
        newest = self._newest(record.key)
        if newest is not None and newest.uid == uid:
            reference["resourceVersion"] = str(newest.revision)
        return reference


class Binder:
    """Sends bindings and status patches in the background."""

    def __init__(
        self,
        client: Client,
        scheduler: Scheduler,
        pods: PodFeed,
        assumptions: Assumptions,
        volumes: VolumeBinder,
        claims: ClaimBinder,
        reporter: Reporter,
        metrics: SchedulerMetrics,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        wake: Callable[[], None] = lambda: None,
        *,
        nominates: bool = True,
    ) -> None:
        """With `nominates`, a pod's status names its node before volumes or claims are bound."""
        self._client = client
        self._nominates = nominates
        self._scheduler = scheduler
        self._pods = pods
        self._assumptions = assumptions
        self._volumes = volumes
        self._claims = claims
        self._reporter = reporter
        self._metrics = metrics
        self._clock = clock
        self._sleep = sleep
        self._wake = wake
        self._bindings = BackgroundCalls(BINDINGS_AT_ONCE)
        self._waits = BackgroundCalls(1 << 20)  # for volumes and devices, which may take minutes
        self._other_calls = BackgroundCalls(64)
        self._status = PodStatusWriter(client, self._other_calls, sleep)

    def carry_out(self, action: Action, began: float) -> None:
        """Begin to carry out a decision of an attempt that began then."""
        if isinstance(action, Bind):
            assumption = self._assumptions.make(action, began)
            record = action.record
            decisions = self._scheduler.cluster.storage.decisions.get(assumption.key) if record.claims else None
            if decisions or record.shape.devices:
                waits = bool(decisions) or self._claims.waits(assumption)
                calls = self._waits if waits else self._bindings
                calls.send(partial(self._bind_with_claims, assumption, decisions or ()))
            else:
                self._bindings.send(partial(self._bind, assumption))
        else:
            self._no_node(action)

    def _no_node(self, action: NoNode) -> None:
        record = action.record
        self._reporter.failed_scheduling(record, action.note)
        self._status.say(record.key, record.pod, action.condition, action.nominated)
        if action.claim is not None:
            self._other_calls.send(partial(self._claims.undo, action.claim, record.pod))
        for lower in action.demoted:
            self._status.say(lower.key, lower.pod, nominated="")
        for victim in action.victims:
            if victim.pod.metadata.deletionTimestamp is None:
                self._other_calls.send(partial(self._evict, action, victim))
        self._status.trim(self._scheduler.queue)

    async def close(self) -> None:
        """Stop everything under way; what has been sent may still happen."""
        for calls in (self._bindings, self._waits, self._other_calls):
            await calls.close()

    # -- bindings -----------------------------------------------------------------------------------------------------

    async def _bind_with_claims(self, assumption: Assumption, decisions: tuple[VolumeDecision, ...]) -> None:
        """Bind a pod after its volumes are bound and its ResourceClaims are allocated and reserved.

        Its status names the node first, for components that watch: the API server takes no nomination once it is bound.
        Kubernetes does so where a plugin has something to do in PreBind, and only there.
        """
        record, node = assumption.action.record, assumption.action.node
        if self._nominates:
            self._status.say(assumption.key, record.pod, nominated=node)
        try:
            if decisions:
                await self._volumes.bind(assumption, decisions)
            if record.shape.devices:
                await self._bind_devices(assumption)
        except VolumesNotBound as error:
            await self._not_prepared(assumption, f'running PreBind plugin "VolumeBinding": {error}')
        except ClaimsNotBound as error:
            await self._not_prepared(assumption, f'running PreBind plugin "DynamicResources": {error}')
        else:
            await self._status.settled(assumption.key)
            await self._bind(assumption)

    async def _bind_devices(self, assumption: Assumption) -> None:
        await self._claims.write(assumption)
        if self._claims.waits(assumption):
            self._reporter.waiting_for_devices(assumption.action.record, assumption.action.node)
            await self._claims.wait(assumption)
        if not self._assumptions.holds(assumption):
            await self._claims.unreserve(assumption.action.record.pod)

    async def _not_prepared(self, assumption: Assumption, why: str) -> None:
        """Requeue a pod that is not bound, without the reservations that it has."""
        if assumption.action.record.shape.devices:
            await self._claims.unreserve(assumption.action.record.pod)
        self._failed(assumption, why)

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
            while (outcome := await self._look(assumption)) is _Found.UNKNOWN:
                await self._sleep(pause)
                pause = min(2 * pause, _MAX_PAUSE)
            if outcome is _Found.HERE:
                self._metrics.bound(assumption, began, self._clock())
                self._done(assumption)
                return
            if outcome is _Found.GONE and assumption.action.record.shape.devices:
                await self._claims.unreserve(assumption.action.record.pod)
            if outcome is not _Found.UNBOUND:
                return
            if is_answer:
                await self._not_prepared(assumption, f'running Bind plugin "DefaultBinder": {why}')
                return
            await self._sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)

    async def _look(self, assumption: Assumption) -> _Found:
        """Ask the server for the pod, and count it where it is unless the watch has shown it meanwhile."""
        namespace, _, name = assumption.key.partition("/")
        try:
            pod = (await self._client.get(KINDS.POD, name, namespace)).view
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
        self._claims.forget(assumption.key)
        self._reporter.scheduled(assumption.action.record, assumption.action.node)

    def _failed(self, assumption: Assumption, why: str) -> None:
        """Requeue a pod that is certainly not bound, and report why."""
        if not self._assumptions.holds(assumption):
            return
        record = assumption.action.record
        _LOG.error("Error scheduling pod; retrying", pod=record.key, err=why)
        self._metrics.failed(assumption.action)
        self._pods.bind_failed(assumption, self._clock())
        self._reporter.failed_scheduling(record, event_note(why))
        condition = PodCondition(type=POD_SCHEDULED, status="False", reason=SCHEDULER_ERROR, message=why)
        self._status.say(record.key, record.pod, condition, "")
        self._wake()

    # -- evictions ----------------------------------------------------------------------------------------------------

    async def _evict(self, action: NoNode, victim: PodRecord) -> None:
        """Give a victim the DisruptionTarget condition, then delete it with its own grace period.

        If it cannot be deleted, the pod that waits for it is tried again.
        """
        preemptor = action.record
        pod = victim.pod
        namespace, _, name = victim.key.partition("/")
        text = f"{action.pod.scheduler}: preempting to accommodate a higher priority pod"
        target = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message=text)
        names = {"preemptor": preemptor.key, "victim": victim.key, "node": action.nominated}
        try:
            await self._status.say_now(victim.key, pod, target)
            await self._client.delete(KINDS.POD, name, namespace, uid=pod.metadata.uid)
        except ApiError as error:
            if error.code == 404 or error.reason == "Conflict":
                _LOG.debug(2, "Victim Pod is already deleted", **names)
            else:
                self._eviction_failed(error.message, names)
            return
        except Unreachable as error:
            self._eviction_failed(str(error), names)
            return
        _LOG.debug(2, "Preemptor Pod preempted victim Pod", **names)
        self._reporter.preempted(victim, preemptor, action.nominated)

    def _eviction_failed(self, why: str, names: dict[str, str]) -> None:
        _LOG.error("Tried to preempted pod", err=why, **names)
        self._scheduler.eviction_failed(names["victim"], names["preemptor"])
