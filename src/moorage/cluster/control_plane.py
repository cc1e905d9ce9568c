"""Runs a cluster on one event loop, as `moorage up` does.

The API server starts first, then objects are brought in (`--from`, `--load`), then kubelets, scheduler and controllers
become tasks that talk to the API server without a wire. The kubeconfig is written last: a client that finds it can use
the cluster.
"""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from random import random

import msgspec

from moorage.client.events.event_sender import EventSender
from moorage.client.events.recorders import CountingRecorder, SeriesRecorder
from moorage.cluster.api_server import DEFAULT_MODE, ApiServer, ApiServerSettings, start_api_server
from moorage.cluster.default_class import ensure_default_class
from moorage.cluster.event_loop import first_failure
from moorage.cluster.isolation.evaluations import IsolatedEvaluations, add_evaluation_metrics
from moorage.cluster.kubeconfig_place import KubeconfigPlace
from moorage.cluster.settling import settled
from moorage.cluster.transfer.importing import import_objects, refuse_if_filled
from moorage.cluster.transfer.manifests import load_manifests
from moorage.cluster.transfer.other_cluster import read_other_cluster
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import ControllerContext, chosen
from moorage.model.gate_skew import Skew, known_values, skews
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS
from moorage.run.devices.spec import DeviceSet
from moorage.run.kubelets import Kubelets
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.access.bootstrap.components import CONTROLLER_MANAGER, CONTROLLERS, KUBELETS, SCHEDULER
from moorage.serve.loopback import LoopbackClient
from moorage.serve.resources.objects import prefix_of
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import add_feature_metrics
from moorage.telemetry.watchdog import Watchdog

_LOG = get_logger("up")
_PUBLISHING_SECONDS = 30.0
_PROTECTION = {"persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}
_NODE = KINDS["v1", "Node"]
_GARBAGE_COLLECTOR, _NODE_LIFECYCLE = "garbage-collector-controller", "node-lifecycle-controller"


class Settings(msgspec.Struct, frozen=True):
    """What the command line says. Without a `data_dir` nothing is kept.

    Without a number of nodes a few are made, unless there are some. A port that is only preferred may be another one if
    it is taken. `wait_seconds` is how long to wait until all is settled, see `settling`; `source` is the other cluster
    whose state is brought in; `directory` is the cluster's own if there is no `data_dir`; `description` goes into
    snapshots.
    """

    gates: dict[Component, GateSet]
    configuration: Configuration
    nodes: int | None
    simulates: bool
    data_dir: Path | None
    bind_address: str
    port: int
    kubeconfig: Path | None
    manifests: tuple[str, ...]
    controllers: tuple[str, ...] = ("*",)
    simulates_storage: bool = True
    devices: tuple[DeviceSet, ...] = ()
    context: str = "moorage"
    force: bool = False
    prefers_port: bool = False
    wait_seconds: float = 0.0
    source: str = ""
    skips_unserved: bool = False
    directory: Path | None = None
    description: bytes = b"{}"
    authorization_mode: str = DEFAULT_MODE
    policy_file: Path | None = None


#: The nodes of a cluster that has none and is told nothing of them.
DEFAULT_NODES = 3


class ControlPlane:
    """Start it, stop it; `failure` tells when a part of it has died."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._kubeconfig = KubeconfigPlace(
            settings.kubeconfig, settings.directory or settings.data_dir, settings.context, force=settings.force
        )
        self._is_ready = False
        self.notes: list[str] = []
        self._server: ApiServer | None = None
        self._kubelets: Kubelets | None = None
        self._evaluations = IsolatedEvaluations()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return self._server.url if self._server is not None else ""

    @property
    def watchdog(self) -> Watchdog:
        assert self._server is not None, "started"
        return self._server.watchdog

    @property
    def kubeconfig_path(self) -> Path:
        return self._kubeconfig.path

    @property
    def node_count(self) -> int:
        return self._kubelets.node_count if self._kubelets is not None else 0

    @property
    def skews(self) -> list[Skew]:
        """The gates that are on in some of its components only, where that does harm."""
        return skews(known_values(self.settings.gates))

    async def start(self) -> None:
        """Raises CannotStart."""
        settings = self.settings
        gates = settings.gates
        await self._kubeconfig.check()
        controllers = {row.name for row in chosen(settings.controllers, simulated=settings.simulates)}
        self._server = server = await start_api_server(
            ApiServerSettings(
                gates[Component.API_SERVER],
                settings.data_dir,
                settings.bind_address,
                settings.port,
                collects_garbage=_GARBAGE_COLLECTOR in controllers,
                taints_new_nodes=_NODE_LIFECYCLE in controllers,
                protects_storage=controllers >= _PROTECTION,
                prefers_port=settings.prefers_port,
                authorization_mode=settings.authorization_mode,
                policy_file=settings.policy_file,
            )
        )
        server.snapshots.description = settings.description
        await self._kubeconfig.clear_before_start()
        add_feature_metrics(server.metrics, gates)
        for skew in self.skews:
            on, off = (",".join(components) for components in (skew.on, skew.off))
            _LOG.warning(
                "Half-enabled feature gate", gates=",".join(skew.gates), on=on, off=off, happens="; ".join(skew.happens)
            )
        add_evaluation_metrics(server.metrics, self._evaluations)
        await self._bring_in(server)
        if server.is_new and settings.simulates_storage and not settings.source:
            await ensure_default_class(LoopbackClient(server.api, "moorage-up"))
        if settings.simulates:
            await self._start_kubelets(server, gates[Component.KUBELET])
        self._start_scheduler(server, gates[Component.SCHEDULER])
        self._start_controllers(server, gates[Component.CONTROLLER_MANAGER])
        if settings.wait_seconds and (note := await settled(LoopbackClient(server.api), settings.wait_seconds)):
            self.notes.append(note)
        await self._kubeconfig.write(server.login())
        if before := self._kubeconfig.replaced_context:
            self.notes.append(
                f"the current context of {self.kubeconfig_path} is now {settings.context}; it was {before}"
            )
        self._is_ready = True
        _LOG.debug(1, "Ready", url=server.url, kubeconfig=str(self.kubeconfig_path))

    async def _bring_in(self, server: ApiServer) -> None:
        """Raises CannotStart."""
        settings = self.settings
        if settings.source:
            await refuse_if_filled(server.api)
            self.notes += await import_objects(server.api, await read_other_cluster(settings.source))
        if settings.manifests:
            client = LoopbackClient(server.api, "moorage-load")
            skips = settings.skips_unserved
            self.notes += await load_manifests(client, settings.manifests, skips_unserved=skips)

    async def _start_kubelets(self, server: ApiServer, gates: GateSet) -> None:
        client = LoopbackClient(server.api, "kubelet", KUBELETS)
        sender = EventSender(client)
        recorder = CountingRecorder(sender, "kubelet")
        devices, metrics = self.settings.devices, server.metrics
        self._kubelets = kubelets = Kubelets(
            client,
            recorder,
            gates,
            metrics=metrics,
            takes_all=True,
            devices=devices,
            evaluations=self._evaluations,
        )
        await kubelets.register(await self._nodes_to_make(server))
        self._run(sender.run())
        self._run(kubelets.run())
        await kubelets.synced()
        await kubelets.devices_published(_PUBLISHING_SECONDS)

    async def _nodes_to_make(self, server: ApiServer) -> int:
        if self.settings.nodes is not None:
            return self.settings.nodes
        return 0 if await server.api.store.count(prefix_of(_NODE)) else DEFAULT_NODES

    def _start_scheduler(self, server: ApiServer, gates: GateSet) -> None:
        client = LoopbackClient(server.api, "kube-scheduler", SCHEDULER)
        sender = EventSender(client)
        recorder = SeriesRecorder(sender)
        configuration, evaluations = self.settings.configuration, self._evaluations
        scheduler = LiveScheduler(client, recorder, gates, configuration, server.metrics, evaluations=evaluations)
        for part in (sender.run(), recorder.run(), scheduler.run()):
            self._run(part)

    def _start_controllers(self, server: ApiServer, gates: GateSet) -> None:
        rows = chosen(self.settings.controllers, simulated=self.settings.simulates)
        if not rows:
            return
        client = LoopbackClient(server.api, "controller-manager", CONTROLLER_MANAGER)
        sender = EventSender(client)
        context = ControllerContext(
            gates,
            server.metrics,
            random,
            self.settings.simulates_storage,
            self._evaluations,
            server.authority,
            server.sign_certificate,
            server.api.tokens.issue_for_secret,
        )
        controllers = [row.make(context) for row in rows]
        recorder = CountingRecorder(sender, "controller-manager")
        self._run(sender.run())
        clients = {name: LoopbackClient(server.api, "controller-manager", user) for name, user in CONTROLLERS.items()}
        self._run(ControllerManager(client, recorder, controllers, server.metrics, clients=clients).run())

    def _run(self, part: Coroutine[None, None, None]) -> None:
        self._tasks.add(asyncio.create_task(part))

    async def failure(self) -> BaseException:
        return await first_failure(self._tasks)

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._evaluations.close()
        if self._server is not None:
            await self._server.stop()
        if not self._is_ready:
            await self._kubeconfig.withdraw()
        self._kubeconfig.clear()
