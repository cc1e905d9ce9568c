"""Zone labels of volumes and nodes."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, verdicts
from tests.unit.schedule.storage_objects import claim, storage_class, store, user, volume

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import Code
from moorage.schedule.plugins.volumes.volume_zone import CONFLICT, VolumeZone

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"


def nodes_by_zone() -> Cluster:
    return cluster_of(
        node("one", labels={ZONE: "1", REGION: "north"}),
        node("two", labels={ZONE: "2", REGION: "north"}),
        node("old", labels={OLD_ZONE: "1", OLD_REGION: "north"}),
        node("nowhere"),
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({ZONE: "1"}, {"one", "nowhere"}),
        ({ZONE: "1__2"}, {"one", "two", "nowhere"}),
        ({ZONE: "1__ 2 "}, {"one", "two", "nowhere"}),
        ({ZONE: "9"}, {"nowhere"}),
        ({ZONE: "1", REGION: "south"}, {"nowhere"}),
        # A node without the old label may answer with the new one, but not the other way round.
        ({OLD_ZONE: "1"}, {"one", "old", "nowhere"}),
        ({OLD_REGION: "north"}, {"one", "two", "old", "nowhere"}),
    ],
)
def test_a_node_answers_every_zone_label_unless_it_has_none(labels: Any, expected: set[str]) -> None:
    cluster = store(nodes_by_zone(), volume("v", labels=labels), claim("c", "v"))
    assert passing(alone(VolumeZone(), cluster, user("c"))) == expected


@pytest.mark.parametrize("labels", [{}, {"zone": "1"}, {ZONE: "1__"}])
def test_volumes_without_zones_do_not_matter(labels: Any) -> None:
    cluster = store(nodes_by_zone(), volume("v", labels=labels), claim("c", "v"))
    assert not VolumeZone().prepare(cluster.shape_of(user("c")), cluster).filters


def test_the_refusal_names_volume_and_label() -> None:
    cluster = store(nodes_by_zone(), volume("v", labels={ZONE: "1"}), claim("c", "v"))
    verdict = verdicts(alone(VolumeZone(), cluster, user("c")))["two"]
    assert (verdict.code, verdict.reasons) == (Code.UNRESOLVABLE, (CONFLICT,))
    assert verdict.details == (f'volume "v": label "{ZONE}" "2" in [1] is false',)


@pytest.mark.parametrize(
    ("things", "message"),
    [
        ([], 'persistentvolumeclaim "c" not found'),
        ([claim("c", "gone")], 'persistentvolume "gone" not found'),
        ([claim("c", storage_class="")], "PersistentVolumeClaim had no pv name and storageClass name"),
        ([claim("c")], 'storageclass.storage.k8s.io "slow" not found'),
        ([claim("c"), storage_class(mode="Immediate")], "PersistentVolume had no name"),
    ],
)
def test_claims_that_cannot_be_judged(things: list[Any], message: str) -> None:
    rejection = alone(VolumeZone(), store(nodes_by_zone(), *things), user("c")).rejection
    assert rejection is not None
    assert (rejection[1].code, rejection[1].reasons) == (Code.UNRESOLVABLE, (message,))


def test_claims_that_wait_for_their_pod_have_no_zone_yet() -> None:
    cluster = store(nodes_by_zone(), storage_class(), claim("c"))
    prepared = VolumeZone().prepare(cluster.shape_of(user("c")), cluster)
    assert not prepared.filters
    assert prepared.rejection is None
