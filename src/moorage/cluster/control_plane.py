"""Run a cluster on one event loop, as `moorage up` does.

The API server starts first, then objects are brought in (`--from`, `--load`), then kubelets, scheduler and controllers
become tasks that talk to the API server without a wire. On a shared store each of them works only while it holds its
Lease. The kubeconfig is written last: a client that finds it can use the cluster.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import random
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from moorage.client.event_recorders import CountingRecorder, SeriesRecorder
from moorage.client.event_sender import EventSender
from moorage.client.leader_election import ElectionTimes, LeaderElector, LeadershipLost, new_identity
from moorage.client.lease_fence import LeaseFence
from moorage.client.protocol import Client
from moorage.cluster.admission_plugins import PROTECTS_STORAGE, TAINTS_NODES
from moorage.cluster.api_server import DEFAULT_MODE, ApiServer, ApiServerSettings, start_api_server
from moorage.cluster.automatic_snapshots import SnapshotPlan
from moorage.cluster.event_loop import first_failure
from moorage.cluster.ha.layout import HaSettings
from moorage.cluster.isolated_evaluations import IsolatedEvaluations, add_evaluation_metrics
from moorage.cluster.kubeconfig_files import KubeconfigPlace
from moorage.cluster.node_autoscaler import NODE_AUTOSCALER, ensure_rights, make_autoscaler
from moorage.cluster.policy_checks import check_policy
from moorage.cluster.settling import settled
from moorage.cluster.transfer.importing import import_objects, refuse_if_filled
from moorage.cluster.transfer.manifests import load_manifests
from moorage.cluster.transfer.other_cluster import read_other_cluster
from moorage.control.framework.runner import ControllerManager
from moorage.control.framework.workloads import is_ready
from moorage.control.registry import ControllerContext, chosen
from moorage.control.volumes.provisioning import SIMULATED
from moorage.model.gate_skew import Skew, known_values, skews
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import DEFAULT_STORAGE_CLASS
from moorage.run.devices.spec import DeviceSet
from moorage.run.kubelets import Kubelets
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, CONTROLLERS, KUBELETS, SCHEDULER
from moorage.serve.pki.authentication import User
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.resources.objects import prefix_of
from moorage.store.etcd.settings import EtcdSettings
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics, add_feature_metrics
from moorage.telemetry.watchdog import Watchdog

if TYPE_CHECKING:
    from moorage.plan.autoscaling.attached import Autoscaling

_LOG = get_logger("up")
_PUBLISHING_SECONDS = 30.0
_LEASE_NAMESPACE = "kube-system"
DEFAULT_CLASS = "standard"

Parts = Iterable[Coroutine[Any, Any, None]]
#: Makes the parts of a component, with the metrics and, if it is elected, the fence of its writes.
MakeParts = Callable[[Metrics, LeaseFence | None], Coroutine[Any, Any, Parts]]
_LOOK_EVERY = 0.1
_PROTECTION = {
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "volumeattributesclass-protection-controller",
}
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
    #: The etcd that has the objects, which other clusters' processes may share; or how many processes there are to be.
    etcd: EtcdSettings | None = None
    cert_dir: Path | None = None
    ha: HaSettings | None = None
    election: ElectionTimes = ElectionTimes()
    snapshot_plan: SnapshotPlan | None = None
    #: Those of `admission_plugins` that run whatever the controllers are.
    plugins: frozenset[str] = frozenset()
    #: Where the webhooks of Services are: NAMESPACE/NAME=https://HOST[:PORT].
    webhook_services: tuple[str, ...] = ()
    #: The file that audit events are written to, `-` for standard output.
    audit_log_path: str = ""
    #: The node autoscaler, with its pools and options.
    autoscaling: "Autoscaling | None" = None


class AdmissionNeeds(NamedTuple):
    """What admission may begin because a controller ends it, see `Api`; `plugins` has those of the settings too."""

    collects_garbage: bool
    plugins: frozenset[str]


def admission_needs(settings: Settings) -> AdmissionNeeds:
    controllers = {row.name for row in chosen(settings.controllers, simulated=settings.simulates)}
    plugins = set(settings.plugins)
    if _NODE_LIFECYCLE in controllers:
        plugins.add(TAINTS_NODES)
    if controllers >= _PROTECTION:
        plugins.add(PROTECTS_STORAGE)
    return AdmissionNeeds(_GARBAGE_COLLECTOR in controllers, frozenset(plugins))


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
        self._node_count = 0
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
        if self._kubelets is not None:
            return self._kubelets.node_count
        return self._node_count

    @property
    def logs(self) -> Path | None:
        """Where processes of its own write their logs: it has none."""
        return None

    @property
    def processes(self) -> tuple[()]:
        return ()

    @property
    def skews(self) -> list[Skew]:
        """The gates that are on in some of its components only, where that does harm."""
        return skews(known_values(self.settings.gates))

    async def start(self) -> None:
        """Raises CannotStart."""
        settings = self.settings
        gates = settings.gates
        await self._kubeconfig.check()
        needs = admission_needs(settings)
        self._server = server = await start_api_server(
            ApiServerSettings(
                gates[Component.API_SERVER],
                settings.data_dir,
                settings.bind_address,
                settings.port,
                collects_garbage=needs.collects_garbage,
                plugins=needs.plugins,
                prefers_port=settings.prefers_port,
                authorization_mode=settings.authorization_mode,
                policy_file=settings.policy_file,
                etcd=settings.etcd,
                cert_dir=settings.cert_dir,
                snapshot_plan=settings.snapshot_plan,
                webhook_services=settings.webhook_services,
                audit_log_path=settings.audit_log_path,
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
        await self._start_components(server)
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

    async def _start_components(self, server: ApiServer) -> None:
        """Start kubelets, scheduler and controllers; on a shared store each where it is elected."""
        settings, gates = self.settings, self.settings.gates
        nodes = await self._nodes_to_make(server)
        components: dict[str, tuple[User, MakeParts]] = {}
        if settings.simulates:
            components["moorage-kubelet"] = KUBELETS, partial(self._kubelet_parts, server, gates[Component.KUBELET])
        components["kube-scheduler"] = SCHEDULER, partial(self._scheduler_parts, server, gates[Component.SCHEDULER])
        if chosen(settings.controllers, simulated=settings.simulates) or settings.autoscaling is not None:
            controllers = partial(self._controller_parts, server, gates[Component.CONTROLLER_MANAGER])
            components["kube-controller-manager"] = CONTROLLER_MANAGER, controllers
        for lease, (user, make) in components.items():
            if server.api.store.is_shared:
                client = LoopbackClient(server.api, lease, user)
                self._run(run_elected(client, lease, settings.election, server.metrics, make))
            else:
                for part in await make(server.metrics, None):
                    self._run(part)
            if self._kubelets is not None and user is KUBELETS:
                await self._kubelets.synced()
                await self._kubelets.devices_published(_PUBLISHING_SECONDS)
        if server.api.store.is_shared and settings.simulates:
            await self._nodes_are_ready(LoopbackClient(server.api, "moorage-up"), nodes)

    async def _kubelet_parts(
        self, server: ApiServer, gates: GateSet, metrics: Metrics, fence: LeaseFence | None
    ) -> Parts:
        client = LoopbackClient(server.api, "kubelet", KUBELETS, fence)
        sender = EventSender(client)
        recorder = CountingRecorder(sender, "kubelet")
        self._kubelets = kubelets = Kubelets(
            client,
            recorder,
            gates,
            metrics=metrics,
            takes_all=True,
            devices=self.settings.devices,
            evaluations=self._evaluations,
        )
        await kubelets.register(await self._nodes_to_make(server))
        return sender.run(), kubelets.run()

    async def _nodes_to_make(self, server: ApiServer) -> int:
        if self.settings.nodes is not None:
            return self.settings.nodes
        return 0 if await server.api.store.count(prefix_of(KINDS.NODE)) else DEFAULT_NODES

    async def _nodes_are_ready(self, client: LoopbackClient, count: int) -> None:
        """Wait for this many nodes and all others, which another process may run, for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PUBLISHING_SECONDS):
                while True:
                    nodes = (await client.list_all(KINDS.NODE)).items
                    self._node_count = len(nodes)
                    if len(nodes) >= count and all(is_ready(node.view) for node in nodes):
                        return
                    await asyncio.sleep(_LOOK_EVERY)

    async def _scheduler_parts(
        self, server: ApiServer, gates: GateSet, metrics: Metrics, fence: LeaseFence | None
    ) -> Parts:
        client = LoopbackClient(server.api, "kube-scheduler", SCHEDULER, fence)
        sender = EventSender(client)
        recorder = SeriesRecorder(sender)
        configuration, evaluations = self.settings.configuration, self._evaluations
        scheduler = LiveScheduler(client, recorder, gates, configuration, metrics, evaluations=evaluations)
        return sender.run(), recorder.run(), scheduler.run()

    async def _controller_parts(
        self, server: ApiServer, gates: GateSet, metrics: Metrics, fence: LeaseFence | None
    ) -> Parts:
        rows = chosen(self.settings.controllers, simulated=self.settings.simulates)
        client = LoopbackClient(server.api, "controller-manager", CONTROLLER_MANAGER, fence)
        sender = EventSender(client)
        context = ControllerContext(
            gates,
            metrics,
            random,
            self.settings.simulates_storage,
            self._evaluations,
            server.authority,
            server.sign_certificate,
            server.api.tokens.issue_for_secret,
            check_policy,
        )
        controllers = [row.make(context) for row in rows]
        recorder = CountingRecorder(sender, "controller-manager")
        clients = {
            name: LoopbackClient(server.api, "controller-manager", user, fence) for name, user in CONTROLLERS.items()
        }
        autoscaling = self.settings.autoscaling
        if autoscaling is not None:
            await ensure_rights(LoopbackClient(server.api, "moorage-up"))
            scaler = make_autoscaler(autoscaling, context, self.settings.gates, self.settings.configuration)
            controllers.append(scaler)
            clients[scaler.name] = LoopbackClient(server.api, scaler.name, NODE_AUTOSCALER, fence)
        manager = ControllerManager(client, recorder, controllers, metrics, clients=clients)
        return sender.run(), manager.run()

    def _run(self, part: Coroutine[Any, Any, None]) -> None:
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


async def run_elected(
    client: Client,
    lease: str,
    times: ElectionTimes,
    metrics: Metrics,
    make: MakeParts,
) -> None:
    """Wait for the Lease, run what `make` returns while it is held, and again, until cancelled.

    Everything is made again each time, with metrics of its own that `metrics` shows meanwhile.
    """
    while True:
        own = Metrics()
        elector = LeaderElector(client, _LEASE_NAMESPACE, lease, new_identity(), times=times)

        async def lead(own: Metrics = own, fence: LeaseFence = elector.fence) -> None:
            metrics.include(own)
            try:
                async with asyncio.TaskGroup() as group:
                    for part in await make(own, fence):
                        group.create_task(part)
            finally:
                metrics.exclude(own)

        try:
            await elector.run(lead)
        except LeadershipLost as error:
            _LOG.warning("Another process may take over", lease=lease, err=str(error))


async def ensure_default_class(client: Client) -> None:
    """Create the default StorageClass in a cluster that has no StorageClass."""
    if (await client.list_all(KINDS.STORAGE_CLASS)).items:
        return
    annotations = {DEFAULT_STORAGE_CLASS: "true"}
    await client.create(
        KINDS.STORAGE_CLASS,
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": DEFAULT_CLASS, "annotations": annotations},
            "provisioner": SIMULATED,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        },
    )
