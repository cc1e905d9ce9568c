"""A profile says which functions used the CPU, for pprof and for speedscope."""

import asyncio
import json
import threading
import time
import zlib
from collections.abc import Iterator
from types import FrameType
from typing import cast

import pytest

from moorage.telemetry.profiling import Busy, CpuProfile, ProfiledFunction, Profiler, _stack, to_pprof, to_speedscope

INNER, OUTER = ProfiledFunction("m.inner", "m.py", 10), ProfiledFunction("m.outer", "m.py", 1)


def made() -> CpuProfile:
    profile = CpuProfile(began=1_000, duration=2_000_000_000)
    profile.add("MainThread", ((INNER, 12), (OUTER, 3)), 300)
    profile.add("MainThread", ((INNER, 12), (OUTER, 3)), 200)
    profile.add("writer", ((OUTER, 5),), 100)
    return profile


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Read a protobuf message: numbers, and bytes of what has a length."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size


def packed(data: bytes) -> list[int]:
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            found.append(value)
            value = shift = 0
    return found


def test_the_protobuf_form_can_be_read_back() -> None:
    body = zlib.decompress(to_pprof(made()), zlib.MAX_WBITS | 16)
    parts: dict[int, list[int | bytes]] = {}
    for field, value in fields(body):
        parts.setdefault(field, []).append(value)
    texts = [value.decode() for value in parts[6] if isinstance(value, bytes)]
    assert texts[0] == ""
    types = [dict(fields(one)) for one in parts[1] if isinstance(one, bytes)]
    assert [(texts[int(one[1])], texts[int(one[2])]) for one in types] == [
        ("samples", "count"),
        ("cpu", "nanoseconds"),
    ]
    names = {}
    for one in parts[5]:
        assert isinstance(one, bytes)
        function = dict(fields(one))
        names[function[1]] = texts[int(function[2])], texts[int(function[4])], function[5]
    places = {}
    for one in parts[4]:
        assert isinstance(one, bytes)
        location = dict(fields(one))
        line = dict(fields(bytes(location[4])))
        places[location[1]] = names[line[1]][0], line[2]
    samples = []
    for one in parts[2]:
        assert isinstance(one, bytes)
        sample = dict(fields(one))
        label = dict(fields(bytes(sample[3])))
        stack = [places[code] for code in packed(bytes(sample[1]))]
        samples.append((stack, packed(bytes(sample[2])), texts[int(label[2])]))
    assert samples == [
        ([("m.inner", 12), ("m.outer", 3)], [2, 500], "MainThread"),
        ([("m.outer", 5)], [1, 100], "writer"),
    ]
    assert parts[9] == [1_000]
    assert parts[10] == [2_000_000_000]
    assert parts[12] == [10_000_000]


def test_the_speedscope_form_begins_with_the_outermost_function() -> None:
    document = json.loads(to_speedscope(made()))
    frames = document["shared"]["frames"]
    main = document["profiles"][0]
    assert [frames[code]["name"] for code in main["samples"][0]] == ["m.outer", "m.inner"]
    assert (main["weights"], main["endValue"], main["unit"]) == ([500], 500, "nanoseconds")
    assert document["profiles"][1]["name"] == "writer"


def test_a_function_between_two_lines_is_at_its_first() -> None:
    class Between:
        f_code, f_globals, f_lineno, f_back = made.__code__, {"__name__": "m"}, None, None

    (place,) = _stack(cast(FrameType, Between()), {})
    assert place == (ProfiledFunction("m.made", made.__code__.co_filename, place[1]), made.__code__.co_firstlineno)


def _burn(until: threading.Event) -> None:
    while not until.is_set():
        sum(range(1000))


@pytest.mark.real_time
async def test_threads_that_work_are_seen_and_one_profile_is_taken_at_a_time() -> None:
    stop = threading.Event()
    working = threading.Thread(target=_burn, args=(stop,), name="burner")
    waiting = threading.Thread(target=stop.wait, name="sleeper")
    working.start()
    waiting.start()
    profiler = Profiler()
    try:
        taken = profiler.start(0.3)
        with pytest.raises(Busy):
            profiler.start(0.3)
        profile = await taken
        cancelled = profiler.start(300)
        cancelled.cancel()
        for _ in range(1000):  # the thread notices soon
            await asyncio.sleep(0.01)
            try:
                await profiler.start(0.01)
                break
            except Busy:
                continue
        else:
            raise AssertionError("a profile that was cancelled goes on")
    finally:
        stop.set()
        working.join()
        waiting.join()
    threads = {thread for thread, _ in profile.samples}
    assert "burner" in threads
    assert "sleeper" not in threads
    functions = {function.name.rpartition(".")[2] for _, stack in profile.samples for function, _ in stack}
    assert "_burn" in functions
    assert sum(profile.nanoseconds.values()) <= time.time_ns()
