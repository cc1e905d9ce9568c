"""What a pod costs against how many nodes there are, as an SVG: both axes logarithmic, one line per test case.

In: summaries. Out: the text of the image. Test cases that were run with one size only have no line. A dashed line shows
what it would be if a pod cost as much more as there are more nodes.
"""

from __future__ import annotations

from math import ceil, floor, log10
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bench.perf.summary import Summary

WIDTH, HEIGHT = 860, 480
LEFT, RIGHT, TOP, BOTTOM = 70, 250, 50, 60
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22")
_STYLE = "text { font: 13px sans-serif; fill: #333 } .title { font-size: 16px } .grid { stroke: #ddd }"
Point = tuple[float, float]


def series_of(summaries: Iterable[Summary]) -> dict[str, list[Point]]:
    """Per test case (nodes, microseconds a pod), for those with several sizes; of equal sizes the cheapest."""
    found: dict[str, dict[int, float]] = {}
    for summary in summaries:
        if summary.pods_per_second and summary.nodes:
            sizes = found.setdefault(summary.case, {})
            cost = 1e6 / summary.pods_per_second
            sizes[summary.nodes] = min(cost, sizes.get(summary.nodes, cost))
    return {case: sorted(sizes.items()) for case, sizes in found.items() if len(sizes) > 1}


def plot(summaries: Iterable[Summary]) -> str:
    """The image; without anything to draw it says so."""
    series = series_of(summaries)
    if not series:
        return _svg(['<text x="70" y="80">No test case was run with several numbers of nodes.</text>'])
    points = [point for line in series.values() for point in line]
    scale = _Scale([x for x, _ in points], [y for _, y in points])
    parts = [*scale.axes(), *_reference(scale, next(iter(series.values())))]
    for number, (case, line) in enumerate(series.items()):
        parts += _line(scale, case, line, _COLORS[number % len(_COLORS)], number)
    return _svg(parts)


class _Scale:
    """Where a value is in the image."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.x0, self.x1 = floor(log10(min(xs))), max(ceil(log10(max(xs))), floor(log10(min(xs))) + 1)
        self.y0, self.y1 = floor(log10(min(ys))), max(ceil(log10(max(ys))), floor(log10(min(ys))) + 1)

    def x(self, value: float) -> float:
        return LEFT + (log10(value) - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (log10(value) - self.y0) / (self.y1 - self.y0) * (HEIGHT - TOP - BOTTOM)

    def axes(self) -> list[str]:
        parts = []
        for power in range(self.x0, self.x1 + 1):
            x = self.x(10**power)
            parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}"/>')
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{_shown(power)}</text>')
        for power in range(self.y0, self.y1 + 1):
            y = self.y(10**power)
            parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_shown(power)}</text>')
        middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
        parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 18}" text-anchor="middle">nodes</text>')
        parts.append(f'<text class="title" x="{LEFT}" y="28">Microseconds a pod, all nodes considered</text>')
        return parts


def _shown(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10**power:g}"


def _reference(scale: _Scale, line: list[Point]) -> list[str]:
    """From the first point on in proportion to the nodes, as far as the image goes."""
    (x, y), last = line[0], line[-1][0]
    end = min(last, x * 10**scale.y1 / y)
    start = f'x1="{scale.x(x):.1f}" y1="{scale.y(y):.1f}"'
    stop = f'x2="{scale.x(end):.1f}" y2="{scale.y(y * end / x):.1f}"'
    text = f'<text x="{scale.x(end) + 6:.1f}" y="{scale.y(y * end / x) + 14:.1f}">in proportion to nodes</text>'
    return [f'<line {start} {stop} stroke="#999" stroke-dasharray="5 4"/>', text]


def _line(scale: _Scale, case: str, line: list[Point], color: str, number: int) -> list[str]:
    at = [(scale.x(x), scale.y(y)) for x, y in line]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    legend = TOP + 16 + number * 20
    return [
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color}"/>' for x, y in at),
        f'<rect x="{WIDTH - RIGHT + 20}" y="{legend - 10}" width="12" height="12" fill="{color}"/>',
        f'<text x="{WIDTH - RIGHT + 38}" y="{legend}">{escape(case)}</text>',
    ]


def _svg(parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    background = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>", background, *parts, "</svg>", ""])
