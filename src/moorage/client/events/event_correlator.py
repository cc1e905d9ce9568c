"""Correlation of core/v1 events. Kubernetes: client-go's tools/record, used by kubelets and controllers.

A repeated event raises the first one's count. Ten different messages for one reason within ten minutes are combined. Of
one source about one object, 25 events are sent at once and then one every five minutes. Differs: the server's copy of
an event is not read back.
"""

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.client.events.event_action import NANOSECONDS, EventAction, event_name, event_namespace
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS

Raw = dict[str, Any]
Value = TypeVar("Value")

MAX_REMEMBERED = 4096
SIMILAR_EVENTS = 10
SIMILAR_SECONDS = 600
BURST = 25
SECONDS_PER_EVENT = 300
COMBINED = "(combined from similar events): "

_EVENTS = KINDS[("v1", "Event")]


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


class _Bucket(NamedTuple):
    tokens: float
    at: int


class EventCorrelator:
    """The state of one source of events: `component` and `host`."""

    def __init__(self, component: str, host: str = "") -> None:
        self._component, self._host = component, host
        self._similar: _Recent[_Similar] = _Recent()
        self._observed: _Recent[_Observed] = _Recent()
        self._buckets: _Recent[_Bucket] = _Recent()

    def report(
        self,
        now: int,
        involved: Raw,
        kind: str,
        reason: str,
        message: str,
        annotations: dict[str, str] | None = None,
    ) -> list[EventAction]:
        """Return what to send for one more event, if anything."""
        get = involved.get
        subject = (get("kind"), get("namespace"), get("name"), get("uid"), get("apiVersion"))
        text = time_text(now // NANOSECONDS)
        metadata: Raw = {"name": event_name(involved["name"], now), "namespace": event_namespace(involved)}
        key: tuple[Any, ...] = (*subject, get("fieldPath"), kind, reason, message)
        similar_key = (*subject, kind, reason)
        is_combined = self._is_one_of_many(now, similar_key, message)
        if is_combined:
            message, key = COMBINED + message, similar_key
        elif annotations:
            metadata["annotations"] = annotations
        document: Raw = {
            "apiVersion": _EVENTS.api_version,
            "kind": _EVENTS.name,
            "metadata": metadata,
            "involvedObject": involved,
            "reason": reason,
            "message": message,
            "source": {"component": self._component, **({"host": self._host} if self._host else {})},
            "firstTimestamp": text,
            "lastTimestamp": text,
            "count": 1,
            "type": kind,
            "reportingComponent": "" if is_combined else self._component,
            "reportingInstance": "" if is_combined else self._host,
        }
        patch = self._observe(document, key)
        if not self._may_send(now, (*subject, kind)):
            return []
        return [EventAction(_EVENTS, document, patch)]

    def _is_one_of_many(self, now: int, key: tuple[Any, ...], message: str) -> bool:
        """Return whether so many different messages came that they are to be combined."""
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
        bucket = self._buckets.recall(key) or _Bucket(BURST, now)
        gained = max(0, now - bucket.at) / (SECONDS_PER_EVENT * NANOSECONDS)
        tokens = min(float(BURST), bucket.tokens + gained)
        allowed = tokens >= 1
        self._buckets.remember(key, _Bucket(tokens - 1 if allowed else tokens, now))
        return allowed
