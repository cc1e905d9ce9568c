"""Write a curve as CSV, as Markdown for pull requests, or as an SVG picture."""

import csv
import io
from collections.abc import Iterator
from html import escape

from moorage.capacity.curving.curve import Curve, Point
from moorage.capacity.curving.text import head_of, rows_of, summary
from moorage.plan.report.markdown import table

_COLUMNS = ("value", "range", "now", "placed", "pending", "evicted", "nodes", "cost", "unpriced", "mix", "refused")
#: A spreadsheet would take a text that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 380, 70, 70, 46, 78
_SERIES = (("placed", "#1b6ca8"), ("Pending", "#b3261e"), ("evicted", "#8a6d00"))
_COST_INK, _LINE, _TEXT = "#2e7d32", "#b8bec6", "#22272e"
_MAX_LABELS = 16


def curve_csv(curve: Curve) -> Iterator[str]:
    """Yield the lines of a CSV file: the cluster as it is, whose value is empty, then each point."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for point in (curve.before, *curve.points):
        cost = "" if point.cost is None else f"{point.cost:.6g}"
        mix = "" if point.mix is None else f"{point.mix:.6g}"
        numbers = (point.placed, point.waiting, point.evicted, point.nodes, cost, point.unpriced, mix)
        texts = _plain(point.value), _plain(point.range)
        writer.writerow((*texts, "yes" if point.is_now else "no", *numbers, _plain(point.refused)))
    yield from out.getvalue().splitlines()


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def curve_markdown(curve: Curve) -> Iterator[str]:
    """Yield the lines of a table for a pull request."""
    yield f"# Curve of {curve.what}"
    yield ""
    yield f"**{summary(curve)}**"
    yield ""
    yield from table("Values", head_of(curve), [cells for _, cells in rows_of(curve)])
    if curve.left_out:
        yield f"{curve.left_out:,} values between these were not played."


def curve_svg(curve: Curve) -> Iterator[str]:
    """Yield the lines of a picture: pods by value as steps, and the cost on an axis of its own."""
    points = curve.points
    title = f"Curve of {curve.what}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{escape(title)}" font-family="system-ui, sans-serif" font-size="12" fill="{_TEXT}">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>'
    yield f'<text x="{_LEFT}" y="20" font-size="14" font-weight="600">{escape(title)}</text>'
    most = max((max(point.placed, point.waiting, point.evicted) for point in points), default=0) or 1
    costs = [(point.mix if curve.is_fitted else point.cost) or 0.0 for point in points]
    dearest = max(costs, default=0.0)
    yield from _frame(curve, most, dearest)
    for name, ink in _SERIES:
        yield _steps([_number(point, name) / most for point in points], ink)
    if dearest > 0:
        yield _steps([cost / dearest for cost in costs], _COST_INK, dashed=True)
    yield from _legend(
        ("cost of the cheapest mix" if curve.is_fitted else "cost of nodes in use") if dearest > 0 else ""
    )
    yield "</svg>"


def _number(point: Point, name: str) -> int:
    return {"placed": point.placed, "Pending": point.waiting, "evicted": point.evicted}[name]


def _x(at: float, number: int) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at / max(number, 1)


def _y(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def _frame(curve: Curve, most: int, dearest: float) -> Iterator[str]:
    number = len(curve.points)
    for share in (0.0, 0.5, 1.0):
        y = _y(share)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{most * share:,.4g}</text>'
        if dearest > 0:
            yield (
                f'<text x="{_WIDTH - _RIGHT + 8}" y="{y + 4:.1f}" fill="{_COST_INK}">{dearest * share:,.3g}/h</text>'
            )
    every = -(-number // _MAX_LABELS) if number else 1
    for at, point in enumerate(curve.points):
        x = _x(at + 0.5, number)
        if at % every == 0 or point.is_now:
            weight = ' font-weight="700"' if point.is_now else ""
            label = escape(point.value or "(empty)") + (" (now)" if point.is_now else "")
            yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle"{weight}>{label}</text>'
    yield (
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}" y="{_HEIGHT - _BOTTOM + 38}" text-anchor="middle">'
        f"{escape(curve.unit)}</text>"
    )


def _steps(shares: list[float], ink: str, *, dashed: bool = False) -> str:
    corners = [
        f"{_x(at + side, len(shares)):.1f},{_y(share):.1f}" for at, share in enumerate(shares) for side in (0, 1)
    ]
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<polyline fill="none" stroke="{ink}" stroke-width="2"{dashes} points="{" ".join(corners)}"/>'


def _legend(cost: str) -> Iterator[str]:
    names = [*_SERIES, *(((cost, _COST_INK),) if cost else ())]
    for at, (name, ink) in enumerate(names):
        x = _LEFT + at * 120
        yield f'<rect x="{x}" y="{_HEIGHT - 22}" width="14" height="4" fill="{ink}"/>'
        yield f'<text x="{x + 20}" y="{_HEIGHT - 16}">{name}</text>'
