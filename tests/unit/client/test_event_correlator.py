"""The recorder of core events: counts, combines, and holds back what is too much."""

from typing import Any

from moorage.client.event_recorders import (
    BURST,
    COMBINED,
    MAX_REMEMBERED,
    NANOSECONDS,
    NORMAL,
    SECONDS_PER_EVENT,
    SIMILAR_SECONDS,
    WARNING,
    EventCorrelator,
)
from moorage.client.event_sender import EventAction

START = 1_700_000_000 * NANOSECONDS
POD: dict[str, Any] = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u", "apiVersion": "v1"}


def _at(seconds: float) -> int:
    return START + int(seconds * NANOSECONDS)


def _report(correlator: EventCorrelator, seconds: float, message: str, reason: str = "Failed") -> list[EventAction]:
    return correlator.report(_at(seconds), POD, WARNING, reason, message)


def test_the_first_event_is_created_and_the_same_again_is_counted() -> None:
    correlator = EventCorrelator("kubelet", "n1")
    (first,) = correlator.report(START, POD, WARNING, "Failed", "no image", {"a": "b"})
    assert first.patch is None
    assert first.document == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"web.{START:x}", "namespace": "default", "annotations": {"a": "b"}},
        "involvedObject": POD,
        "reason": "Failed",
        "message": "no image",
        "source": {"component": "kubelet", "host": "n1"},
        "firstTimestamp": "2023-11-14T22:13:20Z",
        "lastTimestamp": "2023-11-14T22:13:20Z",
        "count": 1,
        "type": "Warning",
        "reportingComponent": "kubelet",
        "reportingInstance": "n1",
    }
    (second,) = _report(correlator, 5, "no image")
    assert second.patch == {"count": 2, "lastTimestamp": "2023-11-14T22:13:25Z", "message": "no image"}
    assert second.document["metadata"]["name"] == first.document["metadata"]["name"]
    assert second.document["firstTimestamp"] == "2023-11-14T22:13:20Z"
    (third,) = _report(correlator, 6, "no image")
    assert third.patch is not None
    assert third.patch["count"] == 3


def test_ten_different_messages_for_one_reason_are_combined() -> None:
    correlator = EventCorrelator("kubelet")
    for index in range(9):
        (action,) = _report(correlator, index, f"message {index}")
        assert action.patch is None
    (tenth,) = _report(correlator, 9, "message 9")
    assert tenth.patch is None
    assert tenth.document["message"] == COMBINED + "message 9"
    assert tenth.document["reportingComponent"] == ""
    (eleventh,) = _report(correlator, 10, "message 10")
    assert eleventh.patch is not None
    assert (eleventh.patch["count"], eleventh.patch["message"]) == (2, COMBINED + "message 10")
    assert eleventh.document["metadata"]["name"] == tenth.document["metadata"]["name"]
    (other,) = _report(correlator, 10, "message 10", reason="BackOff")
    assert not other.document["message"].startswith(COMBINED)


def test_similar_events_that_come_slowly_are_not_combined() -> None:
    correlator = EventCorrelator("kubelet")
    for index in range(30):
        actions = _report(correlator, index * (SIMILAR_SECONDS + 1), f"message {index}")
        assert not actions[0].document["message"].startswith(COMBINED)


def test_of_one_source_about_one_object_25_come_at_once_and_then_one_every_five_minutes() -> None:
    correlator = EventCorrelator("kubelet")
    sent = [_report(correlator, 0, "m", reason=f"R{index}") for index in range(40)]
    assert [bool(actions) for actions in sent] == [True] * BURST + [False] * 15
    assert correlator.report(_at(0), POD, NORMAL, "R", "m")  # other types have their own allowance
    assert correlator.report(_at(0), {**POD, "uid": "v"}, WARNING, "R", "m")
    assert not _report(correlator, SECONDS_PER_EVENT - 1, "m")
    assert _report(correlator, SECONDS_PER_EVENT + 1, "m")
    assert not _report(correlator, SECONDS_PER_EVENT + 2, "m")


def test_suppressed_events_are_still_counted() -> None:
    correlator = EventCorrelator("kubelet")
    for _ in range(30):
        _report(correlator, 0, "m")
    (action,) = _report(correlator, SECONDS_PER_EVENT, "m")
    assert action.patch is not None
    assert action.patch["count"] == 31


def test_the_memory_is_bounded() -> None:
    correlator = EventCorrelator("kubelet")
    for index in range(MAX_REMEMBERED + 10):
        correlator.report(START, {**POD, "name": f"p{index}"}, NORMAL, "R", "m")
    for remembered in (correlator._similar, correlator._observed, correlator._buckets):
        assert len(remembered) == MAX_REMEMBERED


def test_one_source_can_speak_for_many_nodes() -> None:
    involved = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u"}
    (action,) = EventCorrelator("kubelet").report(10**18, involved, NORMAL, "Started", "Container started", host="n7")
    assert action.document["source"] == {"component": "kubelet", "host": "n7"}
    assert action.document["reportingInstance"] == "n7"
