"""Lets the scheduler work until pods have what is waited for: a node, or at least an attempt.

In: the objects, the clock, which pods. Out: when they have it, or the news that they never will. What the scheduler
decides is carried out at once; each cycle's time is noted.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import TYPE_CHECKING

from moorage.schedule.cycle import Bind, NoNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.perf.clock import Clock
    from bench.perf.cluster_objects import ClusterObjects
    from bench.perf.figures import Window

PATIENCE_SECONDS = 600.0  # upstream gives up after as long


class Driver:
    """Works off the queue. `window` is where to measure; None while nothing is measured."""

    def __init__(self, objects: ClusterObjects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock
        self._awaited: set[str] = set()
        self.window: Window | None = None
        self.last_failure: NoNode | None = None
        objects.on_gone = self._awaited.discard

    def wait_for(self, keys: Iterable[str], attempts_suffice: bool = False, until: float | None = None) -> list[str]:
        """Work until all these pods have a node (or were tried); returns those that have none after a long time."""
        awaited = self._awaited
        awaited.clear()
        awaited.update(keys)
        clock = self._clock
        give_up = clock.now() + PATIENCE_SECONDS if until is None else until
        step = self._objects.scheduler.step
        next_time = self._objects.scheduler.queue.next_time
        window = self.window
        while awaited:
            now = clock.now()
            if clock.next_tick <= now:
                clock.fire()
            if until is not None and now >= until:
                break
            started = perf_counter_ns()
            action = step(now)
            if action is None:
                when = min(clock.next_tick, next_time())
                if when > give_up:
                    break
                clock.skip_to(when)
                continue
            if window is not None:
                window.latencies.append(perf_counter_ns() - started)
            if isinstance(action, Bind):
                self._bound(action, now)
            else:
                self._failed(action, now)
                if not attempts_suffice:
                    continue
            awaited.discard(action.pod.record.key)
        if not awaited:
            self.lap()
        return list(awaited)

    def lap(self) -> None:
        """Count the time until now, if anything is measured."""
        if self.window is not None:
            self.window.lap()

    def _bound(self, action: Bind, now: float) -> None:
        record = action.pod.record
        self._objects.pod_bound(record, now)
        if self.window is not None:
            self.window.pod_scheduled(record.pod)

    def _failed(self, action: NoNode, now: float) -> None:
        self.last_failure = action
        self._objects.attempted.add(action.record.key)
        if self.window is not None:
            self.window.failed += 1
        for victim in action.victims:
            self._objects.delete_pod(victim.key, now)
