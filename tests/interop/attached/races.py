"""Pods and taints at the same time: no pod lands where its comparison refuses it, and none waits longer than it must.

Each function does what its name says as a tenant of a cluster that mirrors nodes in the write that taints them.
"""

import json
from typing import Any

from tests.e2e.component_processes import until
from tests.interop.attached.unaware_cluster import NODES, SIMULATED, Tenant, pod, taint
from tests.unit.attach.workloads import toleration

Raw = dict[str, Any]
_NUMBER, _EXPRESSION = (
    toleration("Gt", "950", effect="NoSchedule"),
    toleration("CEL", "int(taint.value) > 950", effect="NoSchedule"),
)


def waiting_pods(name: str = "waits", asks: Raw = _NUMBER) -> list[Raw]:
    return [pod(asks, name=f"{name}-{number}") for number in range(20)]


def no_pod_lands_on_a_node_that_was_tainted_just_before(tenant: Tenant, asks: Raw = _NUMBER) -> None:
    cluster = tenant.cluster
    cluster.set_taints({node: [taint("closed")] for node in NODES[1:]})
    cluster.taint("node-1", taint("spot", "10"))
    tenant.create(*waiting_pods(asks=asks))
    assert set(tenant.placements().values()) == {""}
    cluster.taint("node-1", taint("spot", "960"))
    until(lambda: set(tenant.placements().values()) == {"node-1"})
    cluster.taint("node-1", taint("spot", "20"))
    tenant.create(*waiting_pods("later", asks))
    assert {node for name, node in tenant.placements().items() if name.startswith("later")} == {""}


def no_pod_with_an_expression_lands_on_a_node_that_was_tainted_just_before(tenant: Tenant) -> None:
    """The match label goes in the write that changes the taint, and comes back when it is true again."""
    no_pod_lands_on_a_node_that_was_tainted_just_before(tenant, _EXPRESSION)


def no_waiting_pod_lands_on_a_fresh_node_that_is_not_good_enough(tenant: Tenant) -> None:
    cluster = tenant.cluster
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    fresh = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "fresh", "labels": SIMULATED},
        "spec": {"taints": [taint("spot", "100")]},
        "status": {"allocatable": resources, "capacity": resources},
    }
    cluster.set_taints({node: [taint("closed")] for node in NODES})
    tenant.create(*waiting_pods())
    tenant.placements()
    cluster.admin("create -f -", json.dumps(fresh))
    try:
        cluster.admin.wait("condition=Ready", "node/fresh")
        until(lambda: not has_state_taints(cluster.admin.get("node fresh")))
        tenant.create(*waiting_pods("later"))
        assert set(tenant.placements().values()) == {""}
        cluster.taint("fresh")
        until(lambda: set(tenant.placements().values()) == {"fresh"})
    finally:
        cluster.admin("delete node fresh")


def has_state_taints(node: Raw) -> bool:
    return any(each["key"].startswith("node.kubernetes.io/") for each in node["spec"].get("taints", ()))
