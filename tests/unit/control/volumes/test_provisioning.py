"""Volumes that are made for claims; in virtual time with the real API server."""

from tests.unit.control.cluster_objects import node
from tests.unit.control.volumes.stored import Storage, claim, storage, storage_class, volume

from moorage.model.kinds import KINDS

LAZY = "WaitForFirstConsumer"
ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"


async def select(cluster: Storage, name: str, where: str) -> None:
    """What the scheduler writes."""
    await cluster.client.patch(
        KINDS.PERSISTENT_VOLUME_CLAIM, name, "default", {"metadata": {"annotations": {SELECTED: where}}}
    )


def terms(spec: dict[str, object]) -> object:
    affinity = spec.get("nodeAffinity")
    return affinity["required"]["nodeSelectorTerms"] if isinstance(affinity, dict) else None


async def test_a_volume_is_made_as_the_claim_and_its_class_say(cluster: Storage) -> None:
    made_by = storage_class("fast", reclaimPolicy="Retain", mountOptions=["noatime"])
    await cluster.make(made_by, claim("c", "3Gi", storageClassName="fast", volumeMode="Block"))
    await cluster.settle()
    found = await cluster.claim("c")
    name = await cluster.bound_to("c")
    assert name == f"pvc-{found.uid}"
    made = await cluster.volume(name)
    spec = made.raw["spec"]
    assert spec["capacity"] == {"storage": "3Gi"}
    assert (spec["accessModes"], spec["volumeMode"]) == (["ReadWriteOnce"], "Block")
    assert (spec["persistentVolumeReclaimPolicy"], spec["mountOptions"]) == ("Retain", ["noatime"])
    assert spec["storageClassName"] == "fast"
    assert spec["csi"]["driver"] == "simulated.moorage.dev"
    assert made.view.metadata.annotations == {
        "pv.kubernetes.io/bound-by-controller": "yes",
        "pv.kubernetes.io/provisioned-by": "moorage.dev/simulated",
    }
    assert found.view.metadata.annotations["volume.kubernetes.io/storage-provisioner"] == "moorage.dev/simulated"
    assert cluster.messages("c", "ProvisioningSucceeded") == [
        f"Successfully provisioned volume {name} using moorage.dev/simulated"
    ]


async def test_where_there_is_no_storage_every_provisioner_is_simulated_but_the_one_that_is_none() -> None:
    async with storage(simulates=True) as cluster:
        for name, provisioner in (("csi", "ebs.csi.aws.com"), ("old", "kubernetes.io/aws-ebs")):
            await cluster.make(storage_class(name, provisioner), claim(name, storageClassName=name))
        await cluster.make(
            storage_class("none", "kubernetes.io/no-provisioner"), claim("none", storageClassName="none")
        )
        await cluster.settle()
        drivers = [(await cluster.volume(await cluster.bound_to(name))).view.spec.csi.driver for name in ("csi", "old")]
        assert drivers == ["ebs.csi.aws.com", "simulated.moorage.dev"]
        assert await cluster.bound_to("none") == ""


async def test_a_volume_that_fits_is_taken_before_one_is_made(cluster: Storage) -> None:
    await cluster.make(storage_class("manual"), volume("v"))
    await cluster.settle()
    await cluster.make(claim("c"), claim("d"))
    await cluster.settle()
    assert {await cluster.bound_to("c"), await cluster.bound_to("d")} >= {"v"}
    assert len(await cluster.all(KINDS.PERSISTENT_VOLUME)) == 2


async def test_a_class_that_waits_makes_the_volume_where_the_pod_goes(cluster: Storage) -> None:
    await cluster.make(
        storage_class("lazy", volumeBindingMode=LAZY),
        node("n", metadata={"labels": {ZONE: "z1"}}),
        node("nowhere"),
        claim("c", storageClassName="lazy"),
        claim("d", storageClassName="lazy"),
    )
    await cluster.settle()
    assert await cluster.all(KINDS.PERSISTENT_VOLUME) == []
    await select(cluster, "c", "n")
    await select(cluster, "d", "nowhere")
    await cluster.settle()
    reach = [terms((await cluster.volume(await cluster.bound_to(name))).raw["spec"]) for name in "cd"]
    assert reach == [[{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}], None]


async def test_allowed_topologies(cluster: Storage) -> None:
    allowed = [
        {"matchLabelExpressions": [{"key": "rack", "values": ["r1", "r2"]}, {"key": ZONE, "values": ["z1"]}]},
        {"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]},
    ]
    await cluster.make(
        storage_class("lazy", volumeBindingMode=LAZY, allowedTopologies=allowed),
        storage_class("eager", allowedTopologies=allowed),
        node("in", metadata={"labels": {ZONE: "z1", "rack": "r2"}}),
        node("out", metadata={"labels": {ZONE: "z1", "rack": "r3"}}),
    )
    for name, kind in (("c", "lazy"), ("d", "lazy"), ("e", "eager")):
        await cluster.make(claim(name, storageClassName=kind))
    await cluster.settle()
    await select(cluster, "c", "in")
    await select(cluster, "d", "out")
    await cluster.settle()
    assert terms((await cluster.volume(await cluster.bound_to("c"))).raw["spec"]) == [
        {
            "matchExpressions": [
                {"key": "rack", "operator": "In", "values": ["r2"]},
                {"key": ZONE, "operator": "In", "values": ["z1"]},
            ]
        }
    ]
    eager = terms((await cluster.volume(await cluster.bound_to("e"))).raw["spec"])
    assert isinstance(eager, list)
    assert len(eager) == 2
    assert await cluster.bound_to("d") == ""
    assert SELECTED not in (await cluster.claim("d")).view.metadata.annotations
    assert cluster.messages("d", "ProvisioningFailed") == [
        'Failed to provision volume with StorageClass "lazy": no allowed topology has node "out"'
    ]


async def test_a_node_that_is_gone_is_given_up(cluster: Storage) -> None:
    await cluster.make(storage_class("lazy", volumeBindingMode=LAZY), claim("c", storageClassName="lazy"))
    await select(cluster, "c", "gone")
    await cluster.settle()
    assert SELECTED not in (await cluster.claim("c")).view.metadata.annotations
    assert cluster.messages("c", "ProvisioningFailed") == ['Failed to get target node: node "gone" not found']
    await cluster.client.create(KINDS.NODE, node("n"))
    await select(cluster, "c", "n")
    await cluster.settle()
    assert await cluster.bound_to("c")


async def test_a_crash_at_any_point_makes_one_volume(cluster: Storage) -> None:
    await cluster.make(storage_class("s"))
    for number in range(12):
        await cluster.make(claim(f"c{number}", storageClassName="s"))
        await cluster.settle(0)
        await cluster.restart()
    await cluster.settle()
    bound = {await cluster.bound_to(f"c{number}") for number in range(12)}
    assert bound == {found.name for found in await cluster.all(KINDS.PERSISTENT_VOLUME)}
    assert len(bound) == 12


async def test_what_is_selected_by_labels_is_not_made(cluster: Storage) -> None:
    chosen = claim("c", storageClassName="fast", selector={"matchLabels": {"disk": "old"}})
    await cluster.make(storage_class("fast"), chosen)
    await cluster.settle(10)
    text = 'Failed to provision volume with StorageClass "fast": claim Selector is not supported'
    assert cluster.messages("c", "ProvisioningFailed") == [text]
    assert await cluster.all(KINDS.PERSISTENT_VOLUME) == []
    await cluster.make(volume("v", metadata={"labels": {"disk": "old"}}, storageClassName="fast"))
    await cluster.settle(10)
    assert await cluster.bound_to("c") == "v"
