"""Carries out a workload's operations over HTTPS, one after the other, and measures what is to be measured.

In: a `Workload`, a server that runs. Out: `Figures` of each measured window. Requests are made before a window opens.
Kubernetes: executor.go. Differs: a status is updated only where the template has one; pods that find no node while
nothing else happens are reported, and the run goes on.
"""

from __future__ import annotations

import asyncio
import fnmatch
import gc
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from bench.e2e.background import Background
from bench.e2e.documents import bound_volume, by_priority_class, node_documents, pod_document, wire_document
from bench.e2e.figures import Created, Figures, Window
from bench.e2e.pod_watch import PodWatch, Stage
from bench.e2e.requests import Raw, Requests
from bench.e2e.updates import update_all
from bench.perf.device_objects import driver_slices
from bench.perf.objects import Names
from bench.perf.operations import (
    Barrier,
    Churn,
    CreateAny,
    CreateNamespaces,
    CreateNodes,
    CreatePods,
    CreatePodSets,
    CreateResourceClaims,
    CreateResourceDriver,
    DeletePods,
    Operation,
    Sleep,
    StartCollectingMetrics,
    StopCollectingMetrics,
    UpdateAny,
    seconds,
)
from bench.perf.problems import ConfigError
from bench.perf.templates import Template
from moorage.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.e2e.sender import Sender
    from bench.e2e.server import Server
    from bench.perf.config import Workload

_ALREADY_EXISTS = 409


class _CreatedMetadata(msgspec.Struct, frozen=True, gc=False):
    uid: str


class _CreatedObject(msgspec.Struct, frozen=True, gc=False):
    metadata: _CreatedMetadata


_CREATED = msgspec.json.Decoder(_CreatedObject)


class Executor:
    """One run of one workload. `say` is told what is done; `patience` is how long nothing may happen, in seconds."""

    def __init__(
        self,
        workload: Workload,
        server: Server,
        requests: Requests,
        sender: Sender,
        *,
        patience: float,
        say: Callable[[str], None],
    ) -> None:
        self.workload = workload
        self.watch = PodWatch(requests, sender)
        self.created: dict[str, Created] = {}
        self.figures: list[Figures] = []
        self._server, self._requests, self._sender = server, requests, sender
        self._patience, self._say = patience, say
        self._background = Background(requests, sender, self._ensure_classes)
        self._names = Names()
        self._templates: dict[str, Template] = {}
        self._namespaces: set[str] = set()
        self._classes: set[str] = set()
        self._window: Window | None = None
        self._nodes: list[str] = []

    async def run(self) -> list[Figures]:
        """All operations. Raises RunFailed, ConfigError."""
        await self.watch.begin()
        watching = asyncio.create_task(self.watch.run())
        try:
            for index, operation in enumerate(self.workload.operations):
                began = perf_counter()
                await self._run(operation, index)
                opcode, count = type(operation).__struct_config__.tag, getattr(operation, "count", None)
                self._say(f"{opcode}{f' {count:,}' if count is not None else ''}: {perf_counter() - began:.1f} s")
        finally:
            await self._background.stop()
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            gc.unfreeze()
            gc.enable()
        return self.figures

    async def _run(self, operation: Operation, index: int) -> None:
        own_namespace = f"namespace-{index}"
        match operation:
            case CreateNodes():
                await self._create_nodes(operation, f"node-{index}-")
            case CreateNamespaces():
                await self._create_namespaces(operation)
            case CreatePods():
                await self._create_pods(operation, operation.namespace or own_namespace)
            case CreatePodSets():
                for number in range(operation.count):
                    await self._create_pods(operation.createPodsOp, f"{operation.namespacePrefix}-{number}")
            case DeletePods():
                await self._delete_pods(operation)
            case Churn():
                await self._ensure_namespace(operation.namespace or own_namespace)
                templates = [self._template(path) for path in operation.templatePaths]
                self._background.churn(operation, templates, operation.namespace or own_namespace)
            case Barrier():
                await self._barrier(operation)
            case Sleep():
                await asyncio.sleep(seconds(operation.duration))
            case CreateAny() | CreateResourceClaims():
                await self._create_any(operation)
            case CreateResourceDriver():
                nodes = fnmatch.filter(self._nodes, operation.nodes)
                await self._create_all([*driver_slices(operation.driverName, nodes, operation.maxClaimsPerNode)])
            case UpdateAny():
                await update_all(operation, self._template(operation.templatePath), self._requests, self._sender)
            case StartCollectingMetrics():
                self._start(operation.namespaces, operation)
            case StopCollectingMetrics():
                self._stop(0)

    # -- nodes, namespaces, anything ----------------------------------------------------------------------------------

    async def _create_nodes(self, operation: CreateNodes, prefix: str) -> None:
        template = self._template(operation.nodeTemplatePath) if operation.nodeTemplatePath else None
        made = list(node_documents(operation, template, prefix, self._names))
        await self._create_all([csi_node for _, csi_node in made if csi_node is not None])
        await self._create_all([node for node, _ in made])
        self._nodes += [node["metadata"]["name"] for node, _ in made]

    async def _create_namespaces(self, operation: CreateNamespaces) -> None:
        path = operation.namespaceTemplatePath
        labels = (self._template(path).document().get("metadata") or {}).get("labels") or {} if path else {}
        for number in range(operation.count):
            await self._ensure_namespace(f"{operation.prefix}-{number}", labels)

    async def _create_any(self, operation: CreateAny | CreateResourceClaims) -> None:
        if operation.namespace:
            await self._ensure_namespace(operation.namespace)
        template = self._template(operation.templatePath)
        made = [wire_document(template.document(i, operation.count)) for i in range(operation.count)]
        await self._create_all([await self._ensure_classes(document) for document in made], operation.namespace)

    async def _create_all(self, documents: list[Raw], namespace: str = "") -> None:
        requests = [self._requests.create(document, namespace) for document in documents]
        await self._sender.all(requests, lambda body, sent, answered: None)

    async def _ensure_namespace(self, name: str, labels: dict[str, str] | None = None) -> None:
        if name not in self._namespaces:
            self._namespaces.add(name)
            metadata = {"name": name, "labels": labels or {}}
            document = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            await self._sender.one(self._requests.create(document), _ALREADY_EXISTS)

    async def _ensure_classes(self, document: Raw) -> Raw:
        """The document as the server takes it, once the PriorityClass that it needs is there."""
        if document["kind"] != "Pod":
            return document
        pod, priority_class = by_priority_class(document)
        if priority_class is not None and (name := priority_class["metadata"]["name"]) not in self._classes:
            self._classes.add(name)
            await self._sender.one(self._requests.create(priority_class), _ALREADY_EXISTS)
        return pod

    # -- pods ---------------------------------------------------------------------------------------------------------

    async def _create_pods(self, operation: CreatePods, namespace: str) -> None:
        await self._ensure_namespace(namespace)
        requests = await self._pod_requests(operation, namespace)
        if operation.collectMetrics:
            self._start((namespace,))
        if operation.steadyState:
            left = await self._create_pods_steadily(operation, namespace, requests)
        else:
            uids = await self._create_and_note(requests)
            left = 0 if operation.skipWaitToCompletion else await self._until(uids, Stage.BOUND)
        if operation.collectMetrics:
            self._stop(left)
        elif left:
            self._say(_left(left))

    async def _create_pods_steadily(self, operation: CreatePods, namespace: str, requests: list[bytes]) -> int:
        """A batch of pods; when all have a node they go, and the next batch comes."""
        end = perf_counter() + seconds(operation.duration)
        left = 0
        while not left and perf_counter() < end:
            left = await self._until(await self._create_and_note(requests), Stage.BOUND)
            await self._sender.one(self._requests.delete_pods(namespace, {}, at_once=True))
        return left

    async def _pod_requests(self, operation: CreatePods, namespace: str) -> list[bytes]:
        """A request for each pod; the volumes of the pods are made at once."""
        path = operation.podTemplatePath or self.workload.default_pod_template
        template = self._template(path) if path else None
        count, claims = operation.count, operation.persistentVolumeClaimTemplatePath
        if claims:
            await self._create_volumes(operation, namespace)
        if not claims and (template is None or template.is_static):
            if not count:
                return []
            pod = await self._ensure_classes(pod_document(template, 0, count))
            if not pod["metadata"].get("name"):
                return [self._requests.create(pod, namespace)] * count
        requests = []
        for index in range(count):
            pod = await self._ensure_classes(pod_document(template, index, count, f"pvc-{index}" if claims else ""))
            requests.append(self._requests.create(pod, namespace))
        return requests

    async def _create_volumes(self, operation: CreatePods, namespace: str) -> None:
        volume = self._template(operation.persistentVolumeTemplatePath)
        claim = self._template(operation.persistentVolumeClaimTemplatePath)
        made = [bound_volume(volume, claim, namespace, index) for index in range(operation.count)]
        requests = self._requests
        for batch in (
            [requests.create(one.claim, namespace) for one in made],
            [requests.update(one.claim, namespace, "status") for one in made],
            [requests.create(one.volume) for one in made],
            [requests.update(one.volume, "", "status") for one in made],
        ):
            await self._sender.all(batch, lambda body, sent, answered: None)

    async def _create_and_note(self, requests: list[bytes]) -> list[str]:
        created, decode, uids = self.created, _CREATED.decode, list[str]()

        def answered(body: bytes, sent: float, now: float) -> None:
            uid = decode(body).metadata.uid
            created[uid] = Created(sent, now)
            uids.append(uid)

        await self._sender.all(requests, answered)
        return uids

    async def _until(self, uids: list[str], stage: Stage) -> int:
        left = await self.watch.until(uids, stage, self._patience)
        self._server.check()
        self._background.check()
        return left

    async def _barrier(self, operation: Barrier) -> None:
        await self._until(list(self.created), Stage.ADDED)
        stage = Stage.ATTEMPTED if operation.stageRequirement == "Attempted" else Stage.BOUND
        wanted = [uid for uid, _ in self.watch.matching(operation.namespaces, operation.labelSelector)]
        left = await self._until([uid for uid in wanted if uid in self.created], stage)
        if left:
            self._say(_left(left))

    async def _delete_pods(self, operation: DeletePods) -> None:
        await self._until(list(self.created), Stage.ADDED)
        if not operation.deletePodsPerSecond:
            requests = [self._requests.delete_pods(operation.namespace, operation.labelSelector)]
        else:
            found = self.watch.matching((operation.namespace,), operation.labelSelector)
            names = [pod.name for _, pod in found if pod.stage < Stage.GONE]
            requests = [self._requests.delete(KINDS.POD, name, operation.namespace) for name in names]
        deleting = self._background.send_at(operation.deletePodsPerSecond, requests)
        if not operation.skipWaitToCompletion:
            await deleting

    # -- measuring ----------------------------------------------------------------------------------------------------

    def _start(self, namespaces: tuple[str, ...], operation: StartCollectingMetrics | None = None) -> None:
        if self._window is not None:
            raise ConfigError("metrics collection is overlapping: a second one began before the first ended")
        gc.collect()
        gc.freeze()
        gc.disable()
        labels, name = (operation.labelSelector, operation.name) if operation is not None else ({}, "")
        self._window = Window(self._server, namespaces, labels, name)

    def _stop(self, left: int) -> None:
        window, self._window = self._window, None
        if window is None:
            raise ConfigError("stopCollectingMetrics without startCollectingMetrics")
        note = _left(left) if left else ""
        self.figures.append(window.close(self.workload.name, len(self._nodes), self.watch, self.created, note))
        gc.enable()
        gc.unfreeze()

    def _template(self, path: str) -> Template:
        if path not in self._templates:
            self._templates[path] = Template(self.workload.file.parent / path)
        return self._templates[path]


def _left(count: int) -> str:
    return f"{count:,} pods found no node"
