"""Events that repeat become a series: the state behind the recorder of events.k8s.io/v1.

In: something to report, and what time it is. Out: an `EventAction`, or none. The first event of its like is created;
the second turns it into a series; those that follow are only counted, and the count is written when the series is over
(nothing for six minutes) and every half an hour.
Kubernetes: client-go's tools/events, which kube-scheduler uses. Differs: no more than `MAX_REMEMBERED` events are
remembered, the one that was seen longest ago is finished early; notes are cut to what the API takes.
"""

from collections import OrderedDict
from typing import Any

from moorage.client.events.event_action import (
    NANOSECONDS,
    EventAction,
    event_name,
    event_namespace,
    micro_text,
)
from moorage.model.kinds import KINDS

Raw = dict[str, Any]

FINISH_SECONDS = 6 * 60
REFRESH_SECONDS = 30 * 60
MAX_NOTE_LENGTH = 1024
MAX_REMEMBERED = 8192

_EVENTS = KINDS[("events.k8s.io/v1", "Event")]
_CUT = " ..."
_Key = tuple[Any, ...]


class _Remembered:
    __slots__ = ("count", "document", "seen")

    def __init__(self, document: Raw, seen: int) -> None:
        self.document, self.seen, self.count = document, seen, 1

    def series(self) -> Raw:
        return {"count": self.count, "lastObservedTime": micro_text(self.seen)}


class EventSeriesState:
    """See the module. `controller` and `instance` say who reports."""

    def __init__(self, controller: str, instance: str) -> None:
        self._controller, self._instance = controller, instance
        self._remembered: OrderedDict[_Key, _Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._remembered)

    def report(
        self, now: int, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None
    ) -> list[EventAction]:
        """What to do about one more event. Events are alike if all but their notes and times are."""
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
            "eventTime": micro_text(now),
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
        """Forget what has not been seen for a while; what to write before. To be called every FINISH_SECONDS."""
        actions = []
        # Kept in the order of when they were last seen, so that the old ones come first.
        while self._remembered:
            key, known = next(iter(self._remembered.items()))
            if known.seen >= now - FINISH_SECONDS * NANOSECONDS:
                break
            del self._remembered[key]
            if known.count > 1:
                actions.append(_write(known))
        return actions

    def refresh(self) -> list[EventAction]:
        """Write all counts, so that the events do not expire meanwhile. To be called every REFRESH_SECONDS."""
        return [_write(known) for known in self._remembered.values() if known.count > 1]


def _write(known: _Remembered) -> EventAction:
    series = known.series()
    return EventAction(_EVENTS, {**known.document, "series": series}, {"series": series})


def _identity(reference: Raw) -> tuple[Any, ...]:
    get = reference.get
    return (
        get("kind"),
        get("namespace"),
        get("name"),
        get("uid"),
        get("apiVersion"),
        get("resourceVersion"),
        get("fieldPath"),
    )


def cut_note(note: str) -> str:
    """At most as many bytes as the API takes."""
    if len(note) * 4 <= MAX_NOTE_LENGTH:
        return note
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= MAX_NOTE_LENGTH:
        return note
    return encoded[: MAX_NOTE_LENGTH - len(_CUT)].decode("utf-8", "ignore") + _CUT
