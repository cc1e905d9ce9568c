"""Namespaces end when they are empty, and say what keeps them."""

from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import PatchType
from moorage.control.namespace import NamespaceController
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def document(kind: str, name: str, version: str = "v1", **more: Any) -> Raw:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **more}


def pod(name: str, **spec: Any) -> Raw:
    return document("Pod", name, spec={"containers": [{"name": "main", "image": "example.com/app"}], **spec})


async def exists(cluster: VirtualCluster, name: str) -> bool:
    return name in {item.name for item in await cluster.all(KINDS.NAMESPACE)}


async def conditions(cluster: VirtualCluster, name: str) -> dict[str, tuple[str, str, str]]:
    status = (await cluster.client.get(KINDS.NAMESPACE, name)).view.status
    assert status.phase == "Terminating"
    return {one.type: (one.status, one.reason, one.message) for one in status.conditions}


async def test_everything_in_it_goes_with_it() -> None:
    async with VirtualCluster.running(lambda: [NamespaceController(controller_context())]) as cluster:
        client = cluster.client
        for name in ("going", "staying"):
            await client.create(KINDS.NAMESPACE, document("Namespace", name))
            await client.create(KINDS.POD, pod("web"), name)
            await client.create(KINDS.CONFIG_MAP, document("ConfigMap", "settings"), name)
            await client.create(KINDS.LEASE, document("Lease", "mine", "coordination.k8s.io/v1"), name)
            about = {"kind": "Pod", "namespace": name, "name": "web"}
            await client.create(KINDS.EVENT, document("Event", "web.1", involvedObject=about), name)
            template = {"spec": {"restartPolicy": "Never", "containers": pod("x")["spec"]["containers"]}}
            await client.create(KINDS.JOB, document("Job", "once", "batch/v1", spec={"template": template}), name)
        await client.delete(KINDS.NAMESPACE, "going")
        await cluster.settle(2)
        assert not await exists(cluster, "going")
        for facts in (KINDS.POD, KINDS.CONFIG_MAP, KINDS.LEASE, KINDS.EVENT, KINDS.JOB):
            assert not await cluster.all(facts, "going")
            assert await cluster.all(facts, "staying")


async def test_a_finalizer_keeps_it_and_the_conditions_say_so() -> None:
    async with VirtualCluster.running(lambda: [NamespaceController(controller_context())]) as cluster:
        client = cluster.client
        await client.create(KINDS.NAMESPACE, document("Namespace", "held"))
        held = document("ConfigMap", "held", metadata={"finalizers": ["example.com/hold"]})
        await client.create(KINDS.CONFIG_MAP, held, "held")
        await client.create(KINDS.CONFIG_MAP, document("ConfigMap", "free"), "held")
        await client.delete(KINDS.NAMESPACE, "held")
        await cluster.settle(20)
        assert [item.name for item in await cluster.all(KINDS.CONFIG_MAP, "held")] == ["held"]
        assert await conditions(cluster, "held") == {
            "NamespaceDeletionDiscoveryFailure": (
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            "NamespaceDeletionGroupVersionParsingFailure": (
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            "NamespaceDeletionContentFailure": (
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: configmaps. has 1 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
            ),
        }
        revision = (await client.get(KINDS.NAMESPACE, "held")).revision
        await cluster.settle(60)
        assert (await client.get(KINDS.NAMESPACE, "held")).revision == revision
        await client.patch(
            KINDS.CONFIG_MAP, "held", "held", {"metadata": {"finalizers": None}}, patch_type=PatchType.MERGE
        )
        await cluster.settle(1)
        assert not await exists(cluster, "held")


async def test_pods_go_first_and_get_their_time() -> None:
    async with VirtualCluster.running(lambda: [NamespaceController(controller_context())]) as cluster:
        client = cluster.client
        await client.create(KINDS.NAMESPACE, document("Namespace", "slow"))
        made = await client.create(KINDS.POD, pod("web", nodeName="n1", terminationGracePeriodSeconds=60), "slow")
        await client.create(KINDS.CONFIG_MAP, document("ConfigMap", "settings"), "slow")
        await client.delete(KINDS.NAMESPACE, "slow")
        await cluster.settle(10)
        (left,) = await cluster.all(KINDS.POD, "slow")
        assert left.view.metadata.deletionGracePeriodSeconds == 60
        assert await cluster.all(KINDS.CONFIG_MAP, "slow"), "what pods may need stays for as long as there are pods"
        said = (await conditions(cluster, "slow"))["NamespaceContentRemaining"]
        assert said[2] == "Some resources are remaining: pods. has 1 resource instances"
        await cluster.settle(90)
        failure = (await conditions(cluster, "slow"))["NamespaceDeletionContentFailure"]
        assert failure == (
            "True",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: slow "
            "for gvr: /v1, Resource=pods",
        )
        await client.delete(KINDS.POD, "web", "slow", uid=made.uid, grace_seconds=0)
        await cluster.settle(1)
        assert not await exists(cluster, "slow")


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.1, 1.0])
async def test_it_goes_on_after_a_restart(moment: float) -> None:
    async with VirtualCluster.running(lambda: [NamespaceController(controller_context())]) as cluster:
        await cluster.client.create(KINDS.NAMESPACE, document("Namespace", "going"))
        for number in range(20):
            await cluster.client.create(KINDS.CONFIG_MAP, document("ConfigMap", f"map-{number}"), "going")
        await cluster.client.delete(KINDS.NAMESPACE, "going")
        await cluster.settle(moment)
        await cluster.restart()
        await cluster.settle(2)
        assert not await exists(cluster, "going")


async def test_other_finalizers_of_the_namespace_are_not_its_business() -> None:
    async with VirtualCluster.running(lambda: [NamespaceController(controller_context())]) as cluster:
        both = {"finalizers": ["kubernetes", "example.com/mine"]}
        await cluster.client.create(KINDS.NAMESPACE, document("Namespace", "shared", spec=both))
        await cluster.client.delete(KINDS.NAMESPACE, "shared")
        await cluster.settle(2)
        left = await cluster.client.get(KINDS.NAMESPACE, "shared")
        assert left.view.spec.finalizers == ("example.com/mine",)
