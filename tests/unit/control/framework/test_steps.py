"""Long work in steps: others work between them, and the result is that of all steps at once."""

import asyncio
from typing import Any

import pytest
from tests.controller_context import controller_context

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.endpoints.endpoints_controller import EndpointsController
from moorage.control.endpoints.slice_controller import EndpointSliceController
from moorage.control.framework import steps as steps_module
from moorage.control.framework.controller import Controller
from moorage.control.framework.steps import Steps, finish, in_parts, take_turns
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS


def count(last: int) -> Steps[int]:
    for _ in range(last):
        yield
    return last


def test_all_steps_at_once() -> None:
    assert finish(count(0)) == 0
    assert finish(count(5)) == 5


def test_parts_have_all_items_in_their_order() -> None:
    assert list(in_parts([])) == []
    parts = list(in_parts(range(100)))
    assert [item for part in parts for item in part] == list(range(100))
    assert max(map(len, parts)) < 100


async def test_others_work_when_a_slice_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_000_000))
    monkeypatch.setattr(steps_module, "perf_counter", lambda: next(clock))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    assert await take_turns(count(10)) == 10
    task.cancel()
    assert turns >= 10


def found(kind: str, name: str, **parts: Any) -> Object:
    row = KINDS["v1", kind]
    namespace = "default" if row.namespaced else ""
    metadata = {"name": name, "uid": name, "namespace": namespace, "labels": {"app": "web"}}
    key = f"{namespace}/{name}".removeprefix("/")
    return Object(row, key, 1, raw={"apiVersion": "v1", "kind": kind, "metadata": metadata, **parts})


def cluster(pods: int) -> World:
    world = World()
    service = {"clusterIP": "10.0.0.1", "selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 80}]}
    objects = [found("Node", "n1"), found("Service", "web", spec=service)]
    for number in range(pods):
        status = {"phase": "Running", "podIPs": [{"ip": f"10.1.{number >> 8}.{number & 255}"}]}
        objects.append(found("Pod", f"web-{number}", spec={"nodeName": "n1", "containers": []}, status=status))
    for one in objects:
        world.apply(one.kind, Delta(None, one))
    return world


@pytest.mark.parametrize("controller", [EndpointsController, EndpointSliceController])
def test_a_look_at_a_service_with_many_pods_has_many_steps(controller: type[Controller]) -> None:
    world = cluster(1_000)
    looked = controller(controller_context()).steps("default/web", world, 0.0)
    taken = 0
    while True:
        try:
            next(looked)
        except StopIteration as done:
            plan = done.value
            break
        taken += 1
    assert taken > 50
    assert plan.actions
    assert plan == controller(controller_context()).reconcile("default/web", world, 0.0)
