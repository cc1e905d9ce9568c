"""Pods whose volumes cannot be mounted on their node wait, and say for what."""

from typing import Any

import pytest
from tests.unit.run.simulation import Simulation, simulating

from moorage.model.gates import gates_from, parse_feature_gates
from moorage.model.kinds import KINDS

KERNEL = "node.kubernetes.io/kernel-version"
SEMVER = gates_from(parse_feature_gates("TaintTolerationNodeAffinitySemverComparisonOperators=true"))
STORED: Any = [{"name": "files", "persistentVolumeClaim": {"claimName": "c"}}]


async def store(world: Simulation, mode: str = "Filesystem", operator: str = "SemverGt", bound: bool = True) -> None:
    """A claim and a volume that needs a newer kernel, bound to each other."""
    need = {"matchExpressions": [{"key": KERNEL, "operator": operator, "values": ["5.10.0"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "hostPath": {"path": "/v"},
        "volumeMode": mode,
        "nodeAffinity": {"required": {"nodeSelectorTerms": [need]}},
    }
    await world.client.create(KINDS.PERSISTENT_VOLUME, {"metadata": {"name": "v"}, "spec": spec})
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": "v",
        "volumeMode": mode,
    }
    await world.client.create(
        KINDS.PERSISTENT_VOLUME_CLAIM, {"metadata": {"name": "c", "namespace": "default"}, "spec": spec}, "default"
    )
    if bound:
        await bind(world)


async def bind(world: Simulation) -> None:
    await world.client.patch(
        KINDS.PERSISTENT_VOLUME_CLAIM, "c", "default", {"status": {"phase": "Bound"}}, subresource="status"
    )


def waiting(status: dict[str, Any]) -> str:
    return str(status["containerStatuses"][0]["state"].get("waiting", {}).get("reason", ""))


@pytest.mark.parametrize(
    ("mode", "reason", "what"),
    [("Filesystem", "FailedMount", "MountVolume"), ("Block", "FailedMapVolume", "MapVolume")],
)
async def test_a_volume_that_cannot_be_reached_from_the_node(mode: str, reason: str, what: str) -> None:
    async with simulating(SEMVER) as world:
        await world.node(labels={KERNEL: "5.4.0"})
        await store(world, mode)
        await world.pod(volumes=STORED)
        assert (await world.phase(), waiting(await world.status())) == ("Pending", "ContainerCreating")
        await world.settle(8)
        text = f'{what}.NodeAffinity check failed for volume "v" : no matching NodeSelectorTerms'
        assert world.said(reason) == [text] * 3
        await world.client.patch(KINDS.NODE, "n1", "", {"metadata": {"labels": {KERNEL: "6.1.0"}}})
        await world.settle()
        assert await world.phase() == "Running"


async def test_a_volume_that_can_be_reached_is_mounted_at_once() -> None:
    async with simulating(SEMVER) as world:
        await world.node(labels={KERNEL: "6.1.0"})
        await store(world)
        await world.pod(volumes=STORED)
        assert await world.phase() == "Running"


async def test_a_claim_that_is_not_bound_yet_is_waited_for(simulation: Simulation) -> None:
    await simulation.node(labels={KERNEL: "5.10.0"})
    await simulation.pod(volumes=STORED)
    await simulation.settle(2)
    await store(simulation, operator="In", bound=False)
    await simulation.settle(2)
    assert await simulation.phase() == "Pending"
    failed = "Unable to attach or mount volumes: unmounted volumes=[files], unattached volumes=[], failed to process"
    assert simulation.said("FailedMount") == [
        f"{failed} volumes=[files]: error processing PVC default/c: {why}"
        for why in (
            'failed to fetch PVC from API server: persistentvolumeclaims "c" not found',
            "PVC is not bound",
        )
    ]
    await bind(simulation)
    await simulation.settle()
    assert await simulation.phase() == "Running"
    await simulation.settle(1000)
    assert len(simulation.said("FailedMount")) == 2


async def test_short_wait_for_a_claim_causes_no_event(simulation: Simulation) -> None:
    await simulation.node(labels={KERNEL: "5.10.0"})
    await simulation.pod(volumes=STORED)
    await store(simulation, operator="In")
    await simulation.settle()
    assert await simulation.phase() == "Running"
    assert simulation.said("FailedMount") == []


async def test_a_pod_that_waits_for_its_volumes_can_be_deleted(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(volumes=STORED)
    await simulation.settle(10)
    await simulation.client.delete(KINDS.POD, "p", "default")
    await simulation.settle(60)
    assert not await simulation.exists()
    await store(simulation, operator="In")
    await simulation.settle(10)
