"""VolumeAttributesClasses stay while claims or volumes name them; with the real API server.

Kubernetes: processVAC and getPVCReferencedVACNames of pkg/controller/volume/vacprotection.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.controller_context import controller_context
from tests.unit.control.volumes.stored import Storage, claim, volume

from moorage.client.protocol import Object
from moorage.control.volumes.protection import AttributesClassProtection, named_classes
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.model.well_known.finalizers import VOLUME_ATTRIBUTES_CLASS_IN_USE

CSI = {"driver": "csi.test", "volumeHandle": "h"}


@asynccontextmanager
async def protected() -> AsyncIterator[Storage]:
    async with Storage.running(lambda: [AttributesClassProtection(controller_context())]) as cluster:
        assert isinstance(cluster, Storage)
        yield cluster


def attributes_class(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": name},
        "driverName": "csi.test",
        "parameters": {"iops": "10"},
    }


async def found(cluster: Storage, name: str) -> Object | None:
    return next((one for one in await cluster.all(KINDS.VOLUME_ATTRIBUTES_CLASS) if one.name == name), None)


async def test_a_class_that_nothing_names_gets_its_finalizer_and_goes_when_it_is_deleted() -> None:
    async with protected() as cluster:
        await cluster.make(attributes_class("gold"))
        await cluster.settle()
        gold = await found(cluster, "gold")
        assert gold is not None
        assert list(gold.view.metadata.finalizers) == [VOLUME_ATTRIBUTES_CLASS_IN_USE]
        await cluster.client.delete(KINDS.VOLUME_ATTRIBUTES_CLASS, "gold")
        await cluster.settle()
        assert await found(cluster, "gold") is None


async def test_a_class_goes_when_the_last_claim_and_volume_that_name_it_have_gone() -> None:
    async with protected() as cluster:
        await cluster.make(
            attributes_class("gold"),
            claim("a", volumeAttributesClassName="gold"),
            claim("b", volumeAttributesClassName="silver"),
            volume("v", volumeAttributesClassName="gold", hostPath=None, csi=CSI),
        )
        await cluster.settle()
        await cluster.client.delete(KINDS.VOLUME_ATTRIBUTES_CLASS, "gold")
        await cluster.settle()
        assert await found(cluster, "gold") is not None
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "a", "default")
        await cluster.settle()
        assert await found(cluster, "gold") is not None
        await cluster.restart()
        await cluster.settle()
        assert await found(cluster, "gold") is not None
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME, "v")
        await cluster.settle()
        assert await found(cluster, "gold") is None


async def test_a_class_that_a_claim_had_goes_when_the_claim_has_another() -> None:
    async with protected() as cluster:
        await cluster.make(attributes_class("gold"), claim("a", volumeAttributesClassName="silver"))
        status = {"currentVolumeAttributesClassName": "gold"}
        await cluster.client.patch(
            KINDS.PERSISTENT_VOLUME_CLAIM, "a", "default", {"status": status}, subresource="status"
        )
        await cluster.settle()
        await cluster.client.delete(KINDS.VOLUME_ATTRIBUTES_CLASS, "gold")
        await cluster.settle()
        assert await found(cluster, "gold") is not None
        status = {"currentVolumeAttributesClassName": "silver"}
        await cluster.client.patch(
            KINDS.PERSISTENT_VOLUME_CLAIM, "a", "default", {"status": status}, subresource="status"
        )
        await cluster.settle()
        assert await found(cluster, "gold") is None


def test_a_claim_names_the_classes_that_it_wants_has_and_is_changed_to() -> None:
    raw = claim("a", volumeAttributesClassName="gold") | {
        "status": {
            "currentVolumeAttributesClassName": "silver",
            "modifyVolumeStatus": {"targetVolumeAttributesClassName": "bronze", "status": "Pending"},
        }
    }
    assert named_classes(convert_view(raw, PersistentVolumeClaim)) == {"gold", "silver", "bronze"}
    assert named_classes(convert_view(claim("b", volumeAttributesClassName=""), PersistentVolumeClaim)) == set()
