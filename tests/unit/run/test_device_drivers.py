"""Simulated drivers publish the devices of nodes in ResourceSlices."""

import json
from typing import Any

import pytest
from tests.unit.run.simulation import Raw, Simulation, simulating

from moorage.model.kinds import KINDS
from moorage.run.devices.spec import DEVICES, DeviceSpecError, annotation, devices_of, parse_devices

FILE = """
- driver: gpu.example.com
  count: 2
  nodes: gpu=a100
  attributes: {model: A100, cores: 108, ecc: true, driverVersion: {version: 1.2.0}}
  capacity: {memory: 80Gi}
- driver: gpu.example.com
  taints: [{key: gpu.example.com/degraded, value: "1", effect: NoSchedule}]
- driver: nic.example.com
  name: port
"""


async def slices(world: Simulation) -> list[Raw]:
    return [
        one.raw for one in sorted((await world.client.list_all(KINDS.RESOURCE_SLICE)).items, key=lambda one: one.key)
    ]


async def annotate(world: Simulation, text: str | None, node: str = "n1") -> None:
    await world.client.patch(KINDS.NODE, node, "", {"metadata": {"annotations": {DEVICES: text}}})
    await world.settle()


def test_devices_are_numbered_by_name() -> None:
    found = devices_of(parse_devices(FILE))
    assert [device["name"] for device in found["gpu.example.com"]] == ["gpu-0", "gpu-1", "gpu-2"]
    first = found["gpu.example.com"][0]
    assert first["attributes"] == {
        "model": {"string": "A100"},
        "cores": {"int": 108},
        "ecc": {"bool": True},
        "driverVersion": {"version": "1.2.0"},
    }
    assert first["capacity"] == {"memory": {"value": "80Gi"}}
    assert found["nic.example.com"] == [{"name": "port-0"}]


def test_nodes_get_the_sets_that_select_them() -> None:
    sets = parse_devices(FILE)
    text = annotation(sets, {"gpu": "t4"})
    assert [one["driver"] for one in json.loads(text)] == ["gpu.example.com", "nic.example.com"]
    assert [one.count for one in parse_devices(annotation(sets, {"gpu": "a100"}))] == [2, 1, 1]
    assert annotation(parse_devices("gpu.example.com=8,nic.example.com=2"), {}) == "gpu.example.com=8,nic.example.com=2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gpu.example.com", "must be DRIVER=COUNT"),
        ("gpu.example.com=many", "must be DRIVER=COUNT"),
        ("GPU=1", "driver must be a DNS name"),
        ("gpu.example.com=5000", "count must be a number between 0 and 4096, not 5000"),
        ("[1]", "must be a mapping with a driver and a count"),
        ("{driver: gpu.example.com}", "must be one list of sets of devices"),
        ("[{driver: gpu.example.com, tains: []}]", "unknown field 'tains'"),
        ("[{driver: gpu.example.com, nodes: 'a=b=c'}]", "nodes must be a label selector"),
        ("[{driver: gpu.example.com, attributes: {a: 1.5}}]", "attributes.a: must be a string"),
        ("[{driver: gpu.example.com, capacity: {a: []}}]", "capacity.a: must be a quantity"),
        ("[{driver: gpu.example.com, taints: 5}]", "taints"),
        ("[", "devices"),
    ],
)
def test_a_wrong_description_is_refused(text: str, words: str) -> None:
    with pytest.raises(DeviceSpecError, match=words.replace("(", r"\(")):
        parse_devices(text)


@pytest.mark.parametrize(
    "devices",
    [
        ",".join(f"d{number}.example.com=4096" for number in range(2)),
        json.dumps([{"driver": "a.example.com", "count": 4096, "attributes": {"a": "x" * 10_000}}]),
    ],
)
def test_the_devices_of_a_node_have_a_bound(devices: str) -> None:
    with pytest.raises(DeviceSpecError, match="at most"):
        devices_of(parse_devices(devices))


async def test_a_node_has_its_devices() -> None:
    async with simulating(devices=parse_devices("gpu.example.com=2")) as world:
        assert world.kubelets is not None
        await world.kubelets.register(1)
        await world.settle()
        (found,) = await slices(world)
        assert found["metadata"]["name"].startswith("00000-gpu.example.com-node-1-")
        (owner,) = found["metadata"]["ownerReferences"]
        node = await world.client.get(KINDS.NODE, "node-1")
        assert owner == {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": node.uid, "controller": True}
        assert found["spec"] == {
            "driver": "gpu.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        }
        await world.node()  # made by another client, without an annotation
        await world.settle()
        assert [one["spec"]["nodeName"] for one in await slices(world)] == ["n1", "node-1"]


async def test_slices_follow_the_annotation() -> None:
    taint = {"key": "gpu.example.com/degraded", "value": "1", "effect": "NoExecute"}

    def text(*more: Any) -> str:
        return json.dumps([{"driver": "gpu.example.com", "count": 65, "taints": [taint, *more]}])

    async with simulating() as world:
        await world.node()
        await world.settle()
        assert await slices(world) == []
        await annotate(world, text())
        one, two = await slices(world)
        assert [len(found["spec"]["devices"]) for found in (one, two)] == [64, 1]
        assert one["spec"]["pool"] == two["spec"]["pool"] == {"name": "n1", "generation": 1, "resourceSliceCount": 2}
        added = one["spec"]["devices"][0]["taints"][0]["timeAdded"]
        await world.settle(100)
        await annotate(world, text({"key": "gpu.example.com/slow", "effect": "NoSchedule"}))
        one, two = await slices(world)
        assert (one["spec"]["pool"]["generation"], two["spec"]["pool"]["generation"]) == (2, 2)
        old, new = one["spec"]["devices"][0]["taints"]
        assert old["timeAdded"] == added < new["timeAdded"]
        await annotate(world, "gpu.example.com=1")
        (one,) = await slices(world)
        assert one["spec"]["pool"] == {"name": "n1", "generation": 3, "resourceSliceCount": 1}
        await annotate(world, None)
        assert await slices(world) == []


async def test_a_slice_that_is_deleted_comes_back_and_edits_stay() -> None:
    async with simulating() as world:
        await world.node()
        await annotate(world, "gpu.example.com=1")
        (one,) = await slices(world)
        patch = {"spec": {"devices": [{"name": "gpu-0", "attributes": {"model": {"string": "B"}}}]}}
        await world.client.patch(KINDS.RESOURCE_SLICE, one["metadata"]["name"], "", patch)
        await world.settle()
        assert (await slices(world))[0]["spec"]["devices"] == patch["spec"]["devices"]
        await world.client.delete(KINDS.RESOURCE_SLICE, one["metadata"]["name"])
        await world.settle()
        (two,) = await slices(world)
        assert two["spec"]["devices"] == [{"name": "gpu-0"}]
        await world.stop()
        await world.start()
        assert await slices(world) == [two]


async def test_slices_of_others_are_left_alone() -> None:
    pool = {"name": "n1", "generation": 7, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": [{"name": "mine"}]}
    async with simulating() as world:
        await world.client.create(KINDS.RESOURCE_SLICE, {"metadata": {"name": "mine"}, "spec": spec})
        await world.node()
        await annotate(world, "gpu.example.com=1,nic.example.com=1")
        assert [one["spec"]["driver"] for one in await slices(world)] == ["nic.example.com", "gpu.example.com"]


async def test_a_node_of_the_same_name_gets_slices_of_its_own() -> None:
    async with simulating() as world:
        await world.node()
        await annotate(world, "gpu.example.com=1")
        (old,) = await slices(world)
        await world.client.delete(KINDS.NODE, "n1")
        await world.settle()
        await world.node()
        await annotate(world, "gpu.example.com=1")
        (new,) = await slices(world)
        assert new["metadata"]["ownerReferences"][0]["uid"] != old["metadata"]["ownerReferences"][0]["uid"]


async def test_an_annotation_that_cannot_be_read_counts_as_absent() -> None:
    async with simulating() as world:
        await world.node()
        await annotate(world, "gpu.example.com=all")
        assert await slices(world) == []
