"""Preemption carried out: victims are told why, and deleted; nominations that are void are taken back.

In: a `NoNode` with victims or demoted pods. Out: calls to the API server. Each victim gets the DisruptionTarget
condition first, then is deleted with its own grace period, if it is still the same pod. If one cannot be deleted, the
pod that waits for it looks again. Kubernetes: framework/preemption/executor.go.
"""

from functools import partial

from moorage.client.background_calls import BackgroundCalls
from moorage.client.protocol import Client, Unreachable
from moorage.columns.cluster import PodRecord
from moorage.model.api_error import ApiError
from moorage.model.types.pod_status import PodCondition
from moorage.schedule.actions import NoNode
from moorage.schedule.cycle import Scheduler
from moorage.schedule.live.pod_status import POD, PodStatusWriter
from moorage.schedule.live.recording import Reporter
from moorage.telemetry.logs import get_logger

_LOG = get_logger("scheduler")


class Evictions:
    """See the module."""

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
        kind = {"preemptor": preemptor.key, "victim": victim.key, "node": action.nominated}
        try:
            await self._status.say_now(victim.key, pod, target)
            await self._client.delete(POD, name, namespace, uid=pod.metadata.uid)
        except ApiError as error:
            if error.code == 404 or error.reason == "Conflict":
                _LOG.debug(2, "Victim Pod is already deleted", **kind)
            else:
                self._failed(victim.key, preemptor.key, error.message, kind)
            return
        except Unreachable as error:
            self._failed(victim.key, preemptor.key, str(error), kind)
            return
        _LOG.debug(2, "Preemptor Pod preempted victim Pod", **kind)
        self._reporter.preempted(victim.key, pod, preemptor.key, preemptor.pod, action.nominated)

    def _failed(self, victim: str, preemptor: str, why: str, kind: dict[str, str]) -> None:
        _LOG.error("Tried to preempted pod", err=why, **kind)
        self._scheduler.eviction_failed(victim, preemptor)
