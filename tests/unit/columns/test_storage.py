"""Shapes of pods with claims, what storage keeps of events, and what becomes of promises."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import cluster_of, node, place
from tests.unit.schedule.storage_objects import (
    attachment,
    claim,
    csi_node,
    csi_volume,
    local_volume,
    storage_class,
    store,
    user,
    volume,
)

from moorage.columns.cluster import Cluster
from moorage.columns.storage import VolumeDecision
from moorage.match.volumes.claims import SELECTED_NODE, ClaimState, claims_of
from moorage.match.volumes.csi_migration import Attachable, moved_affinity, moved_disk, provisioned_disk
from moorage.model.types.pod import Pod

DRIVER = "disk.example.com"


def a_cluster() -> Cluster:
    return store(cluster_of(node("a"), node("b")), storage_class())


def same_shape(cluster: Cluster, first: Pod, second: Pod) -> bool:
    return cluster.shape_of(first) is cluster.shape_of(second)


# -- shapes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("things", "same"),
    [
        ([claim("c"), claim("d")], True),
        ([claim("c"), claim("d", size="2Gi")], False),
        ([claim("c"), claim("d", modes=["ReadWriteMany"])], False),
        ([claim("c", "v"), claim("d", "w"), csi_volume("v"), csi_volume("w")], True),
        ([claim("c", "v"), claim("d", "w"), csi_volume("v"), csi_volume("w", driver="other")], False),
        ([claim("c", "v"), claim("d", "w"), local_volume("v", "a"), local_volume("w", "a")], True),
        ([claim("c", "v"), claim("d", "w"), local_volume("v", "a"), local_volume("w", "b")], False),
        ([claim("c", "v"), claim("d", "w"), volume("v"), volume("w", labels={"x": "y"})], True),
        (
            [claim("c", "v"), claim("d", "w"), volume("v"), volume("w", labels={"topology.kubernetes.io/zone": "1"})],
            False,
        ),
        ([claim("c", storage_class=""), claim("d", storage_class="")], True),
        ([], False),  # messages name claims that are not there
        ([claim("c"), claim("d"), volume("v", claimRef={"namespace": "default", "name": "c"})], False),
        # A volume that is too small was not set aside for anybody.
        ([claim("c"), claim("d"), volume("v", "1Mi", claimRef={"namespace": "default", "name": "c"})], True),
    ],
)
def test_claims_of_one_kind_make_one_shape(things: list[Any], same: bool) -> None:
    assert same_shape(store(a_cluster(), *things), user("c", name="p"), user("d", name="q")) is same


def test_a_thousand_pods_with_a_claim_each_have_one_shape() -> None:
    cluster = a_cluster()
    for i in range(1000):
        store(cluster, csi_volume(f"v{i}"), claim(f"c{i}", f"v{i}"))
    for i in range(1000):
        place(cluster, user(f"c{i}", name=f"p{i}"), on="a")
    assert len(cluster.shapes) == 1
    assert cluster.storage.attachments.counts(DRIVER)[cluster.nodes.slot_of["a"]] == 1000


def test_secrets_and_other_volumes_that_are_everywhere_do_not_matter() -> None:
    cluster = a_cluster()
    token: dict[str, Any] = {"projected": {"sources": []}}
    first = user(name="p", volumes=[{"name": "kube-api-access-x7k2p", **token}])
    second = user(name="q", volumes=[{"name": "kube-api-access-9dlqm", **token}, {"name": "t", "emptyDir": {}}])
    assert same_shape(cluster, first, second)
    disk = {"name": "d", "gcePersistentDisk": {"pdName": "d"}}
    assert not same_shape(cluster, first, user(volumes=[disk]))


def test_a_pod_gets_another_shape_when_something_becomes_of_its_claim() -> None:
    cluster = store(a_cluster(), csi_volume("v"), csi_volume("w"), claim("d", "w"))
    record = cluster.record("default/p", user("c"))
    missing = record.shape
    store(cluster, claim("c", "v"))
    alike = cluster.refresh(record)
    assert alike is not missing
    assert alike is cluster.shape_of(user("d"))
    assert cluster.refresh(record) is alike
    place(cluster, user("c", name="first"), on="a")
    assert cluster.refresh(record) is alike
    store(cluster, csi_node("a", disk=1))  # now there is room for this volume only, because it is there
    assert cluster.refresh(record) is not alike
    cluster.remove_pod(cluster.pods["default/first"])
    assert cluster.refresh(record) is alike


def test_a_claim_for_one_pod_is_itself_while_a_pod_has_it() -> None:
    cluster = a_cluster()
    for i in range(2):
        store(cluster, volume(f"v{i}"), claim(f"c{i}", f"v{i}", modes=["ReadWriteOncePod"]))
    assert same_shape(cluster, user("c0"), user("c1"))
    place(cluster, user("c0", name="first"), on="a")
    assert not same_shape(cluster, user("c0"), user("c1"))


def test_a_pod_on_a_node_keeps_its_shape() -> None:
    cluster = store(a_cluster(), csi_volume("v"), claim("c", "v"))
    place(cluster, user("c"), on="a")
    record = cluster.pods["default/p"]
    shape = record.shape
    assert cluster.refresh(record) is shape


def test_by_name_a_shape_has_the_claims_of_its_pod() -> None:
    cluster = store(a_cluster(), claim("c"), claim("d"))
    shapes = [cluster.shape_of(user(name), by_name=True) for name in ("c", "d")]
    assert [kind.use.name for shape in shapes for kind in shape.claims] == ["c", "d"]


def test_a_claim_is_counted_once_however_often_a_pod_names_it() -> None:
    assert [use.name for use in claims_of(user("c", "d", "c"))] == ["c", "d"]


# -- events -----------------------------------------------------------------------------------------------------------


def test_claims_and_pods_may_come_in_any_order() -> None:
    cluster = store(a_cluster(), csi_node("a", disk=5))
    place(cluster, user("c"), on="a")
    slot = cluster.nodes.slot_of["a"]
    counts = cluster.storage.attachments.counts
    assert counts(DRIVER)[slot] == 0
    store(cluster, claim("c", "v"))
    assert counts(DRIVER)[slot] == 0
    store(cluster, csi_volume("v"))
    assert counts(DRIVER)[slot] == 1
    cluster.storage.remove(csi_volume("v"))
    assert counts(DRIVER)[slot] == 0
    store(cluster, storage_class(provisioner=DRIVER))
    assert counts(DRIVER)[slot] == 1
    cluster.storage.remove(storage_class())
    assert counts(DRIVER)[slot] == 0


def test_an_attachment_counts_as_soon_as_its_volume_is_known() -> None:
    cluster = store(a_cluster(), attachment("x", "a", "v"))
    slot = cluster.nodes.slot_of["a"]
    assert cluster.storage.attachments.counts(DRIVER)[slot] == 0
    store(cluster, csi_volume("v"))
    assert cluster.storage.attachments.counts(DRIVER)[slot] == 1
    store(cluster, attachment("x", "b", "v"))
    assert cluster.storage.attachments.counts(DRIVER)[slot] == 0


@pytest.mark.parametrize(
    ("thing", "state"),
    [
        (claim("c", "v"), ClaimState.BOUND),
        (claim("c"), ClaimState.DELAYED),
        (claim("c", "v", annotations={}), ClaimState.IMMEDIATE),
        (claim("c", storage_class="other"), ClaimState.IMMEDIATE),
        (claim("c", status={"phase": "Lost"}), ClaimState.LOST),
        (claim("d"), ClaimState.MISSING),
    ],
)
def test_states(thing: Any, state: ClaimState) -> None:
    cluster = store(a_cluster(), thing)
    assert cluster.shape_of(user("c")).claims[0].state is state


# -- promises ---------------------------------------------------------------------------------------------------------


def test_an_event_that_is_late_does_not_undo_a_promise() -> None:
    cluster = store(a_cluster(), volume("v"), claim("c"))
    storage = cluster.storage
    storage.promise("default/p", (VolumeDecision(("default", "c"), "a", "v"),))
    store(cluster, volume("v", labels={"x": "y"}))
    reference = storage.volumes["v"].spec.claimRef
    assert reference is not None
    assert reference.name == "c"
    storage.release("default/p")
    assert storage.volumes["v"].spec.claimRef is None
    assert storage.volumes["v"].metadata.labels == {"x": "y"}


def test_facts_from_the_watch_survive_the_release_of_a_promise() -> None:
    cluster = store(a_cluster(), volume("v"), claim("c"))
    storage = cluster.storage
    storage.promise("default/p", (VolumeDecision(("default", "c"), "a", "v"),))
    store(cluster, volume("v", claimRef={"namespace": "default", "name": "c"}))
    storage.release("default/p")
    assert storage.volumes["v"].spec.claimRef is not None


def test_the_node_for_which_a_volume_is_made() -> None:
    cluster = store(a_cluster(), claim("c"))
    storage = cluster.storage
    for pod in ("default/p", "default/q"):
        storage.promise(pod, (VolumeDecision(("default", "c"), "a", provisioner="x"),))
    store(cluster, claim("c", size="2Gi"))
    assert storage.claims["default", "c"].metadata.annotations == {SELECTED_NODE: "a"}
    storage.release("default/p")
    assert storage.claims["default", "c"].metadata.annotations == {SELECTED_NODE: "a"}
    storage.release("default/q")
    assert storage.claims["default", "c"].metadata.annotations == {}


# -- disks that drivers took over -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "labels", "driver", "handle"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://eu-1a/vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws:///vol-1"}}, {}, "ebs.csi.aws.com", "vol-1"),
        ({"awsElasticBlockStore": {"volumeID": "aws://eu-1a/disk"}}, {}, "", ""),
        ({"cinder": {"volumeID": "x"}}, {}, "cinder.csi.openstack.org", "x"),
        ({"portworxVolume": {"volumeID": "x"}}, {}, "pxd.portworx.com", "x"),
        ({"azureDisk": {"diskName": "x", "diskURI": "/x"}}, {}, "disk.csi.azure.com", "/x"),
        ({"azureDisk": {"diskName": "x", "diskURI": "/x", "kind": "Shared"}}, {}, "", ""),
        (
            {"gcePersistentDisk": {"pdName": "x"}},
            {},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/x",
        ),
        (
            {"gcePersistentDisk": {"pdName": "x"}},
            {"topology.kubernetes.io/zone": "eu-1-a__eu-1-b"},
            "pd.csi.storage.gke.io",
            "projects/UNSPECIFIED/regions/eu-1/disks/x",
        ),
        ({"nfs": {"server": "x", "path": "/"}}, {}, "", ""),
    ],
)
def test_handles(source: Any, labels: Any, driver: str, handle: str) -> None:
    disk = moved_disk(volume("v", **source).spec, labels)
    assert (disk.driver, disk.handle) == (driver, handle) if disk is not None else driver == ""


def test_provisioners() -> None:
    assert provisioned_disk(DRIVER, "h") == Attachable(DRIVER, "h")
    assert provisioned_disk("kubernetes.io/aws-ebs", "h") == Attachable("ebs.csi.aws.com", "h", "kubernetes.io/aws-ebs")
    assert provisioned_disk("kubernetes.io/azure-file", "h") is None
    assert provisioned_disk("", "h") is None


def test_affinity_is_said_in_the_drivers_labels() -> None:
    disk: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    zone, old_zone = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
    old_region, region = "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"
    expressions = [{"key": key, "operator": "In", "values": ["1"]} for key in (old_zone, old_region, "other")]
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}
    moved = moved_affinity(volume("v", nodeAffinity=affinity, **disk))
    assert moved is not None
    keys = [expression.key for expression in moved[1].nodeSelectorTerms[0].matchExpressions]
    assert keys == ["topology.ebs.csi.aws.com/zone", region, "other"]
    moved = moved_affinity(volume("v", labels={zone: "2__1"}, **disk))
    assert moved is not None
    assert moved[1].nodeSelectorTerms[0].matchExpressions[0].values == ("1", "2")
    assert moved_affinity(volume("v", **disk)) is None
    assert moved_affinity(csi_volume("v", labels={zone: "1"})) is None
