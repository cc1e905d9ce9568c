"""What becomes of a volume whose claim is gone, and how long both are kept; with the real API server."""

import pytest
from tests.unit.control.volumes.stored import Storage, claim, pod, storage, storage_class, volume

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

CSI = {"driver": "csi.test", "volumeHandle": "h"}


async def is_there(cluster: Storage, name: str) -> bool:
    return name in {found.name for found in await cluster.all(KINDS.PERSISTENT_VOLUME)}


async def test_a_retained_volume_is_released_and_nobody_gets_it_until_somebody_says_so(cluster: Storage) -> None:
    await cluster.make(volume("v"), claim("c"))
    await cluster.settle()
    await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
    await cluster.settle()
    assert await cluster.phase("v") == "Released"
    await cluster.make(claim("c"))
    await cluster.settle(10)
    assert (await cluster.phase("v"), await cluster.bound_to("c")) == ("Released", "")
    await cluster.client.patch(KINDS.PERSISTENT_VOLUME, "v", "", {"spec": {"claimRef": None}})
    await cluster.settle()
    assert await cluster.bound_to("c") == "v"


@pytest.mark.parametrize("simulates", [True, False])
async def test_a_volume_that_is_to_be_deleted(simulates: bool) -> None:
    async with storage(simulates=simulates) as cluster:
        await cluster.make(volume("path", persistentVolumeReclaimPolicy="Delete"), claim("a"))
        await cluster.settle()
        await cluster.make(volume("disk", persistentVolumeReclaimPolicy="Delete", hostPath=None, csi=CSI), claim("b"))
        await cluster.settle()
        for name in "ab":
            await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, name, "default")
        await cluster.settle(10)
        if simulates:
            assert not await is_there(cluster, "path")
            assert not await is_there(cluster, "disk")
            return
        assert (await cluster.phase("path"), await cluster.phase("disk")) == ("Failed", "Released")
        assert cluster.messages("path", "VolumeFailedDelete") == [
            'error getting deleter volume plugin for volume "path": no deletable volume plugin matched'
        ]


@pytest.mark.parametrize("simulates", [True, False])
async def test_nobody_waits_for_a_driver_that_is_not_there(simulates: bool) -> None:
    async with storage(simulates=simulates) as cluster:
        kept = {"finalizers": ["external-provisioner.volume.kubernetes.io/finalizer", "example.com/mine"]}
        made = volume("v", metadata=kept, persistentVolumeReclaimPolicy="Delete", hostPath=None, csi=CSI)
        await cluster.make(made, claim("c"))
        await cluster.settle()
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME, "v")
        await cluster.settle()
        assert len((await cluster.volume("v")).view.metadata.finalizers) == 2
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
        await cluster.settle()
        assert len((await cluster.volume("v")).view.metadata.finalizers) == (1 if simulates else 2)


async def test_where_storage_is_simulated_a_recycled_volume_is_free_again() -> None:
    async with storage(simulates=True) as cluster:
        await cluster.make(volume("path", persistentVolumeReclaimPolicy="Recycle"), claim("a"))
        await cluster.settle()
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "a", "default")
        await cluster.settle(10)
        found = (await cluster.volume("path")).view
        assert (found.status.phase, found.spec.claimRef) == ("Available", None)
        assert cluster.messages("path", "VolumeRecycled") == ["Volume recycled"]
        await cluster.make(claim("b"))
        await cluster.settle()
        assert await cluster.bound_to("b") == "path"


async def test_nobody_recycles(cluster: Storage) -> None:
    await cluster.make(volume("v", persistentVolumeReclaimPolicy="Recycle"), claim("c"))
    await cluster.settle()
    await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
    await cluster.settle(10)
    found = (await cluster.volume("v")).view
    assert (found.status.phase, found.status.message) == ("Failed", "No recycler plugin found for the volume!")
    assert cluster.reasons("v") == ["VolumeFailedRecycle"]


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
async def test_a_provisioned_volume_goes_as_its_class_says(policy: str) -> None:
    async with storage(protects=True) as cluster:
        await cluster.make(storage_class("s", reclaimPolicy=policy), claim("c", storageClassName="s"))
        await cluster.settle()
        made = await cluster.bound_to("c")
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
        await cluster.settle()
        assert await is_there(cluster, made) is (policy == "Retain")


async def test_a_provisioned_volume_that_came_too_late_is_deleted(cluster: Storage) -> None:
    await cluster.make(volume("v"), claim("c"))
    await cluster.settle()
    reference = {"namespace": "default", "name": "c", "uid": (await cluster.claim("c")).uid}
    by = {"annotations": {"pv.kubernetes.io/provisioned-by": "moorage.dev/simulated"}}
    late = volume("late", metadata=by, claimRef=reference, persistentVolumeReclaimPolicy="Delete")
    await cluster.make(late)
    await cluster.settle()
    assert not await is_there(cluster, "late")
    assert await cluster.bound_to("c") == "v"


async def test_a_claim_is_kept_while_a_pod_uses_it_and_a_volume_while_a_claim_does() -> None:
    async with storage(protects=True) as cluster:
        await cluster.make(volume("v"), claim("c"), pod("p", "c", on="n"), pod("unscheduled", "c"))
        await cluster.settle()
        assert (await cluster.claim("c")).view.metadata.finalizers == ("kubernetes.io/pvc-protection",)
        assert (await cluster.volume("v")).view.metadata.finalizers == ("kubernetes.io/pv-protection",)
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME, "v")
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
        await cluster.settle(100)
        assert await cluster.bound_to("c") == "v"
        await cluster.restart()
        await cluster.settle(100)
        assert await cluster.bound_to("c") == "v"
        await cluster.client.delete(KINDS.POD, "p", "default")
        await cluster.settle()
        with pytest.raises(ApiError):
            await cluster.claim("c")
        assert not await is_there(cluster, "v")


async def test_a_free_volume_and_an_unused_claim_go_at_once() -> None:
    async with storage(protects=True) as cluster:
        await cluster.make(volume("v"), claim("c", storageClassName="other"))
        await cluster.settle()
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME, "v")
        await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default")
        await cluster.settle()
        assert await cluster.all(KINDS.PERSISTENT_VOLUME) == await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM) == []


async def test_an_ephemeral_claim_is_kept_only_by_the_pod_that_it_was_made_for() -> None:
    async with storage(protects=True) as cluster:
        document = pod("p", on="n")
        template = {"spec": claim("x")["spec"]}
        document["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]
        await cluster.make(document)
        uid = (await cluster.client.get(KINDS.POD, "p", "default")).uid
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": True}
        await cluster.make(claim("p-scratch", metadata={"ownerReferences": [owner]}), claim("p-other"))
        await cluster.settle()
        for name in ("p-scratch", "p-other"):
            await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, name, "default")
        await cluster.settle()
        assert [found.name for found in await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM)] == ["p-scratch"]
        await cluster.client.delete(KINDS.POD, "p", "default")
        await cluster.settle()
        assert await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM) == []


async def test_many_claims_of_a_namespace_go_together() -> None:
    async with storage(protects=True) as cluster:
        for number in range(50):
            await cluster.make(claim(f"c{number}"))
        await cluster.settle()
        for number in range(50):
            await cluster.client.delete(KINDS.PERSISTENT_VOLUME_CLAIM, f"c{number}", "default")
        await cluster.settle()
        assert await cluster.all(KINDS.PERSISTENT_VOLUME_CLAIM) == []
