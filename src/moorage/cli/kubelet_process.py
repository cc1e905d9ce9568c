"""Simulated kubelets as a process of their own: nodes on any API server, and answers about their health.

In: `KubeletSettings`. Out: a component that starts and stops: the kubelets, their recorder of events, and a small HTTP
server for /metrics, /healthz, /livez and /readyz. A server that cannot be reached yet is waited for. Next: `kubelet`.
"""

import asyncio
import random
import time
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from moorage.cli.scheduler_process import CannotListen
from moorage.client.access import Access
from moorage.client.backoff import Backoff
from moorage.client.events import CountingRecorder, EventSender
from moorage.client.http import HttpClient
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.run.kubelets import Kubelets
from moorage.run.node_objects import CAPACITY, SIMULATOR
from moorage.serve.http.messages import Request, Response
from moorage.serve.http.server import Server
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.process_metrics import add_process_metrics

_COMPONENT = "kubelet"
_STOP_SECONDS = 1.0
_LAST_EVENTS_SECONDS = 2.0
_FIRST_RETRY, _LAST_RETRY = 0.5, 10.0
_TEXT = "text/plain; charset=utf-8"
_LOG = get_logger(_COMPONENT)


class CannotRegister(Exception):
    """The API server does not want our nodes."""


class KubeletSettings(msgspec.Struct, frozen=True):
    """What the command line says. Without `metrics_port`, nothing is served."""

    access: Access
    gates: GateSet
    nodes: int = 0
    prefix: str = "node-"
    capacity: Mapping[str, str] = msgspec.field(default_factory=lambda: CAPACITY)
    simulator: str = SIMULATOR
    bind_address: str = "127.0.0.1"
    metrics_port: int | None = None


class KubeletProcess:
    """Start it, stop it; `failure` tells when it cannot go on. Raises KubeconfigError if the access is of no use."""

    def __init__(self, settings: KubeletSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        add_process_metrics(self.metrics)
        self._client = HttpClient(settings.access, _COMPONENT, most_connections=128)
        self._sender = EventSender(self._client)
        self.kubelets = Kubelets(
            self._client,
            CountingRecorder(self._sender, _COMPONENT),
            settings.gates,
            metrics=self.metrics,
            simulator=settings.simulator,
            capacity=settings.capacity,
        )
        self._server = Server(self._answer)
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def metrics_port(self) -> int:
        return self._server.port

    async def start(self) -> None:
        """Raises CannotListen, CannotRegister."""
        settings = self.settings
        if settings.metrics_port is not None:
            try:
                await self._server.start(settings.bind_address, settings.metrics_port, None)
            except OSError as error:
                where = f"{settings.bind_address}:{settings.metrics_port}"
                raise CannotListen(f"cannot listen on {where} for metrics: {error.strerror or error}") from None
        await self._register()
        self._run(self._sender.run())
        self._run(self.kubelets.run())
        await self.kubelets.synced()

    async def _register(self) -> None:
        retry = Backoff(_FIRST_RETRY, _LAST_RETRY, now=time.monotonic, random=random.random)
        while True:
            try:
                await self.kubelets.register(self.settings.nodes, self.settings.prefix)
            except* Unreachable as group:
                why = str(group.exceptions[0])
                _LOG.warning("Nodes cannot be registered yet", server=self.settings.access.server, err=why)
            except* ApiError as group:
                first = group.exceptions[0]
                why = first.message if isinstance(first, ApiError) else str(first)
                raise CannotRegister(f"nodes cannot be registered: {why}") from None
            else:
                return
            await asyncio.sleep(retry.delay())

    def _run(self, part: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(part))

    async def failure(self) -> BaseException:
        """Waits until one of the parts has ended, which none should."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        error = next(iter(done)).exception()
        return error if error is not None else RuntimeError("a component ended by itself")

    async def stop(self) -> None:
        """The kubelets first, then what they still had to say."""
        for task in reversed(self._tasks):
            if task is self._tasks[0]:
                await self._sender.drain(_LAST_EVENTS_SECONDS)
            task.cancel()
            await asyncio.wait((task,))
        await self._server.stop(_STOP_SECONDS)
        await self._client.close()

    async def _answer(self, request: Request) -> Response:
        if request.path == "/metrics":
            body, content_type = self.metrics.render(request.headers.get("accept", ""))
            return Response(200, body, content_type)
        if request.path in ("/healthz", "/livez"):
            return Response(200, b"ok", _TEXT)
        if request.path == "/readyz":
            if not self.kubelets.has_synced:
                return Response(500, b"[-]informer-sync failed: reason withheld\nreadyz check failed\n", _TEXT)
            return Response(200, b"ok", _TEXT)
        return Response(404, b"404 page not found\n", _TEXT)
