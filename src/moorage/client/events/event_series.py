"""Series of events.k8s.io/v1 events. Kubernetes: client-go's tools/events, used by kube-scheduler.

The first event is created, the second makes it a series, further ones are only counted; the count is written when the
series is over (nothing for six minutes) and every half hour. Differs: at most `MAX_REMEMBERED` events are kept, the
least recent one is finished early; notes are cut to the API's limit.
"""

from collections import OrderedDict
from typing import Any

from moorage.client.events.event_action import NANOSECONDS, EventAction, event_name, event_namespace
from moorage.model.go.times import micro_time_text
from moorage.model.kinds import KINDS

Raw = dict[str, Any]

FINISH_SECONDS = 6 * 60
REFRESH_SECONDS = 30 * 60
MAX_NOTE_LENGTH = 1024
MAX_REMEMBERED = 8192

_EVENTS = KINDS[("events.k8s.io/v1", "Event")]
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
            "apiVersion": _EVENTS.api_version,
            "kind": _EVENTS.name,
            "metadata": {"name": event_name(regarding["name"], now), "namespace": event_namespace(regarding)},
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
        actions = [EventAction(_EVENTS, document)]
        if len(self._remembered) > MAX_REMEMBERED:
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
    return EventAction(_EVENTS, {**known.document, "series": series}, {"series": series})


def _identity(reference: Raw) -> tuple[Any, ...]:
    return tuple(map(reference.get, _IDENTITY))


def cut_note(note: str) -> str:
    """Cut a note to the bytes that the API allows."""
    if len(note) * 4 <= MAX_NOTE_LENGTH:
        return note
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= MAX_NOTE_LENGTH:
        return note
    return encoded[: MAX_NOTE_LENGTH - len(_CUT)].decode("utf-8", "ignore") + _CUT
