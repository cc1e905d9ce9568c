"""Runs a cluster on one event loop, as `moorage up` does.

The API server starts first, then manifests are loaded (`--load`), then kubelets, scheduler and controllers become tasks
that talk to the API server without a wire. The kubeconfig is written last: a client that finds it can use the cluster.
Of manifests, namespaces and classes come first; objects dumped from another cluster lose their UIDs, revisions and
field owners; a manifest that cannot be read or is refused ends the start.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from pathlib import Path
from random import random
from typing import Any

import msgspec

from moorage.client.events.event_sender import EventSender
from moorage.client.events.recorders import CountingRecorder, SeriesRecorder
from moorage.client.protocol import Client, PatchType, Raw
from moorage.cluster.api_server import ApiServer, ApiServerSettings, start_api_server
from moorage.cluster.event_loop import first_failure
from moorage.cluster.isolation.evaluations import IsolatedEvaluations, add_evaluation_metrics
from moorage.cluster.kubeconfig_place import CannotStart, KubeconfigPlace
from moorage.cluster.settling import settled
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import ControllerContext, chosen
from moorage.lint.sources import opened, reason_of, sources_of
from moorage.model.api_error import ApiError
from moorage.model.gate_skew import Skew, known_values, skews
from moorage.model.gates import Component, GateSet
from moorage.model.kinds import KINDS, kind_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.older_versions import convert_document
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.types.meta import OwnerReference
from moorage.run.devices.spec import DeviceSet
from moorage.run.kubelets import Kubelets
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.loopback import LoopbackClient
from moorage.serve.resources.objects import prefix_of
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import add_feature_metrics
from moorage.telemetry.watchdog import Watchdog

__all__ = ["CannotStart", "ControlPlane", "Settings"]

_LOG = get_logger("up")
_PUBLISHING_SECONDS = 30.0
_PROTECTION = {"persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}
_NODE, _SLICE = KINDS["v1", "Node"], KINDS["resource.k8s.io/v1", "ResourceSlice"]
_GARBAGE_COLLECTOR, _NODE_LIFECYCLE = "garbage-collector-controller", "node-lifecycle-controller"


class Settings(msgspec.Struct, frozen=True):
    """What the command line says. Without a `data_dir` nothing is kept.

    Without a number of nodes a few are made, unless there are some. A port that is only preferred may be another one if
    it is taken. `wait_seconds` is how long to wait until all is settled, see `settling`.
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


#: The nodes of a cluster that has none and is told nothing of them.
DEFAULT_NODES = 3


class ControlPlane:
    """Start it, stop it; `failure` tells when a part of it has died."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._kubeconfig = KubeconfigPlace(
            settings.kubeconfig, settings.data_dir, settings.context, force=settings.force
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
                prefers_port=settings.prefers_port,
            )
        )
        await self._kubeconfig.clear_before_start()
        add_feature_metrics(server.metrics, gates)
        for skew in self.skews:
            on, off = (",".join(components) for components in (skew.on, skew.off))
            _LOG.warning(
                "Half-enabled feature gate", gates=",".join(skew.gates), on=on, off=off, happens="; ".join(skew.happens)
            )
        add_evaluation_metrics(server.metrics, self._evaluations)
        if settings.manifests:
            await load_manifests(LoopbackClient(server.api, "moorage-load"), settings.manifests)
        if settings.simulates:
            await self._start_kubelets(server, gates[Component.KUBELET])
        self._start_scheduler(server, gates[Component.SCHEDULER])
        self._start_controllers(server, gates[Component.CONTROLLER_MANAGER])
        if settings.wait_seconds and (note := await settled(LoopbackClient(server.api), settings.wait_seconds)):
            self.notes.append(note)
        await self._kubeconfig.write(server.login())
        self._is_ready = True
        _LOG.debug(1, "Ready", url=server.url, kubeconfig=str(self.kubeconfig_path))

    async def _start_kubelets(self, server: ApiServer, gates: GateSet) -> None:
        client = LoopbackClient(server.api, "kubelet")
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
        client = LoopbackClient(server.api, "kube-scheduler")
        sender = EventSender(client)
        recorder = SeriesRecorder(sender)
        configuration, evaluations = self.settings.configuration, self._evaluations
        scheduler = LiveScheduler(client, recorder, gates, configuration, server.metrics, evaluations=evaluations)
        for part in (sender.run(), recorder.run(), scheduler.run()):
            self._run(part)

    def _start_controllers(self, server: ApiServer, gates: GateSet) -> None:
        rows = chosen(self.settings.controllers)
        if not rows:
            return
        client = LoopbackClient(server.api, "controller-manager")
        sender = EventSender(client)
        surroundings = ControllerContext(
            gates, server.metrics, random, self.settings.simulates_storage, self._evaluations
        )
        controllers = [row.make(surroundings) for row in rows]
        recorder = CountingRecorder(sender, "controller-manager")
        self._run(sender.run())
        self._run(ControllerManager(client, recorder, controllers, server.metrics).run())

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


#: Kinds that others refer to come first; the rest in the order of the files.
_FIRST = tuple(kind.name for kind in KINDS.values() if kind.loads_first)
#: What only the cluster that an object comes from could say of it.
_FOREIGN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")


async def load_manifests(client: Client, paths: Iterable[str]) -> int:
    """Apply all objects and return how many there were. Raises CannotStart."""
    documents = sorted(_read(paths), key=_place)
    for document in documents:
        await _apply(client, document)
    return len(documents)


def _read(paths: Iterable[str]) -> list[Document]:
    documents: list[Document] = []
    paths = tuple(paths)
    for source in sources_of(paths):
        if source.problem:
            raise CannotStart(f"--load: {source.name}: {source.problem}")
        try:
            with opened(source) as stream:
                for found in read_documents(stream, source.name):
                    if isinstance(found, DecodeError):
                        raise CannotStart(f"--load: {found}")
                    documents.append(found)
        except OSError as error:
            raise CannotStart(f"--load: {source.name}: {reason_of(error)}") from None
    if not documents:
        raise CannotStart(f"--load: {', '.join(paths)}: no objects passed to apply")
    return documents


def _place(document: Document) -> int:
    name = document.raw.get("kind")
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


async def _owning_nodes(client: Client, owners: Iterable[OwnerReference]) -> list[Raw]:
    """Return references to the nodes of those names, so that the garbage collector keeps a dumped ResourceSlice."""
    found = []
    for owner in owners:
        if owner.kind == _NODE.name:
            with suppress(ApiError):
                node = await client.get(_NODE, owner.name)
                reference = {"apiVersion": _NODE.api_version, "kind": _NODE.name, "name": node.name, "uid": node.uid}
                found.append({**reference, "controller": True})
    return found


async def _apply(client: Client, document: Document) -> None:
    convert_document(document)
    raw: Raw = document.raw
    kind = kind_of(raw)
    where = f"--load: {document.source}:{document.line}"
    if kind is None:
        raise CannotStart(f"{where}: {raw.get('apiVersion')} {raw.get('kind')} is a kind that Moorage does not serve")
    metadata: Raw = raw.get("metadata") or {}
    try:
        known: Any = convert_view({"metadata": metadata}, kind.view)
    except ConversionError as error:
        path, reason = error.problems[0]
        raise CannotStart(f"--load: {document.source}:{document.location(path).line}: {reason}") from None
    metadata = {name: value for name, value in metadata.items() if name not in _FOREIGN}
    if kind is _SLICE and known.metadata.ownerReferences:
        metadata["ownerReferences"] = await _owning_nodes(client, known.metadata.ownerReferences)
    name, namespace = known.metadata.name, known.metadata.namespace or "default"
    patch = {**raw, "metadata": metadata}
    try:
        if name:
            place = namespace if kind.namespaced else ""
            await client.patch(kind, name, place, patch, patch_type=PatchType.APPLY)
        else:
            await client.create(kind, patch, namespace if kind.namespaced else "")
    except ApiError as error:
        raise CannotStart(f"{where}: {error.message}") from None
