"""How many volumes a node takes."""

from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place, verdicts
from tests.unit.schedule.storage_objects import (
    attachment,
    claim,
    csi_node,
    csi_volume,
    storage_class,
    store,
    user,
    volume,
)

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.volumes.node_volume_limits import TOO_MANY_VOLUMES, NodeVolumeLimits

LIMITS = NodeVolumeLimits()
AWS = "kubernetes.io/aws-ebs"


def small_and_large() -> Cluster:
    """A node that takes two volumes and one that takes any number; claims c0… with volumes of their own."""
    cluster = store(cluster_of(node("small"), node("large")), csi_node("small", disk=2), csi_node("large"))
    for i in range(5):
        store(cluster, csi_volume(f"v{i}"), claim(f"c{i}", f"v{i}"))
    return cluster


def left(cluster: Cluster, *claims: str) -> set[str]:
    return passing(alone(LIMITS, cluster, user(*claims)))


def test_a_node_takes_as_many_volumes_as_its_driver_says() -> None:
    cluster = small_and_large()
    assert left(cluster, "c0", "c1") == {"small", "large"}
    assert left(cluster, "c0", "c1", "c2") == {"large"}
    place(cluster, user("c0", name="first"), on="small")
    assert left(cluster, "c1") == {"small", "large"}
    assert left(cluster, "c1", "c2") == {"large"}


def test_the_refusal_has_the_inequality() -> None:
    cluster = small_and_large()
    place(cluster, user("c0", "c1", name="first"), on="small")
    verdict = verdicts(alone(LIMITS, cluster, user("c2")))["small"]
    assert (verdict.code, verdict.reasons) == (Code.UNSCHEDULABLE, (TOO_MANY_VOLUMES,))
    assert verdict.details == ("disk.example.com: 2 attached + 1 <= 2 is false",)


def test_a_volume_that_is_there_already_counts_once() -> None:
    cluster = small_and_large()
    place(cluster, user("c0", "c1", name="first"), on="small")
    assert left(cluster, "c1") == {"small", "large"}
    assert left(cluster, "c1", "c2") == {"large"}
    place(cluster, user("c1", name="second"), on="small")
    cluster.remove_pod(cluster.pods["default/first"])
    assert left(cluster, "c2") == {"small", "large"}
    assert left(cluster, "c2", "c3") == {"large"}


def test_two_claims_on_one_handle_are_one_volume() -> None:
    cluster = store(small_and_large(), csi_volume("twin", "v0"), claim("t", "twin"))
    assert left(cluster, "c0", "t", "c1") == {"small", "large"}


def test_volumes_yet_to_be_made_count_for_their_provisioner() -> None:
    cluster = store(small_and_large(), storage_class(provisioner="disk.example.com"), claim("new"), claim("newer"))
    assert left(cluster, "c0", "new", "newer") == {"large"}
    place(cluster, user("c0", "c1", name="first"), on="small")
    assert left(cluster, "new") == {"large"}


def test_a_claim_that_gets_its_volume_still_counts_once() -> None:
    cluster = store(small_and_large(), storage_class(provisioner="disk.example.com"), claim("new"))
    place(cluster, user("new", "c0", name="first"), on="small")
    store(cluster, csi_volume("made"), claim("new", "made"))
    assert left(cluster, "c1") == {"large"}
    cluster.storage.remove(claim("new", "made"))
    assert left(cluster, "c1") == {"small", "large"}


def test_disks_count_where_a_driver_took_over() -> None:
    cluster = cluster_of(node("a"), node("b"))
    store(cluster, csi_node("a", AWS, **{"ebs.csi.aws.com": 1}), csi_node("b", **{"ebs.csi.aws.com": 1}))
    for i in range(2):
        disk = volume(f"v{i}", awsElasticBlockStore={"volumeID": f"aws://zone/vol-{i}"})
        store(cluster, disk, claim(f"c{i}", f"v{i}"))
    inline = {"name": "i", "awsElasticBlockStore": {"volumeID": "vol-0"}}
    place(cluster, user(name="inline", volumes=[inline]), on="a")
    place(cluster, user(name="inline-too", volumes=[inline]), on="b")
    assert left(cluster, "c0") == {"a", "b"}
    assert left(cluster, "c1") == {"b"}


def test_what_is_attached_without_a_pod_takes_a_place() -> None:
    cluster = small_and_large()
    held = attachment("old", "small", "v4")
    store(cluster, held)
    assert left(cluster, "c0", "c1") == {"large"}
    place(cluster, user("c4", name="first"), on="small")
    assert left(cluster, "c0") == {"small", "large"}
    cluster.remove_pod(cluster.pods["default/first"])
    assert left(cluster, "c0", "c1") == {"large"}
    cluster.storage.remove(held)
    assert left(cluster, "c0", "c1") == {"small", "large"}


def test_what_is_known_of_a_node_before_it_comes_and_after_it_was_there() -> None:
    cluster = small_and_large()
    store(cluster, csi_node("late", disk=1), attachment("x", "late", "v4"))
    cluster.add_node(node("late"))
    assert left(cluster, "c0") == {"small", "large"}
    cluster.remove_node("late")
    cluster.add_node(node("unlimited"))
    assert left(cluster, "c0") == {"small", "large", "unlimited"}


def test_missing_claim_rejects_the_pod() -> None:
    refused = verdicts(alone(LIMITS, small_and_large(), user("gone")))
    said = 'looking up PVC default/gone: persistentvolumeclaim "gone" not found'
    assert {(v.code, v.reasons) for v in refused.values()} == {(Code.UNRESOLVABLE, (said,))}


def test_pods_without_volumes_cost_nothing() -> None:
    cluster = small_and_large()
    asked = user(volumes=[{"name": "t", "emptyDir": {}}])
    assert not LIMITS.prepare(cluster.shape_of(asked), cluster).filters
