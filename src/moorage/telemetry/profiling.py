"""Sample the stacks of all threads, weighted by the CPU time that each has used since the sample before.

A thread of its own wakes a hundred times a second, as Go's profiler does; threads that wait use no CPU time and are
left out. Kubernetes: net/http/pprof's Profile handler. Differs: stacks are Python's; C code counts for its caller.
"""

import asyncio
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from types import FrameType

PERIOD_SECONDS = 0.01
_MAX_DEPTH = 256
_MAX_STACKS = 50_000


class Busy(Exception):
    """A profile is being taken already."""


@dataclass(frozen=True, slots=True)
class ProfiledFunction:
    """A Python function: its name with module, and where it begins."""

    name: str
    file: str
    line: int


Stack = tuple[tuple[ProfiledFunction, int], ...]
"""Functions and current lines, innermost first."""


@dataclass(slots=True)
class CpuProfile:
    """Samples and nanoseconds of CPU time by thread and stack."""

    began: int
    duration: int = 0
    samples: Counter[tuple[str, Stack]] = field(default_factory=Counter)
    nanoseconds: Counter[tuple[str, Stack]] = field(default_factory=Counter)

    def add(self, thread: str, stack: Stack, nanoseconds: int) -> None:
        key = (thread, stack)
        if key not in self.samples and len(self.samples) >= _MAX_STACKS:
            key = (thread, ())
        self.samples[key] += 1
        self.nanoseconds[key] += nanoseconds


class Profiler:
    """Takes one profile at a time, in a thread."""

    def __init__(self) -> None:
        self._busy = False

    def start(self, seconds: float) -> "asyncio.Future[CpuProfile]":
        """Begin a profile; cancelling the future ends it. Raises Busy."""
        if self._busy:
            raise Busy
        self._busy = True
        loop = asyncio.get_running_loop()
        done: asyncio.Future[CpuProfile] = loop.create_future()
        stop = threading.Event()

        def finish(profile: CpuProfile | None) -> None:
            self._busy = False
            if not done.done():
                done.set_result(profile or CpuProfile(time.time_ns()))

        def work() -> None:
            profile = None
            try:
                profile = take(seconds, stop)
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(finish, profile)

        done.add_done_callback(lambda _: stop.set())
        threading.Thread(target=work, name="profiler", daemon=True).start()
        return done


def take(seconds: float, stop: threading.Event) -> CpuProfile:
    """Sample until the time is over or `stop` is set. Blocks: for a thread of its own."""
    profile = CpuProfile(time.time_ns())
    began, own = time.monotonic(), threading.get_ident()
    used: dict[int, tuple[int, int]] = {}  # by thread: its clock, and what that said
    functions: dict[object, ProfiledFunction] = {}
    ticks = 0
    while True:
        frames = sys._current_frames()
        for thread in threading.enumerate():
            ident = thread.ident
            if ident is None or ident == own:
                continue
            spent = _spent(ident, used)
            frame = frames.get(ident)
            if spent and frame is not None:
                profile.add(thread.name, _stack(frame, functions), spent)
        del frames
        ticks += 1
        wait = began + min(seconds, ticks * PERIOD_SECONDS) - time.monotonic()
        if time.monotonic() - began >= seconds or stop.wait(max(wait, 0.001)):
            break
    profile.duration = int((time.monotonic() - began) * 1e9)
    return profile


def _spent(ident: int, used: dict[int, tuple[int, int]]) -> int:
    """Return the CPU time of a thread since the last sample, in nanoseconds; 0 for the first one."""
    known = used.get(ident)
    try:
        # A thread that is enumerated has Python code left to run, which it cannot while this thread does: it exists.
        clock = time.pthread_getcpuclockid(ident) if known is None else known[0]
        now = time.clock_gettime_ns(clock)
    except OSError:
        used.pop(ident, None)
        return 0
    used[ident] = (clock, now)
    return 0 if known is None else now - known[1]


def _stack(frame: FrameType | None, functions: dict[object, ProfiledFunction]) -> Stack:
    stack: list[tuple[ProfiledFunction, int]] = []
    while frame is not None and len(stack) < _MAX_DEPTH:
        code = frame.f_code
        function = functions.get(code)
        if function is None:
            module = frame.f_globals.get("__name__", "?")
            function = functions[code] = ProfiledFunction(
                f"{module}.{code.co_qualname}", code.co_filename, code.co_firstlineno
            )
        stack.append((function, frame.f_lineno or function.line))  # between two lines it is None
        frame = frame.f_back
    return tuple(stack)
