"""`moorage lint`: manifests a second after start, and whether memory grows with the number of files."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.manifests import write_files, write_one_file
from bench.process import Cost, cost_of
from bench.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

GATES = "--feature-gates=AllAlpha=true"
PODS = 2_000
RUNS = 5
FILES = 500
GROWTH = (1, 4, 16)
JOBS = (1, 2)


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _speed(Path(folder))
        yield from _memory(Path(folder))


def _speed(folder: Path) -> Iterator[Result]:
    one = write_one_file(folder / "one.yaml", 1)
    inputs = {
        f"lint {PODS:,} files of one pod": write_files(folder / "files", PODS),
        f"lint one file of {PODS:,} pods": write_one_file(folder / "big.yaml", PODS),
    }
    for what, path in inputs.items():
        runs: dict[int, list[Cost]] = {jobs: [] for jobs in JOBS}
        for _ in range(RUNS):
            for jobs, costs in runs.items():  # in turns: other work on the machine disturbs both
                options = ("lint", GATES, "--jobs", str(jobs))
                costs.append(_without_start(cost_of(*options, str(one)), cost_of(*options, str(path))))
        for jobs, costs in runs.items():
            yield from _of_jobs(f"{what}, --jobs {jobs}", costs, runs[1])


def _of_jobs(what: str, runs: list[Cost], alone: list[Cost]) -> Iterator[Result]:
    rates = sorted((PODS - 1) / run.wall for run in runs)
    ratio = min(run.wall for run in alone) / min(run.wall for run in runs)
    goal = "≥ 2,000 /s"
    compared = "--jobs 1, quickest runs"
    yield Result(
        "lint", what, statistics.median(rates), "1/s", p99=rates[0], ratio=ratio, compared_with=compared, goal=goal
    )
    times = sorted(run.cpu / (PODS - 1) for run in runs)
    yield Result("lint", f"{what}, CPU a pod", statistics.median(times), p99=times[-1], goal="≤ 500 µs")


def _without_start(start: Cost, whole: Cost) -> Cost:
    """The cost of many pods, less that of a run on one pod: that is the start."""
    return Cost(whole.wall - start.wall, whole.cpu - start.cpu, whole.peak)


def _memory(folder: Path) -> Iterator[Result]:
    smallest: Cost | None = None
    for times in GROWTH:
        cost = cost_of("lint", GATES, str(write_files(folder / f"files-{times}", FILES * times)))
        smallest = smallest or cost
        ratio = cost.peak / smallest.peak
        yield Result(
            "lint",
            f"peak memory, {FILES * times:,} files",
            cost.peak,
            "B",
            ratio=ratio,
            compared_with=f"{FILES:,} files",
            goal="flat",
        )
