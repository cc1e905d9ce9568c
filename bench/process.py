"""The command line as a process of its own: its CPU time and its peak memory.

Run as `python -m bench.process REPORT ARGUMENTS…` it is that process: it runs `moorage ARGUMENTS…` and writes what it
cost. Peak memory is read inside, from /proc: what the parent can learn of a child includes the parent's own memory
before exec.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

ROOT = Path(__file__).resolve().parents[1]
MOORAGE = Path(sys.executable).with_name("moorage")
#: Python keeps compiled modules, as it does for everybody; the runs before those that count fill that cache.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock and on the CPU, and bytes of memory at the peak."""

    wall: float
    cpu: float
    peak: int


def cost_of(*arguments: str) -> Cost:
    """What `moorage ARGUMENTS…` costs from its first line on, without starting Python."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [sys.executable, "-m", "bench.process", report.name, *arguments]
        subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, check=False)
        return Cost(**json.loads(Path(report.name).read_text(encoding="utf-8")))


def cpu_of_command(*arguments: str) -> float:
    """CPU seconds of the installed command, starting Python included."""
    with subprocess.Popen([MOORAGE, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def peak_memory() -> int:
    """Bytes at the peak of this process so far."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _cpu_of_children() -> float:
    """CPU seconds of the processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run() -> None:
    started, cpu_before = perf_counter(), process_time()  # and later that of processes that it started and ended
    from moorage.cli.main import main

    report, sys.argv = Path(sys.argv[1]), ["moorage", *sys.argv[2:]]
    try:
        main()
    except SystemExit as finished:
        if finished.code not in (None, 0, 1):
            raise
    cost = {
        "wall": perf_counter() - started,
        "cpu": process_time() - cpu_before + _cpu_of_children(),
        "peak": peak_memory(),
    }
    report.write_text(json.dumps(cost), encoding="utf-8")


if __name__ == "__main__":
    _run()
