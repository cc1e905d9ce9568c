"""A controller that asks before it decides is answered by the API server, and not by what it has heard."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.control.cluster_objects import node, pod
from tests.virtual_cluster import VirtualCluster

from moorage.client.protocol import Listing, Object
from moorage.control.framework.actions import Answers, Plan, Question
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.api_error import no_such_path
from moorage.model.kinds import KINDS, Kind
from moorage.serve.requests.loopback import LoopbackClient


class Curious(Controller):
    """Asks about pods, which it does not watch, whenever a node comes."""

    name = "curious-controller"
    watches = (KINDS.NODE,)

    def __init__(self) -> None:
        super().__init__(controller_context())
        self.heard: list[dict[str, list[str]]] = []
        self.reconciled: list[str] = []

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (new.name,) if new is not None else ()

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        if key == "silent":
            return ()
        if key == "gated":
            return [Question(KINDS.DEVICE_TAINT_RULE)]
        names = ["n1", "nobody"] if key == "known" else ["Not/A/Name"]
        return [Question(KINDS.POD, "default", name) for name in names] + [Question(KINDS.POD, "default")]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        self.reconciled.append(key)
        return Plan()

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        found = {question.name: [item.name for item in items] for question, items in answers.items()}
        self.heard.append(found)
        return Plan()


async def test_questions_are_answered() -> None:
    controller = Curious()
    async with VirtualCluster.running(lambda: [controller]) as cluster:
        await cluster.client.create(KINDS.POD, pod("n1", ""))
        await cluster.client.create(KINDS.POD, pod("n2", ""))
        for name in ("known", "silent"):
            await cluster.client.create(KINDS.NODE, node(name))
        await cluster.settle()
    assert controller.heard == [{"n1": ["n1"], "nobody": [], "": ["n1", "n2"]}]
    assert controller.reconciled == ["silent"]


async def test_what_cannot_be_asked_is_tried_again_and_nothing_is_decided_meanwhile() -> None:
    controller = Curious()
    async with VirtualCluster.running(lambda: [controller]) as cluster:
        await cluster.client.create(KINDS.NODE, node("odd"))
        await cluster.settle(10)
        (runner,) = cluster.manager.runners
        assert runner.queue.retries > 3
    assert not controller.heard
    assert not controller.reconciled


async def test_there_is_nothing_of_a_kind_that_the_api_server_does_not_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(client: LoopbackClient, kind: Kind, namespace: str = "", **options: Any) -> Listing:
        assert kind is KINDS.DEVICE_TAINT_RULE
        raise no_such_path()

    controller = Curious()
    async with VirtualCluster.running(lambda: [controller]) as cluster:
        monkeypatch.setattr(LoopbackClient, "list_all", refuse)
        await cluster.client.create(KINDS.NODE, node("gated"))
        await cluster.settle(10)
    assert controller.heard == [{"": []}]
