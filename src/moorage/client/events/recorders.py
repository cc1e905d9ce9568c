"""Recorders of events, which never wait and never fail. Kubernetes: client-go's tools/events and tools/record.

The scheduler uses `SeriesRecorder` (events.k8s.io/v1), kubelets and controllers `CountingRecorder` (core/v1).
"""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

from moorage.client.events.event_action import NORMAL, WARNING, reference_to
from moorage.client.events.event_correlator import EventCorrelator
from moorage.client.events.event_sender import EventSender
from moorage.client.events.event_series import FINISH_SECONDS, REFRESH_SECONDS, EventSeriesState

__all__ = ["NORMAL", "WARNING", "CountingRecorder", "EventSender", "SeriesRecorder", "reference_to"]

Raw = dict[str, Any]


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
        for wanted in state.report(self._now(), regarding, kind, reason, action, note, related):
            self._sender.put(wanted)

    async def run(self) -> None:
        """Finish series until cancelled."""
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
        self, involved: Raw, kind: str, reason: str, message: str, annotations: dict[str, str] | None = None
    ) -> None:
        """`involved` is an ObjectReference (see `reference_to`), `kind` is NORMAL or WARNING."""
        for wanted in self._state.report(self._now(), involved, kind, reason, message, annotations):
            self._sender.put(wanted)
