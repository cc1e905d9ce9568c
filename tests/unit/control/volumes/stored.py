"""Volumes, claims and classes as short as tests want them, and a cluster whose volume controllers run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Object
from moorage.control.framework.controller import Controller
from moorage.control.volumes.controller import PersistentVolumeBinder
from moorage.control.volumes.protection import ClaimProtection, VolumeProtection
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
SIMULATED = "moorage.dev/simulated"


def volume(name: str, size: str = "10Gi", metadata: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            "hostPath": {"path": f"/data/{name}"},
            **spec,
        },
    }


def claim(name: str, size: str = "10Gi", metadata: Raw | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", **(metadata or {})},
        "spec": {
            "resources": {"requests": {"storage": size}},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "manual",
            **spec,
        },
    }


def storage_class(name: str, provisioner: str = SIMULATED, metadata: Raw | None = None, **more: Any) -> Raw:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, **(metadata or {})},
        "provisioner": provisioner,
        **more,
    }


def pod(name: str, *claims: str, on: str = "") -> Raw:
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": volumes,
            "terminationGracePeriodSeconds": 0,
            **({"nodeName": on} if on else {}),
        },
    }


class Storage(VirtualCluster):
    """A cluster with a few words for storage."""

    async def make(self, *documents: Raw) -> None:
        for document in documents:
            kind = KINDS[document["apiVersion"], document["kind"]]
            await self.client.create(kind, document, document["metadata"].get("namespace", ""))

    async def volume(self, name: str) -> Object:
        return await self.client.get(KINDS.PERSISTENT_VOLUME, name)

    async def claim(self, name: str) -> Object:
        return await self.client.get(KINDS.PERSISTENT_VOLUME_CLAIM, name, "default")

    async def bound_to(self, name: str) -> str:
        """The volume that a claim is bound to, after everything agrees that it is."""
        found = (await self.claim(name)).view
        if found.status.phase != "Bound":
            return ""
        held = (await self.volume(found.spec.volumeName)).view
        assert (held.spec.claimRef.name, held.spec.claimRef.uid) == (name, found.metadata.uid)
        assert held.status.phase == "Bound"
        assert found.metadata.annotations["pv.kubernetes.io/bind-completed"] == "yes"
        assert found.status.accessModes == held.spec.accessModes
        return str(found.spec.volumeName)

    async def phase(self, name: str) -> str:
        return str((await self.volume(name)).view.status.phase)

    def messages(self, name: str, reason: str) -> list[str]:
        return [event.message for event in self.events if (event.involved["name"], event.reason) == (name, reason)]


@asynccontextmanager
async def storage(*, simulates: bool = False, protects: bool = False) -> AsyncIterator[Storage]:
    """`simulates`: every provisioner is; `protects`: with the controllers that keep what is in use."""
    kept: list[Storage] = []

    def make() -> list[Controller]:
        metrics = kept[0].metrics if kept else Metrics()
        binder = PersistentVolumeBinder(controller_context(metrics=metrics, simulates_storage=simulates))
        return (
            [binder, ClaimProtection(controller_context()), VolumeProtection(controller_context())]
            if protects
            else [binder]
        )

    async with Storage.running(make) as cluster:
        assert isinstance(cluster, Storage)
        kept.append(cluster)
        await cluster.restart()
        yield cluster
