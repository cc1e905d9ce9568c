"""Pods start when their ResourceClaims are allocated and reserved for them; drivers then report the devices."""

from typing import Any

from tests.unit.run.simulation import Raw, Simulation, container, simulating

from moorage.model.kinds import KINDS
from moorage.run.devices.spec import DEVICES

NAMED: Any = [{"name": "gpu", "resourceClaimName": "c"}]
PREPARE = "Failed to prepare dynamic resources: prepare dynamic resources: "
RESULT = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}


async def claim(world: Simulation, name: str = "c", owner: str = "") -> str:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    metadata: Raw = {"name": name, "namespace": "default"}
    if owner:
        reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}
        metadata["ownerReferences"] = [reference]
    document = {"metadata": metadata, "spec": {"devices": {"requests": [request]}}}
    return (await world.client.create(KINDS.RESOURCE_CLAIM, document, "default")).uid


async def uid_of(world: Simulation, pod: str = "p") -> str:
    return (await world.client.get(KINDS.POD, pod, "default")).uid


async def allocate(world: Simulation, *pods: str, name: str = "c") -> None:
    """Allocate a device to the claim and reserve it for pods."""
    status: Raw = {"allocation": {"devices": {"results": [RESULT]}}}
    status["reservedFor"] = [{"resource": "pods", "name": pod, "uid": await uid_of(world, pod)} for pod in pods]
    await world.client.patch(KINDS.RESOURCE_CLAIM, name, "default", {"status": status}, subresource="status")
    await world.settle()


async def devices(world: Simulation, name: str = "c") -> list[Raw]:
    found: list[Raw] = (
        (await world.client.get(KINDS.RESOURCE_CLAIM, name, "default")).raw.get("status", {}).get("devices", [])
    )
    return found


async def test_a_claim_that_is_not_there_keeps_the_pod_from_starting() -> None:
    async with simulating() as world:
        await world.node()
        await world.pod(resourceClaims=NAMED)
        assert await world.phase() == "Pending"
        await world.settle(130)
        missing = 'fetch ResourceClaim c: resourceclaims.resource.k8s.io "c" not found'
        assert world.said("FailedPrepareDynamicResources") == [PREPARE + missing] * 3
        await claim(world)
        await allocate(world, "p")
        assert await world.phase() == "Running"


async def test_a_claim_must_be_reserved_for_the_pod() -> None:
    async with simulating() as world:
        await world.node()
        uid = await claim(world)
        await world.pod(resourceClaims=NAMED)
        await world.pod("other")
        await allocate(world, "other")
        await world.settle(2)
        assert await world.phase() == "Pending"
        words = f"pod p ({await uid_of(world)}) is not allowed to use ResourceClaim c ({uid})"
        assert world.said("FailedPrepareDynamicResources") == [PREPARE + words]


async def test_a_claim_from_a_template_must_be_the_pods_own() -> None:
    entry = {"name": "gpu", "resourceClaimTemplateName": "t"}
    async with simulating() as world:
        await world.node()
        await world.pod(resourceClaims=[entry])
        await world.settle(2)
        assert world.said("FailedPrepareDynamicResources") == [
            PREPARE + 'pod "default/p": ResourceClaim not created yet'
        ]
        await claim(world, "p-gpu-x")
        status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "p-gpu-x"}]}
        await world.client.patch(KINDS.POD, "p", "default", {"status": status}, subresource="status")
        await world.settle(70)
        words = "ResourceClaim default/p-gpu-x was not created for Pod default/p (Pod is not owner)"
        assert world.said("FailedPrepareDynamicResources")[1:] == [PREPARE + words]
        await world.client.delete(KINDS.RESOURCE_CLAIM, "p-gpu-x", "default")
        await claim(world, "p-gpu-x", owner=await uid_of(world))
        await allocate(world, "p", name="p-gpu-x")
        assert await world.phase() == "Running"


async def test_the_driver_reports_the_devices_it_prepared() -> None:
    async with simulating() as world:
        await world.node()
        await claim(world)
        await world.pod(resourceClaims=NAMED)
        await allocate(world, "p")
        (device,) = await devices(world)
        (ready,) = device.pop("conditions")
        assert device == {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}
        assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "DevicePrepared")


async def test_a_simulated_driver_meets_its_binding_conditions() -> None:
    """Before the pod is bound, and for devices of other drivers never."""
    result = {**RESULT, "bindingConditions": ["Attached"], "bindingFailureConditions": ["Broken"]}
    status = {"allocation": {"devices": {"results": [result, {**result, "driver": "other.example.com"}]}}}
    async with simulating() as world:
        await world.node()
        await world.client.patch(KINDS.NODE, "n1", "", {"metadata": {"annotations": {DEVICES: "gpu.example.com=1"}}})
        await claim(world)
        await world.client.patch(KINDS.RESOURCE_CLAIM, "c", "default", {"status": status}, subresource="status")
        await world.settle()
        (device,) = await devices(world)
        assert device["driver"] == "gpu.example.com"
        assert [(one["type"], one["status"]) for one in device["conditions"]] == [("Attached", "True")]


async def test_conditions_of_others_stay() -> None:
    attached = {"type": "Attached", "status": "True", "reason": "Done", "lastTransitionTime": "2027-01-01T00:00:00Z"}
    told = {"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0", "conditions": [attached], "data": {"a": 1}}
    async with simulating(starts=False) as world:
        await world.node()
        await claim(world)
        await world.pod(resourceClaims=NAMED)
        await allocate(world, "p")
        await world.client.patch(
            KINDS.RESOURCE_CLAIM, "c", "default", {"status": {"devices": [told]}}, subresource="status"
        )
        await world.start()
        (device,) = await devices(world)
        assert [one["type"] for one in device["conditions"]] == ["Attached", "Ready"]
        assert device["data"] == {"a": 1}


async def test_a_shared_claim_is_in_use_until_its_last_pod_ends() -> None:
    async with simulating() as world:
        await world.node()
        await claim(world)
        for name in ("p", "q"):
            await world.pod(name, resourceClaims=NAMED)
        await allocate(world, "p", "q")
        in_use = 'dra_resource_claims_in_use{driver_name="gpu.example.com"} 1'
        assert in_use in world.measured("dra_")
        await world.client.delete(KINDS.POD, "p", "default")
        await world.settle()
        assert not await world.exists("p")
        assert in_use in world.measured("dra_")
        await world.stop()
        await world.start()
        assert 'dra_resource_claims_in_use{driver_name="<any>"} 1' in world.measured("dra_")
        await world.client.delete(KINDS.POD, "q", "default")
        await world.settle()
        assert world.measured("dra_") == 'dra_resource_claims_in_use{driver_name="<any>"} 0'


async def test_an_extended_resource_has_its_claim_prepared() -> None:
    async with simulating() as world:
        await world.node()
        resources = {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
        await world.pod(nodeName="", containers=[container(resources=resources)])
        mapping = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "gpu"}
        status = {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": [mapping]}}
        await world.client.patch(KINDS.POD, "p", "default", {"status": status}, subresource="status")
        await claim(world)
        await world.client.bind("default", "p", await uid_of(world), "n1")
        await world.settle(2)
        assert await world.phase() == "Pending"
        assert "is not allowed to use ResourceClaim c" in world.said("FailedPrepareDynamicResources")[0]
        await allocate(world, "p")
        assert await world.phase() == "Running"
