"""How long a call takes: functions → `Timing`, in one process, with nothing asserted.

A call is timed in batches long enough for the clock; the median and the 99th percentile are over batches. `race` times
several functions in turns, batch by batch, so that whatever else the machine does touches all of them alike and their
ratio can be trusted more than either number.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns

Call = Callable[[], object]

BATCH_NS = 100_000
BATCHES = 300
SLOWEST_TOTAL_NS = 2_000_000_000


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    median: float
    p99: float


def race(*calls: Call) -> list[Timing]:
    """Time the calls in turns. Each has been called before it is timed, so caches are warm."""
    sizes = [_batch_size(call) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    gc.collect()
    gc.freeze()
    try:
        started = perf_counter_ns()
        for _ in range(BATCHES):
            for call, size, sample in zip(calls, sizes, samples, strict=True):
                sample.append(_time_batch(call, size))
            if perf_counter_ns() - started > SLOWEST_TOTAL_NS * len(calls) and len(samples[0]) >= 5:
                break
    finally:
        gc.unfreeze()
    return [Timing(statistics.median(sample), _p99(sample)) for sample in samples]


def time_call(call: Call) -> Timing:
    return race(call)[0]


def _batch_size(call: Call) -> int:
    call()
    size = 1
    while _time_batch(call, size) * size * 1e9 < BATCH_NS:
        size *= 2
    return size


def _time_batch(call: Call, size: int) -> float:
    repeat = range(size)
    started = perf_counter_ns()
    for _ in repeat:
        call()
    return (perf_counter_ns() - started) / size / 1e9


def _p99(sample: list[float]) -> float:
    return sorted(sample)[min(len(sample) - 1, int(len(sample) * 0.99))]
