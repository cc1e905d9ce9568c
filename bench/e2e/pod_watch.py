"""One watch of all pods: what the client knows of each, and when it learned it.

In: the server's watch events, from `watch_lines`. Out: `WatchedPod`s by UID, and a wait until some of them have come as
far as one wants. Of an event as little is read as that needs.
Kubernetes: the pod informer of scheduler_perf.
"""

from __future__ import annotations

import asyncio
from enum import IntEnum
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from bench.e2e.problems import RunFailed
from bench.e2e.watch_lines import WatchLines
from moorage.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bench.e2e.requests import Requests
    from bench.e2e.sender import Sender

SCHEDULED_CONDITION = "PodScheduled"


class Stage(IntEnum):
    """How far a pod has come."""

    ADDED = 0
    ATTEMPTED = 1
    BOUND = 2
    GONE = 3


class WatchedPod:
    """What the watch has shown of a pod, and when it did."""

    __slots__ = ("added_at", "bound_at", "labels", "name", "namespace", "stage")

    def __init__(self, name: str, namespace: str, labels: Mapping[str, str], added_at: float) -> None:
        self.name, self.namespace, self.labels, self.added_at = name, namespace, labels, added_at
        self.stage = Stage.ADDED
        self.bound_at = 0.0


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    labels: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True, gc=False):
    nodeName: str = ""


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    conditions: list[_Condition] = []


class _Pod(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status | str = _Status()
    message: str = ""


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: _Pod


_EVENTS = msgspec.json.Decoder(_Event)


class PodWatch:
    """See the module. `run` is a task of its own; `until` is for one at a time."""

    def __init__(self, requests: Requests, sender: Sender) -> None:
        self._watch = WatchLines(KINDS.POD, requests, sender, self.receive)
        self.pods: dict[str, WatchedPod] = {}
        self._awaited: set[str] = set()
        self._awaited_stage = Stage.BOUND
        self._waiter: asyncio.Future[None] | None = None
        self._failure: Exception | None = None

    async def begin(self) -> None:
        """From now on everything is watched."""
        await self._watch.begin()

    async def run(self) -> None:
        """Follow the watch until this task is cancelled; what goes wrong is told to whoever waits."""
        self._failure = await self._watch.run()
        self._wake()

    def receive(self, lines: bytes) -> str:
        """Whole lines of the watch; the last revision in them."""
        events = _EVENTS.decode_lines(lines)
        now = perf_counter()
        pods = self.pods
        for event in events:
            metadata = event.object.metadata
            uid = metadata.uid
            pod = pods.get(uid)
            if pod is None:
                if event.type == "BOOKMARK":
                    continue
                if event.type == "ERROR":
                    raise RunFailed(event.object.message or "it ended")
                pod = pods[uid] = WatchedPod(metadata.name, metadata.namespace, metadata.labels, now)
            if event.type == "DELETED":
                pod.stage = Stage.GONE
            elif pod.stage < Stage.BOUND:
                if event.object.spec.nodeName:
                    pod.stage, pod.bound_at = Stage.BOUND, now
                elif _is_attempted(event.object.status):
                    pod.stage = Stage.ATTEMPTED
            if uid in self._awaited and pod.stage >= self._awaited_stage:
                self._awaited.discard(uid)
        if not self._awaited:
            self._wake()
        return events[-1].object.metadata.resourceVersion if events else ""

    def matching(self, namespaces: Iterable[str], labels: Mapping[str, str]) -> Iterator[tuple[str, WatchedPod]]:
        """Pods in these namespaces, or in all if there are none, with these labels."""
        wanted = frozenset(namespaces)
        for uid, pod in self.pods.items():
            if (not wanted or pod.namespace in wanted) and labels.items() <= pod.labels.items():
                yield uid, pod

    async def until(self, uids: Iterable[str], stage: Stage, patience: float) -> int:
        """Wait until all of them have come as far; those that are left when nothing happens for too long are counted.

        Raises RunFailed if the watch is over.
        """
        pods = self.pods
        self._awaited_stage = stage
        awaited = self._awaited = {uid for uid in uids if (pod := pods.get(uid)) is None or pod.stage < stage}
        left = len(awaited)
        while awaited and self._failure is None:
            self._waiter = asyncio.get_running_loop().create_future()
            done, _ = await asyncio.wait((self._waiter,), timeout=patience)
            if not done and len(awaited) == left:
                break
            left = len(awaited)
        self._awaited = set()
        if self._failure is not None:
            raise self._failure
        return len(awaited)

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _is_attempted(status: _Status | str) -> bool:
    if isinstance(status, str):  # of an error, which has one word for it
        return False
    return any(condition.type == SCHEDULED_CONDITION for condition in status.conditions)
