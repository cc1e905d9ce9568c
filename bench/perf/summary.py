"""Several runs of a workload → one line of medians, and what it costs beside the twin that uses `Equal` instead."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.perf.figures import Figures

#: Pods a second on 5,000 nodes. Of workloads that the real kube-scheduler was measured with there: 20 times what it
#: reaches when it samples nodes, and 100 times what it reaches when it looks at all of them.
GOALS = {
    "DeviceClaims": 2_000,
    "SchedulingBasic": 10_020,
    "SchedulingNodeAffinity": 9_520,
    "SchedulingPodAffinity": 3_300,
    "SchedulingPodAntiAffinity": 6_600,
    "SchedulingPreferredPodAffinity": 5_600,
    "TopologySpreading": 3_660,
}
_GOAL_NODES = 5_000


class Summary(msgspec.Struct, frozen=True):
    """Medians over runs."""

    workload: str
    nodes: int
    runs: int
    pods_per_second: float
    pods_per_cpu_second: float
    p50_us: float
    p99_us: float
    peak_bytes: int
    scheduled: int
    unschedulable: int  # pods that have no node at the end
    failed_attempts: int
    goal: int | None = None
    twin_ratio: float | None = None  # what a pod costs over what one of the twin's costs, see twin_race.py
    note: str = ""

    @property
    def case(self) -> str:
        return self.workload.partition("/")[0]

    def as_json(self) -> dict[str, Any]:
        named: dict[str, Any] = msgspec.to_builtins(self)
        return named


def summarize(figures: Iterable[Figures], twin_ratios: Mapping[str, float] | None = None) -> list[Summary]:
    """One summary for each name, in order of first appearance."""
    by_name: dict[str, list[Figures]] = {}
    for one in figures:
        by_name.setdefault(one.workload, []).append(one)
    ratios = twin_ratios or {}
    return [_summary(name, runs, ratios.get(name)) for name, runs in by_name.items()]


def _summary(name: str, runs: list[Figures], twin_ratio: float | None) -> Summary:
    last = runs[-1]
    nodes = max(run.nodes for run in runs)
    return Summary(
        workload=name,
        nodes=nodes,
        runs=len(runs),
        pods_per_second=median(run.pods_per_second for run in runs),
        pods_per_cpu_second=median(run.scheduled / run.cpu_seconds if run.cpu_seconds else 0.0 for run in runs),
        p50_us=median(run.p50_us for run in runs),
        p99_us=median(run.p99_us for run in runs),
        peak_bytes=max(run.peak_bytes for run in runs),
        scheduled=last.scheduled,
        unschedulable=last.without_node,
        failed_attempts=last.failed_attempts,
        goal=GOALS.get(name.partition("/")[0]) if nodes == _GOAL_NODES else None,
        twin_ratio=twin_ratio,
        note=last.note,
    )
