"""Run a component as a process of its own: scheduler, controller manager, simulated kubelets.

The base has the client, events, leader election, metrics and health; a subclass says in `work` what it does. /metrics,
/healthz, /livez and /readyz are served by plain HTTP; profiles, too, to clients with the component's own token.
"""

import asyncio
import hmac
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping
from typing import Any

import msgspec

from moorage.client.event_recorders import CountingRecorder, SeriesRecorder
from moorage.client.event_sender import EventSender
from moorage.client.http_client import HttpClient
from moorage.client.informer import Backoff
from moorage.client.kubeconfig.access import Access
from moorage.client.leader_election import ElectionTimes, LeaderElector, new_identity
from moorage.client.lease_fence import LeaseFence
from moorage.client.protocol import Unreachable
from moorage.client.refusals import RefusalLog
from moorage.cluster.event_loop import first_failure
from moorage.cluster.isolated_evaluations import IsolatedEvaluations, add_evaluation_metrics
from moorage.cluster.policy_checks import check_policy
from moorage.cluster.signers import NO_SIGNERS, Signers
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import ControllerContext, Row
from moorage.model.api_error import ApiError, failure
from moorage.model.gates import Component, GateSet
from moorage.run.devices.spec import DeviceSet
from moorage.run.kubelets import Kubelets
from moorage.run.node_objects import CAPACITY, SIMULATOR
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.http.server import Server
from moorage.serve.requests.profile_path import PREFIX, answer_profile
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics, add_feature_metrics, add_process_metrics
from moorage.telemetry.watchdog import Watchdog

_STOP_SECONDS = 1.0
_LAST_EVENTS_SECONDS = 2.0
_ELECTION_CONNECTIONS = 4
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
        self.watchdog = Watchdog(self.metrics)
        lock = f"{process.lease[0]}/{process.lease[1] or process.component}"
        self._fence = LeaseFence(lock) if process.election is not None else None
        self.client = HttpClient(process.access, process.component, most_connections=128, fence=self._fence)
        self.client.refusals = RefusalLog(process.component)
        self.sender = EventSender(self.client)
        self.evaluations = IsolatedEvaluations()
        add_evaluation_metrics(self.metrics, self.evaluations)
        self.leads = False
        self._server = Server(self._answer)
        self._tasks: list[asyncio.Task[None]] = []
        if process.election is not None:
            help_text = "1 while this process leads, 0 while it waits for the Lease."
            lease = (process.lease[1] or process.component,)
            self.metrics.gauge_function(
                "leader_election_master_status", help_text, lambda: {lease: float(self.leads)}, ("name",)
            )

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
        return await first_failure(self._tasks)

    async def stop(self) -> None:
        """The work first, then what there still was to say."""
        for task in reversed(self._tasks):
            if task is self._tasks[0]:
                await self.sender.drain(_LAST_EVENTS_SECONDS)
            task.cancel()
            await asyncio.wait((task,))
        await self.evaluations.close()
        await self._server.stop(_STOP_SECONDS)
        await self.client.close()

    async def _elect(self, times: ElectionTimes) -> None:
        """Work while elected. The Lease and events about it have a client of their own, which is not fenced by it."""
        namespace, name = self.process.lease
        component = self.process.component
        log = get_logger(component)
        client = HttpClient(self.process.access, component, most_connections=_ELECTION_CONNECTIONS)
        client.refusals = self.client.refusals
        sender = EventSender(client)
        elector = LeaderElector(
            client,
            namespace,
            name or component,
            new_identity(),
            times=times,
            recorder=CountingRecorder(sender, component),
            fence=self._fence,
            on_new_leader=lambda identity: log.info("New leader elected", identity=identity),
        )
        sending = asyncio.create_task(sender.run())
        try:
            await elector.run(self._lead)
        finally:
            await sender.drain(_LAST_EVENTS_SECONDS)
            sending.cancel()
            await asyncio.wait((sending,))
            await client.close()

    async def _lead(self) -> None:
        self.leads = True
        try:
            await self.work()
        finally:
            self.leads = False
            if self._fence is not None and self._fence.is_open:  # the Lease is given back next, and the fence closed
                await self.sender.drain(_LAST_EVENTS_SECONDS)

    async def _answer(self, request: Request) -> Response | Stream:
        if request.path == "/metrics":
            body, content_type = self.metrics.render(request.headers.get("accept", ""))
            return Response(200, body, content_type)
        if request.path in ("/healthz", "/livez"):
            return Response(200, b"ok", _TEXT)
        if request.path == "/readyz":
            return Response(500, _NOT_READY, _TEXT) if self.leads and not self.is_ready else Response(200, b"ok", _TEXT)
        if request.path.startswith(PREFIX):
            self._check_token(request)
            return answer_profile(request)
        return Response(404, b"404 page not found\n", _TEXT)

    def _check_token(self, request: Request) -> None:
        """Let only clients pass that know the token of this component's own kubeconfig. Raises ApiError 401."""
        token = self.process.access.token
        given = request.headers.get("authorization", "").removeprefix("Bearer ").encode("utf-8", "replace")
        if not token or not hmac.compare_digest(token.encode(), given):
            why = "a profile needs the header Authorization: Bearer with the token of this component's kubeconfig"
            raise failure(401, "Unauthorized", why)


_FIRST_RETRY, _LAST_RETRY = 0.5, 10.0
_LOG = get_logger("kubelet")


class SchedulerProcess(ComponentProcess):
    """The scheduler; leads by Lease if the process has an election."""

    def __init__(self, process: Process, gates: GateSet, configuration: Configuration, seed: int = 0) -> None:
        super().__init__(process)
        add_feature_metrics(self.metrics, {Component.SCHEDULER: gates})
        self._recorder = SeriesRecorder(self.sender)
        self._live = LiveScheduler(
            self.client,
            self._recorder,
            gates,
            configuration,
            self.metrics,
            seed=seed,
            evaluations=self.evaluations,
        )

    async def start(self) -> None:
        """Raises CannotListen."""
        await super().start()
        self.run(self._recorder.run())

    async def work(self) -> None:
        await self._live.run()

    @property
    def is_ready(self) -> bool:
        return self._live.has_synced


class ControllerManagerProcess(ComponentProcess):
    """The controllers; leads by Lease if the process has an election."""

    def __init__(
        self,
        process: Process,
        gates: GateSet,
        controllers: tuple[Row, ...],
        *,
        simulates_storage: bool = False,
        signers: Signers = NO_SIGNERS,
    ) -> None:
        super().__init__(process)
        add_feature_metrics(self.metrics, {Component.CONTROLLER_MANAGER: gates})
        authority = process.access.certificate_authority.decode("utf-8", "replace")
        context = ControllerContext(
            gates,
            self.metrics,
            random.random,
            simulates_storage,
            self.evaluations,
            authority,
            signers.certificate,
            signers.token,
            check_policy,
        )
        recorder = CountingRecorder(self.sender, process.component)
        running = [row.make(context) for row in controllers]
        self._manager = ControllerManager(self.client, recorder, running, self.metrics)

    async def work(self) -> None:
        await self._manager.run()

    @property
    def is_ready(self) -> bool:
        return self._manager.has_synced


class CannotRegister(Exception):
    """The API server refuses the nodes."""


class KubeletProcess(ComponentProcess):
    """Simulated kubelets: makes `nodes` nodes and runs those with the label of `simulator`, no others."""

    def __init__(
        self,
        process: Process,
        gates: GateSet,
        nodes: int = 0,
        prefix: str = "node-",
        capacity: Mapping[str, str] = CAPACITY,
        simulator: str = SIMULATOR,
        devices: tuple[DeviceSet, ...] = (),
        *,
        takes_all: bool = False,
    ) -> None:
        """With `takes_all` nodes without any such label are run, too."""
        super().__init__(process)
        self._nodes, self._prefix = nodes, prefix
        add_feature_metrics(self.metrics, {Component.KUBELET: gates})
        recorder = CountingRecorder(self.sender, process.component)
        self.kubelets = Kubelets(
            self.client,
            recorder,
            gates,
            metrics=self.metrics,
            simulator=simulator,
            takes_all=takes_all,
            capacity=capacity,
            devices=devices,
            evaluations=self.evaluations,
        )

    async def start(self) -> None:
        """Register the nodes, as soon as the server can be reached. Raises CannotListen, CannotRegister."""
        await self.listen()
        await self._register()
        self.run(self.sender.run())
        self.run(self.work())
        await self.kubelets.synced()

    async def work(self) -> None:
        self.leads = True
        await self.kubelets.run()

    @property
    def is_ready(self) -> bool:
        return self.kubelets.has_synced

    async def _register(self) -> None:
        retry = Backoff(_FIRST_RETRY, _LAST_RETRY, now=time.monotonic, random=random.random)
        while True:
            try:
                await self.kubelets.register(self._nodes, self._prefix)
            except ExceptionGroup as group:
                first = group.exceptions[0]
                if isinstance(first, ApiError):
                    raise CannotRegister(f"nodes cannot be registered: {first.message}") from None
                if not isinstance(first, Unreachable):
                    raise
                server = self.process.access.server
                _LOG.warning("Nodes cannot be registered yet", server=server, err=str(first))
            else:
                return
            await asyncio.sleep(retry.delay())
