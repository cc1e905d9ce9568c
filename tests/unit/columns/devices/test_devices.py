"""Devices in columns: which nodes share a code, and what changes it."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.columns.devices.devices import Devices
from moorage.columns.node_table import NodeTable
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node

GPUS = [{"name": f"gpu-{index}", "attributes": {"model": {"string": "a100"}}} for index in range(8)]


class World:
    """Three nodes and their devices."""

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.devices = Devices(self.nodes, default_gates())
        for name in ("a", "b", "c"):
            labels = {"zone": "east" if name == "a" else "west"}
            node = convert_view({"metadata": {"name": name, "labels": labels}}, Node)
            self.devices.node_changed(self.nodes.add(node))

    def code(self, node: str) -> int:
        return self.devices.code(self.nodes.slot_of[node])

    def publish(self, name: str, devices: list[Any] = GPUS, pool: Any = (), **spec: Any) -> None:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1, **dict(pool)}
        document = {"metadata": {"name": name}, "spec": {"driver": "gpu", "pool": pool, "devices": devices, **spec}}
        self.devices.set(convert_view(document, ResourceSlice))

    def claim(self, name: str, *results: Any, uid: str = "") -> ResourceClaim:
        results = tuple({"driver": "gpu", **result} for result in results)
        status = {"allocation": {"devices": {"results": list(results)}}} if results else {}
        metadata = {"namespace": "default", "name": name, "uid": uid or name}
        made = convert_view({"metadata": metadata, "status": status}, ResourceClaim)
        self.devices.set(made)
        return made


@pytest.fixture
def world() -> World:
    return World()


def test_nodes_that_differ_in_names_only_share_a_code(world: World) -> None:
    world.publish("pool-of-a", nodeName="a")
    world.publish("pool-of-b", [{**gpu, "name": f"card{i}"} for i, gpu in enumerate(GPUS)], nodeName="b")
    assert world.code("a") == world.code("b") != 0
    assert world.code("c") == 0


@pytest.mark.parametrize(
    "devices",
    [GPUS[:7], [*GPUS[:7], {"name": "odd", "attributes": {"model": {"string": "h100"}}}], [*GPUS[:7], GPUS[0]]],
    ids=["fewer", "another model", "two of one name"],
)
def test_other_devices_are_another_code(world: World, devices: list[Any]) -> None:
    world.publish("a", nodeName="a")
    world.publish("b", devices, nodeName="b")
    assert world.code("a") != world.code("b")


def test_the_time_of_a_taint_and_the_number_of_a_generation_do_not_matter(world: World) -> None:
    taint = {"key": "hot", "effect": "NoSchedule"}
    early = [{"name": "g", "taints": [{**taint, "timeAdded": "2026-01-01T00:00:00Z"}]}]
    late = [{"name": "g", "taints": [{**taint, "timeAdded": "2026-02-01T00:00:00Z"}]}]
    world.publish("a", early, nodeName="a")
    world.publish("b", late, {"generation": 7}, nodeName="b")
    assert world.code("a") == world.code("b")


def test_use_is_part_of_the_code_by_place_not_by_name(world: World) -> None:
    world.publish("pa", nodeName="a")
    world.publish("pb", [{**gpu, "name": f"card{i}"} for i, gpu in enumerate(GPUS)], nodeName="b")
    unused = world.code("a")
    world.claim("one", {"pool": "pa", "device": "gpu-0"})
    assert world.code("a") != unused == world.code("b")
    world.claim("two", {"pool": "pb", "device": "card0"})
    assert world.code("a") == world.code("b")
    world.devices.remove(world.claim("one", {"pool": "pa", "device": "gpu-0"}))
    assert world.code("a") == unused


def test_administrative_access_uses_nothing(world: World) -> None:
    world.publish("a", nodeName="a")
    unused = world.code("a")
    world.claim("watch", {"pool": "a", "device": "gpu-0", "adminAccess": True})
    assert world.code("a") == unused


def test_shares_consume_capacity_until_the_last_one_goes(world: World) -> None:
    world.publish("a", nodeName="a")
    unused = world.code("a")
    result = {"pool": "a", "device": "gpu-0", "consumedCapacity": {"memory": "10Gi"}}
    world.claim("one", {**result, "shareID": "x"})
    one = world.code("a")
    world.claim("two", {**result, "shareID": "y"})
    assert len({unused, one, world.code("a")}) == 3
    world.claim("one")
    assert world.code("a") == one
    world.claim("two")
    assert world.code("a") == unused
    assert not world.devices.use.shares


def test_a_promise_holds_until_it_is_released_or_written(world: World) -> None:
    world.publish("a", nodeName="a")
    unused = world.code("a")
    written = world.claim("wanted", {"pool": "a", "device": "gpu-3"})
    taken = world.code("a")
    world.claim("wanted")
    assert world.code("a") == unused
    assert written.status.allocation is not None
    key, uid = ("default", "wanted"), written.metadata.uid
    promised = {"driver": "gpu", "pool": "a", "device": "gpu-3", "request": "r"}
    world.devices.promises.make("default/pod", key, uid, {"devices": {"results": [promised]}})
    assert world.code("a") == taken
    world.claim("wanted")  # an event that does not show it yet
    assert world.code("a") == taken
    world.devices.set(written)
    world.devices.promises.release("default/pod")
    assert world.code("a") == taken
    world.claim("wanted")
    assert world.code("a") == unused


def test_a_claim_of_the_same_name_made_again_holds_nothing(world: World) -> None:
    world.publish("a", nodeName="a")
    unused = world.code("a")
    world.claim("c", {"pool": "a", "device": "gpu-0"}, uid="first")
    world.claim("c", uid="second")
    assert world.code("a") == unused


def test_rules_taint_the_devices_they_select(world: World) -> None:
    world.publish("pa", nodeName="a")
    world.publish("pb", nodeName="b")
    before = world.code("a")
    spec = {"deviceSelector": {"pool": "pa"}, "taint": {"key": "bad", "effect": "NoExecute"}}
    rule = convert_view({"metadata": {"name": "drain"}, "spec": spec}, DeviceTaintRule)
    world.devices.set(rule)
    assert world.code("a") != world.code("b") == before
    world.devices.remove(rule)
    assert world.code("a") == before


def test_wide_pools_are_seen_in_part_and_move_the_generation(world: World) -> None:
    east = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}]}
    world.publish("net", nodeSelector=east)
    assert world.code("a") != 0
    assert world.code("b") == world.code("c") == 0
    generation, code = world.devices.wide_generation, world.code("a")
    world.claim("one", {"pool": "net", "device": "gpu-0"})
    assert world.devices.wide_generation > generation
    assert world.code("a") == code
    node = convert_view({"metadata": {"name": "b", "labels": {"zone": "east"}}}, Node)
    world.nodes.update(node)
    world.devices.node_changed(world.nodes.slot_of["b"])
    assert world.code("b") == code


def test_a_pool_that_comes_to_a_second_node_is_not_local_any_more(world: World) -> None:
    world.publish("first", pool={"name": "pool", "resourceSliceCount": 2}, nodeName="a")
    alone = world.code("a")
    world.publish("second", pool={"name": "pool", "resourceSliceCount": 2}, nodeName="b")
    assert len({alone, world.code("a"), world.code("b")}) == 3
    pool = world.devices.pools.get(("gpu", "pool"))
    assert pool is not None
    assert list(pool.slices) == ["first", "second"]


def test_classes_move_their_generation(world: World) -> None:
    made = convert_view({"metadata": {"name": "gpu"}}, DeviceClass)
    for change in (world.devices.set, world.devices.remove):
        generation = world.devices.class_generation
        change(made)
        assert world.devices.class_generation > generation
