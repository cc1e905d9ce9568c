"""What was measured of a workload: a window in which pods are counted and cycles are timed.

Upstream counts pods with a node per second; the window is that of the measured createPods, from its first pod's entry
into the queue to its last pod's placement, or from startCollectingMetrics to the last placement before
stopCollectingMetrics. Making objects out of templates is the API server's work and stops the watch.
"""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter, process_time
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from moorage.model.types.pod import Pod


class Figures(msgspec.Struct, frozen=True):
    """One measured window of one run."""

    workload: str
    nodes: int
    seconds: float
    cpu_seconds: float  # of this process: on a busy machine it has less than all of the time
    pods_per_second: float
    p50_us: float
    p99_us: float
    scheduled: int
    without_node: int  # pods of the window that have no node at its end
    failed_attempts: int
    peak_bytes: int = 0
    note: str = ""

    def with_peak(self, peak: int) -> Figures:
        return msgspec.structs.replace(self, peak_bytes=peak)


class Window:
    """Measuring goes on. `latencies` are nanoseconds of one scheduling cycle each, `failed` those without a node."""

    def __init__(self, namespaces: Collection[str], labels: Mapping[str, str], name: str = "") -> None:
        self.name = name
        self._namespaces = frozenset(namespaces)
        self._labels = labels
        self.latencies: list[int] = []
        self.failed = 0
        self.created = 0
        self.scheduled = 0
        self.note = ""
        self.restart()

    def restart(self) -> None:
        """The watch starts now."""
        self._started, self._cpu_started = perf_counter(), process_time()
        self._seconds = self._cpu_seconds = 0.0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """What the block does is not the scheduler's work."""
        began, cpu_began = perf_counter(), process_time()
        try:
            yield
        finally:
            # Asking for CPU time takes long on some machines, so that is done before the clock goes on.
            self._cpu_started += process_time() - cpu_began
            self._started += perf_counter() - began

    def counts(self, pod: Pod) -> bool:
        metadata = pod.metadata
        return metadata.namespace in self._namespaces and (not self._labels or matches(metadata.labels, self._labels))

    def pod_created(self, pod: Pod) -> None:
        self.created += self.counts(pod)

    def pod_scheduled(self, pod: Pod) -> None:
        self.scheduled += self.counts(pod)

    def lap(self) -> None:
        """Pods that were waited for have their nodes; what comes after the last lap does not count."""
        self._seconds = perf_counter() - self._started
        self._cpu_seconds = process_time() - self._cpu_started

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time until the last lap."""
        return self._cpu_seconds

    def figures(self, workload: str, nodes: int, note: str) -> Figures:
        """The watch as it stood at the last lap."""
        seconds = self._seconds
        return Figures(
            workload=f"{workload}/{self.name}" if self.name else workload,
            nodes=nodes,
            seconds=seconds,
            cpu_seconds=self._cpu_seconds,
            pods_per_second=self.scheduled / seconds if seconds > 0 else 0.0,
            p50_us=percentile(self.latencies, 0.50) / 1000,
            p99_us=percentile(self.latencies, 0.99) / 1000,
            scheduled=self.scheduled,
            without_node=max(0, self.created - self.scheduled),
            failed_attempts=self.failed,
            note=note,
        )


def matches(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def percentile(sample: list[int], share: float) -> float:
    """The smallest value that this share of the sample does not exceed; 0 of nothing."""
    if not sample:
        return 0.0
    ordered = sorted(sample)
    return float(ordered[min(len(ordered) - 1, int(len(ordered) * share))])
