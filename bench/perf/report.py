"""Summaries → a table for terminals and READMEs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.perf.summary import Summary

COLUMNS = (
    "workload",
    "nodes",
    "pods/s",
    "goal",
    "pods/CPU s",
    "p50 µs",
    "p99 µs",
    "peak MiB",
    "scheduled",
    "unschedulable",
    "failed attempts",
    "× twin",
)


def table(summaries: Iterable[Summary]) -> str:
    """All of them as one Markdown table; numbers stand to the right."""
    rows = [COLUMNS, *(_cells(summary) for summary in summaries)]
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


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        summary.workload,
        f"{summary.nodes:,}",
        f"{summary.pods_per_second:,.0f}",
        "" if summary.goal is None else f"{summary.goal:,}",
        f"{summary.pods_per_cpu_second:,.0f}",
        f"{summary.p50_us:,.1f}",
        f"{summary.p99_us:,.1f}",
        f"{summary.peak_bytes / 2**20:,.0f}",
        f"{summary.scheduled:,}",
        f"{summary.unschedulable:,}",
        f"{summary.failed_attempts:,}",
        "" if summary.twin_ratio is None else f"{summary.twin_ratio:.2f}",
    )
