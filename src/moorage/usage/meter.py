"""Compute what pods and nodes use at a time, from their annotations and the loads of their workloads.

A load is shared evenly by the pods of the workload that are ready, so that more pods use less each. A container uses no
more CPU than its limit. An amount that names no container is used by the first one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol

from moorage.match.label_selector import Selector
from moorage.model.go.times import seconds_of
from moorage.model.types.core import ConfigMap
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.usage.annotations import (
    CPU,
    LOAD,
    RESOURCES,
    USAGE,
    Courses,
    Measured,
    courses_of,
    since,
)
from moorage.usage.courses import Course, CourseError, Timed, Trace, read_trace

#: Seconds over which usage is measured: a pod that runs for a shorter time has none yet.
WINDOW = 15.0
_MAX_OWNERS = 8


class Objects(Protocol):
    """The objects that usage is computed from. `generation` changes whenever one of them may have changed."""

    @property
    def generation(self) -> int: ...
    def find(self, api_version: str, kind: str, namespace: str, name: str) -> ObjectMeta | None: ...
    def pods(self, namespace: str) -> Iterable[Pod]:
        """Return the pods of a namespace, or with an empty one all pods."""
        ...

    def selected(self, namespace: str, selector: Selector) -> Iterable[Pod]:
        """Return those of them that a selector selects."""
        ...

    def nodes(self) -> Iterable[Node]: ...
    def config_maps(self, namespace: str) -> Iterable[ConfigMap]: ...


Amounts = dict[str, float]


class PodUsage(NamedTuple):
    """What each container of a pod uses, and the pod's custom metrics."""

    containers: Mapping[str, Amounts]
    metrics: Amounts


class _Load(NamedTuple):
    """A load on a pod: the courses, when they began, and the object that has them."""

    courses: Courses
    began: float
    owner: ObjectMeta


class Meter:
    """Computes usage. `measures` returns whether the node of this name is asked at all.

    `idles` returns whether pods on it use nothing if nothing says what they use: else that is not known. `epoch` is
    when the times of objects begin that were never created.
    """

    def __init__(
        self,
        objects: Objects,
        *,
        measures: Callable[[str], bool] = lambda node: True,
        idles: Callable[[str], bool] = lambda node: False,
        epoch: float = 0.0,
    ) -> None:
        self.objects = objects
        self._measures, self._idles, self._epoch = measures, idles, epoch
        self._generation, self._now = -1, 0.0
        self._used: dict[tuple[object, ...], PodUsage | None] = {}
        self._measured: dict[str, bool] = {}
        self._loads: dict[str, _Load | None] = {}  # by UID of the owner of pods
        self._below: dict[tuple[str, str], int] = {}  # ready pods by namespace and UID of what has a load

    def of_pod(self, pod: Pod, now: float) -> PodUsage | None:
        """Return what a pod uses; None if that is not known, because it does not run, or nothing says so."""
        self._look()
        started = seconds_of(pod.status.startTime)
        node = pod.spec.nodeName
        if pod.status.phase != "Running" or started is None or started + WINDOW > now or not self._is_measured(node):
            return None
        like = self._alike(pod, started)
        if now != self._now:
            self._now = now
            self._used.clear()
        if like not in self._used:
            self._used[like] = self._of(pod, node, started, now)
        return self._used[like]

    def _is_measured(self, node: str) -> bool:
        if node not in self._measured:
            self._measured[node] = self._measures(node)
        return self._measured[node]

    def _alike(self, pod: Pod, started: float) -> tuple[object, ...]:
        """Return what pods have in common that use the same at the same time."""
        metadata = pod.metadata
        owner = _controller(metadata)
        begins = started if USAGE in metadata.annotations else 0.0
        containers, annotations = pod.spec.containers, metadata.annotations
        uid = owner.uid if owner is not None else ""
        return id(containers), id(annotations), uid, begins, _takes_load(pod), self._idles(pod.spec.nodeName)

    def _of(self, pod: Pod, node: str, started: float, now: float) -> PodUsage | None:
        containers = pod.spec.containers
        first = containers[0].name if containers else ""
        used: dict[str, Amounts] = {one.name: {} for one in containers}
        metrics: Amounts = {}
        for measured, amount in self._amounts(pod, started, now):
            if measured.name not in RESOURCES:
                metrics[measured.name] = metrics.get(measured.name, 0.0) + amount
                continue
            of = used.get(measured.container or first)
            if of is not None:
                of[measured.name] = of.get(measured.name, 0.0) + amount
        known = {resource for amounts in used.values() for resource in amounts}
        if self._idles(node):
            known |= {*RESOURCES}
        for container in containers:
            amounts = used[container.name]
            for resource in known:
                amounts.setdefault(resource, 0.0)
            limit = container.resources.limits.get(CPU)
            if limit is not None and CPU in amounts:
                amounts[CPU] = min(amounts[CPU], limit.as_approximate_float())
        return PodUsage(used if known else {}, metrics) if known or metrics else None

    def of_node(self, node: Node, pods: Iterable[Pod], now: float) -> Amounts | None:
        """Return what a node and the pods on it use; None if its kubelet does not answer."""
        metadata = node.metadata
        if not self._measures(metadata.name):
            return None
        used = dict.fromkeys(RESOURCES, 0.0)
        for measured, course in courses_of(metadata, USAGE).items():
            if measured.name in RESOURCES and (timed := self.timed(course, "", measured.name)) is not None:
                used[measured.name] += timed.at(now - self.begun(metadata))
        for pod in pods:
            usage = self.of_pod(pod, now)
            for amounts in usage.containers.values() if usage is not None else ():
                for resource, amount in amounts.items():
                    used[resource] += amount
        return used

    def loaded(self, pod: Pod) -> ObjectMeta | None:
        """Return the object above a pod whose load it shares."""
        self._look()
        load = self._load_on(pod.metadata)
        return None if load is None else load.owner

    def timed(self, course: Course, namespace: str, name: str) -> Timed | None:
        """Return a course that can be asked; None if it is a trace that is not there or cannot be read."""
        if not isinstance(course, Trace):
            return course
        for config_map in self.objects.config_maps(namespace):
            if config_map.metadata.name == course.config_map and course.key in config_map.data:
                try:
                    return read_trace(config_map.data[course.key], course.column or name)
                except CourseError:
                    return None
        return None

    def begun(self, metadata: ObjectMeta) -> float:
        """Return when the times of an object's courses begin: when it was created, unless it says otherwise."""
        return since(metadata, seconds_of(metadata.creationTimestamp) or self._epoch)

    def given(self, courses: Courses, namespace: str, seconds: float) -> Iterator[tuple[Measured, float]]:
        """Yield what courses are after some seconds."""
        for measured, course in courses.items():
            timed = self.timed(course, namespace, measured.name)
            if timed is not None:
                yield measured, timed.at(seconds)

    def _amounts(self, pod: Pod, started: float, now: float) -> Iterator[tuple[Measured, float]]:
        metadata = pod.metadata
        namespace = metadata.namespace
        if metadata.annotations:
            yield from self.given(courses_of(metadata, USAGE), namespace, now - since(metadata, started))
        is_ready = _takes_load(pod)
        if (load := self._load_on(metadata)) is not None:
            ready = self._ready_below(namespace, load.owner.uid)
            for measured, amount in self.given(load.courses, namespace, now - load.began):
                yield measured, amount / ready if is_ready and ready else 0.0

    # -- loads --------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Forget what may be out of date."""
        if self._generation != self.objects.generation:
            self._generation = self.objects.generation
            self._loads.clear()
            self._used.clear()
            self._measured.clear()
            self._below.clear()

    def _load_on(self, metadata: ObjectMeta) -> _Load | None:
        owner = _controller(metadata)
        if owner is None:
            return None
        if owner.uid not in self._loads:
            self._loads[owner.uid] = self._find_load(owner, metadata.namespace)
        return self._loads[owner.uid]

    def _find_load(self, owner: OwnerReference | None, namespace: str) -> _Load | None:
        """Return the load of the topmost owner that has one: ReplicaSets have copies of what their Deployment has."""
        load: _Load | None = None
        for _ in range(_MAX_OWNERS):
            metadata = None
            if owner is not None:
                metadata = self.objects.find(owner.apiVersion, owner.kind, namespace, owner.name)
            if owner is None or metadata is None or metadata.uid != owner.uid:
                break
            if LOAD in metadata.annotations:
                load = _Load(courses_of(metadata, LOAD), self.begun(metadata), metadata)
            owner = _controller(metadata)
        return load

    def _ready_below(self, namespace: str, uid: str) -> int:
        """Return how many ready pods there are below an object that has a load."""
        known = self._below.get((namespace, uid))
        if known is None:
            pods = (pod for pod in self.objects.pods(namespace) if _takes_load(pod))
            loads = (self._load_on(pod.metadata) for pod in pods)
            known = sum(load is not None and load.owner.uid == uid for load in loads)
            self._below[namespace, uid] = known
        return known


def _takes_load(pod: Pod) -> bool:
    """Return whether a pod is ready, and not on its way out: as the endpoints of a Service."""
    return pod.metadata.deletionTimestamp is None and any(
        one.type == "Ready" and one.status == "True" for one in pod.status.conditions
    )


def _controller(metadata: ObjectMeta) -> OwnerReference | None:
    return next((owner for owner in metadata.ownerReferences if owner.controller), None)
