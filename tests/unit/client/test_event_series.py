"""The recorder of events.k8s.io/v1: one event, then a series, then a count."""

import asyncio

import pytest
from tests.virtual_cluster import VirtualCluster

from moorage.client.event_recorders import (
    FINISH_SECONDS,
    MAX_NOTE_LENGTH,
    MAX_SERIES,
    NANOSECONDS,
    WARNING,
    EventSeriesState,
    SeriesRecorder,
    cut_note,
    event_name,
)
from moorage.client.event_sender import EventSender
from moorage.client.protocol import Object
from moorage.model.go.times import micro_time_text, time_text
from moorage.model.kinds import KINDS

START = 1_700_000_000 * NANOSECONDS
POD = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u", "apiVersion": "v1", "resourceVersion": "5"}


def _state() -> EventSeriesState:
    return EventSeriesState("default-scheduler", "default-scheduler-host")


def test_the_first_event_is_created() -> None:
    (action,) = _state().report(START, POD, WARNING, "FailedScheduling", "Scheduling", "0/1 nodes are available")
    assert action.patch is None
    assert action.kind is KINDS.REPORTED_EVENT
    assert action.document == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"web.{START:x}", "namespace": "default"},
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "reportingController": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "regarding": POD,
        "note": "0/1 nodes are available",
        "type": "Warning",
    }


def test_the_second_makes_a_series_and_the_rest_is_counted() -> None:
    state = _state()
    created = state.report(START, POD, WARNING, "FailedScheduling", "Scheduling", "a")[0]
    series = {"count": 2, "lastObservedTime": micro_time_text((START + NANOSECONDS) // 1000)}
    (second,) = state.report(START + NANOSECONDS, POD, WARNING, "FailedScheduling", "Scheduling", "another note")
    assert second.patch == {"series": series}
    assert second.document == {**created.document, "series": series}
    for later in range(2, 9):
        assert state.report(START + later * NANOSECONDS, POD, WARNING, "FailedScheduling", "Scheduling", "a") == []
    (refreshed,) = state.refresh()
    assert refreshed.patch == {
        "series": {"count": 9, "lastObservedTime": micro_time_text((START + 8 * NANOSECONDS) // 1000)}
    }


def test_a_series_ends_when_nothing_comes_for_six_minutes() -> None:
    state = _state()
    for seconds in (0, 1, 2):
        state.report(START + seconds * NANOSECONDS, POD, WARNING, "FailedScheduling", "Scheduling", "a")
    assert state.finish(START + (2 + FINISH_SECONDS) * NANOSECONDS) == []
    (finished,) = state.finish(START + (3 + FINISH_SECONDS) * NANOSECONDS)
    assert finished.patch is not None
    assert finished.patch["series"]["count"] == 3
    assert len(state) == 0
    assert state.report(START + 999 * NANOSECONDS, POD, WARNING, "FailedScheduling", "Scheduling", "a")[0].patch is None


def test_a_single_event_is_forgotten_without_a_word() -> None:
    state = _state()
    state.report(START, POD, WARNING, "FailedScheduling", "Scheduling", "a")
    assert state.finish(START + (1 + FINISH_SECONDS) * NANOSECONDS) == []
    assert len(state) == 0


@pytest.mark.parametrize(
    "other",
    [
        {"regarding": {**POD, "resourceVersion": "6"}},
        {"regarding": {**POD, "uid": "v"}},
        {"kind": "Normal"},
        {"reason": "Preempted"},
        {"action": "Preempting"},
        {"related": {"kind": "Pod", "name": "x"}},
    ],
)
def test_events_that_differ_in_more_than_their_notes_are_not_alike(other: dict[str, object]) -> None:
    state = _state()
    same: dict[str, object] = {"regarding": POD, "kind": WARNING, "reason": "R", "action": "A", "note": "n"}
    state.report(START, **same)  # type: ignore[arg-type]
    (action,) = state.report(START + 1, **{**same, **other})  # type: ignore[arg-type]
    assert action.patch is None


def test_the_memory_is_bounded_and_a_series_that_falls_out_is_finished() -> None:
    state = _state()
    for _ in range(3):
        state.report(START, POD, WARNING, "R", "A", "n")
    actions = []
    for index in range(MAX_SERIES + 5):
        actions += state.report(START + index, {**POD, "name": f"p{index}"}, WARNING, "R", "A", "n")
    assert len(state) == MAX_SERIES
    (patched,) = [action for action in actions if action.patch is not None]
    assert patched.patch is not None
    assert patched.patch["series"]["count"] == 3


def test_notes_are_cut_to_what_the_api_takes() -> None:
    assert cut_note("x" * MAX_NOTE_LENGTH) == "x" * MAX_NOTE_LENGTH
    assert cut_note("x" * (MAX_NOTE_LENGTH + 1)) == "x" * (MAX_NOTE_LENGTH - 4) + " ..."
    cut = cut_note("€" * 500)
    assert cut.endswith("€ ...")
    assert len(cut.encode()) <= MAX_NOTE_LENGTH
    assert cut_note("\ud800" * 2000)


def test_events_about_objects_without_a_namespace_go_to_the_default_one() -> None:
    node = {"kind": "Node", "name": "n1", "apiVersion": "v1"}
    (action,) = _state().report(START, node, WARNING, "R", "A", "n")
    assert action.document["metadata"]["namespace"] == "default"


def test_names_that_are_no_names_of_events_are_replaced() -> None:
    assert event_name("web", 255) == "web.ff"
    assert len(event_name("system:anonymous", 255)) == 36


def test_references_and_times() -> None:
    raw = {"metadata": {"uid": "u"}}
    found = Object(KINDS.POD, "default/web", 5, raw=raw).reference
    assert found == POD
    node = Object(KINDS.NODE, "n1", 0, source=b'{"metadata":{"uid":"x"}}').reference
    assert node == {"kind": "Node", "name": "n1", "uid": "x", "apiVersion": "v1"}
    assert time_text((START + 1) / NANOSECONDS) == "2023-11-14T22:13:20Z"
    assert micro_time_text((START + 1_234_567) // 1000) == "2023-11-14T22:13:20.001234Z"


async def test_an_event_that_is_rewritten_stays_one_event() -> None:
    async with VirtualCluster.running(lambda: ()) as cluster:
        sender = EventSender(cluster.client)
        recorder = SeriesRecorder(sender, "host", now=lambda: 1_700_000_000 * 10**9)
        node = {"kind": "Node", "name": "n", "uid": "u", "apiVersion": "v1"}
        task = asyncio.create_task(sender.run())
        for count, note in enumerate(("3 pods", "4 pods"), 1):
            recorder.rewrite(node, "UnreadableTaint", "n.123", note, count, by="default-scheduler")
            await cluster.settle(1)
        (event,) = await cluster.all(KINDS.EVENT)
        assert (event.namespace, event.name) == ("default", "n.123")
        view = event.view
        assert (view.message, view.count, view.type, view.reason) == ("4 pods", 2, "Warning", "UnreadableTaint")
        assert (view.involvedObject.kind, view.involvedObject.name) == ("Node", "n")
        # A new process has forgotten the event, and goes on with it.
        again = SeriesRecorder(sender, "host", now=lambda: 1_700_000_000 * 10**9)
        again.rewrite(node, "UnreadableTaint", "n.123", "5 pods", 1, by="default-scheduler")
        await cluster.settle(1)
        (event,) = await cluster.all(KINDS.EVENT)
        assert event.view.message == "5 pods"
        task.cancel()
