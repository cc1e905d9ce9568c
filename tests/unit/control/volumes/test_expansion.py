"""Claims that ask for more than they have; with the real API server."""

from typing import Any

from tests.unit.control.volumes.stored import Storage, claim, storage_class

from moorage.client.protocol import PatchType
from moorage.model.kinds import KINDS


async def ask(cluster: Storage, size: str) -> None:
    wanted: dict[str, Any] = {"spec": {"resources": {"requests": {"storage": size}}}}
    await cluster.client.patch(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default", wanted, patch_type=PatchType.STRATEGIC)
    await cluster.settle(10)


async def sizes(cluster: Storage) -> tuple[str, str]:
    found = await cluster.claim("c")
    held = await cluster.volume(found.view.spec.volumeName)
    return found.raw["status"]["capacity"]["storage"], held.raw["spec"]["capacity"]["storage"]


async def test_the_volume_grows_and_the_claim_says_so(cluster: Storage) -> None:
    await cluster.make(storage_class("fast", allowVolumeExpansion=True), claim("c", "1Gi", storageClassName="fast"))
    await cluster.settle()
    assert await sizes(cluster) == ("1Gi", "1Gi")
    await ask(cluster, "5Gi")
    assert await sizes(cluster) == ("5Gi", "5Gi")
    name = (await cluster.claim("c")).view.spec.volumeName
    assert cluster.messages("c", "Resizing") == [f"External resizer is resizing volume {name}"]
    assert cluster.messages("c", "VolumeResizeSuccessful") == ["Resize volume succeeded"]
    await ask(cluster, "5368709120")
    assert cluster.messages("c", "VolumeResizeSuccessful") == ["Resize volume succeeded"]


async def test_a_claim_whose_volume_has_grown_already_is_finished(cluster: Storage) -> None:
    await cluster.make(storage_class("fast", allowVolumeExpansion=True), claim("c", "1Gi", storageClassName="fast"))
    await cluster.settle()
    await ask(cluster, "5Gi")
    less = {"status": {"capacity": {"storage": "1Gi"}}}
    await cluster.client.patch(
        KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default", less, subresource="status", patch_type=PatchType.STRATEGIC
    )
    await cluster.settle(10)
    assert await sizes(cluster) == ("5Gi", "5Gi")
    assert len(cluster.messages("c", "Resizing")) == 1


async def test_what_somebody_else_made_somebody_else_makes_larger(cluster: Storage) -> None:
    made = claim("c", "1Gi", storageClassName="theirs")
    await cluster.make(storage_class("theirs", "csi.test", allowVolumeExpansion=True), made)
    await cluster.settle()
    uid = (await cluster.claim("c")).uid
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "default", "name": "c"}
    await cluster.make(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "v", "annotations": {"pv.kubernetes.io/provisioned-by": "csi.test"}},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "theirs",
                "csi": {"driver": "csi.test", "volumeHandle": "h"},
                "claimRef": {**reference, "uid": uid},
            },
        }
    )
    await cluster.settle()
    await ask(cluster, "2Gi")
    await ask(cluster, "3Gi")
    assert await sizes(cluster) == ("1Gi", "1Gi")
    text = "waiting for an external controller to expand this PVC"
    assert cluster.messages("c", "ExternalExpanding") == [text]
