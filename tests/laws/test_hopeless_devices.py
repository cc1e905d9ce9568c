"""A search that begins after the devices which earlier ones could not pick finds what a search of all devices finds."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from moorage.columns.cluster import Cluster
from moorage.match.devices.allocation.allocate import allocate
from moorage.match.devices.allocation.features import allocator_features
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, ResourceClaim, ResourceClaimSpec, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import PodResourceClaim
from moorage.schedule.plugins.devices.device_needs import DeviceNeeds

GATES = default_gates()
FEATURES = allocator_features(GATES)


def share() -> str:
    return "share"


def device(random: Random, name: str, counters: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "attributes": {"numa": {"int": random.randrange(2)}}}
    if counters:
        amount = str(random.choice((-1, 1, 1, 2)))
        made["consumesCounters"] = [{"counterSet": "set", "counters": {"c": {"value": amount}}}]
    elif random.random() < 0.5:
        made |= {"allowMultipleAllocations": True, "capacity": {"memory": {"value": "4Gi"}}}
    if random.random() < 0.2:
        made["taints"] = [{"key": "hot", "effect": "NoSchedule"}]
    return made


def world(random: Random) -> Cluster:
    cluster = Cluster()
    cluster.add_node(convert_view({"metadata": {"name": "n"}}, Node))
    cluster.devices.set(convert_view({"metadata": {"name": "any"}}, DeviceClass))
    for number in range(3):
        counters = random.random() < 0.5
        spec: dict[str, Any] = {
            "driver": "d",
            "pool": {"name": f"p{number}", "generation": 1, "resourceSliceCount": 2 if counters else 1},
            "allNodes": True,
        }
        devices = [device(random, f"d{index}", counters) for index in range(5)]
        slices: list[dict[str, Any]] = [{**spec, "devices": devices}]
        if counters:
            slices.append({**spec, "sharedCounters": [{"name": "set", "counters": {"c": {"value": "3"}}}]})
        for index, one in enumerate(slices):
            made = {"metadata": {"name": f"s{number}-{index}"}, "spec": one}
            cluster.devices.set(convert_view(made, ResourceSlice))
    return cluster


def needs(random: Random, cluster: Cluster) -> DeviceNeeds:
    requests: list[dict[str, Any]] = []
    for number in range(random.choice((1, 1, 2))):
        exactly: dict[str, Any] = {
            "deviceClassName": "any",
            "allocationMode": "ExactCount",
            "count": random.choice((1, 1, 2)),
        }
        if random.random() < 0.3:
            exactly["tolerations"] = [{"key": "hot", "operator": "Exists"}]
        if random.random() < 0.3:
            exactly["selectors"] = [{"cel": {"expression": "device.attributes['d'].numa == 0"}}]
        if random.random() < 0.3:
            exactly["capacity"] = {"requests": {"memory": "1Gi"}}
        requests.append({"name": f"r{number}", "exactly": exactly})
    devices: dict[str, Any] = {"requests": requests}
    if random.random() < 0.3:
        devices["constraints"] = [{"matchAttribute": "d/numa"}]
    spec = convert_view({"devices": devices}, ResourceClaimSpec)
    facts = DeviceClaimFacts(PodResourceClaim(name="c"), DeviceClaimState.WAITING, "c", ResourceClaim(spec=spec))
    compiled = compile_claim(spec, cluster.devices.classes.get, GATES)
    return DeviceNeeds(((facts, compiled),), (), "default", FEATURES)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_remembered_changes_no_allocation(seed: int) -> None:
    random = Random(seed)
    cluster = world(random)
    devices = cluster.devices
    wanted = [needs(random, cluster) for _ in range(3)]
    claims: list[ResourceClaim] = []
    for number in range(40):
        if claims and random.random() < 0.3:
            devices.remove(claims.pop(random.randrange(len(claims))))
            continue
        want = random.choice(wanted)
        (_, compiled) = want.waiting[0]
        pools = devices.pools_at(0, FEATURES)
        afresh = allocate(
            pools, [ClaimToAllocate("default/c", compiled)], devices.use, devices.node(0), FEATURES, new_share_id=share
        )
        assert want.allocate(cluster, 0, ["c"], share) == afresh
        if afresh is None:
            continue
        (allocation,) = afresh
        for index, result in enumerate(allocation["devices"]["results"]):
            if "shareID" in result:
                result["shareID"] = f"{number}-{index}"
        metadata = {"namespace": "default", "name": f"c{number}", "uid": f"u{number}"}
        claim = convert_view({"metadata": metadata, "status": {"allocation": allocation}}, ResourceClaim)
        devices.set(claim)
        claims.append(claim)
