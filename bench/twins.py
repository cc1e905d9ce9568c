"""Scheduling one pod on 5,000 nodes by what the KEPs add, each raced with a twin that does without.

Thresholds, versions and expressions (simple, complex, failing, unknown to caches) beside `Equal`, versions in node
affinity beside `In`, matchLabelKeys beside the same pods without it. The clusters and pods are those of the workloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.perf.config import read_suite
from bench.perf.twin_race import race_twins, twin_kind, twins
from bench.process import ROOT
from bench.result import Result, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITES = tuple(ROOT / "bench" / "workloads" / name for name in ("tolerations", "affinity", "spreading"))
SIZE = "5000Nodes"


def measure() -> Iterator[Result]:
    for workload, twin in twins(workload for suite in SUITES for workload in read_suite(suite)):
        if workload.name.endswith(f"/{SIZE}"):
            races = sorted(race_twins(workload, twin), key=lambda pair: pair[0].median / pair[1].median)
            ours, reference = races[len(races) // 2]
            what = f"schedule a pod, {workload.case}"
            yield timed(
                "twins", what, ours, against=reference, compared_with=twin_kind(twin), goal=_goal(workload.case)
            )


def _goal(case: str) -> str:
    """An expression that no cache knows is compiled, which takes longer than scheduling; no KEP promises otherwise."""
    return "" if "Cold" in case else "at most 1.05×"
