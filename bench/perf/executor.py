"""Runs a workload: operation after operation, against the engine in this process.

In: a `Workload`. Out: `Figures` of each measured window.
Kubernetes: executor.go. Differs: no API server, so objects appear at once; waits are skipped (see clock.py); pods that
find no node in ten minutes are reported, and the run goes on.
"""

from __future__ import annotations

import gc
from contextlib import nullcontext
from time import perf_counter
from typing import TYPE_CHECKING, Any

from bench.perf import node_maker
from bench.perf.clock import Clock
from bench.perf.cluster_objects import ClusterObjects
from bench.perf.device_objects import driver_slices
from bench.perf.driver import Driver
from bench.perf.figures import Figures, Window, matches
from bench.perf.objects import SERVICE, VIEWS, Names, PodTemplate, prepare, view
from bench.perf.operations import (
    AllocResourceClaims,
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
from bench.perf.volume_maker import VolumeMaker
from bench.process import peak_memory
from moorage.model.types.devices import ResourceSlice
from moorage.model.types.pod import Pod

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from bench.perf.config import Workload

_CHURN_MILLISECONDS = 500


def run(workload: Workload, seed: int = 0) -> list[Figures]:
    """Run a workload that is not refused, once."""
    executor = Executor(workload, seed)
    for index, operation in enumerate(workload.operations):
        executor.run(operation, index)
    return executor.figures


class Executor:
    """One run of one workload. `timer` tells how much time work has taken; waiting takes none."""

    def __init__(self, workload: Workload, seed: int = 0, timer: Callable[[], float] = perf_counter) -> None:
        self.workload = workload
        self._seed = seed
        self.objects = ClusterObjects(workload.configuration, workload.gates, seed)
        self.clock = Clock(timer)
        self.driver = Driver(self.objects, self.clock)
        self.figures: list[Figures] = []
        self._names = Names()
        self._templates: dict[str, Template] = {}

    def run(self, operation: Operation, index: int) -> None:
        own_namespace = f"namespace-{index}"
        match operation:
            case CreateNodes():
                self._create_nodes(operation, f"node-{index}-")
            case CreateNamespaces():
                self._create_namespaces(operation)
            case CreatePods():
                self._create_pods(operation, operation.namespace or own_namespace)
            case CreatePodSets():
                for number in range(operation.count):
                    self._create_pods(operation.createPodsOp, f"{operation.namespacePrefix}-{number}")
            case DeletePods():
                self._delete_pods(operation)
            case Churn():
                self._churn(operation, operation.namespace or own_namespace)
            case Barrier():
                self._barrier(operation)
            case Sleep():
                self._pass_time(seconds(operation.duration))
            case CreateAny() | CreateResourceClaims():
                self._create_any(operation)
            case UpdateAny():
                self._update_any(operation)
            case CreateResourceDriver():
                self._create_resource_driver(operation)
            case AllocResourceClaims():
                self.objects.devices.allocate_claims(operation.namespace, self._seed)
            case StartCollectingMetrics():
                self._start(Window(operation.namespaces, operation.labelSelector, operation.name))
            case StopCollectingMetrics():
                self._stop()

    # -- nodes and namespaces -----------------------------------------------------------------------------------------

    def _create_nodes(self, operation: CreateNodes, prefix: str) -> None:
        template = self._template(operation.nodeTemplatePath) if operation.nodeTemplatePath else None
        now = self.clock.now()
        with self._not_measured():
            made = list(node_maker.make_nodes(operation, template, prefix, self._names))
        for node, csi_node in made:
            if csi_node is not None:
                self.objects.add_storage(csi_node, now)
            self.objects.add_node(node, now)

    def _create_namespaces(self, operation: CreateNamespaces) -> None:
        path = operation.namespaceTemplatePath
        raw = self._template(path).document() if path else {}
        labels = (raw.get("metadata") or {}).get("labels") or {}
        for number in range(operation.count):
            self.objects.add_namespace(f"{operation.prefix}-{number}", labels, self.clock.now())

    # -- pods ---------------------------------------------------------------------------------------------------------

    def _create_pods(self, operation: CreatePods, namespace: str) -> None:
        self.objects.add_namespace(namespace, {}, self.clock.now())
        if operation.steadyState:
            self._create_pods_steadily(operation, namespace)
            return
        pods = self.make_pods(operation, namespace)
        if operation.collectMetrics:
            self._start(Window((namespace,), {}))
        keys = self._enqueue(pods)
        if operation.skipWaitToCompletion:
            return
        del pods
        self._await(keys)
        if operation.collectMetrics:
            self._stop()

    def _create_pods_steadily(self, operation: CreatePods, namespace: str) -> None:
        """A batch of pods; when all have a node they go, and the next batch comes."""
        if operation.collectMetrics:
            self._start(Window((namespace,), {}))
        end = self.clock.now() + seconds(operation.duration)
        while self.clock.now() < end:
            keys = self._enqueue(self.make_pods(operation, namespace))
            left = self.driver.wait_for(keys, until=end)
            if (window := self.driver.window) is not None:
                window.created -= sum(key not in self.objects.attempted for key in left)  # for them time ran out
            now = self.clock.now()
            for key in keys:
                self.objects.delete_pod(key, now, grace=False)
            if left:
                break
        if operation.collectMetrics:
            self.driver.lap()
            self._stop()

    def has_equal_pods(self, operation: CreatePods) -> bool:
        """Whether all pods of an operation are made from the same text."""
        path = operation.podTemplatePath or self.workload.default_pod_template
        return not path or self._template(path).is_static

    def make_pods(self, operation: CreatePods, namespace: str) -> list[Pod]:
        """The pods of an operation, with volumes if it has any, before any component sees them."""
        path = operation.podTemplatePath or self.workload.default_pod_template
        template = PodTemplate(self._template(path) if path else None)
        count = operation.count
        with self._not_measured():
            claims: list[str] = []
            if operation.persistentVolumeClaimTemplatePath:
                claim = self._template(operation.persistentVolumeClaimTemplatePath)
                volumes = VolumeMaker(self._template(operation.persistentVolumeTemplatePath), claim)
                claims = [volumes.add(self.objects, namespace, i, self.clock.now()) for i in range(count)]
            names = self._names
            pods = [template.make(i, count, namespace, names, claims[i] if claims else "") for i in range(count)]
            make_claims = self.objects.devices.make_claims
            return [make_claims(pod) if pod.spec.resourceClaims else pod for pod in pods]

    def _enqueue(self, pods: list[Pod]) -> list[str]:
        add, now, window = self.objects.add_pod, self.clock.now, self.driver.window
        if window is not None:
            with window.paused():
                for pod in pods:
                    window.pod_created(pod)
        return [add(pod, now()) for pod in pods]

    def _await(self, keys: list[str]) -> None:
        pending = self.objects.pending
        self.driver.wait_for([key for key in keys if key in pending])

    def _note_left(self, left: int) -> str:
        failure = self.driver.last_failure
        return f"{left} pods found no node" + (f": {failure.message}" if failure is not None else "")

    def _delete_pods(self, operation: DeletePods) -> None:
        keys = [
            key
            for key, pod in self.objects.pods_of(operation.namespace)
            if matches(pod.metadata.labels, operation.labelSelector)
        ]
        if not operation.deletePodsPerSecond:
            for key in keys:
                self.objects.delete_pod(key, self.clock.now())
            return
        keys.reverse()

        def delete_one(now: float) -> bool:
            if keys:
                self.objects.delete_pod(keys.pop(), now)
            return bool(keys)

        interval = 1 / operation.deletePodsPerSecond
        self.clock.every(interval, delete_one)
        if not operation.skipWaitToCompletion:
            self._pass_time(interval * (len(keys) + 1))

    def _barrier(self, operation: Barrier) -> None:
        attempts_suffice = operation.stageRequirement == "Attempted"
        objects = self.objects
        queue = objects.scheduler.queue
        wanted = [
            key
            for key, record in objects.pending.items()
            if (not operation.namespaces or record.pod.metadata.namespace in operation.namespaces)
            and matches(record.pod.metadata.labels, operation.labelSelector)
            and not (attempts_suffice and (key in objects.attempted or record.pod.spec.schedulingGates))
            and queue.get(key) is not None
        ]
        self.driver.wait_for(wanted, attempts_suffice)

    # -- other objects ------------------------------------------------------------------------------------------------

    def _create_any(self, operation: CreateAny | CreateResourceClaims) -> None:
        if operation.namespace:
            self.objects.add_namespace(operation.namespace, {}, self.clock.now())
        template = self._template(operation.templatePath)
        for index in range(operation.count):
            self._create(template, index, operation.count, operation.namespace)

    def _create(self, template: Template, index: int, count: int, namespace: str) -> tuple[str, str]:
        """One object; returns its kind and name."""
        with self._not_measured():
            raw, name = self._named(template, index, count, namespace)
            kind = raw["kind"]
            made = view(raw, VIEWS[kind], str(template.path)) if kind != SERVICE else None
        if made is None:
            self.objects.add_service(namespace, name, (raw.get("spec") or {}).get("selector"))
        else:
            self.objects.add(made, self.clock.now())
        return kind, name

    def _named(self, template: Template, index: int, count: int, namespace: str) -> tuple[dict[str, Any], str]:
        raw = prepare(template.document(index, count))
        metadata = raw["metadata"]
        name = metadata["name"] = self._names.name(metadata)
        if namespace:
            metadata["namespace"] = namespace
        return raw, name

    def _create_resource_driver(self, operation: CreateResourceDriver) -> None:
        """Publish the devices of a driver, until the scheduler knows which nodes have them."""
        objects, now, window = self.objects, self.clock.now(), self.driver.window
        with self._not_measured():
            nodes = objects.devices.node_names(operation.nodes)
            raw = driver_slices(operation.driverName, nodes, operation.maxClaimsPerNode)
            slices = [view(one, ResourceSlice, operation.driverName) for one in raw]
        for published in slices:
            objects.devices.add(published, now)
        objects.cluster.devices.catch_up()
        if window is not None:
            window.lap()
            window.note = f"{len(slices)} ResourceSlices known to the scheduler after {window.cpu_seconds:.2f} CPU s"

    def _update_any(self, operation: UpdateAny) -> None:
        template = self._template(operation.templatePath)
        index = 0

        def update_one(now: float) -> bool:
            nonlocal index
            with self._not_measured():
                raw, _ = self._named(template, index, operation.count, operation.namespace)
                made = view(raw, VIEWS[raw["kind"]], str(template.path))
            if isinstance(made, Pod):
                self.objects.update_pod(made, now, only_resources="resize" in operation.subresources)
            else:
                self.objects.add(made, now)
            index += 1
            return index < operation.count

        if operation.updatePerSecond and operation.count:
            interval = 1 / operation.updatePerSecond
            self.clock.every(interval, update_one)
            while index < operation.count:
                self._pass_time(interval)
        else:
            for _ in range(operation.count):
                update_one(self.clock.now())

    def _churn(self, operation: Churn, namespace: str) -> None:
        self.objects.add_namespace(namespace, {}, self.clock.now())
        templates = [self._template(path) for path in operation.templatePaths]
        created = 0
        alive: list[list[tuple[str, str]] | None] = [None] * operation.number

        def create(now: float) -> bool:
            nonlocal created
            for template in templates:
                self._create(template, created, 1, namespace)
            created += 1
            return not operation.number or created < operation.number

        def recreate(now: float) -> bool:
            nonlocal created
            turn = created % operation.number
            there = alive[turn]
            if there is None:
                alive[turn] = [self._create(template, created, 1, namespace) for template in templates]
            else:
                for kind, name in there:
                    self.objects.remove(kind, namespace, name, now)
                alive[turn] = None
            created += 1
            return True

        interval = (operation.intervalMilliseconds or _CHURN_MILLISECONDS) / 1000
        self.clock.every(interval, create if operation.mode == "create" else recreate)

    def _pass_time(self, duration: float) -> None:
        """Let the scheduler and whatever ticks work for as long."""
        end = self.clock.now() + duration
        self.driver.wait_for(("",), until=end)
        self.clock.skip_to(end)
        self.clock.fire()

    # -- measuring ----------------------------------------------------------------------------------------------------

    def _not_measured(self) -> AbstractContextManager[None]:
        return self.driver.window.paused() if self.driver.window is not None else nullcontext()

    def _start(self, window: Window) -> None:
        if self.driver.window is not None:
            raise ConfigError("metrics collection is overlapping: a second one began before the first ended")
        gc.collect()
        gc.freeze()
        window.restart()
        self.driver.window = window

    def _stop(self) -> None:
        window = self.driver.window
        if window is None:
            raise ConfigError("stopCollectingMetrics without startCollectingMetrics")
        self.driver.window = None
        gc.unfreeze()
        left = window.created - window.scheduled
        note = self._note_left(left) if left > 0 else window.note
        figures = window.figures(self.workload.name, len(self.objects.cluster.nodes), note)
        self.figures.append(figures.with_peak(peak_memory()))

    def _template(self, path: str) -> Template:
        if path not in self._templates:
            self._templates[path] = Template(self.workload.file.parent / path)
        return self._templates[path]
