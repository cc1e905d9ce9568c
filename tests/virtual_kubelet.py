"""A scheduler and kubelets in a few lines: pods get a node, run, become ready, and are removed when they are deleted.

For a `VirtualCluster`. How long each of that takes is for the test to say. `fail` and `unready` break pods.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import time_of_day

from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Object, PatchType
from moorage.model.api_error import ApiError
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


class VirtualKubelet:
    """See the module. `seconds_to_start(pod)` may be infinite: such a pod never becomes ready."""

    def __init__(
        self, cluster: VirtualCluster, seconds_to_start: Callable[[Object], float], seconds_to_stop: float, nodes: int
    ) -> None:
        self._client, self._nodes = cluster.client, nodes
        self._seconds_to_start, self._seconds_to_stop = seconds_to_start, seconds_to_stop
        self._started: set[str] = set()
        self._stopping: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.informer = Informer(cluster.client, KINDS.POD, self._changed)

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        cluster: VirtualCluster,
        seconds_to_start: Callable[[Object], float] = lambda pod: 1.0,
        seconds_to_stop: float = 1.0,
        nodes: int = 3,
    ) -> AsyncIterator["VirtualKubelet"]:
        kubelet = cls(cluster, seconds_to_start, seconds_to_stop, nodes)
        task = asyncio.create_task(kubelet.informer.run())
        try:
            yield kubelet
        finally:
            for one in (task, *kubelet._tasks):
                one.cancel()
                with suppress(asyncio.CancelledError):
                    await one

    async def fail(self, pod: Object) -> None:
        """Its containers exit, and nobody restarts them."""
        await self._report(pod, {"phase": "Failed", "reason": "Evicted", "conditions": [_ready("False")]})

    async def unready(self, pod: Object) -> None:
        await self._report(pod, {"conditions": [_ready("False")]})

    def _changed(self, deltas: list[Delta]) -> None:
        for _, pod in deltas:
            if pod is None:
                continue
            if pod.view.metadata.deletionTimestamp is not None:
                if pod.uid not in self._stopping:
                    self._stopping.add(pod.uid)
                    self._spawn(self._stop(pod))
            elif pod.uid not in self._started:
                self._started.add(pod.uid)
                self._spawn(self._start(pod, len(self._started) % self._nodes))

    def _spawn(self, story: Any) -> None:
        task = asyncio.create_task(story)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def bind(self, pod: Object, node: int) -> bool:
        """Whether there was a node for it."""
        with suppress(ApiError):
            await self._client.bind(pod.namespace, pod.name, pod.uid, f"node-{node}")
        return True

    async def _start(self, pod: Object, node: int) -> None:
        if not await self.bind(pod, node):
            return
        wait = self._seconds_to_start(pod)
        if wait == float("inf"):
            return
        await asyncio.sleep(wait)
        await self._report(pod, {"phase": "Running", "conditions": [_ready("True")]})

    async def _stop(self, pod: Object) -> None:
        await asyncio.sleep(self._seconds_to_stop)
        with suppress(ApiError):
            await self._client.delete(KINDS.POD, pod.name, pod.namespace, uid=pod.uid, grace_seconds=0)

    async def _report(self, pod: Object, status: Raw) -> None:
        patch = {"metadata": {"uid": pod.uid}, "status": status}
        with suppress(ApiError):
            await self._client.patch(
                KINDS.POD, pod.name, pod.namespace, patch, subresource="status", patch_type=PatchType.STRATEGIC
            )


def _ready(status: str) -> Raw:
    return {"type": "Ready", "status": status, "lastTransitionTime": time_text(time_of_day())}
