"""What a controller hears of its plans, whom it wakes, under which name it reports, and whose clock it waits by."""

import asyncio
from collections.abc import Iterable

from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node
from tests.virtual_time import run_virtual, time_of_day

from moorage.client.event_recorders import CountingRecorder
from moorage.client.event_sender import EventSender
from moorage.client.protocol import Object
from moorage.control.framework.actions import NORMAL, NOTHING, Patch, Plan, Report
from moorage.control.framework.controller import Controller
from moorage.control.framework.runner import ControllerManager
from moorage.control.framework.world import World
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore


class Labeller(Controller):
    """Labels a node, then looks at "other"; notes what it is asked and told."""

    name = "labeller-controller"
    component = "labeller"
    watches = (KINDS.NODE,)

    def __init__(self) -> None:
        super().__init__(controller_context())
        self.asked: list[tuple[str, float]] = []
        self.told: list[str] = []

    def concerns(self, facts: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return ("n",) if old is None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self.asked.append((key, now))
        if key == "other":
            return Plan(again_after=60) if len(self.asked) < 4 else NOTHING
        said = Report({"kind": "Node", "name": "n"}, NORMAL, "Labelled", "done")
        return Plan((Patch(KINDS.NODE, "", "n", {"metadata": {"labels": {"a": "b"}}}), said), wakes=("other",))

    def done(self, key: str, plan: Plan, now: float) -> None:
        self.told.append(f"{key}: {len(plan.actions)}")


class Recorders:
    """Recorders by name, and what each was told."""

    def __init__(self, component: str = "") -> None:
        self.component, self.said, self.others = component, list[str](), list["Recorders"]()

    def named(self, component: str) -> "Recorders":
        self.others.append(Recorders(component))
        return self.others[-1]

    def report(self, involved: dict[str, object], kind: str, reason: str, message: str) -> None:
        self.said.append(f"{self.component}: {reason}")

    def rewrite(self, *event: object) -> None:
        raise AssertionError(event)


async def test_success_is_told_others_are_woken_and_a_clock_that_is_set_does_not_stop_timers() -> None:
    controller, recorder, offset = Labeller(), Recorders(), [0.0]
    api = Api(MemoryStore(), default_gates(), clock=time_of_day)
    await api.start()
    client = LoopbackClient(api)
    manager = ControllerManager(client, recorder, [controller], clock=lambda: time_of_day() + offset[0])
    task = asyncio.create_task(manager.run())
    await client.create(KINDS.NODE, node("n"))
    await asyncio.sleep(1)
    offset[0] = -3600.0
    await asyncio.sleep(61)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [key for key, _ in controller.asked] == ["n", "other", "other"]
    assert controller.asked[2][1] - controller.asked[1][1] == 60 - 3600
    assert controller.told == ["n: 2"]
    assert [said for other in recorder.others for said in other.said] == ["labeller: Labelled"]


def test_a_recorder_for_another_component_sends_the_same_way() -> None:
    async def main() -> list[Object]:
        api = Api(MemoryStore(), default_gates(), clock=time_of_day)
        await api.start()
        await bootstrap(api, 443)
        client = LoopbackClient(api)
        sender = EventSender(client)
        recorder = CountingRecorder(sender, "controller-manager")
        about = {"kind": "Node", "apiVersion": "v1", "name": "n"}
        recorder.named("taint-eviction-controller").report(about, NORMAL, "Reason", "text")
        task = asyncio.create_task(sender.run())
        await asyncio.sleep(5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return (await client.list_all(KINDS.EVENT)).items

    events = run_virtual(main())
    assert [event.raw["source"]["component"] for event in events] == ["taint-eviction-controller"]
