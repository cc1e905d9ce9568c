"""The base of components that are processes of their own: client, events, leader election, metrics and health.

A subclass says in `work` what it does. /metrics, /healthz, /livez and /readyz are served by plain HTTP.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from moorage.client.election.elector import ElectionTimes, LeaderElector, new_identity
from moorage.client.events.event_sender import EventSender
from moorage.client.events.recorders import CountingRecorder
from moorage.client.http.client import HttpClient
from moorage.client.kubeconfig.access import Access
from moorage.serve.http.messages import Request, Response
from moorage.serve.http.server import Server
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Labels, Metrics
from moorage.telemetry.process_metrics import add_process_metrics

_STOP_SECONDS = 1.0
_LAST_EVENTS_SECONDS = 2.0
_TEXT = "text/plain; charset=utf-8"
_NOT_READY = b"[-]informer-sync failed: reason withheld\nreadyz check failed\n"


class CannotListen(Exception):
    """The address for metrics cannot be had."""


class Process(msgspec.Struct, frozen=True):
    """Settings of every component process. Without `metrics_port` nothing is served."""

    component: str
    access: Access
    bind_address: str = "127.0.0.1"
    metrics_port: int | None = None
    election: ElectionTimes | None = None
    lease: tuple[str, str] = ("kube-system", "")


class ComponentProcess(ABC):
    """A component with its client, events and metrics. Raises KubeconfigError if it has no access."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.metrics = Metrics()
        add_process_metrics(self.metrics)
        self.client = HttpClient(process.access, process.component, most_connections=128)
        self.sender = EventSender(self.client)
        self.leads = False
        self._server = Server(self._answer)
        self._tasks: list[asyncio.Task[None]] = []
        if process.election is not None:
            said = "1 while this process leads, 0 while it waits for the Lease."
            self.metrics.gauge_function("leader_election_master_status", said, self._leader_status, ("name",))

    @abstractmethod
    async def work(self) -> None:
        """What the component does, until cancelled; with an election, while it leads."""

    @property
    def is_ready(self) -> bool:
        """Whether it has seen everything that it must have seen."""
        return True

    @property
    def metrics_port(self) -> int:
        return self._server.port

    async def start(self) -> None:
        """Raises CannotListen."""
        await self.listen()
        self.run(self.sender.run())
        election = self.process.election
        self.run(self._lead() if election is None else self._elect(election))

    async def listen(self) -> None:
        """Serve metrics and health. Raises CannotListen."""
        process = self.process
        if process.metrics_port is None:
            return
        try:
            await self._server.start(process.bind_address, process.metrics_port, None)
        except OSError as error:
            where = f"{process.bind_address}:{process.metrics_port}"
            raise CannotListen(f"cannot listen on {where} for metrics: {error.strerror or error}") from None
        where = f"http://{process.bind_address}:{self.metrics_port}"
        get_logger(process.component).info("Serving metrics and health", address=where)

    def run(self, part: Coroutine[Any, Any, None]) -> None:
        """Something to do until the process stops. The first is the last to be stopped: it sends the last events."""
        self._tasks.append(asyncio.create_task(part))

    async def failure(self) -> BaseException:
        """Waits until one of the parts has ended, which none should."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        error = next(iter(done)).exception()
        return error if error is not None else RuntimeError("a component ended by itself")

    async def stop(self) -> None:
        """The work first, then what there still was to say."""
        for task in reversed(self._tasks):
            if task is self._tasks[0]:
                await self.sender.drain(_LAST_EVENTS_SECONDS)
            task.cancel()
            await asyncio.wait((task,))
        await self._server.stop(_STOP_SECONDS)
        await self.client.close()

    async def _elect(self, times: ElectionTimes) -> None:
        namespace, name = self.process.lease
        log = get_logger(self.process.component)
        elector = LeaderElector(
            self.client,
            namespace,
            name or self.process.component,
            new_identity(),
            times=times,
            recorder=CountingRecorder(self.sender, self.process.component),
            on_new_leader=lambda identity: log.info("New leader elected", identity=identity),
        )
        await elector.run(self._lead)

    async def _lead(self) -> None:
        self.leads = True
        try:
            await self.work()
        finally:
            self.leads = False

    def _leader_status(self) -> Mapping[Labels, float]:
        return {(self.process.lease[1] or self.process.component,): float(self.leads)}

    async def _answer(self, request: Request) -> Response:
        if request.path == "/metrics":
            body, content_type = self.metrics.render(request.headers.get("accept", ""))
            return Response(200, body, content_type)
        if request.path in ("/healthz", "/livez"):
            return Response(200, b"ok", _TEXT)
        if request.path == "/readyz":
            return Response(500, _NOT_READY, _TEXT) if self.leads and not self.is_ready else Response(200, b"ok", _TEXT)
        return Response(404, b"404 page not found\n", _TEXT)
