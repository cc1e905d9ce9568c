"""Controllers that act on objects of every kind see custom ones, too, as definitions come and go."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.control.framework.controller import Controller
from moorage.control.garbage import GarbageCollector
from moorage.control.namespace import NamespaceController
from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import CustomKind, stored_kind
from moorage.model.kinds import KINDS, Kind

Raw = dict[str, Any]


def definition(plural: str = "boats", kind: str = "Boat", scope: str = "Namespaced") -> Raw:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.harbour.test"},
        "spec": {
            "group": "harbour.test",
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }


def boat(name: str, **metadata: Any) -> Raw:
    return {"apiVersion": "harbour.test/v1", "kind": "Boat", "metadata": {"name": name, **metadata}}


def controllers() -> list[Controller]:
    return [GarbageCollector(controller_context()), NamespaceController(controller_context())]


@asynccontextmanager
async def harbour() -> AsyncIterator[tuple[VirtualCluster, CustomKind]]:
    async with VirtualCluster.running(controllers, collects_garbage=True) as cluster:
        await cluster.client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, definition())
        kind = stored_kind((await cluster.client.get(KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")).raw)
        assert kind is not None
        await cluster.settle()
        yield cluster, kind


async def exists(cluster: VirtualCluster, kind: Kind, name: str, namespace: str = "") -> bool:
    return name in {item.name for item in await cluster.all(kind, namespace)}


def owned_by(owner: Any, name: str) -> Raw:
    reference = {"apiVersion": owner.kind.api_version, "kind": owner.kind.name, "name": owner.name, "uid": owner.uid}
    return {"name": name, "ownerReferences": [reference]}


async def test_what_a_custom_object_owns_goes_with_it() -> None:
    async with harbour() as (cluster, kind):
        owner = await cluster.client.create(kind, boat("anna"), "default")
        metadata = owned_by(owner, "cargo")
        await cluster.client.create(
            KINDS.CONFIG_MAP, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, "default"
        )
        await cluster.settle()
        assert await exists(cluster, KINDS.CONFIG_MAP, "cargo", "default")
        await cluster.client.delete(kind, "anna", "default")
        await cluster.settle()
        assert not await exists(cluster, KINDS.CONFIG_MAP, "cargo", "default")


@pytest.mark.parametrize(("policy", "stays"), [("Background", False), ("Foreground", False), ("Orphan", True)])
async def test_a_custom_object_goes_with_its_owner_unless_it_is_orphaned(policy: str, stays: bool) -> None:
    async with harbour() as (cluster, kind):
        fleet = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fleet"}}
        owner = await cluster.client.create(KINDS.CONFIG_MAP, fleet, "default")
        await cluster.client.create(kind, boat(**owned_by(owner, "anna")), "default")
        await cluster.settle()
        await cluster.client.delete(KINDS.CONFIG_MAP, "fleet", "default", propagation=policy)
        await cluster.settle()
        assert await exists(cluster, kind, "anna", "default") is stays
        if stays:
            left = await cluster.client.get(kind, "anna", "default")
            assert "ownerReferences" not in left.raw["metadata"]


async def test_dependents_of_an_owner_that_went_while_no_controller_ran_are_collected() -> None:
    async with harbour() as (cluster, kind):
        owner = await cluster.client.create(kind, boat("anna"), "default")
        await cluster.client.create(kind, boat(**owned_by(owner, "dinghy")), "default")
        await cluster.settle()
        await cluster.stop()
        await cluster.client.delete(kind, "anna", "default")
        await cluster.start()
        await cluster.settle()
        assert not await exists(cluster, kind, "dinghy", "default")


async def test_a_deleted_namespace_takes_its_custom_objects_along() -> None:
    async with harbour() as (cluster, kind):
        await cluster.client.create(
            KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bay"}}
        )
        await cluster.client.create(kind, boat("anna"), "bay")
        await cluster.client.delete(KINDS.NAMESPACE, "bay")
        await cluster.settle(5)
        assert not await exists(cluster, kind, "anna", "bay")
        assert not await exists(cluster, KINDS.NAMESPACE, "bay")


async def test_a_deleted_definition_waits_for_the_finalizers_of_its_objects_and_is_watched_no_more() -> None:
    async with harbour() as (cluster, kind):
        await cluster.client.create(kind, boat("anna", finalizers=["harbour.test/pilot"]), "default")
        await cluster.client.create(kind, boat("berta"), "default")
        await cluster.client.delete(KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")
        await cluster.settle()
        going = await cluster.client.get(KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")
        conditions = {one["type"]: one["reason"] for one in going.raw["status"]["conditions"]}
        assert conditions["Terminating"] == "InstanceDeletionInProgress"
        assert not await exists(cluster, kind, "berta", "default")
        with pytest.raises(ApiError, match="create not allowed while custom resource definition is terminating"):
            await cluster.client.create(kind, boat("carla"), "default")
        left = (await cluster.client.get(kind, "anna", "default")).raw
        await cluster.client.update(kind, {**left, "metadata": {**left["metadata"], "finalizers": []}})
        await cluster.settle()
        assert not await exists(cluster, KINDS.CUSTOM_RESOURCE_DEFINITION, "boats.harbour.test")
        assert not cluster.manager.world.custom_kinds
        with pytest.raises(ApiError, match="could not find the requested resource"):
            await cluster.client.create(kind, boat("carla"), "default")
