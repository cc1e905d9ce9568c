"""Write conditions and nominatedNodeName to pod status, in order, and only when they change.

One strategic merge patch at a time for each pod; a patch names the pod's uid, so that a replaced pod is left alone.
Kubernetes: updatePod and util.PatchPodStatus; podutil.UpdatePodCondition decides what is a change.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

import msgspec

from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, Raw, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod, PodCondition
from moorage.schedule.pod_queue import SchedulingQueue
from moorage.telemetry.logs import get_logger

_LOG = get_logger("scheduler")
_PAUSES = (0.01, 0.05, 0.25, 1.0)  # between tries


class _Reported(msgspec.Struct):
    """The status of a pod as the server has it, or is about to have it."""

    uid: str
    conditions: dict[str, PodCondition]
    nominated: str
    unsent: set[str] = msgspec.field(default_factory=set)  # types of conditions, and "" for the nomination
    is_sending: bool = False
    sent: asyncio.Event = msgspec.field(default_factory=asyncio.Event)


class PodStatusWriter:
    """Patches status in the background, and remembers it until the watch has it."""

    def __init__(
        self,
        client: Client,
        calls: BackgroundCalls,
        sleep: Callable[[float], Awaitable[None]],
        wall_clock: Callable[[], str] = lambda: time_text(time.time()),
    ) -> None:
        self._client = client
        self._calls = calls
        self._sleep = sleep
        self._wall_clock = wall_clock
        self._reported: dict[str, _Reported] = {}

    def say(self, key: str, pod: Pod, condition: PodCondition | None = None, nominated: str | None = None) -> bool:
        """Set a condition, the nomination, or both; None leaves it. Return whether anything changed."""
        status = self._reported.get(key)
        if status is None or status.uid != pod.metadata.uid:
            conditions = {condition.type: condition for condition in pod.status.conditions}
            status = _Reported(pod.metadata.uid, conditions, pod.status.nominatedNodeName)
        news = set()
        if condition is not None and (changed := self._changed(status.conditions.get(condition.type), condition, pod)):
            status.conditions[condition.type] = changed
            news.add(condition.type)
        if nominated is not None and nominated != status.nominated:
            status.nominated = nominated
            news.add("")
        if not news:
            return False
        self._reported[key] = status
        status.unsent |= news
        if not status.is_sending:
            status.is_sending = True
            status.sent.clear()
            self._calls.send(partial(self._send, key, status))
        return True

    def forget(self, key: str) -> None:
        self._reported.pop(key, None)

    def trim(self, waiting: SchedulingQueue) -> None:
        """Forget pods that do not wait any more, if there are many of them."""
        if len(self._reported) > 64 + 2 * len(waiting):
            self._reported = {
                key: status for key, status in self._reported.items() if key in waiting or status.is_sending
            }

    def _changed(self, old: PodCondition | None, new: PodCondition, pod: Pod) -> PodCondition | None:
        if old is not None and (old.status, old.reason, old.message) == (new.status, new.reason, new.message):
            return None
        keeps_time = old is not None and old.status == new.status
        return msgspec.structs.replace(
            new,
            observedGeneration=pod.metadata.generation,
            lastTransitionTime=old.lastTransitionTime if keeps_time and old is not None else self._wall_clock(),
        )

    async def say_now(self, key: str, pod: Pod, condition: PodCondition) -> None:
        """Set a condition of a pod that does not wait, and return when it is set. Raises client errors."""
        old = next((known for known in pod.status.conditions if known.type == condition.type), None)
        changed = self._changed(old, condition, pod)
        if changed is not None:
            status = _Reported(pod.metadata.uid, {changed.type: changed}, "")
            await self._patch(key, _patch(status, {changed.type}))

    async def _send(self, key: str, status: _Reported) -> None:
        while status.unsent:
            unsent, status.unsent = status.unsent, set()
            try:
                await self._patch(key, _patch(status, unsent))
            except (ApiError, Unreachable) as error:
                if not isinstance(error, ApiError) or error.code != 404:
                    _LOG.error("Error updating pod", pod=key, err=str(error))
                self._reported.pop(key, None)  # what the pod's own status says is as good as it gets
                break
        status.is_sending = False
        status.sent.set()

    async def settled(self, key: str) -> None:
        """Wait until all that was said of a pod is sent, or has failed."""
        status = self._reported.get(key)
        if status is not None and status.is_sending:
            await status.sent.wait()

    async def _patch(self, key: str, patch: Raw) -> None:
        namespace, _, name = key.partition("/")
        pauses = iter(_PAUSES)
        while True:
            try:
                await self._client.patch(KINDS.POD, name, namespace, patch, subresource="status")
                return
            except (ApiError, Unreachable) as error:
                retriable = not isinstance(error, ApiError) or error.code in (409, 429) or error.code >= 500
                pause = next(pauses, None)
                if not retriable or pause is None:
                    raise
            await self._sleep(pause)


def _patch(reported: _Reported, unsent: set[str]) -> Raw:
    status: Raw = {}
    conditions = [_as_raw(reported.conditions[kind]) for kind in sorted(unsent) if kind]
    if conditions:
        status["conditions"] = conditions
    if "" in unsent:
        status["nominatedNodeName"] = reported.nominated or None
    return {"metadata": {"uid": reported.uid}, "status": status}


def _as_raw(condition: PodCondition) -> Raw:
    raw: Raw = {
        "type": condition.type,
        "status": condition.status,
        "lastProbeTime": None,
        "lastTransitionTime": condition.lastTransitionTime,
        "reason": condition.reason,
        "message": condition.message,
    }
    if condition.observedGeneration:
        raw["observedGeneration"] = condition.observedGeneration
    return raw
