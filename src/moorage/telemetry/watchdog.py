"""Report what keeps an event loop from its other work for longer than 50 milliseconds: a metric, and a log line.

A thread asks the loop for an answer every 20 milliseconds. While the answer is late it looks at the stack of the loop's
thread, in which functions that were declared with `operation` name what is being done. Nothing is added to the work
itself. A pause of the garbage collector is measured by its own callbacks.
"""

import asyncio
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple, TypeVar

from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

STALL_SECONDS = 0.05
_LONG_SECONDS = 1.0
_ASK_EVERY = 0.02
_SAME_LINE_AFTER = 10.0
_MAX_LABELS = 256
_MAX_TEXT = 200
_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LOG = get_logger("event-loop")

GARBAGE_COLLECTION = "garbage collection"
#: What has no name of its own; and that the process was not given a processor.
OTHER, NO_CPU = "other", "no CPU"

Locals = Mapping[str, Any]


class Operation(NamedTuple):
    """What is being done: a label of few values for the metric, and what the log line says beside it."""

    label: str
    fields: Mapping[str, object] = {}


class StackSample(NamedTuple):
    """What one look at the stack found. `at` is the innermost function of this package."""

    label: str
    fields: tuple[tuple[str, str], ...] = ()
    at: str = ""


Describe = Callable[[Locals], Operation]
F = TypeVar("F", bound=Callable[..., Any])

_DESCRIBED: dict[CodeType, Describe] = {}


def operation(describe: Describe | str) -> Callable[[F], F]:
    """Declare that a function is an operation of the event loop. `describe` is given the function's local variables."""
    description: Describe = (lambda local: Operation(describe)) if isinstance(describe, str) else describe

    def declare(function: F) -> F:
        _DESCRIBED[function.__code__] = description
        return function

    return declare


def look(frame: FrameType | None) -> StackSample:
    """Name what a stack is doing: the innermost operation gives the label, and all of them what is logged."""
    label, at, fields = "", "", dict[str, str]()
    while frame is not None:
        code = frame.f_code
        if not at and "moorage" in code.co_filename:
            at = f"{code.co_filename.rpartition('/')[2]}:{frame.f_lineno} {code.co_name}"
        describe = _DESCRIBED.get(code)
        if describe is not None:
            try:
                current = describe(frame.f_locals)
            except Exception:  # a local variable that is not set yet
                current = Operation(OTHER)
            label = label or current.label
            fields = {name: _short(value) for name, value in current.fields.items()} | fields
        frame = frame.f_back
    return StackSample(label or OTHER, tuple(fields.items()), at)


def _looked_at(thread: int) -> StackSample:
    """Name what another thread is doing. It goes on meanwhile, and a frame that it has left may be anything."""
    try:
        return look(sys._current_frames().get(thread))
    except Exception:
        return StackSample(OTHER)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Return a clock of the CPU time of a thread, or of the process where threads have none."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


class Watchdog:
    """Watches one event loop from `start`, which that loop calls, to `stop`."""

    def __init__(self, metrics: Metrics) -> None:
        help_text = "Time for which one operation kept the event loop from all others, of 50 milliseconds and more."
        self._stalls = metrics.histogram("moorage_event_loop_stall_seconds", help_text, ("operation",), _BUCKETS)
        help_text = (
            "CPU time of the event loop's thread in such times, which does not depend on the machine's other work."
        )
        name = "moorage_event_loop_stall_cpu_seconds"
        self._cpu_of_stalls = metrics.histogram(name, help_text, ("operation",), _BUCKETS)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop_thread = 0
        self._cpu: Callable[[], float] = time.process_time
        self._answered_at = 0.0
        self._collecting_since = 0.0
        self._collected = 0.0
        self._logged: dict[str, tuple[float, int]] = {}

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._cpu = _cpu_clock(self._loop_thread)
        self._answered_at = time.monotonic()
        gc.callbacks.append(self._collection)
        self._thread = threading.Thread(target=self._watch, name="moorage-watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            gc.callbacks.remove(self._collection)
            self._stopping.set()
            thread.join()

    # What the loop does.

    def _answer(self) -> None:
        self._answered_at = time.monotonic()

    def _collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_since = time.monotonic()
        elif threading.get_ident() == self._loop_thread:
            self._collected += time.monotonic() - self._collecting_since

    # What follows runs in the thread.

    def _watch(self) -> None:
        sent, cpu, collected = self._ask()
        samples: list[StackSample] = []
        while not self._stopping.wait(_ASK_EVERY):
            if self._answered_at < sent:
                samples.append(_looked_at(self._loop_thread))
                continue
            # The stall began before it was asked, by half of the time between two questions if nothing is known of it.
            seconds = self._answered_at - sent + (_ASK_EVERY / 2 if samples else 0.0)
            if seconds >= STALL_SECONDS:
                spent = self._cpu() - cpu
                self._tell(self._report, seconds, spent, self._collected - collected, samples)
            samples = []
            sent, cpu, collected = self._ask()

    def _ask(self) -> tuple[float, float, float]:
        sent, cpu, collected = time.monotonic(), self._cpu(), self._collected
        self._tell(self._answer)
        return sent, cpu, collected

    def _tell(self, callback: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(callback, *arguments)
        except RuntimeError:  # the loop is closed
            self._stopping.set()

    # What the loop is told afterwards: metrics belong to it.

    def _report(self, seconds: float, cpu: float, collected: float, samples: list[StackSample]) -> None:
        if collected > seconds / 2:
            most = StackSample(GARBAGE_COLLECTION)
        elif all(sample.label == OTHER for sample in samples) and cpu < seconds / 4:
            most = StackSample(NO_CPU)
        elif not samples:
            most = StackSample(OTHER)
        else:
            label = Counter(sample.label for sample in samples).most_common(1)[0][0]
            most = Counter(sample for sample in samples if sample.label == label).most_common(1)[0][0]
        if most.label not in self._logged and len(self._logged) >= _MAX_LABELS:  # each resource has its own
            most = most._replace(label=OTHER)
        self._stalls.labels(most.label).observe(seconds)
        self._cpu_of_stalls.labels(most.label).observe(cpu)
        self._log(most, seconds, cpu)

    def _log(self, most: StackSample, seconds: float, cpu: float) -> None:
        """Log a stall, but not each of many in a row that are alike."""
        now = time.monotonic()
        last, unsaid = self._logged.get(most.label, (-_SAME_LINE_AFTER, 0))
        if now - last < _SAME_LINE_AFTER:
            self._logged[most.label] = last, unsaid + 1
            return
        self._logged[most.label] = now, 0
        fields: dict[str, Any] = {"operation": most.label, "seconds": round(seconds, 3), "cpu": round(cpu, 3)}
        fields |= dict(most.fields)
        if most.at:
            fields["at"] = most.at
        if unsaid:
            fields["more"] = unsaid
        # Less of its own work than that: the machine had other things to do.
        if cpu >= _LONG_SECONDS and most.label != NO_CPU:
            _LOG.error("The event loop was blocked", **fields)
        elif cpu >= STALL_SECONDS and most.label != NO_CPU:
            _LOG.warning("The event loop was blocked", **fields)
        else:
            _LOG.debug(2, "The event loop was blocked", **fields)
