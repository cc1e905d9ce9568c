"""Figures → tables for terminals and READMEs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.controllers.figures import Figures, Phase
    from bench.controllers.latencies import Latency, Queue

_PHASES = (
    "phase",
    "objects",
    "seconds",
    "a second",
    "last told s",
    "writes",
    "server CPU s",
    "client CPU s",
    "MiB / peak",
)

_QUEUES = ("controller", "reconciles", "retries", "wait p50", "wait p99", "work p50", "work p99")


def text(figures: Figures) -> str:
    """All of it as Markdown."""
    sizes = f"{figures.nodes:,} nodes, {figures.deployments:,} Deployments, {figures.pods:,} pods"
    laws = f"Most pods of a Deployment at a time: {figures.most_of_an_owner}, of {figures.allowed} that it may have."
    moved = f" Pods whose node changed: {figures.moved}."
    return "\n\n".join(
        (
            f"{sizes}; peak {figures.peak_bytes / 2**20:,.0f} MiB. {laws}{moved}",
            _table(_PHASES, [_phase(phase) for phase in figures.phases]),
            _table(_QUEUES, [_queue(queue) for queue in figures.queues]) + "\n",
        )
    )


def _phase(phase: Phase) -> tuple[str, ...]:
    return (
        phase.name,
        f"{phase.objects:,} {phase.what}",
        f"{phase.seconds:.1f}",
        f"{phase.objects / phase.seconds:,.0f}",
        "" if phase.told_seconds is None else f"{phase.told_seconds:.1f}",
        f"{phase.writes:,}",
        f"{phase.server_cpu_seconds:.1f}",
        f"{phase.client_cpu_seconds:.1f}",
        f"{phase.memory_bytes / 2**20:,.0f} / {phase.peak_bytes / 2**20:,.0f}",
    )


def _queue(queue: Queue) -> tuple[str, ...]:
    return (queue.controller, f"{queue.reconciles:,}", f"{queue.retries:,}", *_both(queue.wait), *_both(queue.work))


def _both(latency: Latency) -> tuple[str, str]:
    return _duration(latency.p50), _duration(latency.p99)


def _duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in (columns, *rows)) for column in range(len(columns))]
    lines = [_line(row, widths) for row in (columns, *rows)]
    rules = ["-" * (width + 2) if column == 0 else "-" * (width + 1) + ":" for column, width in enumerate(widths)]
    lines.insert(1, f"|{'|'.join(rules)}|")
    return "\n".join(lines)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column == 0 else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(cells)} |"
