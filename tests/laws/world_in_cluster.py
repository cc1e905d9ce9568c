"""Let a world happen in a cluster in memory: API server, all controllers, scheduler and kubelets, in virtual time."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from tests.laws.random_worlds import World, priority_class, reports_unready
from tests.laws.random_worlds import namespace as new_namespace
from tests.laws.world_picture import (
    COMPARED,
    ENDLESS,
    EVICTED,
    REASON_OF_REFUSED,
    REFUSED,
    Line,
    Picture,
    PodHistory,
    deployment_for,
    objects_of,
    row_of,
    shortened,
    subject_of,
)
from tests.unit.plan.planning import Raw
from tests.virtual_cluster import VirtualCluster
from tests.virtual_time import BASE, NEVER_ENDS, run_virtual

from moorage.client.protocol import Object, PatchType
from moorage.cluster.transfer.importing import import_objects
from moorage.cluster.transfer.other_cluster import Foreign, OtherCluster
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.registry import chosen
from moorage.model.api_error import ApiError
from moorage.model.gates import Component
from moorage.model.kinds import KINDS, Kind, kind_of
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.run.kubelets import Kubelets
from moorage.run.node_objects import LEASE_NAMESPACE, new_lease
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Change, Stored
from moorage.telemetry.metrics import Metrics

#: How often a component is let work for it to have done what it can do without waiting.
_TURNS = 300
_HEARTBEAT_SECONDS = 10.0
_ROWS = chosen(("*", "-serviceaccount-controller"))
_WORKLOADS = ("DaemonSet", "StatefulSet", "Job", "Deployment")
_NO_NAMESPACE = re.compile(r'namespaces "(\S+)" not found')
_NO_PRIORITY_CLASS = re.compile(r"no PriorityClass with name (\S+) was found")
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def picture_of_cluster(world: World, seconds: float, slice_seconds: float = NEVER_ENDS) -> Picture:
    """Apply the world to a cluster and describe it after some seconds; for the slices see `run_virtual`."""

    async def happen() -> Picture:
        cluster = _Cluster(world)
        found = await cluster.objects(seconds, (*COMPARED, "Pod"))
        if cluster.history.is_endless:
            return ENDLESS
        rows = Counter(row_of(one.view) for one in found.pop("Pod"))
        refusals = Counter(map(shortened, cluster.refusals.values()))
        lines = cluster.history.lines()
        for subject, message in cluster.refusals.items():
            if subject.startswith("Pod "):
                lines[Line(subject, REFUSED, "", None, REASON_OF_REFUSED, shortened(message))] += 1
        failed = {deployment_for(workload): text for workload, text in cluster.refused_creates}
        return Picture(refusals, failed, objects_of(found), rows, lines, cluster.absent)

    return run_virtual(happen(), slice_seconds)


#: How long a cluster is let be before a story begins.
REST_SECONDS = 60.0
#: Which node gets which taints, one after the other, and how many seconds pass then.
Story = Sequence[tuple[str, list[Raw], float]]


class ServerRefusals(NamedTuple):
    """What the API server refuses of a world: documents, and pods that controllers want to create."""

    documents: dict[str, str]
    pods: Counter[tuple[str, str]]
    absent: Counter[str]


def refusals_in_cluster(world: World) -> ServerRefusals:
    """Apply the world to a cluster and return what the API server refuses in its first second."""

    async def happen() -> ServerRefusals:
        cluster = _Cluster(world)
        await cluster.objects(1.0, ())
        return ServerRefusals(cluster.refusals, cluster.refused_creates, cluster.absent)

    return run_virtual(happen())


def failed_scheduling_in_cluster(world: World, seconds: float) -> dict[str, str]:
    """Apply the world to a cluster and return the last FailedScheduling note of each pod."""

    async def happen() -> dict[str, str]:
        cluster = _Cluster(world)
        await cluster.objects(seconds, ())
        return {pod: note for (pod, reason), note in cluster.recorder.notes.items() if reason == "FailedScheduling"}

    return run_virtual(happen())


def evictions_in_cluster(world: World, story: Story) -> Counter[Line] | None:
    """Apply the world, let the story happen, and return the pods that taints have evicted; None if without end."""

    async def happen() -> Counter[Line] | None:
        cluster = _Cluster(world, story)
        await cluster.objects(REST_SECONDS, ())
        if cluster.history.is_endless:
            return None
        lines = cluster.history.lines()
        return Counter({line: count for line, count in lines.items() if line.state == EVICTED})

    return run_virtual(happen())


#: Makes a controller that works beside those of the registry.
Beside = Callable[[ControllerContext], Controller]


def objects_in_cluster(world: World, seconds: float, kinds: Iterable[str], beside: Beside | None = None) -> Found:
    """Apply the world to a cluster and return its objects of these kinds after some seconds."""

    async def happen() -> Found:
        return await _Cluster(world, beside=beside).objects(seconds, kinds)

    return run_virtual(happen())


Found = dict[str, list[Object]]


class _Recorder:
    """A recorder that keeps the last note of the scheduler with each reason about a pod."""

    def __init__(self) -> None:
        self.notes: dict[tuple[str, str], str] = {}

    def report(self, *reported: Any, **fields: object) -> None:
        if "by" in fields:
            about, _, reason, _, note, *_ = reported
            self.notes[f"{about['namespace']}/{about['name']}", reason] = note

    def rewrite(self, *reported: object, **fields: object) -> None:
        """Forget it."""

    def named(self, component: str) -> _Recorder:
        return self


class _CompletingClient(LoopbackClient):
    """A client that creates the namespaces and PriorityClasses that are missing, as plans assume, and counts them."""

    def __init__(self, api: Api, component: str, absent: Counter[str]) -> None:
        super().__init__(api, component)
        self._absent = absent

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        while True:
            try:
                return await super().create(kind, document, namespace)
            except ApiError as error:
                if (match := _NO_NAMESPACE.fullmatch(error.message)) is not None:
                    await super().create(KINDS.NAMESPACE, new_namespace(match[1], {}))
                    self._absent[f"namespace {match[1]}"] += 1
                elif (match := _NO_PRIORITY_CLASS.search(error.message)) is not None:
                    await super().create(KINDS.PRIORITY_CLASS, priority_class(match[1], 0))
                    self._absent[f"PriorityClass {match[1]}"] += 1
                else:
                    raise


class _Cluster:
    """One world as it happens."""

    def __init__(self, world: World, story: Story = (), beside: Beside | None = None) -> None:
        self._world, self._story, self._beside = world, story, beside
        self._store = MemoryStore()
        #: What the API server says of the documents that it refuses, by kind, namespace and name.
        self.refusals: dict[str, str] = {}
        self.refused_creates: Counter[tuple[str, str]] = Counter()
        #: The namespaces and PriorityClasses that objects need and the world does not have.
        self.absent: Counter[str] = Counter()
        self.history = PodHistory()
        self.recorder = _Recorder()
        self._is_endless = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def _clock(self) -> float:
        """Return the time of day, also to the thread that evaluates what may take long."""
        return BASE + self._loop.time()

    async def objects(self, seconds: float, kinds: Iterable[str]) -> Found:
        """Let time pass, and return the objects of these kinds."""
        world = self._world
        api = Api(self._store, world.gates, clock=self._clock, collects_garbage=True, taints_new_nodes=True)
        await api.start()
        self._store.subscribe(prefix_of(KINDS.POD), self._pod_changed)
        await _begin(api)
        lines = await import_objects(api, OtherCluster([Foreign(one, "") for one in world.existing], Counter(), []))
        assert not lines, lines
        gates = world.gates_of(Component.CONTROLLER_MANAGER)
        context = ControllerContext(gates, Metrics(), lambda: 0.5, simulates_storage=True)
        cluster = VirtualCluster(
            api,
            self._store,
            lambda: [*(row.make(context) for row in _ROWS), *([self._beside(context)] if self._beside else ())],
            0,
            lambda client: _CompletingClient(api, "controller-manager", self.absent),
            self._clock,
        )
        await cluster.start()
        try:
            await self._happen(cluster, seconds)
            self.refused_creates = refused_creates(cluster)
            return {name: await cluster.all(kind) for (_, name), kind in KINDS.items() if name in kinds}
        finally:
            await cluster.stop()
            await self._store.close()

    async def _happen(self, cluster: VirtualCluster, seconds: float) -> None:
        """Let nodes report and be tainted before there are workloads, and pods be created before any is scheduled.

        So it is in a plan, and in a cluster whose nodes are there before somebody applies workloads.
        """
        world = self._world
        client, silent = LoopbackClient, self.recorder
        kubelet_gates, scheduler_gates = map(world.gates_of, (Component.KUBELET, Component.SCHEDULER))
        kubelets = Kubelets(client(cluster.api, "kubelet"), silent, kubelet_gates, takes_all=True, clock=self._clock)
        scheduler = LiveScheduler(client(cluster.api, "scheduler"), silent, scheduler_gates, clock=self._loop.time)
        await _let_work()
        await self._create(cluster, [one for one in world.created if one["kind"] not in _WORKLOADS])
        tasks = [asyncio.create_task(run) for run in (kubelets.run(), self._report_unready(cluster))]
        try:
            await _let_work()
            await self._create(cluster, [one for one in world.created if one["kind"] in _WORKLOADS])
            await _let_work()
            tasks.append(asyncio.create_task(scheduler.run()))
            await self._pass(cluster, seconds - self._loop.time())
            for node, taints, wait in self._story:
                await cluster.client.patch(
                    KINDS.NODE, node, "", {"spec": {"taints": taints}}, patch_type=PatchType.MERGE
                )
                await self._pass(cluster, wait)
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _report_unready(self, cluster: VirtualCluster) -> None:
        """Renew the Leases of nodes whose kubelets are alive and say that their nodes are not ready."""
        names = [document["metadata"]["name"] for document in self._world.existing if reports_unready(document)]
        while True:
            for name in names:
                node = await cluster.client.get(KINDS.NODE, name)
                with suppress(ApiError):
                    await cluster.client.delete(KINDS.LEASE, name, LEASE_NAMESPACE)
                await cluster.client.create(KINDS.LEASE, new_lease(node.view, self._clock()), LEASE_NAMESPACE)
            await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def _pass(self, cluster: VirtualCluster, seconds: float) -> None:
        """Let time pass, unless pods are replaced without end: that may take no time at all."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_endless.wait()
        cluster.check()

    async def _create(self, cluster: VirtualCluster, documents: Iterable[Raw]) -> None:
        """Create what is new, and keep what the API server says of what it refuses."""
        client = _CompletingClient(cluster.api, "test", self.absent)
        for document in documents:
            kind = kind_of(document) or cluster.api.resources.custom_kind(document["apiVersion"], document["kind"])
            assert kind is not None, document
            where = document["metadata"].get("namespace", "default") if kind.namespaced else ""
            try:
                await client.create(kind, document, where)
            except ApiError as error:
                self.refusals[subject_of(document)] = error.message
            if kind in (KINDS.RESOURCE_QUOTA, KINDS.CUSTOM_RESOURCE_DEFINITION):
                await _let_work()

    def _pod_changed(self, change: Change) -> None:
        self.history.changed(_view(change.old), _view(change.new), self._loop.time())
        if self.history.is_endless:
            self._is_endless.set()


def refused_creates(cluster: VirtualCluster) -> Counter[tuple[str, str]]:
    """Return the workloads whose last event is that a create was refused, with its text."""
    last: dict[tuple[str, str], str] = {}
    for event in cluster.events:
        key = event.involved["kind"], f"{event.involved.get('namespace')}/{event.involved['name']}"
        if event.reason == "FailedCreate":
            last[key] = event.message
        elif event.reason == "SuccessfulCreate":
            last.pop(key, None)
    return Counter((f"{kind} {shortened(key)}", shortened(text)) for (kind, key), text in last.items())


async def _let_work() -> None:
    """Let every component do what it can do at once: no time passes, so that times are those of a plan."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


async def _begin(api: Api) -> None:
    """Create what the pods of every cluster may need; roles, which are many, are for clients that have users."""
    client = LoopbackClient(api, "test")
    for name in ("default", "kube-system", "kube-node-lease"):
        document: Raw = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await client.create(KINDS.NAMESPACE, document)
    for name, value in _SYSTEM_CLASSES.items():
        document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await client.create(KINDS.PRIORITY_CLASS, {**document, "value": value})


def _view(stored: Stored | None) -> Pod | None:
    if stored is None:
        return None
    view: Pod = stored.view if stored.view is not None else convert_view(decode(KINDS.POD, stored), Pod)
    return view
