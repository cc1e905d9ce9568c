"""Figures → a table for terminals and READMEs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.e2e.real_cluster import SOURCE, real_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.e2e.figures import Figures, Latencies

COLUMNS = (
    "workload",
    "store",
    "nodes",
    "pods",
    "pods/s",
    "goal",
    "real pods/s",
    "× real",
    "create ms",
    "bind ms",
    "watch ms",
    "server µs/pod",
    "client µs/pod",
    "MiB",
    "peak MiB",
    "start s",
    "restart s",
)
LEGEND = f"Latencies are p50 / p99. Real: {SOURCE}."


def table(figures: Iterable[Figures]) -> str:
    """All of them as one Markdown table; numbers stand to the right."""
    rows = [COLUMNS, *(_cells(one) for one in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [_line(row, widths) for row in rows]
    rules = ["-" * (width + 2) if column == 0 else "-" * (width + 1) + ":" for column, width in enumerate(widths)]
    lines.insert(1, f"|{'|'.join(rules)}|")
    return "\n".join(lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(cells)} |"


def _cells(one: Figures) -> tuple[str, ...]:
    real, times = real_cluster(one.workload, one.nodes), one.times_real
    return (
        one.workload,
        one.store,
        f"{one.nodes:,}",
        f"{one.scheduled:,}",
        f"{one.pods_per_second:,.0f}",
        "" if one.goal is None else f"{one.goal:,}",
        "" if real is None else _range(f"{real.slowest}", f"{real.fastest}"),
        "" if times is None else _range(f"{times[0]:.1f}", f"{times[1]:.1f}"),
        _both(one.create),
        _both(one.bind),
        _both(one.watch),
        f"{one.server_cpu_us_per_pod:,.0f}",
        f"{one.client_cpu_us_per_pod:,.0f}",
        _mebibytes(one.memory_bytes),
        _mebibytes(one.peak_bytes),
        f"{one.startup_seconds:.2f}",
        "" if one.restart_seconds is None else f"{one.restart_seconds:.2f}",
    )


def _both(latencies: Latencies) -> str:
    return f"{latencies.p50_ms:.1f} / {latencies.p99_ms:.1f}"


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:,.0f}" if size else "–"
