"""Disks and exclusive claims that other pods use."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, place, verdicts
from tests.unit.schedule.storage_objects import claim, store, user, volume

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.volumes.volume_restrictions import DISK_CONFLICT, EXCLUSIVE_CONFLICT, VolumeRestrictions

Raw = dict[str, Any]
RESTRICTIONS = VolumeRestrictions()


def two_nodes() -> Cluster:
    return cluster_of(node("a"), node("b"))


def gce(read_only: bool = False, name: str = "d") -> Raw:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def aws(read_only: bool = False) -> Raw:
    return {"awsElasticBlockStore": {"volumeID": "d", "readOnly": read_only}}


def iscsi(read_only: bool = False, portal: str = "x") -> Raw:
    return {"iscsi": {"iqn": "d", "targetPortal": portal, "readOnly": read_only}}


def rbd(read_only: bool = False, monitors: str = "m n", image: str = "d", pool: str = "rbd") -> Raw:
    return {"rbd": {"monitors": monitors.split(), "image": image, "pool": pool, "readOnly": read_only}}


def with_disk(disk: Raw, name: str) -> Any:
    return user(volumes=[{"name": "d", **disk}], name=name)


@pytest.mark.parametrize(
    ("there", "asked", "conflict"),
    [
        (gce(), gce(), True),
        (gce(True), gce(), True),
        (gce(), gce(True), True),
        (gce(True), gce(True), False),
        (gce(), gce(name="e"), False),
        (aws(True), aws(True), True),
        (iscsi(), iscsi(portal="y"), True),
        (iscsi(True), iscsi(True), False),
        (rbd(), rbd(monitors="n o"), True),
        (rbd(), rbd(monitors="o"), False),
        (rbd(), rbd(image="e"), False),
        (rbd(), rbd(pool="e"), False),
        (rbd(True), rbd(True), False),
        (gce(), iscsi(), False),
    ],
)
def test_disks_are_shared_only_to_be_read(there: Raw, asked: Raw, conflict: bool) -> None:
    cluster = two_nodes()
    place(cluster, with_disk(there, "there"), on="a")
    candidates = alone(RESTRICTIONS, cluster, with_disk(asked, "asked"))
    assert passing(candidates) == ({"b"} if conflict else {"a", "b"})
    refused = verdicts(candidates)
    assert all(v.code is Code.UNSCHEDULABLE and v.reasons == (DISK_CONFLICT,) for v in refused.values())


def test_a_disk_is_free_again_when_its_pod_is_gone() -> None:
    cluster = two_nodes()
    place(cluster, with_disk(gce(), "there"), on="a")
    candidates = alone(RESTRICTIONS, cluster, with_disk(gce(), "asked"))
    assert passing(candidates) == {"b"}
    with cluster.as_if_gone(list(cluster.pods.values())):
        assert passing(candidates) == {"a", "b"}
    assert passing(candidates) == {"b"}


def test_an_exclusive_claim_is_for_one_pod_in_the_whole_cluster() -> None:
    cluster = store(two_nodes(), volume("v"), claim("c", "v", modes=["ReadWriteOncePod"]))
    assert passing(alone(RESTRICTIONS, cluster, user("c", name="p"))) == {"a", "b"}
    place(cluster, user("c", name="first"), on="a")
    candidates = alone(RESTRICTIONS, cluster, user("c", name="p"))
    refused = verdicts(candidates)
    assert {name: (v.code, v.reasons) for name, v in refused.items()} == {
        "a": (Code.UNSCHEDULABLE, (EXCLUSIVE_CONFLICT,)),
        "b": (Code.UNSCHEDULABLE, (EXCLUSIVE_CONFLICT,)),
    }
    assert passing(candidates) == set()
    with cluster.as_if_gone(list(cluster.pods.values())):  # as preemption looks at it
        assert passing(candidates) == {"a", "b"}


def test_other_claims_can_be_shared() -> None:
    cluster = store(two_nodes(), volume("v"), claim("c", "v"))
    place(cluster, user("c", name="first"), on="a")
    assert passing(alone(RESTRICTIONS, cluster, user("c", name="p"))) == {"a", "b"}


def test_missing_claim_rejects_the_pod() -> None:
    rejection = alone(RESTRICTIONS, two_nodes(), user("c")).rejection
    assert rejection is not None
    assert rejection[1].reasons == ('persistentvolumeclaim "c" not found',)
