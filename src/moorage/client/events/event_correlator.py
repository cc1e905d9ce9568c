"""Events that repeat are counted, similar ones are combined, too many are dropped: the state behind the older recorder.

In: something to report, and what time it is. Out: an `EventAction`, or none. The same event again raises the first
one's count. Ten different messages for one reason within ten minutes are combined into one event. Of one source about
one object, 25 events may come at once and then one every five minutes.
Kubernetes: client-go's tools/record, which kubelets and controllers use. Differs: what the server makes of an event is
not read back, since nothing here depends on it.
"""

from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

from moorage.client.events.event_action import NANOSECONDS, EventAction, event_name, event_namespace, seconds_text
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
    """Forgets what was used longest ago."""

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
    """Messages that came for one reason about one object."""

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
    """See the module. `component` and `host` are the source of the events."""

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
        """What to do about one more event."""
        get = involved.get
        subject = (get("kind"), get("namespace"), get("name"), get("uid"), get("apiVersion"))
        text = seconds_text(now)
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
        """Whether so many different messages came for the reason that they are to be combined."""
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
        """Count the event; if it is known already, it becomes the known one, and this is how to change that."""
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
