"""Claims and volumes find each other; in virtual time with the real API server."""

from typing import Any

import pytest
from tests.unit.control.volumes.stored import Raw, Storage, claim, pod, storage_class, volume

from moorage.model.kinds import KINDS


async def test_the_smallest_volume_that_will_do(cluster: Storage) -> None:
    await cluster.make(volume("large", "100Gi"), volume("fits", "20Gi"), volume("small", "5Gi"), claim("c"))
    await cluster.settle()
    assert await cluster.bound_to("c") == "fits"
    assert [await cluster.phase(name) for name in ("large", "small")] == ["Available", "Available"]
    bound = (await cluster.claim("c")).view
    assert str(bound.status.capacity["storage"]) == "20Gi"
    assert bound.metadata.annotations["pv.kubernetes.io/bound-by-controller"] == "yes"
    held = await cluster.volume("fits")
    assert held.view.metadata.annotations == {"pv.kubernetes.io/bound-by-controller": "yes"}
    assert held.raw["spec"]["claimRef"]["apiVersion"] == "v1"
    assert held.raw["spec"]["claimRef"]["resourceVersion"]


async def test_volumes_that_can_do_little_else_are_taken_first(cluster: Storage) -> None:
    many = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"]
    await cluster.make(volume("versatile", "10Gi", accessModes=many), volume("plain", "50Gi"))
    await cluster.settle()
    await cluster.make(claim("c"), claim("d", accessModes=["ReadWriteMany"]))
    await cluster.settle()
    assert (await cluster.bound_to("c"), await cluster.bound_to("d")) == ("plain", "versatile")


@pytest.mark.parametrize(
    "wants",
    [
        {"selector": {"matchLabels": {"disk": "fast"}}},
        {"storageClassName": "other"},
        {"accessModes": ["ReadWriteMany"]},
        {"volumeMode": "Block"},
        {"volumeAttributesClassName": "gold"},
        {"resources": {"requests": {"storage": "11Gi"}}},
    ],
    ids=lambda wants: next(iter(wants)),
)
async def test_what_a_claim_may_ask_for(wants: Raw, cluster: Storage) -> None:
    has: dict[str, Any] = {
        "selector": volume("right", metadata={"labels": {"disk": "fast"}}),
        "storageClassName": volume("right", storageClassName="other"),
        "accessModes": volume("right", accessModes=["ReadWriteMany"]),
        "volumeMode": volume("right", volumeMode="Block"),
        "volumeAttributesClassName": volume(
            "right", volumeAttributesClassName="gold", hostPath=None, csi={"driver": "d", "volumeHandle": "h"}
        ),
        "resources": volume("right", "11Gi"),
    }
    await cluster.make(volume("wrong"), claim("c", **wants))
    await cluster.settle()
    assert await cluster.bound_to("c") == ""
    await cluster.make(has[next(iter(wants))])
    await cluster.settle()
    assert await cluster.bound_to("c") == "right"
    assert await cluster.phase("wrong") == "Available"


async def test_a_volume_may_name_its_claim_and_a_claim_its_volume(cluster: Storage) -> None:
    reference = {"namespace": "default", "name": "named"}
    await cluster.make(volume("a", "5Gi"), volume("set-aside", "5Gi", claimRef=reference), volume("b", "50Gi"))
    await cluster.settle()
    assert await cluster.phase("set-aside") == "Available"
    await cluster.make(claim("other", "5Gi"), claim("named", "5Gi"), claim("asks", volumeName="b"))
    await cluster.settle()
    assert await cluster.bound_to("named") == "set-aside"
    assert (await cluster.bound_to("other"), await cluster.bound_to("asks")) == ("a", "b")
    set_aside = (await cluster.volume("set-aside")).view
    assert "pv.kubernetes.io/bound-by-controller" not in set_aside.metadata.annotations
    asks = (await cluster.claim("asks")).view
    assert "pv.kubernetes.io/bound-by-controller" not in asks.metadata.annotations


async def test_a_claim_that_names_a_volume_gets_no_other(cluster: Storage) -> None:
    reference = {"namespace": "default", "name": "owner"}
    await cluster.make(volume("small", "1Gi"), volume("theirs", claimRef=reference), volume("free"))
    for name, wanted in (("a", "small"), ("b", "theirs"), ("c", "missing")):
        await cluster.make(claim(name, volumeName=wanted))
    await cluster.settle()
    assert [await cluster.bound_to(name) for name in "abc"] == ["", "", ""]
    assert cluster.messages("a", "VolumeMismatch") == [
        'Cannot bind to requested volume "small": requested PV is too small'
    ]
    assert cluster.messages("b", "FailedBinding") == ['volume "theirs" already bound to a different claim.']
    await cluster.make(volume("missing"))
    await cluster.settle()
    assert await cluster.bound_to("c") == "missing"


async def test_a_volume_of_another_mode_says_so(cluster: Storage) -> None:
    await cluster.make(claim("c", volumeMode="Block"))
    uid = (await cluster.claim("c")).uid
    await cluster.make(volume("v", claimRef={"namespace": "default", "name": "c", "uid": uid}))
    await cluster.settle()
    assert await cluster.bound_to("c") == ""
    assert len(cluster.messages("c", "VolumeMismatch")) == len(cluster.messages("v", "VolumeMismatch")) == 1


async def test_without_a_class_a_claim_says_that_there_is_none_until_there_is_a_default(cluster: Storage) -> None:
    await cluster.make(claim("c", storageClassName=None), claim("none", storageClassName=""))
    await cluster.settle()
    text = "no persistent volumes available for this claim and no storage class is set"
    assert cluster.messages("c", "FailedBinding") == cluster.messages("none", "FailedBinding") == [text]
    mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    await cluster.make(storage_class("standard", metadata=mark))
    await cluster.settle()
    assert (await cluster.claim("c")).view.spec.storageClassName == "standard"
    assert (await cluster.bound_to("c"), await cluster.bound_to("none")) == (
        f"pvc-{(await cluster.claim('c')).uid}",
        "",
    )
    assert "retroactive_storageclass_total 1" in cluster.metrics.render()[0].decode()


async def test_a_class_that_waits_for_a_consumer(cluster: Storage) -> None:
    lazy = storage_class("lazy", "kubernetes.io/no-provisioner", volumeBindingMode="WaitForFirstConsumer")
    await cluster.make(lazy, volume("v", storageClassName="lazy"), claim("c", storageClassName="lazy"))
    await cluster.settle()
    assert await cluster.bound_to("c") == ""
    assert cluster.messages("c", "WaitForFirstConsumer") == ["waiting for first consumer to be created before binding"]
    await cluster.make(pod("p", "c"))
    await cluster.settle()
    assert cluster.messages("c", "WaitForPodScheduled") == ["waiting for pod p to be scheduled"]
    found = await cluster.claim("c")
    reference = {"namespace": "default", "name": "c", "uid": found.uid}
    await cluster.client.patch(KINDS.PERSISTENT_VOLUME, "v", "", {"spec": {"claimRef": reference}})
    await cluster.settle()
    assert await cluster.bound_to("c") == "v"


async def test_classes_that_nobody_serves(cluster: Storage) -> None:
    await cluster.make(storage_class("none", "kubernetes.io/no-provisioner"), storage_class("csi", "csi.test"))
    for name in ("none", "csi", "missing"):
        await cluster.make(claim(name, storageClassName=name))
    await cluster.settle()
    assert cluster.messages("none", "ProvisioningFailed") == [
        "no volume plugin matched name: kubernetes.io/no-provisioner"
    ]
    assert cluster.messages("missing", "ProvisioningFailed") == ['storageclass.storage.k8s.io "missing" not found']
    (text,) = cluster.messages("csi", "ExternalProvisioning")
    assert text.startswith("Waiting for a volume to be created either by the external provisioner 'csi.test' or")
    told = (await cluster.claim("csi")).view.metadata.annotations
    assert told["volume.kubernetes.io/storage-provisioner"] == "csi.test"


async def test_many_claims_at_once_each_get_their_own(cluster: Storage) -> None:
    for number in range(40):
        await cluster.make(claim(f"c{number}"))
    for number in range(30):
        await cluster.make(volume(f"v{number}"))
    await cluster.settle(5)
    bound = [await cluster.bound_to(f"c{number}") for number in range(40)]
    assert sorted(filter(None, bound)) == sorted(f"v{number}" for number in range(30))
    for number in range(30, 40):
        await cluster.make(volume(f"v{number}"))
    await cluster.settle(5)
    assert all([await cluster.bound_to(f"c{number}") for number in range(40)])
    text = cluster.metrics.render()[0].decode()
    assert 'pv_collector_bound_pv_count{storage_class="manual"} 40' in text
    labels = 'namespace="default",storage_class="manual",volume_attributes_class=""'
    assert f"pv_collector_bound_pvc_count{{{labels}}} 40" in text


async def test_a_volume_whose_claim_was_bound_elsewhere_is_free_again(cluster: Storage) -> None:
    await cluster.make(volume("v"), claim("c"))
    await cluster.settle()
    reference = {"namespace": "default", "name": "c", "uid": (await cluster.claim("c")).uid}
    ours = {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}
    await cluster.make(volume("ours", metadata=ours, claimRef=reference), volume("users", claimRef=reference))
    await cluster.settle()
    assert await cluster.bound_to("c") == "v"
    assert (await cluster.phase("ours"), await cluster.phase("users")) == ("Available", "Available")
    assert (await cluster.volume("ours")).view.spec.claimRef is None
    users = (await cluster.volume("users")).view.spec.claimRef
    assert (users.name, users.uid) == ("c", "")


async def test_claims_that_lose_their_volume(cluster: Storage) -> None:
    await cluster.make(volume("v"), claim("c"), volume("w"), claim("d"))
    await cluster.settle()
    taken, other = await cluster.bound_to("c"), await cluster.bound_to("d")
    await cluster.client.delete(KINDS.PERSISTENT_VOLUME, taken)
    await cluster.settle()
    assert (await cluster.claim("c")).view.status.phase == "Lost"
    assert cluster.messages("c", "ClaimLost") == [
        "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    ]
    thief = {"namespace": "default", "name": "d", "uid": "somebody-else"}
    await cluster.client.patch(KINDS.PERSISTENT_VOLUME, other, "", {"spec": {"claimRef": thief}})
    await cluster.settle()
    assert (await cluster.claim("d")).view.status.phase == "Lost"
    assert cluster.reasons("d").count("ClaimMisbound") == 1


async def test_nothing_is_written_when_nothing_changes(cluster: Storage) -> None:
    await cluster.make(storage_class("s"), volume("v"), volume("free"), claim("c"), claim("waits", "1Ti"))
    await cluster.make(claim("made", storageClassName="s"))
    await cluster.settle(20)
    kinds = (KINDS.PERSISTENT_VOLUME, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.STORAGE_CLASS)
    before = {(kind, found.key): found.revision for kind in kinds for found in await cluster.all(kind)}
    await cluster.restart()
    await cluster.settle(100)
    after = {(kind, found.key): found.revision for kind in kinds for found in await cluster.all(kind)}
    assert before == after
