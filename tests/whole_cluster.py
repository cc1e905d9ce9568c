"""A whole cluster in memory and virtual time: API server with HTTP handler, all controllers, scheduler and kubelets.

As `moorage up` wires it, but without a wire, a file or a clock. `WholeCluster.parts` are the objects that live as long
as the cluster, by name.
"""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from tests.virtual_time import BASE

from moorage.client.event_recorders import CountingRecorder, SeriesRecorder
from moorage.client.event_sender import EventSender
from moorage.client.informer import Informer
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import chosen
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.run.kubelets import Kubelets
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, CONTROLLERS, KUBELETS, SCHEDULER
from moorage.serve.access.modes import DEFAULT_MODES, use_modes
from moorage.serve.cluster.api_configuration import configure_api
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.cluster.event_expiry import EventExpiry
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.state import Bounds
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics
from moorage.watch.state import Watched

Raw = dict[str, Any]


class WholeCluster:
    """See the module."""

    def __init__(self, gates: GateSet, shapes_to_spare: int, event_seconds: float) -> None:
        self._gates, self._shapes_to_spare, self._event_seconds = gates, shapes_to_spare, event_seconds
        self._loop = asyncio.get_running_loop()
        self.metrics = Metrics()
        self.store = MemoryStore(Bounds(age=60.0), self._loop.time)
        self.api = Api(
            self.store,
            gates,
            clock=self.clock,
            collects_garbage=True,
            taints_new_nodes=True,
            protects_storage=True,
            metrics=ApiServerMetrics(self.metrics),
        )
        use_modes(self.api, DEFAULT_MODES)
        paths = WebPaths((), self.metrics.render, self.api.resources, self.store, None, self.api.tokens)
        self.handler = Handler(self.api, paths, self.api.metrics)
        self.client = LoopbackClient(self.api, "test")
        self.parts: dict[str, Any] = {
            "api": self.api,
            "store": self.store,
            "handler": self.handler,
            "metrics": self.metrics,
        }
        self._tasks: list[asyncio.Task[None]] = []

    def clock(self) -> float:
        """Return the time of day."""
        return BASE + self._loop.time()

    @classmethod
    @asynccontextmanager
    async def running(
        cls, gates: GateSet, *, nodes: int = 2, shapes_to_spare: int = 10, event_seconds: float = 60.0
    ) -> AsyncIterator["WholeCluster"]:
        cluster = cls(gates, shapes_to_spare, event_seconds)
        await cluster._start(nodes)
        try:
            yield cluster
        finally:
            for task in cluster._tasks:
                task.cancel()
            await asyncio.gather(*cluster._tasks, return_exceptions=True)
            await cluster.store.close()

    async def _start(self, nodes: int) -> None:
        await self.api.start()
        await bootstrap(self.api, 443)
        await configure_api(self.api)
        expiry = EventExpiry(self.store, self._loop.time, self._event_seconds)
        await self._start_controllers()
        await self._start_scheduler()
        kubelets = await self._start_kubelets()
        self._run(expiry=expiry)
        await self._start_watching()
        await kubelets.synced()
        await kubelets.register(nodes)

    async def _start_controllers(self) -> None:
        client = LoopbackClient(self.api, "controller-manager", CONTROLLER_MANAGER)
        sender = EventSender(client, random=lambda: 0.5)
        context = ControllerContext(
            self._gates,
            self.metrics,
            lambda: 0.5,
            simulates_storage=True,
            sign_token=self.api.tokens.issue_for_secret,
        )
        controllers = [row.make(context) for row in chosen(("*",), simulated=True)]
        recorder = CountingRecorder(sender, "controller-manager")
        clients = {name: LoopbackClient(self.api, "controller-manager", user) for name, user in CONTROLLERS.items()}
        manager = ControllerManager(
            client, recorder, controllers, self.metrics, clients=clients, clock=self.clock, random=lambda: 0.5
        )
        self.parts["controller recorder"] = recorder
        self._run(controller_sender=sender, controllers=manager)

    async def _start_scheduler(self) -> None:
        client = LoopbackClient(self.api, "kube-scheduler", SCHEDULER)
        sender = EventSender(client, random=lambda: 0.5)
        recorder = SeriesRecorder(sender)
        scheduler = LiveScheduler(
            client,
            recorder,
            self._gates,
            metrics=self.metrics,
            clock=self._loop.time,
            shapes_to_spare=self._shapes_to_spare,
        )
        self._run(scheduler_sender=sender, scheduler_recorder=recorder, scheduler=scheduler)

    async def _start_kubelets(self) -> Kubelets:
        client = LoopbackClient(self.api, "kubelet", KUBELETS)
        sender = EventSender(client, random=lambda: 0.5)
        recorder = CountingRecorder(sender, "kubelet")
        kubelets = Kubelets(client, recorder, self._gates, metrics=self.metrics, takes_all=True, clock=self.clock)
        self.parts["kubelet recorder"] = recorder
        self._run(kubelet_sender=sender, kubelets=kubelets)
        return kubelets

    async def _start_watching(self) -> None:
        """What `moorage watch` and the dashboard keep of pods and nodes."""
        watched = self.parts["watched"] = Watched()
        watched.is_complete = True
        self._run(
            watched_nodes=Informer(self.client, KINDS.NODE, lambda deltas: watched.nodes_changed(deltas, self.clock())),
            watched_pods=Informer(self.client, KINDS.POD, lambda deltas: watched.pods_changed(deltas, self.clock())),
        )

    def _run(self, **parts: Any) -> None:
        for name, part in parts.items():
            self.parts[name.replace("_", " ")] = part
            self._tasks.append(asyncio.create_task(part.run()))

    async def settle(self, seconds: float) -> None:
        """Let time pass, and raise what a part died of, if one did."""
        await asyncio.sleep(seconds)
        for task in self._tasks:
            if task.done():
                task.result()

    def tidy(self) -> None:
        """Forget the shapes of deleted pods now, which otherwise happens when there are many."""
        scheduler = self.parts["scheduler"]
        for _ in range(2):
            gc.collect()
            scheduler.pods._most_shapes = 0
            scheduler.pods.tidy()

    async def ask(
        self, method: str, target: str, body: bytes = b"", user: User = ADMIN, headers: dict[str, str] | None = None
    ) -> int:
        """Send a request as over HTTP; return the code of the answer."""
        request = Request(method, target, {"content-type": "application/json", **(headers or {})}, body)
        request.user = user
        try:
            answer = await self.handler(request)
        except ApiError as error:
            return error.code
        if isinstance(answer, Stream):
            if answer.is_whole:
                async for _ in answer.chunks:
                    pass
            else:
                with suppress(TimeoutError, StopAsyncIteration):
                    async with asyncio.timeout(0.1):
                        await anext(aiter(answer.chunks))
                await answer.chunks.aclose()  # type: ignore[attr-defined]
            return 200
        assert isinstance(answer, Response)
        return answer.status
