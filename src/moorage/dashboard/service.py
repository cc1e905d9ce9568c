"""Run a dashboard: the cluster's source, the simulator, and the HTTP server that browsers talk to."""

import asyncio
import gc
import time
from collections.abc import Callable

from moorage.client.informer import Delta
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.dashboard.http.application import Answer, Application, Routes, as_json
from moorage.dashboard.http.coalescing import Coalescer
from moorage.dashboard.http.guard import Guard
from moorage.dashboard.http.sessions import Sessions
from moorage.dashboard.routes import ActRoute, AskRoute, StateRoutes
from moorage.dashboard.simulator.client import Simulator
from moorage.dashboard.source import CannotShow, ClusterSource, DashboardSettings, FileCluster, LiveCluster
from moorage.dashboard.state.progress import Progress, Report
from moorage.dashboard.state.rollouts import ROLLOUT_KINDS, Rollouts
from moorage.model.kinds import Kind
from moorage.serve.http.messages import Request, Response
from moorage.serve.http.receiving import Limits
from moorage.serve.http.server import Server
from moorage.telemetry.metrics import Metrics
from moorage.telemetry.watchdog import Watchdog
from moorage.watch.session import CannotWatch

_GRACE = 2.0
_STATUS = "/api/status"
#: A page opens few connections; scripts of other programs are not meant to hold many. To apply a change to thousands
#: of nodes takes minutes, and what was done is said at the end.
_LIMITS = Limits(connections=256, requests=64, body_bytes=16 * 1024 * 1024, answer_seconds=900.0)


class Dashboard:
    """One dashboard. `announce` is called with each address that lets a browser in, `report` with what is being done.

    It serves the page before the cluster is read: until then only `/api/status` answers, everything else waits.
    """

    def __init__(
        self,
        settings: DashboardSettings,
        announce: Callable[[str], None],
        report: Report = lambda progress: None,
    ) -> None:
        self.settings, self._announce, self._report = settings, announce, report
        self.watchdog = Watchdog(Metrics())
        self._sessions = Sessions()
        self._simulator = Simulator(report=self._progressed)
        self._progress: Progress | None = None
        self._is_ready = asyncio.Event()
        self._completing: asyncio.Task[None] | None = None
        self._rollouts = Rollouts()
        self._source: ClusterSource | None = None
        self._server: Server | None = None
        self._coalescer: Coalescer | None = None

    async def start(self) -> None:
        """Raises CannotShow if there is nothing to show or no port to listen on."""
        settings = self.settings
        try:
            source: ClusterSource
            if settings.kubeconfig is not None:
                source = LiveCluster(settings, self._simulator, self._changed, self._progressed)
            else:
                source = FileCluster(settings, self._simulator)
            self._source = source
            await source.start()
        except (CannotWatch, KubeconfigError, OSError) as error:
            raise CannotShow(str(error)) from None
        await self._listen(source)
        self._completing = asyncio.create_task(self._complete(source))

    async def _complete(self, source: ClusterSource) -> None:
        """Wait for the rows, then answer all requests. Raises CannotShow."""
        try:
            await source.complete()
        except (CannotWatch, OSError) as error:
            raise CannotShow(str(error)) from None
        self._progressed(None)
        self._rollouts.begin(time.time())
        self._is_ready.set()
        gc.freeze()  # what was read stays

    def _progressed(self, progress: Progress | None) -> None:
        self._progress = progress
        self._report(progress)

    async def _listen(self, source: ClusterSource) -> None:
        settings, routes = self.settings, Routes()
        server = Server(
            self._not_yet,
            _LIMITS,
            is_long_running=lambda request: request.path == "/api/changes",
            end_streams=source.board.end,
        )
        try:
            await server.start(settings.bind_address, settings.port, None)
        except OSError as error:
            where = f"{settings.bind_address}:{settings.port}"
            raise CannotShow(f"cannot listen on {where}: {error.strerror or error}") from None
        self._server = server
        self._coalescer = Coalescer(self._simulator.ask, lambda: self._simulator.generation.number)
        StateRoutes(source, settings).add_to(routes)
        AskRoute(source, self._coalescer, server.port).add_to(routes)
        ActRoute(source).add_to(routes)
        routes.add("GET", "/api/rollouts", self._list_rollouts)
        routes.add("GET", _STATUS, self._status)
        guard = Guard(settings.bind_address, server.port, settings.host_names)
        application = Application(guard, self._sessions, server.port, routes, self._announce_token)

        async def handle(request: Request) -> Answer:
            if request.path.startswith("/api/") and request.path != _STATUS:
                await self._is_ready.wait()
            return await application.handle(request)

        server.gate, server.handler = application.gate, handle

    async def stop(self) -> None:
        if self._completing is not None:
            self._completing.cancel()
            await asyncio.gather(self._completing, return_exceptions=True)
        if self._server is not None:
            await self._server.stop(_GRACE)
        if self._coalescer is not None:
            await self._coalescer.close()
        if self._source is not None:
            await self._source.stop()
        await self._simulator.stop()

    async def failure(self) -> BaseException:
        if self._source is None or self._completing is None:
            return RuntimeError("the dashboard has not started")
        try:
            await self._completing
        except CannotShow as error:
            return error
        return await self._source.failure()

    async def _status(self, request: Request, _: tuple[str, ...]) -> Response:
        """Answer whether there is a state, what is being done until then, and how many browsers look on."""
        followers = self._source.board.followers if self._source is not None else 0
        return as_json({"ready": self._is_ready.is_set(), "progress": self._progress, "followers": followers})

    def _changed(self, kind: Kind, deltas: list[Delta]) -> None:
        if kind in ROLLOUT_KINDS:
            self._rollouts.changed(kind, deltas, time.time())

    async def _list_rollouts(self, request: Request, _: tuple[str, ...]) -> Response:
        return as_json({**self._rollouts.document(), "now": time.time()})

    async def _not_yet(self, request: Request) -> Response:
        return as_json({"error": "the dashboard is starting"}, 503)

    @property
    def address(self) -> str:
        """The address that lets one browser in."""
        return self._address(self._sessions.token)

    def _announce_token(self, token: str) -> None:
        self._announce(self._address(token))

    def _address(self, token: str) -> str:
        port = self._server.port if self._server is not None else self.settings.port
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.settings.bind_address, self.settings.bind_address)
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        return f"http://{host}:{port}/?token={token}"
