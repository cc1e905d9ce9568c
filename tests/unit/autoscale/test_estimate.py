"""The cases of Cluster Autoscaler's own test of its estimator (estimator/binpacking_estimator_test.go), as facts."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.autoscale.autoscaled import group
from tests.unit.plan.planning import node
from tests.unit.plan.pools.pool_worlds import pools_of

from moorage.autoscale.cluster_autoscaler.estimate import estimate
from moorage.autoscale.node_kinds import NodeKinds
from moorage.autoscale.snapshot import Snapshot
from moorage.columns.cluster import PodRecord
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
Size = tuple[int, int]


def world() -> Snapshot:
    snapshot = Snapshot(default_gates(), DEFAULT_CONFIGURATION)
    old = node("oldnode", "100m")
    old["metadata"]["labels"][ZONE] = "zone-jupiter"
    old["status"] |= {"capacity": {"cpu": "100m", "memory": "104857600", "pods": "10"}}
    old["status"]["allocatable"] = old["status"]["capacity"]
    snapshot.cluster.add_node(convert_view(old, Node))
    snapshot.cluster.set_namespace("universe", {})
    return snapshot


def pods(snapshot: Snapshot, size: Size, number: int, name: str = "estimatee", **fields: Any) -> list[PodRecord]:
    requests = {"cpu": f"{size[0]}m", "memory": str(size[1])}
    ports = fields.pop("ports", [])
    container = {"name": "c", "resources": {"requests": requests}, "ports": ports}
    records = []
    for index in range(number):
        about = {"name": f"{name}-{index}", "namespace": "universe", "labels": {"app": "estimatee"}}
        document = {"metadata": about, "spec": {"containers": [container], **fields}}
        records.append(snapshot.cluster.record(f"universe/{about['name']}", convert_view(document, Pod)))
    return records


def spread(skew: int, key: str, least: int = 1) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": "estimatee"}}
    rule = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return [{**rule, "minDomains": least}]


def estimated(size: Size, groups: list[list[PodRecord]], snapshot: Snapshot, most: int = 1000) -> tuple[int, int]:
    text = group("mars", f"{size[0]}m", memory=str(size[1]), zones=["zone-mars"]).replace('"20"', '"10"')
    kinds = NodeKinds(pools_of(text).pools, default_gates(), DEFAULT_CONFIGURATION)
    before = snapshot.cluster.nodes.slot_of.copy()
    found = estimate(snapshot, kinds, kinds.kinds[0], groups, most)
    assert snapshot.cluster.nodes.slot_of == before
    assert not snapshot.cluster.pods
    return found.nodes, len(found.records)


@pytest.mark.parametrize(
    ("node_size", "pod_size", "number", "fields", "expected"),
    [
        ((1000, 2000), (350, 1000), 10, {}, (5, 10)),
        ((10000, 20000), (10, 100), 20, {}, (2, 20)),
        ((1000, 5000), (200, 1000), 8, {"ports": [{"containerPort": 80, "hostPort": 5555}]}, (8, 8)),
        ((1000, 5000), (200, 200), 8, {"topologySpreadConstraints": spread(2, HOST)}, (4, 8)),
        ((1000, 5000), (20, 100), 8, {"topologySpreadConstraints": spread(2, ZONE)}, (1, 2)),
        ((1000, 5000), (20, 100), 12, {"topologySpreadConstraints": spread(1, HOST, 3)}, (3, 12)),
    ],
    ids=["resources", "pods a node", "host port", "spread over hosts", "spread over zones", "at least three hosts"],
)
def test_how_many_nodes_pods_need(
    node_size: Size, pod_size: Size, number: int, fields: dict[str, Any], expected: tuple[int, int]
) -> None:
    snapshot = world()
    assert estimated(node_size, [pods(snapshot, pod_size, number, **fields)], snapshot) == expected


def test_a_bound_cuts_the_estimate() -> None:
    snapshot = world()
    assert estimated((1000, 5000), [pods(snapshot, (500, 1000), 20)], snapshot, most=5) == (5, 10)


def test_the_largest_pods_come_first() -> None:
    snapshot = world()
    small, large = pods(snapshot, (50, 1000), 10, "small"), pods(snapshot, (500, 1000), 10, "large")
    assert estimated((1000, 5000), [small, large], snapshot, most=5) == (5, 10)
