"""Scheduling one pod on 5,000 nodes by threshold, version and expression, each raced with its `Equal` twin.

The clusters and pods are those of the `tolerations` workloads, up to their measured operation. Both twins take turns in
one process, so that the ratio can be trusted even on a busy machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bench.measure import race
from bench.perf.config import Workload, read_suite
from bench.perf.executor import Executor
from bench.perf.operations import CreatePods
from bench.perf.summary import TWIN_SUFFIX
from bench.process import ROOT
from bench.result import Result, timed
from moorage.schedule.actions import Bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SUITE = ROOT / "bench" / "workloads" / "tolerations"
SIZE = "5000Nodes"
PODS = 20_000


def measure() -> Iterator[Result]:
    workloads = {workload.name: workload for workload in read_suite(SUITE)}
    for case in ("NumericTolerations", "SemverTolerations", "CelTolerations"):
        ours = _placer(workloads[f"{case}/{SIZE}"])
        twin = _placer(workloads[f"{case}{TWIN_SUFFIX}/{SIZE}"])
        timing, reference = race(ours, twin)
        yield timed(
            "twins", f"schedule a pod, {case}", timing, against=reference, compared_with="Equal", goal="at most 1.05×"
        )


def _placer(workload: Workload) -> Callable[[], None]:
    """A call that brings the workload's next pod into the queue and onto a node."""
    executor = Executor(workload)
    for index, operation in enumerate(workload.operations[:-1]):
        executor.run(operation, index)
    last = workload.operations[-1]
    if not isinstance(last, CreatePods):
        raise TypeError(f"{workload.name} does not end with createPods")
    pods = iter(executor.make_pods(msgspec.structs.replace(last, count=PODS), "twins"))
    add, step, now = executor.objects.add_pod, executor.objects.scheduler.step, executor.clock.now

    def place() -> None:
        add(next(pods), now())
        if not isinstance(step(now()), Bind):
            raise RuntimeError(f"{workload.name}: a pod found no node")

    return place
