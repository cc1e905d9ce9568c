"""What was measured of a workload end to end: a window in time, and what happened in it as the client saw it.

*Pods a second* are pods that the watch has shown with a node, from the first create of the window (or from
startCollectingMetrics) until the last of them. *Create*: from sending a request to its answer. *Bind*: from that answer
to the event that shows the node. *Watch*: from that answer to the event that shows the pod; one that comes before the
answer took no time. *Visible*: from sending the request to that event, which is more than the watch can have taken.
CPU time of the server is as the kernel counts it.
"""

from __future__ import annotations

from statistics import median
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from bench.e2e.real_cluster import real_cluster
from bench.perf.figures import percentile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.e2e.pod_watch import PodWatch
    from bench.e2e.server import Server


class Created(NamedTuple):
    """When a pod's create was sent, and when its answer was there."""

    sent: float
    answered: float


class Latencies(msgspec.Struct, frozen=True):
    """Milliseconds; 0 of nothing."""

    p50_ms: float
    p99_ms: float


class Figures(msgspec.Struct, frozen=True):
    """One measured window of one run, or the medians of several runs."""

    workload: str
    nodes: int
    seconds: float
    pods_per_second: float
    scheduled: int
    without_node: int
    create: Latencies
    bind: Latencies
    watch: Latencies
    visible: Latencies
    server_cpu_us_per_pod: float
    client_cpu_us_per_pod: float
    memory_bytes: int = 0  # of the server when all is done
    peak_bytes: int = 0
    startup_seconds: float = 0.0  # from spawning the process to its being ready
    restart_seconds: float | None = None  # the same, with all that the workload has made
    restart_memory_bytes: int | None = None
    runs: int = 1
    note: str = ""
    store: str = "sqlite"

    @property
    def goal(self) -> int | None:
        real = real_cluster(self.workload, self.nodes)
        return real.fastest * real.goal_factor if real is not None and real.goal_factor is not None else None

    @property
    def times_real(self) -> tuple[float, float] | None:
        """How many times as many pods a second as the real one in its fastest and in its slowest run."""
        real = real_cluster(self.workload, self.nodes)
        return None if real is None else (self.pods_per_second / real.fastest, self.pods_per_second / real.slowest)

    def as_json(self) -> dict[str, Any]:
        named: dict[str, Any] = msgspec.to_builtins(self)
        real = real_cluster(self.workload, self.nodes)
        named["goal"] = self.goal
        named["real_pods_per_second"] = None if real is None else [real.slowest, real.fastest]
        named["times_real"] = None if self.times_real is None else list(self.times_real)
        return named


class Window:
    """Measuring goes on."""

    def __init__(self, server: Server, namespaces: Iterable[str], labels: Mapping[str, str], name: str = "") -> None:
        self.name = name
        self._server, self._namespaces, self._labels = server, frozenset(namespaces), labels
        self._started = perf_counter()
        self._server_cpu, self._client_cpu = server.cpu_seconds(), process_time()

    def close(self, workload: str, nodes: int, watch: PodWatch, created: Mapping[str, Created], note: str) -> Figures:
        """The figures, of pods that the window is about and of nothing else."""
        server_cpu, client_cpu = self._server.cpu_seconds() - self._server_cpu, process_time() - self._client_cpu
        started = self._started
        bound_at, made, binds, watches, visible, waiting = [], [], [], [], [], 0
        for uid, pod in watch.matching(self._namespaces, self._labels):
            times = created.get(uid)
            is_new = times is not None and times.sent >= started
            if pod.bound_at >= started:
                bound_at.append(pod.bound_at)
            elif not pod.bound_at:
                waiting += 1
            if times is None or not is_new:
                continue
            made.append(times.answered - times.sent)
            watches.append(max(0.0, pod.added_at - times.answered))
            visible.append(pod.added_at - times.sent)
            if pod.bound_at:
                binds.append(max(0.0, pod.bound_at - times.answered))
        seconds = max(bound_at) - started if bound_at else 0.0
        scheduled = len(bound_at)
        return Figures(
            workload=f"{workload}/{self.name}" if self.name else workload,
            nodes=nodes,
            seconds=seconds,
            pods_per_second=scheduled / seconds if seconds > 0 else 0.0,
            scheduled=scheduled,
            without_node=waiting,
            create=_latencies(made),
            bind=_latencies(binds),
            watch=_latencies(watches),
            visible=_latencies(visible),
            server_cpu_us_per_pod=server_cpu * 1e6 / scheduled if scheduled else 0.0,
            client_cpu_us_per_pod=client_cpu * 1e6 / scheduled if scheduled else 0.0,
            note=note,
        )


def medians(figures: Iterable[Figures]) -> list[Figures]:
    """Several runs as one, for each workload and store in order of first appearance."""
    by_name: dict[tuple[str, str], list[Figures]] = {}
    for one in figures:
        by_name.setdefault((one.workload, one.store), []).append(one)
    return [_median(runs) for runs in by_name.values()]


def _median(runs: list[Figures]) -> Figures:
    merged: dict[str, Any] = {}
    for field in ("seconds", "pods_per_second", "server_cpu_us_per_pod", "client_cpu_us_per_pod", "startup_seconds"):
        merged[field] = median(getattr(run, field) for run in runs)
    for field in ("create", "bind", "watch", "visible"):
        parts = [getattr(run, field) for run in runs]
        merged[field] = Latencies(median(part.p50_ms for part in parts), median(part.p99_ms for part in parts))
    for field in ("memory_bytes", "peak_bytes"):
        merged[field] = max(getattr(run, field) for run in runs)
    restarts = [run.restart_seconds for run in runs if run.restart_seconds is not None]
    merged["restart_seconds"] = median(restarts) if restarts else None
    return msgspec.structs.replace(runs[-1], **merged, runs=len(runs))


def _latencies(seconds: list[float]) -> Latencies:
    nanoseconds = [int(value * 1e9) for value in seconds]
    return Latencies(percentile(nanoseconds, 0.50) / 1e6, percentile(nanoseconds, 0.99) / 1e6)
