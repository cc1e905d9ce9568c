"""A measured line, and the table that shows all of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bench.measure import Timing

COLUMNS = ("what", "median", "p99", "ratio", "compared with", "goal")


@dataclass(frozen=True)
class Result:
    """One line. `unit` is s, B or 1/s; `ratio` is this value over the compared one, from the same run."""

    theme: str
    what: str
    median: float
    unit: str = "s"
    p99: float | None = None
    ratio: float | None = None
    compared_with: str = ""
    goal: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def cells(self) -> tuple[str, ...]:
        return (
            self.what,
            shown(self.median, self.unit),
            shown(self.p99, self.unit),
            "" if self.ratio is None else f"{self.ratio:.2f}×",
            self.compared_with,
            self.goal,
        )


def timed(
    theme: str, what: str, timing: Timing, *, against: Timing | None = None, compared_with: str = "", goal: str = ""
) -> Result:
    ratio = None if against is None else timing.median / against.median
    return Result(theme, what, timing.median, p99=timing.p99, ratio=ratio, compared_with=compared_with, goal=goal)


def shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "B":
        return f"{value / 2**20:.1f} MiB"
    if unit == "1/s":
        return f"{value:,.0f} /s"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.2f} {name}"
    return f"{value * 1e9:.0f} ns"


def table(results: Iterable[Result]) -> str:
    """All lines as one Markdown table with aligned columns, for terminals and for READMEs."""
    rows = [COLUMNS, *(result.cells() for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))} |" for row in rows]
    lines.insert(1, f"|{'|'.join('-' * (width + 2) for width in widths)}|")
    return "\n".join(lines)
