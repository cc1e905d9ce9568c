"""The process_* metrics of Prometheus clients, read from /proc when scraped."""

import os
import resource
import time
from pathlib import Path

from moorage.telemetry.metrics import Metrics

_STAT = Path("/proc/self/stat")
_FDS = Path("/proc/self/fd")


def add_process_metrics(metrics: Metrics) -> None:
    started = time.time() - time.monotonic() + _started_after_boot() if _STAT.exists() else time.time()
    metrics.counter_function("process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", _cpu)
    metrics.gauge_function(
        "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", lambda: started
    )
    metrics.gauge_function("process_max_fds", "Maximum number of open file descriptors.", _max_fds)
    if not _STAT.exists():
        return
    metrics.gauge_function(
        "process_open_fds", "Number of open file descriptors.", lambda: sum(1 for _ in _FDS.iterdir())
    )
    metrics.gauge_function("process_virtual_memory_bytes", "Virtual memory size in bytes.", lambda: _stat()[19])
    metrics.gauge_function(
        "process_resident_memory_bytes",
        "Resident memory size in bytes.",
        lambda: _stat()[20] * resource.getpagesize(),
    )


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _max_fds() -> float:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _stat() -> list[int]:
    """Return the numbers in /proc/self/stat after the command's name and state."""
    return [int(field) for field in _STAT.read_text().rpartition(")")[2].split()[1:]]


def _started_after_boot() -> float:
    return _stat()[18] / os.sysconf("SC_CLK_TCK")
