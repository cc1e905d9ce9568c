"""Until the command line answers: CPU time of whole processes, Python's own start included."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.manifests import write_one_file
from bench.process import cpu_of_command
from bench.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

RUNS = 11


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        pod = str(write_one_file(Path(folder) / "pod.yaml", 1))
        commands: tuple[tuple[str, ...], ...] = (("--help",), ("lint", "--feature-gates=AllAlpha=true", pod))
        samples: dict[tuple[str, ...], list[float]] = {command: [] for command in commands}
        for command in commands:
            cpu_of_command(*command)
        for _ in range(RUNS):
            for command, sample in samples.items():
                sample.append(cpu_of_command(*command))
    help_, lint = samples.values()
    yield Result("startup", "moorage --help, CPU", statistics.median(help_), p99=max(help_), goal="≤ 0.2 s")
    yield Result("startup", "moorage lint of one pod, CPU", statistics.median(lint), p99=max(lint))
