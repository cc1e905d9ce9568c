"""Renew Leases every ten seconds and report node status every five minutes, spread over the period.

A node whose status differs from a healthy kubelet's reports at its next beat. Capacity, labels and taints set by others
stay. Kubernetes: component-helpers' lease controller, pkg/kubelet's syncNodeStatus.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count

from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.go.times import micro_time_text
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.run.node_objects import LEASE_NAMESPACE, declared_status, is_healthy, new_lease, node_status
from moorage.telemetry.logs import get_logger

BEAT_SECONDS = 10.0
STATUS_SECONDS = 300.0
_ROUND_SECONDS = 0.1
_GOLDEN_RATIO = 0.618033988749895
_LOG = get_logger("kubelet")


class _Heart:
    """One node: when it reports next, whether its Lease exists, and whether a beat is under way."""

    __slots__ = ("has_lease", "is_beating", "node", "number", "reports_at")

    def __init__(self, node: Node, number: int) -> None:
        self.node, self.number = node, number
        self.reports_at = 0.0
        self.has_lease = self.is_beating = False


class Heartbeats:
    """The heartbeats of all nodes. `clock` is the time of day."""

    def __init__(
        self,
        client: Client,
        calls: BackgroundCalls,
        clock: Callable[[], float],
        capacity: Mapping[str, str],
        features: Sequence[str] = (),
        shuts_down: Callable[[Node], bool] = lambda node: False,
    ) -> None:
        self._client, self._calls, self._clock, self._capacity = client, calls, clock, capacity
        self._features, self._shuts_down = features, shuts_down
        self._hearts: dict[str, _Heart] = {}
        self._beats: list[tuple[float, str]] = []  # one for each node, and some for nodes that are gone
        self._numbers = count()
        self._wakened = asyncio.Event()

    def __len__(self) -> int:
        return len(self._hearts)

    def node_changed(self, node: Node) -> None:
        name = node.metadata.name
        heart = self._hearts.get(name)
        if heart is not None and heart.node.metadata.uid == node.metadata.uid:
            has_turned = self._shuts_down(heart.node) is not self._shuts_down(node)
            heart.node = node
            if not self._is_healthy(node):
                heart.reports_at = 0.0
            if has_turned:  # as the kubelet does, at once
                self._calls.send(partial(self._report, heart, self._clock()))
            return
        number = next(self._numbers) if heart is None else heart.number
        self._hearts[name] = fresh = _Heart(node, number)
        now = self._clock()
        if self._is_healthy(node) and not declared_status(node, self._features):
            # Its status was reported just now.
            fresh.reports_at = now + STATUS_SECONDS * (1 + number * _GOLDEN_RATIO % 1.0) / 2
        if heart is None:
            heapq.heappush(self._beats, (now, name))
            self._wakened.set()

    def _is_healthy(self, node: Node) -> bool:
        return is_healthy(node, shuts_down=self._shuts_down(node))

    def node_gone(self, name: str) -> None:
        self._hearts.pop(name, None)

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            self._wakened.clear()
            self._beat()
            # Several beats at a time: a wake-up for each would cost as much as the beat.
            wait = max(self._beats[0][0] - self._clock(), _ROUND_SECONDS) if self._beats else None
            try:
                async with asyncio.timeout(wait):
                    await self._wakened.wait()
            except TimeoutError:
                pass

    def _beat(self) -> None:
        now, beats = self._clock(), self._beats
        while beats and beats[0][0] <= now:
            _, name = heapq.heappop(beats)
            heart = self._hearts.get(name)
            if heart is None:
                continue
            # The first beats come at once, the following ones are spread over the period.
            wait = BEAT_SECONDS if heart.has_lease else BEAT_SECONDS * (0.1 + 0.9 * (heart.number * _GOLDEN_RATIO % 1))
            heapq.heappush(beats, (now + wait, name))
            if not heart.is_beating:
                heart.is_beating = True
                self._calls.send(partial(self._beat_once, heart))

    async def _beat_once(self, heart: _Heart) -> None:
        try:
            now = self._clock()
            if heart.reports_at <= now:
                heart.reports_at = now + STATUS_SECONDS
                await self._report(heart, now)
            await self._renew(heart, now)
        finally:
            heart.is_beating = False

    async def _report(self, heart: _Heart, now: float) -> None:
        shuts_down = self._shuts_down(heart.node)
        status = node_status(heart.node, heart.number, now, self._capacity, self._features, shuts_down=shuts_down)
        patch = {"status": status}
        name = heart.node.metadata.name
        if not await _done(self._client.patch(KINDS.NODE, name, "", patch, subresource="status"), name):
            heart.reports_at = 0.0

    async def _renew(self, heart: _Heart, now: float) -> None:
        name = heart.node.metadata.name
        if not heart.has_lease:
            try:
                await self._client.create(KINDS.LEASE, new_lease(heart.node, now), LEASE_NAMESPACE)
                heart.has_lease = True
                return
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    _LOG.warning("A Lease cannot be created", node=name, err=error.message)
                    return
            except Unreachable:
                return
        patch = {"spec": {"renewTime": micro_time_text(int(now * 1_000_000))}}
        renewing = self._client.patch(KINDS.LEASE, name, LEASE_NAMESPACE, patch, patch_type=PatchType.MERGE)
        heart.has_lease = await _done(renewing, name)


async def _done(call: Awaitable[object], node: str) -> bool:
    """Await a request and return whether it succeeded; failures are repeated at the next beat."""
    try:
        await call
    except ApiError as error:
        if error.code not in (404, 409):
            _LOG.warning("The API server refused", node=node, err=error.message)
        return False
    except Unreachable as error:
        _LOG.debug(2, "The API server cannot be reached", node=node, err=str(error))
        return False
    return True
