"""ResourceQuotas: counted when they are made, when objects go away, and after charges; ReplicaSets at the limit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.control.test_custom_kinds import boat, definition
from tests.virtual_cluster import VirtualCluster

from moorage.control.replica_set import ReplicaSetController
from moorage.control.resource_quota import ResourceQuotaController
from moorage.match.quota.usage import usage_of
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import CustomKind, CustomObject, stored_kind
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


@asynccontextmanager
async def running() -> AsyncIterator[VirtualCluster]:
    def make() -> list[Any]:
        return [ResourceQuotaController(controller_context()), ReplicaSetController(controller_context())]

    async with VirtualCluster.running(make) as cluster:
        yield cluster


def quota(**hard: str) -> Raw:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}}


def pod(name: str, cpu: str = "100m") -> Raw:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}}


async def used(cluster: VirtualCluster) -> Raw:
    found: Raw = (await cluster.client.get(KINDS.RESOURCE_QUOTA, "q", "default")).raw["status"]["used"]
    return found


async def test_what_exists_is_counted_and_what_goes_away_is_given_back() -> None:
    async with running() as cluster:
        await cluster.client.create(KINDS.POD, pod("a"), "default")
        await cluster.client.create(KINDS.POD, pod("b", "1"), "default")
        await cluster.client.create(
            KINDS.RESOURCE_QUOTA, quota(pods="5", **{"requests.cpu": "2", "count/nosuch.io": "1"}), "default"
        )
        await cluster.settle(1)
        assert await used(cluster) == {"pods": "2", "requests.cpu": "1100m"}
        await cluster.client.delete(KINDS.POD, "b", "default", grace_seconds=0)
        await cluster.settle(1)
        assert await used(cluster) == {"pods": "1", "requests.cpu": "100m"}
        await cluster.client.patch(KINDS.POD, "a", "default", {"status": {"phase": "Succeeded"}}, subresource="status")
        await cluster.settle(1)
        assert await used(cluster) == {"pods": "0", "requests.cpu": "0"}


async def test_a_replica_set_beyond_the_quota_says_so_and_goes_on_when_there_is_more() -> None:
    async with running() as cluster:
        await cluster.client.create(KINDS.RESOURCE_QUOTA, quota(pods="2"), "default")
        await cluster.settle(1)
        template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("")["spec"]}
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
        document = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec}
        await cluster.client.create(KINDS.REPLICA_SET, document, "default")
        await cluster.settle(2)
        assert len(await cluster.all(KINDS.POD, "default")) == 2
        (message,) = {event.message.split('"')[2] for event in cluster.events if event.reason == "FailedCreate"}
        assert message == " is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"
        await cluster.client.patch(KINDS.RESOURCE_QUOTA, "q", "default", {"spec": {"hard": {"pods": "9"}}})
        await cluster.settle(60)
        assert len(await cluster.all(KINDS.POD, "default")) == 3
        assert await used(cluster) == {"pods": "3"}


async def test_charges_of_writes_that_failed_are_returned_soon() -> None:
    async with running() as cluster:
        await cluster.client.create(KINDS.RESOURCE_QUOTA, quota(configmaps="3"), "default")
        await cluster.settle(1)
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
        await cluster.client.create(KINDS.CONFIG_MAP, document, "default")
        with pytest.raises(ApiError, match="already exists"):
            await cluster.client.create(KINDS.CONFIG_MAP, document, "default")
        assert await used(cluster) == {"configmaps": "2"}  # as in Kubernetes, until it is counted again
        await cluster.settle(10)
        assert await used(cluster) == {"configmaps": "1"}


BOATS = "count/boats.harbour.test"


async def define_boats(cluster: VirtualCluster) -> CustomKind:
    await cluster.client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, definition())
    kind = stored_kind((await cluster.client.get(KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")).raw)
    assert kind is not None
    return kind


async def test_custom_objects_are_counted_charged_and_given_back() -> None:
    async with running() as cluster:
        kind = await define_boats(cluster)
        await cluster.client.create(kind, boat("anna"), "default")
        await cluster.client.create(
            KINDS.RESOURCE_QUOTA, quota(**{BOATS: "2", "count/nosuch.harbour.test": "1"}), "default"
        )
        await cluster.settle(1)
        assert await used(cluster) == {BOATS: "1"}
        await cluster.client.create(kind, boat("berta"), "default")
        assert await used(cluster) == {BOATS: "2"}
        with pytest.raises(
            ApiError, match=f"exceeded quota: q, requested: {BOATS}=1, used: {BOATS}=2, limited: "
        ) as no:
            await cluster.client.create(kind, boat("clara"), "default")
        assert no.value.code == 403
        other = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
        await cluster.client.create(KINDS.NAMESPACE, other)
        await cluster.client.create(kind, boat("clara", namespace="other"), "other")
        await cluster.client.delete(kind, "anna", "default")
        await cluster.settle(30)
        assert await used(cluster) == {BOATS: "1"}
        await cluster.client.create(kind, boat("clara"), "default")
        await cluster.settle(10)
        assert await used(cluster) == {BOATS: "2"}


async def test_a_quota_is_counted_when_what_it_limits_is_defined_and_when_all_of_it_is_gone() -> None:
    async with running() as cluster:
        await cluster.client.create(KINDS.RESOURCE_QUOTA, quota(pods="1", **{BOATS: "1"}), "default")
        await cluster.settle(1)
        assert await used(cluster) == {"pods": "0"}
        kind = await define_boats(cluster)
        with pytest.raises(ApiError, match=f"status unknown for quota: q, resources: {BOATS}"):
            await cluster.client.create(kind, boat("anna"), "default")
        await cluster.settle(1)
        assert await used(cluster) == {"pods": "0", BOATS: "0"}
        await cluster.client.create(kind, boat("anna"), "default")
        await cluster.client.delete(KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")
        await cluster.settle(10)
        assert (await used(cluster))[BOATS] == "0"
        kind = await define_boats(cluster)
        await cluster.settle(1)
        await cluster.client.create(kind, boat("anna"), "default")
        assert (await used(cluster))[BOATS] == "1"


async def test_custom_objects_without_a_namespace_are_not_counted() -> None:
    assert usage_of(CustomKind("harbour.test/v1", "seas", CustomObject, namespaced=False, custom_name="Sea")) is None
    counting = usage_of(CustomKind("harbour.test/v1", "events", CustomObject, custom_name="Event"))
    assert counting is not None
    assert counting.names(["count/events.harbour.test", "count/events"]) == ["count/events.harbour.test"]
