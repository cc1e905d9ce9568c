"""Print a curve as a table: a row for each value at which something changes."""

from collections.abc import Iterator

from moorage.capacity.curving.curve import Curve, Point
from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable
from moorage.plan.report.terminal import BOLD, GREEN, RED
from moorage.plan.report.text import TextReport

_MAX_NAMED = 3


def cost_of(point: Point) -> str:
    """Return `1.25`, `1.25 + 2 nodes without a price`, or a dash if no price is known."""
    if point.cost is None or (point.unpriced and point.unpriced == point.nodes):
        return "–"
    more = f" + {counted(point.unpriced, 'node')} without a price" if point.unpriced else ""
    return f"{_amount(point.cost)}{more}"


def mix_of(point: Point) -> str:
    """Return what the cheapest mix costs, or a dash if there is none."""
    return "–" if point.mix is None else _amount(point.mix)


def _amount(cost: float) -> str:
    return f"{cost:,.4g}" if cost < 1000 else f"{cost:,.0f}"


def waiting_of(point: Point) -> str:
    """Name the workloads with pods that wait, those with most first."""
    rows = sorted(point.pending.items(), key=lambda row: (-row[1], row[0]))
    shown = [f"{name} {number:,}" for name, number in rows[:_MAX_NAMED]]
    return ", ".join(shown) + (f", {len(rows) - _MAX_NAMED:,} more" if len(rows) > _MAX_NAMED else "")


def rows_of(curve: Curve) -> list[tuple[Point, tuple[str, ...]]]:
    """Return the head and the rows of the table: the cluster as it is, then each point."""
    is_priced = curve.before.cost is not None
    rows = []
    for point in (curve.before, *curve.points):
        value = point.range if point is curve.before else point.value or "(empty)"
        mark = " now" if point.is_now and point is not curve.before else ""
        numbers = (f"{point.placed:,}", f"{point.waiting:,}", f"{point.evicted:,}", f"{point.nodes:,}")
        stands_for = "" if point is curve.before or point.range == f"= {point.value}" else point.range
        cost = [cost_of(point)] if is_priced else []
        cost += [mix_of(point)] if curve.is_fitted else []
        rows.append((point, (value + mark, stands_for, *numbers, *cost, point.refused or waiting_of(point))))
    return rows


def head_of(curve: Curve) -> tuple[str, ...]:
    cost = ["cost/h"] if curve.before.cost is not None else []
    cost += ["cheapest mix"] if curve.is_fitted else []
    return (curve.unit, "range", "placed", "Pending", "evicted", "nodes", *cost, "waits")


class CurveReport(TextReport):
    """Prints curves."""

    def curve(self, curve: Curve) -> Iterator[str]:
        """Print the table, and what the best and the worst values are."""
        yield from self._wrapped("", 2, f"Curve of {curve.what}", style=BOLD)
        yield ""
        rows = [(point, tuple(map(printable, cells))) for point, cells in rows_of(curve)]
        head = head_of(curve)
        widths = [max(len(cells[at]) for cells in (head, *(row for _, row in rows))) for at in range(len(head) - 1)]
        yield self._row(head, widths)
        for point, cells in rows:
            style = RED if point.refused or point.waiting > curve.before.waiting else ""
            line = self._row(cells, widths)
            yield self._styled(line, style) if style else line
        yield ""
        if curve.left_out:
            yield from self._wrapped("", 2, f"{curve.left_out:,} values between these were not played.")
        yield from (self._styled(line, GREEN) for line in self._folded(summary(curve)))

    @staticmethod
    def _row(cells: tuple[str, ...], widths: list[int]) -> str:
        texts = (
            cell.ljust(width) if at < 2 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(cells[:-1], widths, strict=True))
        )
        return f"  {'  '.join(texts)}  {cells[-1]}".rstrip()


def summary(curve: Curve) -> str:
    """Say at which values nothing waits that does not wait now, and what the cheapest value costs."""
    played = [point for point in curve.points if not point.refused]
    good = [point for point in played if point.waiting <= curve.before.waiting and not point.evicted]
    if not played:
        return "No value could be played."
    text = "At every value pods are evicted or wait that do not wait now."
    if good:
        text = f"No pod is evicted and none waits that does not wait now at {_runs(curve, good)}."
    mixes = [point for point in played if point.mix is not None]
    if mixes:
        best = min(mixes, key=lambda point: point.mix or 0.0)
        worst = max(mixes, key=lambda point: point.mix or 0.0)
        costs = f"{mix_of(best)} an hour at {best.value}, {mix_of(worst)} at {worst.value}"
        return f"{text} The cheapest mix of nodes costs {costs}."
    priced = [point for point in good if point.cost is not None and not point.unpriced]
    if len({point.cost for point in priced}) > 1:
        best = min(priced, key=lambda point: point.cost or 0.0)
        text += f" The cheapest of them is {best.value}: {cost_of(best)} an hour."
    return text


def _runs(curve: Curve, good: list[Point]) -> str:
    """Join points beside each other: `0 to 5, 20`."""
    runs: list[list[str]] = []
    before = -2
    for at, point in enumerate(curve.points):
        if point not in good:
            continue
        if at == before + 1:
            runs[-1].append(point.value)
        else:
            runs.append([point.value])
        before = at
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)
