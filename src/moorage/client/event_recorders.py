"""Record events, without ever waiting or failing. Kubernetes: client-go's tools/events and tools/record.

Kubelets and controllers use `CountingRecorder` (core/v1): a repeated event raises the first one's count, ten different
messages for one reason within ten minutes are combined, and of one source about one object 25 events are sent at once
and then one every five minutes. The scheduler uses `SeriesRecorder` (events.k8s.io/v1): the first event is created, the
second makes it a series, further ones are only counted; the count is written when the series is over (nothing for six
minutes) and every half hour. Differs: the server's copy of an event is not read back; at most `MAX_SERIES` series are
kept, the least recent one is finished early; notes are cut to the API's limit.
"""

import asyncio
import socket
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.client.event_sender import EventAction, EventSender
from moorage.client.pacing import TokenBucket
from moorage.client.protocol import Raw
from moorage.model.go.times import micro_time_text, time_text
from moorage.model.kinds import KINDS
from moorage.model.text.patterns import whole

Value = TypeVar("Value")

NORMAL, WARNING = "Normal", "Warning"
NANOSECONDS = 1_000_000_000
_MAX_NAME_LENGTH = 253
_is_subdomain = whole(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def event_name(subject: str, now: int) -> str:
    name = f"{subject}.{now:x}"
    return name if len(name) <= _MAX_NAME_LENGTH and _is_subdomain(name) else str(uuid.uuid4())


def _event_namespace(reference: Raw) -> str:
    """Return the namespace of an event about an object; `default` for cluster-scoped ones."""
    return str(reference.get("namespace") or "default")


# -- core/v1 ----------------------------------------------------------------------------------------------------------

MAX_REMEMBERED = 4096
SIMILAR_EVENTS = 10
SIMILAR_SECONDS = 600
BURST = 25
SECONDS_PER_EVENT = 300
COMBINED = "(combined from similar events): "


class _Recent(OrderedDict[tuple[Any, ...], Value], Generic[Value]):
    """A dictionary that drops the least recently used entry."""

    def recall(self, key: tuple[Any, ...]) -> Value | None:
        value = self.get(key)
        if value is not None:
            self.move_to_end(key)
        return value

    def remember(self, key: tuple[Any, ...], value: Value) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > MAX_REMEMBERED:
            self.popitem(last=False)


class _Similar:
    """Messages for one reason about one object."""

    __slots__ = ("last", "messages")

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.last = 0


class _Observed(NamedTuple):
    times: int
    first: str
    name: str


class EventCorrelator:
    """The state of one source of events: `component` and `host`."""

    def __init__(self, component: str, host: str = "") -> None:
        self._component, self._host = component, host
        self._similar: _Recent[_Similar] = _Recent()
        self._observed: _Recent[_Observed] = _Recent()
        self._buckets: _Recent[TokenBucket] = _Recent()

    def report(
        self,
        now: int,
        involved: Raw,
        kind: str,
        reason: str,
        message: str,
        annotations: dict[str, str] | None = None,
        host: str = "",
    ) -> list[EventAction]:
        """Return what to send for one more event, if anything; `host` is where it was seen, if not the source's own."""
        host = host or self._host
        get = involved.get
        subject = (get("kind"), get("namespace"), get("name"), get("uid"), get("apiVersion"))
        text = time_text(now // NANOSECONDS)
        metadata: Raw = {"name": event_name(involved["name"], now), "namespace": _event_namespace(involved)}
        key: tuple[Any, ...] = (*subject, get("fieldPath"), kind, reason, message)
        similar_key = (*subject, kind, reason)
        is_combined = self._is_one_of_many(now, similar_key, message)
        if is_combined:
            message, key = COMBINED + message, similar_key
        elif annotations:
            metadata["annotations"] = annotations
        document: Raw = {
            "apiVersion": KINDS.EVENT.api_version,
            "kind": KINDS.EVENT.name,
            "metadata": metadata,
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": self._component, **({"host": host} if host else {})},
            "firstTimestamp": text,
            "lastTimestamp": text,
            "count": 1,
            "type": kind,
            "reportingComponent": "" if is_combined else self._component,
            "reportingInstance": "" if is_combined else host,
        }
        patch = self._observe(document, key)
        if not self._may_send(now, (*subject, kind)):
            return []
        return [EventAction(KINDS.EVENT, document, patch)]

    def rewritten(
        self, now: int, involved: Raw, kind: str, reason: str, message: str, event: str, count: int
    ) -> EventAction:
        """Return what writes the one event of a name, or gives it another message."""
        text = time_text(now // NANOSECONDS)
        change: Raw = {"message": cut_note(message), "lastTimestamp": text, "count": count}
        document: Raw = {
            "apiVersion": KINDS.EVENT.api_version,
            "kind": KINDS.EVENT.name,
            "metadata": {"name": event, "namespace": _event_namespace(involved)},
            "involvedObject": involved,
            "reason": reason,
            "source": {"component": self._component, **({"host": self._host} if self._host else {})},
            "firstTimestamp": text,
            "type": kind,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
            **change,
        }
        return EventAction(KINDS.EVENT, document, change)

    def _is_one_of_many(self, now: int, key: tuple[Any, ...], message: str) -> bool:
        """Return whether enough different messages came to combine them."""
        similar = self._similar.recall(key)
        if similar is None or now - similar.last > SIMILAR_SECONDS * NANOSECONDS:
            similar = _Similar()
        similar.messages.add(message)
        similar.last = now
        self._similar.remember(key, similar)
        if len(similar.messages) < SIMILAR_EVENTS:
            return False
        similar.messages.pop()
        return True

    def _observe(self, document: Raw, key: tuple[Any, ...]) -> Raw | None:
        """Count the event; return the patch if it is known already."""
        known = self._observed.recall(key)
        patch: Raw | None = None
        if known is not None:
            document["metadata"] = {**document["metadata"], "name": known.name}
            document["firstTimestamp"] = known.first
            document["count"] = known.times + 1
            patch = {field: document[field] for field in ("count", "lastTimestamp", "message")}
        metadata = document["metadata"]
        self._observed.remember(key, _Observed(document["count"], document["firstTimestamp"], metadata["name"]))
        return patch

    def _may_send(self, now: int, key: tuple[Any, ...]) -> bool:
        seconds = now / NANOSECONDS
        bucket = self._buckets.recall(key) or TokenBucket(1 / SECONDS_PER_EVENT, BURST, since=seconds)
        self._buckets.remember(key, bucket)
        return bucket.take(seconds)


# -- events.k8s.io/v1 -------------------------------------------------------------------------------------------------

FINISH_SECONDS = 6 * 60
REFRESH_SECONDS = 30 * 60
MAX_NOTE_LENGTH = 1024
MAX_SERIES = 8192

_IDENTITY = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_CUT = " ..."
_Key = tuple[Any, ...]


class _Remembered:
    __slots__ = ("count", "document", "seen")

    def __init__(self, document: Raw, seen: int) -> None:
        self.document, self.seen, self.count = document, seen, 1

    def series(self) -> Raw:
        return {"count": self.count, "lastObservedTime": micro_time_text(self.seen // 1000)}


class EventSeriesState:
    """The series of one reporting controller and instance."""

    def __init__(self, controller: str, instance: str) -> None:
        self._controller, self._instance = controller, instance
        self._remembered: OrderedDict[_Key, _Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._remembered)

    def report(
        self, now: int, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None
    ) -> list[EventAction]:
        """Return what to send for one more event. Notes and times do not tell events apart."""
        key = (kind, action, reason, *_identity(regarding), *_identity(related or {}))
        known = self._remembered.get(key)
        if known is not None:
            known.seen = now
            known.count += 1
            self._remembered.move_to_end(key)
            return [_write(known)] if known.count == 2 else []
        document: Raw = {
            "apiVersion": KINDS.REPORTED_EVENT.api_version,
            "kind": KINDS.REPORTED_EVENT.name,
            "metadata": {"name": event_name(regarding["name"], now), "namespace": _event_namespace(regarding)},
            "eventTime": micro_time_text(now // 1000),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": regarding,
            "note": cut_note(note),
            "type": kind,
        }
        if related is not None:
            document["related"] = related
        self._remembered[key] = _Remembered(document, now)
        actions = [EventAction(KINDS.REPORTED_EVENT, document)]
        if len(self._remembered) > MAX_SERIES:
            _, oldest = self._remembered.popitem(last=False)
            if oldest.count > 2:
                actions.append(_write(oldest))
        return actions

    def finish(self, now: int) -> list[EventAction]:
        """Return the final counts of series that are over; call it every FINISH_SECONDS."""
        actions = []
        # In the order in which they were last seen, the oldest first.
        while self._remembered:
            key, known = next(iter(self._remembered.items()))
            if known.seen >= now - FINISH_SECONDS * NANOSECONDS:
                break
            del self._remembered[key]
            if known.count > 1:
                actions.append(_write(known))
        return actions

    def refresh(self) -> list[EventAction]:
        """Return all counts, so that the events do not expire; call it every REFRESH_SECONDS."""
        return [_write(known) for known in self._remembered.values() if known.count > 1]


def _write(known: _Remembered) -> EventAction:
    series = known.series()
    return EventAction(KINDS.REPORTED_EVENT, {**known.document, "series": series}, {"series": series})


def _identity(reference: Raw) -> tuple[Any, ...]:
    return tuple(map(reference.get, _IDENTITY))


def cut_note(note: str) -> str:
    if len(note) * 4 <= MAX_NOTE_LENGTH:
        return note
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= MAX_NOTE_LENGTH:
        return note
    return encoded[: MAX_NOTE_LENGTH - len(_CUT)].decode("utf-8", "ignore") + _CUT


# -- recorders --------------------------------------------------------------------------------------------------------


class _Clock:
    """Nanoseconds that always grow, because the names of events are made from them."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now, self._last = now, 0

    def __call__(self) -> int:
        self._last = max(self._now(), self._last + 1)
        return self._last


class SeriesRecorder:
    """Records events.k8s.io/v1 events; its `run` task finishes series."""

    def __init__(self, sender: EventSender, host: str = "", *, now: Callable[[], int] = time.time_ns) -> None:
        """`now` returns nanoseconds since 1970."""
        self._sender, self._now = sender, _Clock(now)
        self._host = host or socket.gethostname()
        self._states: dict[str, EventSeriesState] = {}

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None, *, by: str
    ) -> None:
        """`regarding` and `related` are ObjectReferences, `kind` is NORMAL or WARNING, `by` the controller."""
        state = self._states.get(by)
        if state is None:
            state = self._states[by] = EventSeriesState(by, f"{by}-{self._host}")
        for event_action in state.report(self._now(), regarding, kind, reason, action, note, related):
            self._sender.put(event_action)

    def rewrite(self, regarding: Raw, reason: str, name: str, note: str, count: int, *, by: str) -> None:
        """Write the one warning of this name, or give it another note: a core/v1 event, whose note may change."""
        text = time_text(self._now() // NANOSECONDS)
        change: Raw = {"message": cut_note(note), "lastTimestamp": text, "count": count}
        document: Raw = {
            "apiVersion": KINDS.EVENT.api_version,
            "kind": KINDS.EVENT.name,
            "metadata": {"name": name, "namespace": _event_namespace(regarding)},
            "involvedObject": regarding,
            "reason": reason,
            "source": {"component": by},
            "firstTimestamp": text,
            "type": WARNING,
            "reportingComponent": by,
            "reportingInstance": f"{by}-{self._host}",
            **change,
        }
        self._sender.put(EventAction(KINDS.EVENT, document, change))

    async def run(self) -> None:
        rounds = 0
        while True:
            await asyncio.sleep(FINISH_SECONDS)
            rounds += 1
            is_refresh = rounds % (REFRESH_SECONDS // FINISH_SECONDS) == 0
            for state in self._states.values():
                for action in state.finish(self._now()) + (state.refresh() if is_refresh else []):
                    self._sender.put(action)


class CountingRecorder:
    """Records core/v1 events."""

    def __init__(
        self, sender: EventSender, component: str, host: str = "", *, now: Callable[[], int] = time.time_ns
    ) -> None:
        self._sender, self._now, self._host = sender, _Clock(now), host
        self._state = EventCorrelator(component, host)

    def named(self, component: str) -> "CountingRecorder":
        """Return a recorder for another component with the same sender."""
        return CountingRecorder(self._sender, component, self._host, now=self._now)

    def report(
        self,
        involved: Raw,
        kind: str,
        reason: str,
        message: str,
        annotations: dict[str, str] | None = None,
        *,
        host: str = "",
    ) -> None:
        """`involved` is an ObjectReference, `kind` is NORMAL or WARNING, `host` the node of a kubelet."""
        for event_action in self._state.report(self._now(), involved, kind, reason, message, annotations, host):
            self._sender.put(event_action)

    def rewrite(self, involved: Raw, kind: str, reason: str, message: str, event: str, count: int) -> None:
        """Write the one Event of this name, or give it another message. It is not counted with similar ones."""
        self._sender.put(self._state.rewritten(self._now(), involved, kind, reason, message, event, count))
