"""Run the kubelets of all simulated nodes. Kubernetes: the kubelet, kubemark's hollow kubelets.

Nodes with the simulator's label are simulated, or with `takes_all` also those without any. A node annotated as stopped
behaves as if unplugged.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol

from moorage.client.informer import Delta, Informer
from moorage.client.pacing import BackgroundCalls
from moorage.client.protocol import Client
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.api_error import ApiError
from moorage.model.declared_features import features_of_kubelet
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.actions import Remove, ReportDevices, ReportEvent, ReportShutdown, WriteStatus
from moorage.run.admission import Admission, Mounts
from moorage.run.devices.claims import DeviceClaims, awaits_driver
from moorage.run.devices.drivers import DeviceDrivers
from moorage.run.devices.spec import DeviceSet
from moorage.run.heartbeats import Heartbeats
from moorage.run.kubelet_state import KubeletState
from moorage.run.node_objects import CAPACITY, SIMULATOR, SIMULATOR_LABEL, STOPPED, Raw, new_node
from moorage.run.shutdown import BEGINS, ENDS, periods_of
from moorage.run.status_writers import ClaimWriter, PodWriter
from moorage.telemetry.metrics import Labels, Metrics
from moorage.telemetry.watchdog import operation

_BASIC = frozenset({"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods"})
_KNOWN = _BASIC | {"PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "PodFeatureUnsupported", "NodeShutdown"}


def add_kubelet_metrics(metrics: Metrics, state: KubeletState, admission: Admission, claims: DeviceClaims) -> None:
    counter, gauge = metrics.counter_function, metrics.gauge_function
    gauge("kubelet_running_pods", "Number of pods that have a running pod sandbox.", lambda: state.running_pods)
    gauge("kubelet_simulated_nodes", "Number of nodes that are simulated.", lambda: len(state.nodes))
    counter("kubelet_started_pods_total", "Cumulative number of pods started.", lambda: state.started)
    about = "Cumulative number pod admission rejections by the Kubelet."
    counter("kubelet_admission_rejections_total", about, partial(_rejections, state.refused), ("reason",))
    about = "Rejected pods that were created for rejected ones of their workload, again and again."
    counter("kubelet_pods_rejected_again_total", about, partial(_rejections, state.refused_again, ""), ("reason",))
    for what in ("hits", "misses", "evictions"):
        about = f"The cache of compiled toleration expressions: {what}."
        counter(f"kubelet_cel_cache_{what}_total", about, partial(getattr, admission.programs, what))
    about = "Evaluations of toleration expressions that failed."
    counter("kubelet_cel_evaluation_errors_total", about, lambda: admission.evaluation_errors)
    about = "The number of ResourceClaims that are currently in use on the node, by driver name."
    gauge("dra_resource_claims_in_use", about, lambda: _by_driver(claims), ("driver_name",))


def _by_driver(claims: DeviceClaims) -> Mapping[Labels, float]:
    return {(driver,): count for driver, count in claims.in_use().items()}


def _rejections(refused: Counter[str], other: str = "Other") -> Mapping[Labels, float]:
    """Count rejections by reason; those not on Kubernetes' list are `other`, or keep their names if that is empty."""
    counted: Counter[Labels] = Counter()
    for reason, times in refused.items():
        extended = "OutOfExtendedResources" if reason.startswith("OutOf") else other or reason
        counted[(reason if reason in _KNOWN else extended,)] += times
    return counted


_AT_ONCE = 64


class Recorder(Protocol):
    """Where events go."""

    def report(self, involved: Raw, kind: str, reason: str, message: str, *, host: str = "") -> None: ...


class Kubelets:
    """Informers, state machine, heartbeats and writer. `simulator` is the value of our nodes' label."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        gates: GateSet,
        *,
        metrics: Metrics | None = None,
        simulator: str = SIMULATOR,
        takes_all: bool = False,
        capacity: Mapping[str, str] = CAPACITY,
        devices: tuple[DeviceSet, ...] = (),
        clock: Callable[[], float] = time.time,
        evaluations: Evaluations | None = None,
    ) -> None:
        """With `takes_all`, nodes need no label; nodes of another simulator are still left alone.

        `devices` are those of nodes that say nothing of their own; `evaluations` evaluates expensive expressions.
        """
        self._client, self._recorder, self._clock = client, recorder, clock
        self._simulator, self._takes_all, self._capacity = simulator, takes_all, capacity
        self._features = features_of_kubelet(gates)
        admission = Admission(gates, evaluations, metrics)
        self._mounts = Mounts(gates)
        self._claims = DeviceClaims(gates)
        self._state = KubeletState(admission, self._mounts, self._claims)
        if metrics is not None:
            add_kubelet_metrics(metrics, self._state, admission, self._claims)
        self._calls, self._beats = BackgroundCalls(_AT_ONCE), BackgroundCalls(_AT_ONCE)
        self._hearts = Heartbeats(
            client, self._beats, clock, capacity, self._features, lambda node: bool(periods_of(node, gates))
        )
        self._writer = PodWriter(client, self._calls, self._state.has)
        self._drivers = DeviceDrivers(client, self._beats, devices, simulator)
        self._claim_writer = ClaimWriter(client, self._calls, self._claims, self._drivers.simulates, clock)
        self._wakened = asyncio.Event()
        self._state.wake = self._wakened.set
        self._informers = [
            Informer(client, KINDS.PERSISTENT_VOLUME_CLAIM, self._volumes_changed),
            Informer(client, KINDS.PERSISTENT_VOLUME, self._volumes_changed),
            Informer(client, KINDS.NODE, self._nodes_changed),
            Informer(client, KINDS.POD, self._pods_changed),
        ]
        # Not waited for: an API server before Kubernetes 1.34 does not serve them.
        self._claim_informer = Informer(client, KINDS.RESOURCE_CLAIM, self._claims_changed)
        self._slice_informer = Informer(client, KINDS.RESOURCE_SLICE, self._drivers.slices_changed)

    @property
    def node_count(self) -> int:
        return len(self._hearts)

    @property
    def has_synced(self) -> bool:
        return all(informer.has_synced for informer in self._informers)

    async def synced(self) -> None:
        """Wait until the first lists have been handled."""
        for informer in self._informers:
            await informer.synced()

    async def devices_published(self, seconds: float) -> None:
        """Wait until nodes have their ResourceSlices, but no longer than this."""
        await self._drivers.published(seconds)

    async def register(self, count: int, prefix: str = "node-") -> None:
        """Create nodes; existing ones stay as they are. Raises ApiError, Unreachable."""
        numbers = iter(range(count))

        async def register_some() -> None:
            for number in numbers:
                await self._register(f"{prefix}{number + 1}", number)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(count, _AT_ONCE)):
                group.create_task(register_some())

    async def _register(self, name: str, number: int) -> None:
        try:
            node = new_node(name, number, self._clock(), self._capacity, self._simulator, self._features)
            await self._client.create(KINDS.NODE, self._drivers.annotate(node))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    async def run(self) -> None:
        """Run until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self._informers:
                    group.create_task(informer.run())
                for informer in (self._claim_informer, self._slice_informer):
                    group.create_task(informer.run())
                group.create_task(self._run_drivers())
                group.create_task(self._hearts.run())
                await self._work()
        finally:
            self._writer.close()
            self._claim_writer.close()
            await self._calls.close()
            await self._beats.close()

    async def _run_drivers(self) -> None:
        await self._slice_informer.synced()
        self._drivers.slices_listed()

    def _simulates(self, node: Node) -> bool:
        if node.metadata.annotations.get(STOPPED) == "true":
            return False
        named = node.metadata.labels.get(SIMULATOR_LABEL)
        return self._takes_all if named is None else named == self._simulator

    def _nodes_changed(self, deltas: list[Delta]) -> None:
        now = self._clock()
        for old, new in deltas:
            if new is not None and self._simulates(new.view):
                self._hearts.node_changed(new.view)
                self._drivers.node_changed(new.view)
                self._state.node_changed(new.view, now)
            elif (gone := new or old) is not None and gone.name in self._state.nodes:
                self._hearts.node_gone(gone.name)
                self._drivers.node_gone(gone.name)
                self._state.node_gone(gone.name)
        self._wakened.set()

    def _pods_changed(self, deltas: list[Delta]) -> None:
        changed: dict[str, Pod] = {}
        for old, new in deltas:
            if new is not None:
                changed[new.key] = new.view
            elif old is not None:
                changed.pop(old.key, None)
                self._state.pod_gone(old.key)
        self._state.pods_changed(changed.items(), self._clock())
        self._wakened.set()

    def _volumes_changed(self, deltas: list[Delta]) -> None:
        self._mounts.changed(deltas)
        self._state.volumes_changed(self._clock())
        self._wakened.set()

    def _claims_changed(self, deltas: list[Delta]) -> None:
        self._claims.changed(deltas)
        for _, new in deltas:
            if new is not None and awaits_driver(new.view, self._drivers.simulates):
                self._claim_writer.write(new.key, is_prepared=False)
        self._state.claims_changed({delta.new.key for delta in deltas if delta.new is not None}, self._clock())
        self._wakened.set()

    @operation("kubelets")
    async def _work(self) -> None:
        while True:
            self._wakened.clear()
            for action in self._state.due(self._clock()):
                if isinstance(action, WriteStatus):
                    self._writer.write(action)
                elif isinstance(action, Remove):
                    self._writer.remove(action)
                elif isinstance(action, ReportDevices):
                    self._claim_writer.write(action.claim, is_prepared=True)
                elif isinstance(action, ReportShutdown):
                    self._report_shutdown(action)
                else:
                    self._report(action)
            wait = self._state.next_time() - self._clock()
            try:
                async with asyncio.timeout(None if wait == float("inf") else max(wait, 0.0)):
                    await self._wakened.wait()
            except TimeoutError:
                pass

    def _report_shutdown(self, action: ReportShutdown) -> None:
        name = action.node.metadata.name
        involved = {"kind": "Node", "apiVersion": "v1", "name": name, "uid": name}  # the UID is the name, as there
        self._recorder.report(involved, "Normal", "Shutdown", BEGINS if action.begins else ENDS, host=name)
        reason = "NodeNotReady" if action.begins else "NodeReady"
        self._recorder.report(involved, "Normal", reason, f"Node {name} status is now: {reason}", host=name)

    def _report(self, action: ReportEvent) -> None:
        metadata = action.pod.metadata
        involved = {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
        }
        if action.container:
            involved["fieldPath"] = f"spec.containers{{{action.container}}}"
        self._recorder.report(involved, action.kind, action.reason, action.message, host=action.pod.spec.nodeName)
