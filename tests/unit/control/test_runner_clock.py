"""Keys that are due within a moment, on the event loop that a cluster runs on: its timers are unlike asyncio's."""

import asyncio
from collections.abc import Iterable
from typing import Any

import uvloop
from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.runner import ControllerManager
from moorage.control.framework.world import World
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

TIMES = 20


class Impatient(Controller):
    """Wants to look at each of its keys again very soon, and later than that."""

    name = "impatient-controller"
    watches = (KINDS.NODE,)

    def __init__(self) -> None:
        super().__init__(controller_context())
        self.asked: dict[str, int] = {}
        self.finished = asyncio.Event()

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return ("a", "b", "c") if old is None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self.asked[key] = asked = self.asked.get(key, 0) + 1
        if asked >= TIMES:
            if min(self.asked.get(each, 0) for each in "abc") >= TIMES:
                self.finished.set()
            return NOTHING
        return Plan(again_after={"a": 0.00001, "b": 0.0007, "c": 0.003}[key])


class Nobody:
    def report(self, *said: Any) -> None:
        raise AssertionError(said)

    def rewrite(self, *said: Any) -> None:
        raise AssertionError(said)

    def named(self, component: str) -> "Nobody":
        return self


def test_what_is_due_at_once_is_done() -> None:
    async def main() -> None:
        failures: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: failures.append(context))
        api, controller = Api(MemoryStore(), default_gates()), Impatient()
        await api.start()
        client = LoopbackClient(api, "test")
        working = asyncio.create_task(ControllerManager(client, Nobody(), [controller]).run())
        await client.create(KINDS.NODE, node("n"))
        await asyncio.wait_for(controller.finished.wait(), 30)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        assert failures == []

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())
