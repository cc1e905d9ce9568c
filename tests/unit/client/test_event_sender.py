"""Sending events: in order, again if need be, never in the way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, cast

import pytest
from tests.log_text import log_text

from moorage.client.event_recorders import NORMAL, WARNING, CountingRecorder, SeriesRecorder
from moorage.client.event_sender import EventAction, EventSender
from moorage.client.protocol import Client, Unreachable
from moorage.model.api_error import already_exists, bad_request, forbidden, not_found
from moorage.model.kinds import KINDS, Kind

POD = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u", "apiVersion": "v1"}


class _EventServer:
    """Takes events as an API server does, after as much trouble as it is told to make."""

    def __init__(self) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.trouble: list[Exception] = []
        self.calls: list[str] = []
        self.gate: asyncio.Event | None = None

    async def create(self, kind: Kind, document: dict[str, Any], namespace: str = "") -> None:
        await self._begin("create")
        name = document["metadata"]["name"]
        if name in self.events:
            raise already_exists(kind, name)
        self.events[name] = document

    async def patch(self, kind: Kind, name: str, namespace: str, patch: dict[str, Any]) -> None:
        await self._begin("patch")
        if name not in self.events:
            raise not_found(kind, name)
        self.events[name] = {**self.events[name], **patch}

    async def _begin(self, verb: str) -> None:
        self.calls.append(verb)
        if self.gate is not None:
            await self.gate.wait()
        if self.trouble:
            raise self.trouble.pop(0)


def _action(name: str, patch: dict[str, Any] | None = None) -> EventAction:
    return EventAction(KINDS.EVENT, {"metadata": {"name": name, "namespace": "default"}, "count": 1}, patch)


@asynccontextmanager
async def sending(server: _EventServer, **options: Any) -> AsyncIterator[EventSender]:
    sender = EventSender(cast(Client, server), random=lambda: 0.0, **options)
    task = asyncio.create_task(sender.run())
    yield sender
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.fixture
def server() -> _EventServer:
    return _EventServer()


@pytest.fixture
def sender(server: _EventServer) -> AbstractAsyncContextManager[EventSender]:
    return sending(server)


async def test_updates_of_one_event_are_sent_in_order(server: _EventServer, sender: EventSender) -> None:
    for name in ("a", "b", "c"):
        sender.put(_action(name))
        for count in (2, 3, 4):
            sender.put(_action(name, {"count": count}))
    await sender.drain(10)
    assert {name: event["count"] for name, event in server.events.items()} == {"a": 4, "b": 4, "c": 4}
    assert server.calls.count("create") == 3
    assert sender.sent == 12


async def test_a_deleted_event_is_created_again(server: _EventServer, sender: EventSender) -> None:
    sender.put(_action("a", {"count": 7}))
    await sender.drain(10)
    assert server.calls == ["patch", "create"]


async def test_a_server_that_cannot_be_reached_is_asked_twelve_times(server: _EventServer, sender: EventSender) -> None:
    server.trouble = [Unreachable("down")] * 11
    sender.put(_action("a"))
    await sender.drain(1000)
    assert (sender.sent, sender.failed) == (1, 0)
    server.trouble = [Unreachable("down")] * 12
    sender.put(_action("b"))
    await sender.drain(1000)
    assert (sender.sent, sender.failed) == (1, 1)
    assert asyncio.get_running_loop().time() == 220.0


async def test_what_the_server_refuses_is_given_up(server: _EventServer, sender: EventSender) -> None:
    server.trouble = [bad_request("no")]
    sender.put(_action("a"))
    await sender.drain(10)
    assert (server.calls, sender.failed) == (["create"], 1)


async def test_events_about_a_namespace_that_is_gone_are_given_up_without_a_word(
    caplog: pytest.LogCaptureFixture, server: _EventServer, sender: EventSender
) -> None:
    namespace = KINDS.NAMESPACE
    ending = forbidden(KINDS.EVENT, "b", "unable to create new content in namespace x because it is being terminated")
    ending.status["details"]["causes"] = [{"reason": "NamespaceTerminating"}]
    server.trouble = [not_found(namespace, "x"), ending, bad_request("no")]
    for name in "abc":
        sender.put(_action(name))
    await sender.drain(10)
    assert (sender.sent, sender.failed) == (0, 3)
    assert log_text(caplog).count("Unable to write event") == 1


async def test_an_unexpected_failure_does_not_stop_the_others(server: _EventServer, sender: EventSender) -> None:
    server.trouble = [ZeroDivisionError()]
    sender.put(_action("a"))
    await sender.drain(10)
    sender.put(_action("a"))
    await sender.drain(10)
    assert (sender.failed, sender.sent) == (1, 1)


async def test_an_event_that_appears_between_patch_and_create_is_patched_after_all(
    server: _EventServer, sender: EventSender
) -> None:
    server.events["a"] = {}
    server.trouble = [not_found(KINDS.EVENT, "a")]
    sender.put(_action("a", {"count": 7}))
    await sender.drain(100)
    assert server.calls == ["patch", "create", "patch"]
    assert server.events["a"] == {"count": 7}


async def test_what_there_is_no_room_for_is_dropped_and_counted(server: _EventServer) -> None:
    async with sending(server, most_queued=10) as sender:
        server.gate = asyncio.Event()
        assert [sender.put(_action(f"e{index}")) for index in range(12)] == [True] * 10 + [False] * 2
        assert sender.dropped == 2
        await sender.drain(1)  # does not wait for ever
        server.gate.set()
        await sender.drain(10)
        assert sender.sent == 10
        assert sender.put(_action("later"))


def _series(server: _EventServer) -> dict[str, int]:
    return {event["reason"]: event.get("series", {}).get("count", 0) for event in server.events.values()}


async def test_the_scheduler_recorder_reports_and_finishes_series(server: _EventServer, sender: EventSender) -> None:
    loop = asyncio.get_running_loop()
    recorder = SeriesRecorder(sender, now=lambda: int(loop.time() * 1e9))
    task = asyncio.create_task(recorder.run())
    for _ in range(5):
        recorder.report(POD, WARNING, "FailedScheduling", "Scheduling", "no room", by="default-scheduler")
    recorder.report(
        POD, NORMAL, "Scheduled", "Binding", "Successfully assigned default/web to n1", by="default-scheduler"
    )
    await asyncio.sleep(1)
    assert _series(server) == {"FailedScheduling": 2, "Scheduled": 0}
    await asyncio.sleep(1000)
    assert _series(server) == {"FailedScheduling": 5, "Scheduled": 0}
    assert all(event["reportingInstance"].startswith("default-scheduler-") for event in server.events.values())
    for _ in range(40):
        recorder.report(POD, WARNING, "FailedScheduling", "Scheduling", "still no room", by="default-scheduler")
        await asyncio.sleep(60)
    (series,) = [event["series"]["count"] for event in server.events.values() if event["note"] == "still no room"]
    assert series > 10  # written by a refresh, since the series is not over
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_the_kubelet_recorder_counts(server: _EventServer, sender: EventSender) -> None:
    recorder = CountingRecorder(sender, "kubelet", "n1", now=lambda: 5)
    for _ in range(3):
        recorder.report(POD, NORMAL, "Pulled", "Container image already present on machine")
    recorder.report(POD, NORMAL, "Started", "Started container c")
    await sender.drain(10)
    assert {event["reason"]: event["count"] for event in server.events.values()} == {"Pulled": 3, "Started": 1}


async def test_the_one_event_of_a_name_is_created_and_gets_other_messages() -> None:
    server = _EventServer()
    async with sending(server) as sender:
        recorder = CountingRecorder(sender, "attach")
        for times, text in enumerate(("one node", "two nodes", "ä" * 2000), 1):
            recorder.rewrite(POD, WARNING, "Waits", text, "web.waits", times)
        await sender.drain(5)
    assert server.calls == ["patch", "create", "patch", "patch"]
    event = server.events["web.waits"]
    assert (event["count"], event["type"], event["involvedObject"]) == (3, WARNING, POD)
    assert event["message"].endswith("ä ...")
    assert len(event["message"].encode()) <= 1024
