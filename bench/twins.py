"""Scheduling one pod on 5,000 nodes by threshold, version and expression, each raced with its `Equal` twin.

The clusters and pods are those of the `tolerations` workloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.perf.config import read_suite
from bench.perf.twin_race import race_twins, twins
from bench.process import ROOT
from bench.result import Result, timed

if TYPE_CHECKING:
    from collections.abc import Iterator

SUITE = ROOT / "bench" / "workloads" / "tolerations"
SIZE = "5000Nodes"


def measure() -> Iterator[Result]:
    for workload, twin in twins(read_suite(SUITE)):
        if workload.name.endswith(f"/{SIZE}"):
            races = sorted(race_twins(workload, twin), key=lambda pair: pair[0].median / pair[1].median)
            ours, reference = races[len(races) // 2]
            what = f"schedule a pod, {workload.case}"
            yield timed("twins", what, ours, against=reference, compared_with="Equal", goal="at most 1.05×")
