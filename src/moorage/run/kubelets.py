"""The kubelets of all simulated nodes, in one component: watch, take what is bound, say that one is alive.

In: a client, gates. Out: node status and Leases, pod status, removed pods, events. Heartbeats are spread over their
period, so that thousands of nodes are a steady trickle of writes. Whatever the API server refuses for good is left to
the next event. Kubernetes: the kubelet, kubemark's hollow kubelets. Next: `kubelet_state`, which decides.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from moorage.client.errands import Errands
from moorage.client.informer import Difference, Informer
from moorage.client.protocol import Client, PatchType, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.node import Node
from moorage.run.kubelet_state import KubeletState, Remove, Report, WriteStatus
from moorage.run.node_objects import LEASE_NAMESPACE, Raw, micro_time_text, new_lease, new_node, node_status
from moorage.telemetry.logs import get_logger

HEARTBEAT_SECONDS = 10.0
STATUS_SECONDS = 300.0
_AT_ONCE = 64
_TICK = 0.25
_NODE, _POD = KINDS["v1", "Node"], KINDS["v1", "Pod"]
_LEASE = KINDS["coordination.k8s.io/v1", "Lease"]
_LOG = get_logger("kubelet")


class Recorder(Protocol):
    """Where events go."""

    def report(self, involved: Raw, kind: str, reason: str, message: str) -> None: ...


class _Heart:
    """One node's heartbeat: when it beats next, and when the node's status is written next."""

    __slots__ = ("beats_at", "has_lease", "number", "reports_at")

    def __init__(self, number: int, now: float) -> None:
        self.number, self.beats_at, self.reports_at, self.has_lease = number, now, now, False


class Kubelets:
    """See the module. `simulates` says which nodes are ours; `clock` is the time of day."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        gates: GateSet,
        *,
        simulates: Callable[[Node], bool] = lambda node: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._recorder, self._simulates, self._clock = client, recorder, simulates, clock
        self._state = KubeletState(gates)
        self._hearts: dict[str, _Heart] = {}
        self._errands = Errands(_AT_ONCE)
        self._wakened = asyncio.Event()
        self._registered = 0
        self._informers = [Informer(client, _NODE, self._nodes_changed), Informer(client, _POD, self._pods_changed)]

    @property
    def node_count(self) -> int:
        return max(self._registered, len(self._hearts))

    async def register(self, count: int, prefix: str = "node-") -> None:
        """Make nodes; those that are there already stay as they are."""
        for number in range(count):
            try:
                await self._client.create(_NODE, new_node(f"{prefix}{number + 1}", number))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
        self._registered = count

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self._informers:
                    group.create_task(informer.run())
                group.create_task(self._beat())
                await self._work()
        finally:
            await self._errands.close()

    # -- what happens -------------------------------------------------------------------------------------------------

    def _nodes_changed(self, differences: list[Difference]) -> None:
        now = self._clock()
        for old, new in differences:
            if new is None:
                name = old.name if old is not None else ""
                self._hearts.pop(name, None)
                self._state.node_gone(name)
                continue
            node: Node = new.view
            if not self._simulates(node):
                continue
            if new.name not in self._hearts:
                self._hearts[new.name] = _Heart(len(self._hearts), now)
            self._state.node_changed(node, now)
        self._wakened.set()

    def _pods_changed(self, differences: list[Difference]) -> None:
        now = self._clock()
        for old, new in differences:
            if new is not None:
                self._state.pod_changed(new.key, new.view, now)
            elif old is not None:
                self._state.pod_gone(old.key)
        self._wakened.set()

    # -- what is done -------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            self._wakened.clear()
            for action in self._state.due(self._clock()):
                if isinstance(action, Report):
                    self._report(action)
                elif isinstance(action, Remove):
                    self._errands.send(partial(self._remove, action))
                else:
                    self._errands.send(partial(self._write, action))
            wait = self._state.next_time() - self._clock()
            try:
                async with asyncio.timeout(None if wait == float("inf") else max(wait, 0.0)):
                    await self._wakened.wait()
            except TimeoutError:
                pass

    async def _write(self, action: WriteStatus) -> None:
        namespace, _, name = action.key.partition("/")
        patch = {"metadata": {"uid": action.uid}, "status": action.status}
        await self._try(self._client.patch(_POD, name, namespace, patch, subresource="status"))

    async def _remove(self, action: Remove) -> None:
        namespace, _, name = action.key.partition("/")
        await self._try(self._client.delete(_POD, name, namespace, uid=action.uid, grace_seconds=0))

    def _report(self, action: Report) -> None:
        metadata = action.pod.metadata
        involved = {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
        }
        self._recorder.report(involved, action.kind, action.reason, action.message)

    # -- heartbeats ---------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        while True:
            now = self._clock()
            for name, heart in list(self._hearts.items()):
                node = self._state.nodes.get(name)
                if node is None or heart.beats_at > now:
                    continue
                # The first beats come at once, the next ones spread over the period.
                spread = (heart.number * 0.618033988749895 % 1.0) * HEARTBEAT_SECONDS if not heart.has_lease else 0.0
                heart.beats_at = now + (spread or HEARTBEAT_SECONDS)
                if heart.reports_at <= now:
                    heart.reports_at = now + STATUS_SECONDS
                    self._errands.send(partial(self._write_node, node, heart))
                self._errands.send(partial(self._renew, node, heart))
            await asyncio.sleep(_TICK)

    async def _write_node(self, node: Node, heart: _Heart) -> None:
        patch = {"status": node_status(node, heart.number, self._clock())}
        await self._try(self._client.patch(_NODE, node.metadata.name, "", patch, subresource="status"))

    async def _renew(self, node: Node, heart: _Heart) -> None:
        name = node.metadata.name
        if heart.has_lease:
            patch = {"spec": {"renewTime": micro_time_text(self._clock())}}
            heart.has_lease = await self._try(
                self._client.patch(_LEASE, name, LEASE_NAMESPACE, patch, kind=PatchType.MERGE)
            )
            return
        try:
            await self._client.create(_LEASE, new_lease(node, self._clock()), LEASE_NAMESPACE)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                _LOG.warning("A Lease cannot be created", node=name, err=error.message)
                return
        except Unreachable:
            return
        heart.has_lease = True

    async def _try(self, call: Awaitable[object]) -> bool:
        """Whether it was done. What is gone or has changed is somebody else's by now."""
        try:
            await call
        except ApiError as error:
            if error.code not in (404, 409):
                _LOG.warning("The API server refused", err=error.message)
            return False
        except Unreachable as error:
            _LOG.warning("The API server cannot be reached", err=str(error))
            return False
        return True
