"""The live scheduler as a whole, over a fake API."""

import asyncio
import sys
from importlib.metadata import EntryPoint, EntryPoints
from itertools import count
from types import ModuleType
from typing import Any

import pytest
from tests.log_text import log_text
from tests.unit.schedule.live.fake_api import FakeApi, Fate
from tests.unit.schedule.live.running import running, settle

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.schedule.config import third_party
from moorage.schedule.config.configuration import load_configuration
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.framework import Plugin, Verdict, unschedulable
from moorage.schedule.live.loop import SLICE_SECONDS, LiveScheduler


def condition(api: FakeApi, name: str, kind: str = "PodScheduled") -> tuple[str, str, str]:
    found = next(one for one in api.raw(f"default/{name}")["status"]["conditions"] if one["type"] == kind)
    return found["status"], found.get("reason", ""), found.get("message", "")


def reasons(api: FakeApi, name: str) -> list[str]:
    return [reason for of, reason, _ in api.recorded if of == name]


async def test_pods_are_bound_and_get_events() -> None:
    api = FakeApi()
    api.node("n1")
    api.pod("early")
    async with running(api) as live:
        assert api.nodes_of_pods() == {"early": "n1"}
        api.pod("late")
        await settle()
        assert api.nodes_of_pods() == {"early": "n1", "late": "n1"}
        assert ("late", "Scheduled", "Successfully assigned default/late to n1") in api.recorded
        assert len(live.assumptions) == 0


async def test_a_pod_without_a_node_says_why_once_and_goes_when_there_is_room() -> None:
    api = FakeApi()
    api.node("n1", cpu="1")
    api.pod("big", cpu="2")
    async with running(api):
        note = next(note for _, reason, note in api.recorded if reason == "FailedScheduling")
        assert note.startswith("0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: ")
        assert condition(api, "big") == ("False", "Unschedulable", note)
        assert [call for call in api.calls if call[0] == "patch"] == [("patch", "default/big")]
        api.node("n2", cpu="2")
        await settle()
        assert api.nodes_of_pods() == {"big": "n2"}


async def test_events_say_which_state_of_the_pod_they_are_about() -> None:
    """So that a new reason is an event of its own, and an old one is only counted."""
    api = FakeApi()
    api.node("n1", cpu="1")
    api.pod("big", cpu="4")
    async with running(api):
        for number in (2, 3, 4):  # with enough room, but not for everybody
            api.node(f"n{number}", cpu="8", taints=[{"key": "k", "value": "v", "effect": "NoSchedule"}])
            await settle(60)
        notes = [note for _, reason, note in api.recorded if reason == "FailedScheduling"]
        states = [pod["resourceVersion"] for _, pod in api.recorded_by]
        assert [note[:3] for note in notes] == ["0/1", "0/2", "0/3", "0/4"]
        assert len(set(states)) == len(states)


async def test_all_that_is_there_at_the_start_counts_before_anything_is_decided() -> None:
    """However long it takes to look at: a slice of time is over after every few pods here."""
    api = FakeApi()
    api.node("n1", cpu="10")
    api.pod("a-new-one", cpu="1")
    for number in range(40):
        api.pod(f"there-{number}", cpu="250m", nodeName="n1")
    ticks = count()
    live = LiveScheduler(api, api, default_gates(), clock=lambda: next(ticks) * SLICE_SECONDS)
    task = asyncio.create_task(live.run())
    await settle()
    assert live.has_synced
    assert reasons(api, "a-new-one") == ["FailedScheduling"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_pods_of_other_schedulers_count_and_are_not_scheduled() -> None:
    api = FakeApi()
    api.node("n1", cpu="2")
    api.pod("theirs", cpu="2", schedulerName="another", nodeName="n1")
    api.pod("waiting", schedulerName="another")
    api.pod("ours", cpu="1")
    async with running(api):
        assert api.nodes_of_pods() == {"theirs": "n1", "waiting": "", "ours": ""}
        assert reasons(api, "waiting") == []
        document = {**api.raw("default/theirs"), "status": {"phase": "Succeeded"}}
        api.put(KINDS.POD, document)
        await settle()
        assert api.nodes_of_pods()["ours"] == "n1"


async def test_a_pod_on_an_unknown_node_counts_when_the_node_comes() -> None:
    api = FakeApi()
    api.pod("first", cpu="3", nodeName="n1")
    api.pod("second", cpu="3")
    async with running(api):
        api.node("n1")
        await settle()
        assert api.nodes_of_pods() == {"first": "n1", "second": ""}
        api.drop(KINDS.POD, "default/first")
        await settle(20)
        assert api.nodes_of_pods() == {"second": "n1"}


async def test_a_lost_answer_is_asked_about_and_the_node_is_not_given_away() -> None:
    api = FakeApi()
    api.node("n1", cpu="1")
    fates = [Fate.UNANSWERED]
    api.fate = lambda verb, key: fates.pop() if verb == "bind" and fates else Fate.OK
    api.holds = True
    api.release()
    api.pod("a")
    api.pod("b")
    async with running(api):
        await settle(30)
        bound = api.nodes_of_pods()
        assert sorted(bound.values()) == ["", "n1"]
        name = next(name for name, node in bound.items() if node)
        assert reasons(api, name) == ["Scheduled"]
        assert [call for call in api.calls if call[0] == "bind"] == [("bind", f"default/{name}")]


async def test_a_binding_that_never_arrived_is_sent_again_to_the_same_node() -> None:
    api = FakeApi()
    api.node("n1")
    fates = [Fate.LOST, Fate.LOST]
    api.fate = lambda verb, key: fates.pop() if verb == "bind" and fates else Fate.OK
    api.pod("a")
    async with running(api):
        await settle(5)
        assert api.nodes_of_pods() == {"a": "n1"}
        assert reasons(api, "a") == ["Scheduled"]


async def test_pod_bound_by_another_scheduler_counts_on_its_node() -> None:
    api = FakeApi()
    api.node("n1", cpu="1")
    api.node("n2", cpu="1", unschedulable=True)

    def fate(verb: str, key: str) -> Fate:
        if verb == "bind" and key == "default/a" and not api.nodes_of_pods()["a"]:
            api.bind_now(key, "", "n2")
        return Fate.OK

    api.fate = fate
    api.holds = True
    api.release()
    api.pod("a")
    async with running(api) as live:
        assert api.nodes_of_pods() == {"a": "n2"}
        record = live.scheduler.cluster.pods["default/a"]
        assert record.slot == live.scheduler.cluster.nodes.slot_of["n2"]
        api.pod("b")
        api.release()
        await settle()
        assert api.nodes_of_pods() == {"a": "n2", "b": "n1"}


async def test_refused_binding_causes_an_event_and_is_retried() -> None:
    api = FakeApi()
    api.node("n1")
    fates = [Fate.ERROR]
    api.fate = lambda verb, key: fates.pop() if verb == "bind" and fates else Fate.OK
    api.pod("a")
    async with running(api):
        assert api.nodes_of_pods() == {"a": ""}
        text = 'running Bind plugin "DefaultBinder": Internal error occurred: the disk is full'
        assert condition(api, "a") == ("False", "SchedulerError", text)
        await settle(2)
        assert api.nodes_of_pods() == {"a": "n1"}
        assert reasons(api, "a") == ["FailedScheduling", "Scheduled"]


async def test_a_pod_that_matters_more_makes_room_for_itself() -> None:
    api = FakeApi()
    api.node("n1", cpu="1")
    api.pod("low", priority=1, nodeName="n1")
    high = api.pod("high", priority=10)
    async with running(api):
        await settle()
        assert api.nodes_of_pods() == {"high": "n1"}
        note = f"Preempted by pod {high.uid} on node n1"
        assert ("low", "Preempted", note) in api.recorded
        said = [
            one
            for facts, event in api.history
            if facts is KINDS.POD and event.object.key == "default/low"
            for one in event.object.raw.get("status", {}).get("conditions", [])
        ]
        assert said[0]["type"] == "DisruptionTarget"
        assert said[0]["reason"] == "PreemptionByScheduler"
        assert said[0]["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
        assert any(
            event.object.raw.get("status", {}).get("nominatedNodeName") == "n1"
            for facts, event in api.history
            if facts is KINDS.POD and event.object.key == "default/high"
        )


async def test_a_pod_that_was_replaced_by_another_of_its_name_is_another() -> None:
    api = FakeApi()
    api.node("n1", cpu="1")
    api.pod("a")
    async with running(api):
        assert api.nodes_of_pods() == {"a": "n1"}
        api.drop(KINDS.POD, "default/a")
        api.pod("a")
        await settle()
        assert api.nodes_of_pods() == {"a": "n1"}
        assert reasons(api, "a") == ["Scheduled", "Scheduled"]


async def test_each_profile_schedules_the_pods_that_name_it() -> None:
    api = FakeApi()
    api.node("roomy", cpu="8")
    api.node("tight", cpu="2")
    fit = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}}
    raw = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {"schedulerName": "packing", "pluginConfig": [{"name": "NodeResourcesFit", "args": fit}]},
        ],
    }
    configuration = load_configuration(raw, "test", default_gates())
    async with running(api, configuration=configuration):
        api.pod("spread")
        api.pod("packed", schedulerName="packing")
        api.pod("foreign", schedulerName="another")
        await settle()
        assert api.nodes_of_pods() == {"spread": "roomy", "packed": "tight", "foreign": ""}
        reporters = {pod["name"]: by for by, pod in api.recorded_by}
        assert reporters == {"spread": "default-scheduler", "packed": "packing"}


async def test_a_mistake_about_one_pod_does_not_stop_the_others() -> None:
    api = FakeApi()
    api.node("n1")
    async with running(api) as live:
        engine = live.scheduler.engines["default-scheduler"]
        find, broken = engine.find, [True]

        def sometimes(record: PodRecord) -> int:
            if record.key == "default/odd" and broken:
                raise ZeroDivisionError("a mistake")
            return find(record)

        engine.__dict__["find"] = sometimes
        api.pod("odd")
        api.pod("even")
        await settle()
        assert api.nodes_of_pods() == {"odd": "", "even": "n1"}
        broken.clear()
        await settle(20)
        assert api.nodes_of_pods() == {"odd": "n1", "even": "n1"}


def with_plugin(monkeypatch: pytest.MonkeyPatch, plugin: type[Plugin[Any]]) -> Configuration:
    """The configuration of a scheduler with one plugin of another package."""
    monkeypatch.setattr(third_party, "entry_points", lambda group: EntryPoints([EntryPoint("Own", "their:Own", group)]))
    monkeypatch.setitem(sys.modules, "their", ModuleType("their"))
    monkeypatch.setattr(sys.modules["their"], "Own", plugin, raising=False)
    raw = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "Own"}]}}}],
    }
    return load_configuration(raw, "test", default_gates())


async def test_a_plugin_of_another_package_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Own(Plugin[Any]):
        name = "Own"

        def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
            return None if cluster.nodes.node(slot).metadata.name == "n2" else unschedulable("node(s) were not mine")

    api = FakeApi()
    api.node("n1")
    api.pod("p")
    async with running(api, configuration=with_plugin(monkeypatch, Own)):
        note = next(note for _, reason, note in api.recorded if reason == "FailedScheduling")
        assert note.startswith("0/1 nodes are available: 1 node(s) were not mine.")
        api.node("n2")
        await settle(10)
        assert api.nodes_of_pods() == {"p": "n2"}


async def test_a_plugin_that_raises_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Own(Plugin[Any]):
        name = "Own"

        def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
            raise RuntimeError("not today")

    api = FakeApi()
    api.node("n1")
    api.pod("p")
    async with running(api, configuration=with_plugin(monkeypatch, Own)):
        assert api.nodes_of_pods() == {"p": ""}
    logged = log_text(caplog)
    assert (
        'plugin \\"Own\\" (entry point their:Own of an unknown package): explain raised RuntimeError: not today'
        in logged
    )
    assert "Traceback" not in logged
