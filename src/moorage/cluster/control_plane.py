"""Runs a cluster on one event loop, as `moorage up` does.

The API server starts first, then manifests are loaded, then kubelets, scheduler and controllers become tasks that talk
to the API server without a wire. The kubeconfig is written last: a client that finds it can use the cluster.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from random import random

import msgspec

from moorage.client.events.event_sender import EventSender
from moorage.client.events.recorders import CountingRecorder, SeriesRecorder
from moorage.cluster.api_server import ApiServer, ApiServerSettings, CannotStart, KubeconfigPlace, start_api_server
from moorage.cluster.loading import load_manifests
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import ControllerContext, chosen
from moorage.model.gates import Component, GateSet
from moorage.run.kubelets import Kubelets
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.loopback import LoopbackClient
from moorage.telemetry.logs import get_logger
from moorage.telemetry.process_metrics import add_feature_metrics

__all__ = ["CannotStart", "ControlPlane", "Settings"]

_LOG = get_logger("up")
_PROTECTION = {"persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}
_GARBAGE_COLLECTOR, _NODE_LIFECYCLE = "garbage-collector-controller", "node-lifecycle-controller"


class Settings(msgspec.Struct, frozen=True):
    """What the command line says. Without a `data_dir` nothing is kept."""

    gates: dict[Component, GateSet]
    configuration: Configuration
    nodes: int
    simulates: bool
    data_dir: Path | None
    bind_address: str
    port: int
    kubeconfig: Path | None
    manifests: tuple[str, ...]
    controllers: tuple[str, ...] = ("*",)
    simulates_storage: bool = True


class ControlPlane:
    """Start it, stop it; `failure` tells when a part of it has died."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._kubeconfig = KubeconfigPlace(settings.kubeconfig, settings.data_dir)
        self._server: ApiServer | None = None
        self._kubelets: Kubelets | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return self._server.url if self._server is not None else ""

    @property
    def kubeconfig_path(self) -> Path:
        return self._kubeconfig.path

    @property
    def node_count(self) -> int:
        return self._kubelets.node_count if self._kubelets is not None else 0

    async def start(self) -> None:
        """Raises CannotStart."""
        settings = self.settings
        gates = settings.gates
        controllers = {row.name for row in chosen(settings.controllers)}
        self._server = server = await start_api_server(
            ApiServerSettings(
                gates[Component.API_SERVER],
                settings.data_dir,
                settings.bind_address,
                settings.port,
                collects_garbage=_GARBAGE_COLLECTOR in controllers,
                taints_new_nodes=_NODE_LIFECYCLE in controllers,
                protects_storage=controllers >= _PROTECTION,
            )
        )
        add_feature_metrics(server.metrics, gates)
        if settings.manifests:
            await load_manifests(LoopbackClient(server.api, "moorage-load"), settings.manifests)
        if settings.simulates:
            await self._start_kubelets(server, gates[Component.KUBELET])
        self._start_scheduler(server, gates[Component.SCHEDULER])
        self._start_controllers(server, gates[Component.CONTROLLER_MANAGER])
        self._kubeconfig.write(server.kubeconfig())
        _LOG.debug(1, "Ready", url=server.url, kubeconfig=str(self.kubeconfig_path))

    async def _start_kubelets(self, server: ApiServer, gates: GateSet) -> None:
        client = LoopbackClient(server.api, "kubelet")
        sender = EventSender(client)
        recorder = CountingRecorder(sender, "kubelet")
        self._kubelets = kubelets = Kubelets(client, recorder, gates, metrics=server.metrics, takes_all=True)
        await kubelets.register(self.settings.nodes)
        self._run(sender.run())
        self._run(kubelets.run())
        await kubelets.synced()

    def _start_scheduler(self, server: ApiServer, gates: GateSet) -> None:
        client = LoopbackClient(server.api, "kube-scheduler")
        sender = EventSender(client)
        recorder = SeriesRecorder(sender)
        scheduler = LiveScheduler(client, recorder, gates, self.settings.configuration, server.metrics)
        for part in (sender.run(), recorder.run(), scheduler.run()):
            self._run(part)

    def _start_controllers(self, server: ApiServer, gates: GateSet) -> None:
        rows = chosen(self.settings.controllers)
        if not rows:
            return
        client = LoopbackClient(server.api, "controller-manager")
        sender = EventSender(client)
        surroundings = ControllerContext(gates, server.metrics, random, self.settings.simulates_storage)
        controllers = [row.make(surroundings) for row in rows]
        recorder = CountingRecorder(sender, "controller-manager")
        self._run(sender.run())
        self._run(ControllerManager(client, recorder, controllers, server.metrics).run())

    def _run(self, part: Coroutine[None, None, None]) -> None:
        self._tasks.add(asyncio.create_task(part))

    async def failure(self) -> BaseException:
        """Waits until one of the parts has died, which none should."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        error = next(iter(done)).exception()
        return error if error is not None else RuntimeError("a component ended by itself")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            await self._server.stop()
        self._kubeconfig.clear()
