"""Another version of a placed pod counts as if it had been taken off its node and put there again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from tests.unit.schedule.clusters import cluster_of, node, place, pod, requests

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.types.pod import Pod

KEY = "default/p"


def _leaving(one: Pod) -> Pod:
    return msgspec.structs.replace(
        one, metadata=msgspec.structs.replace(one.metadata, deletionTimestamp="2026-01-01T00:00:00Z")
    )


def _counted(cluster: Cluster) -> dict[str, Any]:
    def stays(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
        return not deleting

    record = cluster.pods[KEY]
    return {
        "free": {name: array.values.tolist() for name, array in cluster.nodes.free_arrays.items()},
        "used": (cluster.non_zero_cpu_array.values.tolist(), cluster.non_zero_memory_array.values.tolist()),
        "staying": dict(cluster.count_pods("staying", stays).on),
        "shapes": sorted((shape.number, dict(shape.slots)) for shape in cluster.shapes if shape.slots),
        "ports": {port: users for port, users in cluster.port_users.items() if users},
        "here": [list(here) for here in cluster.pods_on],
        "record": (record.slot, record.pod.metadata.deletionTimestamp),
    }


def _again(cluster: Cluster, known: PodRecord, record: PodRecord) -> None:
    slot = known.slot
    cluster.remove_pod(known)
    cluster.add_pod(record, slot)


@pytest.mark.parametrize(
    "change",
    [
        _leaving,
        lambda one: pod("p", {"app": "web"}, containers=requests(cpu="1")),
        lambda one: pod("p", containers=requests(cpu="3")),
        lambda one: pod("p", containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 1}]}]),
    ],
)
def test_a_replaced_pod_counts_as_one_that_came_again(change: Callable[[Pod], Pod]) -> None:
    counted = []
    for replace in (Cluster.replace_pod, _again):
        cluster = cluster_of(node("n1"), node("n2"))
        before = pod("p", containers=requests(cpu="1"))
        place(cluster, before, "n1")
        place(cluster, pod("other"), "n1")
        _counted(cluster)  # what is counted is followed from now on
        position = cluster.nodes.changes.position
        replace(cluster, cluster.pods[KEY], cluster.record(KEY, change(before)))
        assert 0 in (cluster.nodes.changes.since(position) or ())
        counted.append(_counted(cluster))
    assert counted[0] == counted[1]
    assert counted[0]["here"][0] == ["default/other", KEY]
