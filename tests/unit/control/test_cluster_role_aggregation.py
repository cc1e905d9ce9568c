"""ClusterRoles that aggregate others have the rules of those, also when they change or go."""

from typing import Any

from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.cluster_role_aggregation import ClusterRoleAggregationController
from moorage.model.kinds import KINDS

LABEL = {"to-team": "true"}


def role(name: str, resource: str = "", labels: dict[str, str] | None = None, selects: bool = False) -> dict[str, Any]:
    document: dict[str, Any] = {
        "apiVersion": KINDS.CLUSTER_ROLE.api_version,
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels or {}},
    }
    if resource:
        document["rules"] = [{"verbs": ["get"], "apiGroups": [""], "resources": [resource]}]
    if selects:
        document["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": LABEL}]}
    return document


async def resources_of(cluster: VirtualCluster, name: str) -> list[str]:
    await cluster.settle(5)
    found = await cluster.client.get(KINDS.CLUSTER_ROLE, name)
    return [resource for rule in found.view.rules for resource in rule.resources]


async def test_rules_follow_the_roles_that_are_selected() -> None:
    async with VirtualCluster.running(lambda: [ClusterRoleAggregationController(controller_context())]) as cluster:
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("team", "nodes", selects=True))
        assert await resources_of(cluster, "team") == ["nodes"]  # nothing matches: what a user wrote stays
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("b", "pods", LABEL))
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("a", "secrets", LABEL))
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("c", "secrets", LABEL))
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("other", "services"))
        assert await resources_of(cluster, "team") == ["secrets", "pods"]
        await cluster.client.delete(KINDS.CLUSTER_ROLE, "b")
        assert await resources_of(cluster, "team") == ["secrets"]


async def test_aggregation_is_transitive() -> None:
    async with VirtualCluster.running(lambda: [ClusterRoleAggregationController(controller_context())]) as cluster:
        middle = role("middle", labels=LABEL)
        middle["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {"to-middle": "true"}}]}
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("team", selects=True))
        await cluster.client.create(KINDS.CLUSTER_ROLE, middle)
        await cluster.client.create(KINDS.CLUSTER_ROLE, role("leaf", "pods", {"to-middle": "true"}))
        assert await resources_of(cluster, "team") == ["pods"]
