"""The process_* metrics of Prometheus clients, and kubernetes_feature_enabled for each gate.

Differs: kubernetes_feature_enabled has the component as a label.
"""

import os
import resource
import time
from collections.abc import Mapping
from pathlib import Path

from moorage.model.gates import GATES, Component, GateSet
from moorage.telemetry.metrics import Metrics

NAME = "kubernetes_feature_enabled"


def add_feature_metrics(metrics: Metrics, gates: Mapping[Component, GateSet]) -> None:
    values: dict[tuple[str, ...], float] = {
        (gate.name, gate.stage.value, component.value): float(switched.enabled(gate))
        for component, switched in gates.items()
        for gate in GATES
        if component in gate.components
    }
    said = "This metric records the data about the stage and enablement of a k8s feature."
    metrics.gauge_function(NAME, said, lambda: values, ("name", "stage", "component"))


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
