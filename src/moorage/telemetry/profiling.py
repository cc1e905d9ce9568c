"""Profile the CPU time of all threads, and write it for `go tool pprof` (gzipped protobuf) or speedscope.app (JSON).

Stacks are sampled a hundred times a second by a thread of its own, as Go's profiler does, and weighted by the CPU time
that each thread has used since the sample before; threads that wait use no CPU time and are left out. Kubernetes:
net/http/pprof's Profile handler, github.com/google/pprof's profile.proto. Differs: stacks are Python's; C code counts
for its caller.
"""

import asyncio
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType

import msgspec

from moorage.model.protobuf_encoding import encode_bytes, encode_number, encode_varint

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


_PERIOD = int(PERIOD_SECONDS * 1e9)


class _Strings:
    """The string table, whose first entry is empty."""

    def __init__(self) -> None:
        self.codes = {"": 0}

    def code(self, text: str) -> int:
        return self.codes.setdefault(text, len(self.codes))


def to_pprof(profile: CpuProfile) -> bytes:
    strings = _Strings()
    functions: dict[ProfiledFunction, int] = {}
    locations: dict[tuple[ProfiledFunction, int], int] = {}
    out = bytearray()
    for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
        out += encode_bytes(1, encode_number(1, strings.code(kind)) + encode_number(2, strings.code(unit)))
    thread_key = strings.code("thread")
    for (thread, stack), samples in profile.samples.items():
        ids = [locations.setdefault(place, len(locations) + 1) for place in stack]
        label = encode_bytes(3, encode_number(1, thread_key) + encode_number(2, strings.code(thread)))
        values = _packed(2, (samples, profile.nanoseconds[thread, stack]))
        out += encode_bytes(2, _packed(1, ids) + values + label)
    for (function, line), number in locations.items():
        code = functions.setdefault(function, len(functions) + 1)
        out += encode_bytes(
            4, encode_number(1, number) + encode_bytes(4, encode_number(1, code) + encode_number(2, line))
        )
    for function, number in functions.items():
        name = strings.code(function.name)
        body = encode_number(1, number) + encode_number(2, name) + encode_number(3, name)
        out += encode_bytes(5, body + encode_number(4, strings.code(function.file)) + encode_number(5, function.line))
    period_type = encode_number(1, strings.code("cpu")) + encode_number(2, strings.code("nanoseconds"))
    for text in strings.codes:
        out += encode_bytes(6, text.encode("utf-8", "replace"))
    out += (
        encode_number(9, profile.began)
        + encode_number(10, profile.duration)
        + encode_bytes(11, period_type)
        + encode_number(12, _PERIOD)
    )
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(bytes(out)) + packer.flush()


def to_speedscope(profile: CpuProfile) -> bytes:
    frames: dict[tuple[ProfiledFunction, int], int] = {}
    threads: dict[str, tuple[list[list[int]], list[int]]] = {}
    for (thread, stack), spent in profile.nanoseconds.items():
        samples, weights = threads.setdefault(thread, ([], []))
        samples.append([frames.setdefault(place, len(frames)) for place in reversed(stack)])
        weights.append(spent)
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "moorage",
        "name": "CPU",
        "activeProfileIndex": 0,
        "shared": {
            "frames": [{"name": function.name, "file": function.file, "line": line} for function, line in frames]
        },
        "profiles": [
            {
                "type": "sampled",
                "name": thread,
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
            for thread, (samples, weights) in threads.items()
        ],
    }
    return msgspec.json.encode(document)


def _packed(field: int, values: Iterable[int]) -> bytes:
    return encode_bytes(field, b"".join(map(encode_varint, values)))
