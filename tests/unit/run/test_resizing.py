"""Resized pods and ephemeral containers: what the API server takes, and what simulated kubelets make of it."""

from typing import Any

import pytest
from tests.unit.run.simulation import Simulation, container, simulating

from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates, gates_from
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.run.admission import Load, Refusal
from moorage.run.pod_status import resize as kubelet_resize

Raw = dict[str, Any]


async def resize(world: Simulation, name: str = "p", **requests: str) -> None:
    patch = {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}}
    await world.client.patch(KINDS.POD, name, "default", patch, subresource="resize")
    await world.settle()


async def pending(world: Simulation, name: str = "p") -> str:
    found = [one for one in (await world.status(name))["conditions"] if one["type"] == "PodResizePending"]
    return f"{found[0]['reason']}: {found[0]['message']}" if found else ""


async def test_a_started_container_reports_what_it_has(simulation: Simulation) -> None:
    """From the first report on, not only after a resize: API servers and schedulers compare the spec with it."""
    await simulation.node()
    limited = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    containers = [container("c", resources=limited), container("bare", resources={})]
    await simulation.pod(containers=containers, initContainers=[container("i", resources={"requests": {"cpu": "2"}})])
    status = await simulation.status()
    first, bare = status["containerStatuses"]
    assert (first["resources"], first["allocatedResources"]) == (limited, {"cpu": "1", "memory": "1Gi"})
    assert bare["resources"] == {}
    assert "allocatedResources" not in bare
    assert status["initContainerStatuses"][0]["allocatedResources"] == {"cpu": "2"}


async def test_a_resize_that_fits_is_done(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod()
    await resize(simulation, cpu="3")
    status = await simulation.status()
    assert status["containerStatuses"][0]["resources"] == {"requests": {"cpu": "3"}}
    assert status["containerStatuses"][0]["allocatedResources"] == {"cpu": "3"}
    assert status["observedGeneration"] == 2
    assert not await pending(simulation)
    await simulation.pod("q", containers=[container(resources={"requests": {"cpu": "2"}})])
    await simulation.refusals()
    assert await simulation.phase("q") == "Failed"  # the node has no room for it any more


async def test_a_resize_waits_for_room_and_one_that_never_fits_says_so(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod()
    await simulation.pod("q", containers=[container(resources={"requests": {"cpu": "2"}})])
    await resize(simulation, cpu="3")
    why = "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    assert await pending(simulation) == f"Deferred: {why}"
    assert (await simulation.status())["containerStatuses"][0]["allocatedResources"] == {"cpu": "1"}
    await simulation.client.delete(KINDS.POD, "q", "default")
    await simulation.settle(60)
    assert not await pending(simulation)
    assert (await simulation.status())["containerStatuses"][0]["allocatedResources"] == {"cpu": "3"}
    with pytest.raises(ApiError, match="node didn't have enough allocatable resources: cpu, requested: 5000"):
        await resize(simulation, cpu="5")


def test_a_resize_beyond_a_node_that_shrank_meanwhile_is_infeasible() -> None:
    def asking(cpu: str) -> Pod:
        return convert_view({"spec": {"containers": [container(resources={"requests": {"cpu": cpu}})]}}, Pod)

    node = convert_view({"status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "9"}}}, Node)
    old = asking("1")
    resized = kubelet_resize(old, asking("3"), node, Load([old]))
    assert resized.allocated is old
    why = "Node didn't have enough capacity: cpu, requested: 3000, capacity: 2000"
    assert resized.problem == Refusal("Infeasible", why)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": [{"name": "c", "resources": {"requests": None}}]}, "resource requests cannot be removed"),
        ({"containers": [{"name": "d", "image": "i"}]}, "containers may not be added or removed on resize"),
        (
            {"containers": [{"name": "c", "resources": {"requests": {"ephemeral-storage": "1Gi"}}}]},
            "spec: Forbidden: only cpu and memory resources are mutable",
        ),
        (
            {"containers": [{"name": "c", "resources": {"requests": {"memory": "1Gi"}, "limits": {"cpu": "500m"}}}]},
            "must be less than or equal to cpu limit of 500m",
        ),
    ],
)
async def test_resizes_that_are_refused(simulation: Simulation, spec: Raw, message: str) -> None:
    await simulation.pod()
    with pytest.raises(ApiError, match=message):
        await simulation.client.patch(KINDS.POD, "p", "default", {"spec": spec}, subresource="resize")


def at_pod_level(cpu: str, **more: Any) -> Raw:
    return {"resources": {"requests": {"cpu": cpu, "memory": "1Gi"}, **more}}


async def test_resources_at_pod_level_are_reported_and_resized(simulation: Simulation) -> None:
    """As ValidatePodResize, generateAPIPodStatus and PodRequests have it for pods with spec.resources."""
    await simulation.node()
    await simulation.pod(**at_pod_level("1"))
    await simulation.settle()
    status = await simulation.status()
    assert status["allocatedResources"] == {"cpu": "1", "memory": "1Gi"}
    assert status["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}}
    patch = {"spec": at_pod_level("3")}
    await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")
    await simulation.settle()
    status = await simulation.status()
    assert status["resources"]["requests"]["cpu"] == status["allocatedResources"]["cpu"] == "3"
    assert status["observedGeneration"] == 2
    await simulation.pod("q", containers=[container(resources={"requests": {"cpu": "1"}})])
    patch = {"spec": at_pod_level("4")}
    await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")
    await simulation.settle()
    assert (await pending(simulation)).startswith("Deferred: Node didn't have enough resource: cpu, requested: 4000")
    assert (await simulation.status())["allocatedResources"]["cpu"] == "3"


@pytest.mark.parametrize(
    ("resources", "message"),
    [
        (None, "spec.resources: Forbidden: pod-level resources cannot be removed"),
        (
            {"requests": {"memory": None}},
            "spec.resources.requests: Forbidden: pod-level resource requests cannot be removed",
        ),
        ({"limits": {"cpu": None}}, "spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"),
        (
            {"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
            "spec: Forbidden: only cpu and memory resources are mutable at pod-level",
        ),
        ({"requests": {"cpu": "5"}}, "must be less than or equal to cpu limit"),
        ({"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}, "node didn't have enough allocatable resources: cpu"),
    ],
)
async def test_resize_at_pod_level_has_the_limits_of_kubernetes(resources: Raw, message: str) -> None:
    async with simulating(default_gates()) as world:
        await world.node()
        await world.pod(**at_pod_level("1", limits={"cpu": "2"}))
        await world.settle()
        patch = {"spec": {"resources": resources}}
        with pytest.raises(ApiError) as refusal:
            await world.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")
        assert message in str(refusal.value)


async def test_resize_at_pod_level_needs_its_gate() -> None:
    async with simulating(gates_from({"InPlacePodLevelResourcesVerticalScaling": False})) as world:
        await world.node()
        await world.pod(**at_pod_level("1"))
        await world.settle()
        status = await world.status()
        assert "resources" not in status
        assert "allocatedResources" not in status
        with pytest.raises(ApiError, match="resize of pods with pod-level resources is forbidden when InPlacePodLevel"):
            await resize(world, cpu="1")


async def test_node_that_does_not_declare_the_resize_at_pod_level_refuses_it(simulation: Simulation) -> None:
    await simulation.node()
    info = {"nodeInfo": {"kubeletVersion": "v1.35.0"}, "declaredFeatures": ["ExtendWebSocketsToKubelet"]}
    await simulation.client.patch(KINDS.NODE, "n1", "", {"status": info}, subresource="status")
    await simulation.pod(**at_pod_level("1"))
    await simulation.settle()
    patch = {"spec": at_pod_level("2")}
    why = "requires features InPlacePodLevelResourcesVerticalScaling which are not available on node"
    with pytest.raises(ApiError, match=why):
        await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")


async def test_quota_is_charged_for_a_resize_at_pod_level(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(**at_pod_level("1"))
    await simulation.client.create(
        KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "2"}}}, "default"
    )
    status = {"hard": {"cpu": "2"}, "used": {"cpu": "1"}}
    await simulation.client.patch(KINDS.RESOURCE_QUOTA, "q", "default", {"status": status}, subresource="status")
    patch = {"spec": at_pod_level("2")}
    await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")
    assert (await simulation.client.get(KINDS.RESOURCE_QUOTA, "q", "default")).raw["status"]["used"] == {"cpu": "2"}
    patch = {"spec": at_pod_level("3")}
    with pytest.raises(ApiError, match="exceeded quota"):
        await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")


async def test_only_resources_are_taken_and_limits_and_quotas_hold(simulation: Simulation) -> None:
    limits = [{"type": "Container", "min": {"cpu": "500m"}, "max": {"cpu": "3"}, "default": {"cpu": "3"}}]
    await simulation.client.create(
        KINDS.LIMIT_RANGE, {"metadata": {"name": "l"}, "spec": {"limits": limits}}, "default"
    )
    await simulation.node()
    await simulation.pod()
    await simulation.client.create(
        KINDS.RESOURCE_QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": {"cpu": "2"}}}, "default"
    )
    status = {"hard": {"cpu": "2"}, "used": {"cpu": "1"}}
    await simulation.client.patch(KINDS.RESOURCE_QUOTA, "q", "default", {"status": status}, subresource="status")
    patch: Raw = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "other"}]}}
    patch["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "1500m"}}
    resized = await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="resize")
    assert resized.raw["spec"]["containers"][0]["image"] == "web:1"
    assert "labels" not in resized.raw["metadata"]
    assert (await simulation.client.get(KINDS.RESOURCE_QUOTA, "q", "default")).raw["status"]["used"] == {"cpu": "1500m"}
    with pytest.raises(ApiError, match="exceeded quota: q, requested: cpu=1, used: cpu=1500m, limited: cpu=2"):
        await resize(simulation, cpu="2500m")
    with pytest.raises(ApiError, match="minimum cpu usage per Container is 500m, but request is 100m"):
        await resize(simulation, cpu="100m")


async def test_ephemeral_containers_run_and_stay(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod()
    debugger: Raw = {"name": "debugger", "image": "busybox", "targetContainerName": "c", "stdin": True, "tty": True}
    patch: Raw = {"spec": {"ephemeralContainers": [debugger]}}
    await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="ephemeralcontainers")
    await simulation.settle()
    (status,) = (await simulation.status())["ephemeralContainerStatuses"]
    assert (status["name"], list(status["state"])) == ("debugger", ["running"])
    for change, word in (
        ({"$patch": "delete", "name": "debugger"}, "removed"),
        ({**debugger, "image": "x"}, "changed"),
    ):
        patch = {"spec": {"ephemeralContainers": [change]}}
        with pytest.raises(ApiError, match=f'existing ephemeral containers "debugger" may not be {word}'):
            await simulation.client.patch(KINDS.POD, "p", "default", patch, subresource="ephemeralcontainers")
