"""Volumes, claims and classes for tests, and pods that use them."""

from typing import Any

from tests.unit.schedule.clusters import pod

from moorage.columns.cluster import Cluster
from moorage.columns.storage import StorageObject
from moorage.match.volumes.claims import BIND_COMPLETED
from moorage.match.volumes.csi_migration import MIGRATED_PLUGINS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

Raw = dict[str, Any]
HOST = "kubernetes.io/hostname"


def claim(
    name: str, volume: str = "", storage_class: str = "slow", size: str = "1Gi", **more: Any
) -> PersistentVolumeClaim:
    """A claim; with a volume, it is bound to it."""
    annotations = more.pop("annotations", {BIND_COMPLETED: "yes"} if volume else {})
    spec = {
        "accessModes": more.pop("modes", ["ReadWriteOnce"]),
        "resources": {"requests": {"storage": size}},
        "storageClassName": storage_class,
        "volumeName": volume,
        **more.pop("spec", {}),
    }
    metadata = {"name": name, "namespace": "default", "annotations": annotations, **more.pop("metadata", {})}
    return convert_view({"metadata": metadata, "spec": spec, **more}, PersistentVolumeClaim)


def volume(
    name: str, size: str = "1Gi", storage_class: str = "slow", labels: Raw | None = None, **spec: Any
) -> PersistentVolume:
    """A free volume."""
    phase = spec.pop("phase", "Available")
    made = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "storageClassName": storage_class, **spec}
    raw = {"metadata": {"name": name, "labels": labels or {}}, "spec": made, "status": {"phase": phase}}
    return convert_view(raw, PersistentVolume)


def reachable_from(key: str, *values: str, operator: str = "In") -> Raw:
    """A volume's node affinity."""
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def local_volume(name: str, *hosts: str, **spec: Any) -> PersistentVolume:
    return volume(name, nodeAffinity=reachable_from(HOST, *hosts), local={"path": "/disk"}, **spec)


def csi_volume(name: str, handle: str = "", driver: str = "disk.example.com", **spec: Any) -> PersistentVolume:
    return volume(name, csi={"driver": driver, "volumeHandle": handle or name}, **spec)


def storage_class(name: str = "slow", provisioner: str = "kubernetes.io/no-provisioner", **more: Any) -> StorageClass:
    mode = more.pop("mode", "WaitForFirstConsumer")
    raw = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode, **more}
    return convert_view(raw, StorageClass)


def csi_node(name: str, migrated: str = "", /, **limits: int) -> CSINode:
    """A node's drivers; `disk` stands for disk.example.com."""
    named = {"disk.example.com" if driver == "disk" else driver: most for driver, most in limits.items()}
    drivers = [{"name": driver, "allocatable": {"count": most}} for driver, most in named.items()]
    annotations = {MIGRATED_PLUGINS: migrated} if migrated else {}
    return convert_view({"metadata": {"name": name, "annotations": annotations}, "spec": {"drivers": drivers}}, CSINode)


def csi_driver(name: str, **spec: Any) -> CSIDriver:
    return convert_view({"metadata": {"name": name}, "spec": spec}, CSIDriver)


def capacity(name: str, left: str, labels: Raw, storage_class: str = "slow", **more: Any) -> CSIStorageCapacity:
    topology = {"matchLabels": labels}
    metadata = {"name": name, "namespace": "drivers"}
    raw = {"metadata": metadata, "storageClassName": storage_class, "capacity": left, "nodeTopology": topology, **more}
    return convert_view(raw, CSIStorageCapacity)


def attachment(name: str, node: str, volume: str, attacher: str = "disk.example.com") -> VolumeAttachment:
    spec = {"attacher": attacher, "nodeName": node, "source": {"persistentVolumeName": volume}}
    return convert_view({"metadata": {"name": name}, "spec": spec}, VolumeAttachment)


def user(*claims: str, name: str = "p", volumes: list[Raw] | None = None, **spec: Any) -> Pod:
    """A pod with claims."""
    named = [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": one}} for i, one in enumerate(claims)]
    return pod(name, volumes=[*named, *(volumes or [])], **spec)


def store(cluster: Cluster, *things: StorageObject) -> Cluster:
    for thing in things:
        cluster.storage.set(thing)
    return cluster
