"""The scheduler as a process of its own: watches any API server, leads by Lease, answers about its health.

In: `SchedulerSettings`. Out: a component that starts and stops: the scheduler, its recorder of events, the election and
a small HTTP server for /metrics, /healthz, /livez and /readyz. Next: `scheduler`.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from moorage.client.access import Access
from moorage.client.events import CountingRecorder, EventSender, SeriesRecorder
from moorage.client.http import HttpClient
from moorage.client.leader_election import ElectionTimes, LeaderElector, new_identity
from moorage.model.gates import Component, GateSet
from moorage.schedule.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.http.messages import Request, Response
from moorage.serve.http.server import Server
from moorage.telemetry.feature_metrics import add_feature_metrics
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Labels, Metrics
from moorage.telemetry.process_metrics import add_process_metrics

_COMPONENT = "kube-scheduler"
_STOP_SECONDS = 1.0
_LAST_EVENTS_SECONDS = 2.0
_TEXT = "text/plain; charset=utf-8"
_LOG = get_logger("scheduler")


class CannotListen(Exception):
    """The address for metrics cannot be had."""


class SchedulerSettings(msgspec.Struct, frozen=True):
    """What the command line says. Without `election` there is none; without `metrics_port`, nothing is served."""

    access: Access
    gates: GateSet
    configuration: Configuration
    bind_address: str = "127.0.0.1"
    metrics_port: int | None = None
    election: ElectionTimes | None = None
    lease: tuple[str, str] = ("kube-system", _COMPONENT)
    seed: int = 0


class SchedulerProcess:
    """Start it, stop it; `failure` tells when it cannot go on. Raises KubeconfigError if the access is of no use."""

    def __init__(self, settings: SchedulerSettings) -> None:
        self.settings = settings
        self.metrics = Metrics()
        add_process_metrics(self.metrics)
        add_feature_metrics(self.metrics, {Component.SCHEDULER: settings.gates})
        self._client = HttpClient(settings.access, _COMPONENT, most_connections=128)
        self._sender = EventSender(self._client)
        self._recorder = SeriesRecorder(self._sender, settings.configuration.profiles[0].name)
        self._live = LiveScheduler(
            self._client, self._recorder, settings.gates, settings.configuration, self.metrics, seed=settings.seed
        )
        self._leads = False
        said = "1 while this process leads, 0 while it waits for the Lease."
        self.metrics.gauge_function("leader_election_master_status", said, self._leader_status, ("name",))
        self._server = Server(self._answer)
        self._tasks: list[asyncio.Task[None]] = []

    def _leader_status(self) -> Mapping[Labels, float]:
        return {(self.settings.lease[1],): float(self._leads)}

    @property
    def metrics_port(self) -> int:
        return self._server.port

    async def start(self) -> None:
        """Raises CannotListen."""
        settings = self.settings
        if settings.metrics_port is not None:
            try:
                await self._server.start(settings.bind_address, settings.metrics_port, None)
            except OSError as error:
                where = f"{settings.bind_address}:{settings.metrics_port}"
                raise CannotListen(f"cannot listen on {where} for metrics: {error.strerror or error}") from None
        self._run(self._sender.run())
        self._run(self._recorder.run())
        self._run(self._lead() if settings.election is None else self._elect(settings.election))

    def _run(self, part: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(part))

    async def _elect(self, times: ElectionTimes) -> None:
        namespace, name = self.settings.lease
        elector = LeaderElector(
            self._client,
            namespace,
            name,
            new_identity(),
            times=times,
            recorder=CountingRecorder(self._sender, _COMPONENT),
            on_new_leader=lambda identity: _LOG.info("New leader elected", identity=identity),
        )
        await elector.run(self._lead)

    async def _lead(self) -> None:
        self._leads = True
        try:
            await self._live.run()
        finally:
            self._leads = False

    async def failure(self) -> BaseException:
        """Waits until one of the parts has ended, which none should."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        error = next(iter(done)).exception()
        return error if error is not None else RuntimeError("a component ended by itself")

    async def stop(self) -> None:
        """The scheduler first, then what it still had to say."""
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
            if self._leads and not self._live.has_synced:
                return Response(500, b"[-]informer-sync failed: reason withheld\nreadyz check failed\n", _TEXT)
            return Response(200, b"ok", _TEXT)
        return Response(404, b"404 page not found\n", _TEXT)
