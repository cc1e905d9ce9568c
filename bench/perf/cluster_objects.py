"""The engine under test and the objects it is told about: what an API server and its watches would do, without either.

In: typed views. Out: the events that the scheduler gets for them, and what became of each pod. A deleted pod is gone at
once unless a finalizer, or a grace period that no component ends, keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bench.perf.device_objects import DEVICE_KINDS, DeviceObjects
from bench.perf.objects import SERVICE
from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.types.core import Namespace
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.plugins.spread_domains import DefaultSelectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from moorage.model.gates import GateSet
    from moorage.model.types.view import View
    from moorage.schedule.config.configured_scheduler import Configuration

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_DELETED = "2020-01-01T00:00:00Z"
_STORAGE_EVENTS: dict[type[View], EventKind] = {
    PersistentVolume: EventKind.VOLUME_ADDED,
    PersistentVolumeClaim: EventKind.CLAIM_ADDED,
    StorageClass: EventKind.STORAGE_CLASS_ADDED,
    CSINode: EventKind.CSI_NODE_ADDED,
}


class ClusterObjects:
    """All objects of a run, and the scheduler that hears of them."""

    def __init__(self, configuration: Configuration, gates: GateSet, seed: int = 0) -> None:
        self._selectors = DefaultSelectors()
        self.scheduler = configuration.make_scheduler(Cluster(seed, gates), gates, self._selectors)
        self.devices = DeviceObjects(self.scheduler, gates)
        self.pending: dict[str, PodRecord] = {}
        self.attempted: set[str] = set()
        self.on_gone: Callable[[str], None] = lambda key: None

    @property
    def cluster(self) -> Cluster:
        return self.scheduler.cluster

    # -- pods ---------------------------------------------------------------------------------------------------------

    def add_pod(self, pod: Pod, now: float) -> str:
        """A pod appears, without a node or with one; returns its key."""
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if pod.spec.resourceClaims:
            pod = self.devices.pod_appears(pod, now)
        record = self.cluster.record(key, pod)
        slot = self.cluster.nodes.slot_of.get(pod.spec.nodeName) if pod.spec.nodeName else None
        if slot is not None:
            self.scheduler.pod_placed(record, slot, now)
        else:
            self.pending[key] = record
            self.scheduler.add(record, now)
        return key

    def update_pod(self, pod: Pod, now: float, only_resources: bool = False) -> None:
        key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        old = self.pending.get(key) or self.cluster.pods.get(key)
        if old is None:
            return
        if only_resources:
            pod = _resized(old.pod, pod)
        self._replace_pod(key, pod, now)

    def _replace_pod(self, key: str, pod: Pod, now: float) -> None:
        record = self.cluster.record(key, pod)
        if key in self.pending:
            self.pending[key] = record
            self.scheduler.update(record, now)
        else:
            self.scheduler.pod_changed(record, now)

    def pod_bound(self, record: PodRecord, now: float) -> None:
        """Carry out that the scheduler has chosen a node for a pod."""
        self.pending.pop(record.key, None)
        if record.shape.devices:
            self.devices.pod_bound(record, now)

    def delete_pod(self, key: str, now: float, grace: bool = True) -> None:
        """Delete a pod as the API server does: with a finalizer, or a grace period to wait for, it is only marked."""
        waiting = self.pending.get(key)
        record = waiting or self.cluster.pods.get(key)
        if record is None:
            return
        pod = record.pod
        lingers = grace and waiting is None and (pod.spec.terminationGracePeriodSeconds or 0) > 0
        if lingers or pod.metadata.finalizers:
            if pod.metadata.deletionTimestamp is None:
                metadata = msgspec.structs.replace(pod.metadata, deletionTimestamp=_DELETED)
                self._replace_pod(key, msgspec.structs.replace(pod, metadata=metadata), now)
        elif waiting is not None:
            del self.pending[key]
            self.scheduler.delete(key, now)
            self._free_claims(pod, now)
        else:
            self.scheduler.pod_gone(key, now)
            self._free_claims(pod, now)
        self.on_gone(key)

    def _free_claims(self, pod: Pod, now: float) -> None:
        if pod.spec.resourceClaims:
            self.devices.pod_gone(pod, now)
        self.cluster.devices.promises.release(f"{pod.metadata.namespace}/{pod.metadata.name}")

    def pods_of(self, namespace: str) -> Iterator[tuple[str, Pod]]:
        for records in (self.cluster.pods, self.pending):
            for key, record in records.items():
                if record.pod.metadata.namespace == namespace:
                    yield key, record.pod

    # -- everything else ----------------------------------------------------------------------------------------------

    def add_namespace(self, name: str, labels: Mapping[str, str], now: float) -> None:
        if name not in self.cluster.namespaces:
            self.scheduler.namespace_changed(name, {**labels, NAMESPACE_LABEL: name}, now)

    def add_node(self, node: Node, now: float) -> None:
        self.scheduler.node_added(node, now)

    def add_storage(self, thing: Any, now: float) -> None:
        self.cluster.storage.set(thing)
        kind = _STORAGE_EVENTS.get(type(thing))
        if kind is not None:
            self.scheduler.happened(Event(kind, None, thing), now)

    def add_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        self._selectors.set_service(namespace, name, selector)

    def add(self, thing: View, now: float) -> None:
        """Any object appears; one that is there already is updated."""
        match thing:
            case Pod():
                self.add_pod(thing, now)
            case Node() if thing.metadata.name in self.cluster.nodes.slot_of:
                self.scheduler.node_changed(thing, now)
            case Node():
                self.add_node(thing, now)
            case Namespace():
                self.add_namespace(thing.metadata.name, thing.metadata.labels, now)
            case PodDisruptionBudget():
                self.scheduler.budgets.set(thing)
            case _ if isinstance(thing, DEVICE_KINDS):
                self.devices.add(thing, now)
            case _:
                self.add_storage(thing, now)

    def remove(self, kind: str, namespace: str, name: str, now: float) -> None:
        """An object goes, whose kind is one that churn makes."""
        if kind == "Pod":
            self.delete_pod(f"{namespace}/{name}", now)
        elif kind == "Node":
            self.scheduler.node_gone(name, now)
        elif kind == SERVICE:
            self.add_service(namespace, name, None)
        elif kind == "PodDisruptionBudget":
            self.scheduler.budgets.remove(namespace, name)
        else:
            self.devices.remove(kind, namespace, name, now)


def _resized(old: Pod, new: Pod) -> Pod:
    """The resize subresource takes resources and nothing else."""
    wanted = {container.name: container.resources for container in new.spec.containers}
    containers = tuple(
        msgspec.structs.replace(container, resources=wanted.get(container.name, container.resources))
        for container in old.spec.containers
    )
    return msgspec.structs.replace(old, spec=msgspec.structs.replace(old.spec, containers=containers))
