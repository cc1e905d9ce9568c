"""A workload raced with its twin that uses `Equal`, `In` or no label keys: one pod of each in turns, in one process.

Two runs, one after the other, cannot be compared to a few per cent on a machine that others use too; turns of a tenth
of a millisecond can. Both clusters are as the workloads say, up to their measured operation.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec

from bench.measure import Timing, race
from bench.perf.executor import Executor
from bench.perf.operations import CreatePods
from moorage.schedule.cycle import Bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from bench.perf.config import Workload

#: What a twin's name ends with, and what to call it in tables.
TWIN_SUFFIXES = {"EqualTwin": "Equal", "InTwin": "In", "PlainTwin": "without it"}
PODS = 20_000
UNEQUAL_PODS = 3_000  # where each is made from a text of its own
RACES = 3


def twins(workloads: Iterable[Workload]) -> list[tuple[Workload, Workload]]:
    """Those among the workloads that have a twin there, with their twins."""
    named = {workload.name: workload for workload in workloads if not workload.refused}
    pairs = []
    for workload in named.values():
        case, _, rest = workload.name.partition("/")
        for suffix in TWIN_SUFFIXES:
            twin = named.get(f"{case}{suffix}/{rest}")
            if twin is not None:
                pairs.append((workload, twin))
    return pairs


def twin_kind(twin: Workload) -> str:
    """What the twin has instead."""
    case = twin.name.partition("/")[0]
    return next(shown for suffix, shown in TWIN_SUFFIXES.items() if case.endswith(suffix))


def twin_ratio(workload: Workload, twin: Workload) -> float:
    """What a pod costs, from the queue to its node, over what one of the twin's costs."""
    return median(ours.median / theirs.median for ours, theirs in race_twins(workload, twin))


def race_twins(workload: Workload, twin: Workload) -> list[tuple[Timing, Timing]]:
    """Several races; who goes first changes."""
    ours, theirs = _placer(workload), _placer(twin)
    timings = []
    for number in range(RACES):
        if number % 2:
            second, first = race(theirs, ours)
        else:
            first, second = race(ours, theirs)
        timings.append((first, second))
    return timings


def _placer(workload: Workload) -> Callable[[], None]:
    """A call that brings the workload's next pod into the queue and onto a node."""
    executor = Executor(workload)
    for index, operation in enumerate(workload.operations[:-1]):
        executor.run(operation, index)
    last = workload.operations[-1]
    if not isinstance(last, CreatePods):
        raise TypeError(f"{workload.name} does not end with createPods")
    count = PODS if executor.has_equal_pods(last) else UNEQUAL_PODS
    pods = iter(executor.make_pods(msgspec.structs.replace(last, count=count), last.namespace or "twins"))
    objects, now = executor.objects, executor.clock.now
    add, step = objects.add_pod, objects.scheduler.step

    def place() -> None:
        add(next(pods), now())
        action = step(now())
        if not isinstance(action, Bind):
            raise RuntimeError(f"{workload.name}: a pod found no node")
        objects.pod_bound(action.record, now())

    return place
