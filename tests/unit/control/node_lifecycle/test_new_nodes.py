"""Nodes begin as not ready where somebody is there to say that they are ready; elsewhere they just begin."""

import asyncio

import pytest
from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node
from tests.virtual_time import run_virtual, time_of_day

from moorage.control.framework.runner import ControllerManager
from moorage.control.node_lifecycle.controller import NodeLifecycleController
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore


class Nobody:
    """Listens to events and forgets them."""

    def report(self, involved: dict[str, object], kind: str, reason: str, message: str) -> None: ...

    def rewrite(self, *event: object) -> None: ...

    def named(self, component: str) -> "Nobody":
        return self


@pytest.mark.parametrize("taints_new_nodes", [True, False])
def test_the_taint_comes_at_creation_and_goes_when_the_node_is_ready(taints_new_nodes: bool) -> None:
    async def main() -> list[list[str]]:
        api = Api(MemoryStore(), default_gates(), clock=time_of_day, taints_new_nodes=taints_new_nodes)
        await api.start()
        client = LoopbackClient(api)

        async def taints() -> list[str]:
            return [one.key for one in (await client.get(KINDS.NODE, "n")).view.spec.taints]

        not_ready = {"conditions": [{"type": "Ready", "status": "False"}]}
        await client.create(KINDS.NODE, node("n", status=not_ready))
        seen = [await taints()]
        surroundings = controller_context()
        manager = ControllerManager(client, Nobody(), [NodeLifecycleController(surroundings)], clock=time_of_day)
        task = asyncio.create_task(manager.run())
        await asyncio.sleep(1)
        seen.append(await taints())
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        await client.patch(KINDS.NODE, "n", "", ready, subresource="status")
        await asyncio.sleep(1)
        seen.append(await taints())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seen

    key = "node.kubernetes.io/not-ready"
    assert run_virtual(main()) == [[key] if taints_new_nodes else [], [key], []]
