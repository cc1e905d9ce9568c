"""Draw a mix of nodes as SVG: a bar for each kind of node, as long as it costs, filled as far as pods use it."""

from collections.abc import Iterator
from html import escape

from moorage.capacity.fitting.report import FitReport, MixLine
from moorage.capacity.fitting.text import used_text
from moorage.lint.report.printable import printable
from moorage.plan.pools.verdicts import price_text

_WIDTH, _LEFT, _ROW, _TOP = 860, 300, 34, 64
_MAX_BARS = 40
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1f2933}.small{font-size:11px;fill:#52606d}.room{fill:#d9e2ec}"
    ".used{fill:#2f6f9f}.bound{stroke:#c0392b;stroke-dasharray:4 3}.title{font-size:16px;font-weight:600}"
    "@media(prefers-color-scheme:dark){text{fill:#e4e7eb}.small{fill:#9aa5b1}.room{fill:#3e4c59}}"
)


def fit_svg(report: FitReport) -> Iterator[str]:
    """Yield the lines of a drawing."""
    shown = report.nodes[:_MAX_BARS]
    height = _TOP + _ROW * max(len(shown), 1) + 46
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}" '
        f'role="img" aria-label="{_text(report.sentence)}">'
    )
    yield f"<style>{_STYLE}</style>"
    yield f'<text class="title" x="16" y="26">{_text(report.sentence)}</text>'
    yield f'<text class="small" x="16" y="46">{_text(report.proof)}</text>'
    most = max((one.cost for one in shown), default=1.0) or 1.0
    for number, one in enumerate(shown):
        yield from _bar(one, _TOP + number * _ROW, (_WIDTH - _LEFT - 90) * one.cost / most)
    more = len(report.nodes) - len(shown)
    end = f"… and {more:,} more kinds of node" if more else "length: cost an hour; dark: the fullest resource"
    yield f'<text class="small" x="16" y="{height - 14}">{_text(end)}</text>'
    yield "</svg>"


def _bar(one: MixLine, top: float, length: float) -> Iterator[str]:
    used = max((one.used[name] for name in one.used if name != "pods"), default=0)
    yield f'<text x="16" y="{top + 13}">{_text(f"{one.count:,} × {one.pool}")}</text>'
    yield f'<text class="small" x="16" y="{top + 26}">{_text(one.node)}</text>'
    yield f'<rect class="room" x="{_LEFT}" y="{top}" width="{length:.1f}" height="20" rx="3"/>'
    yield (
        f'<rect class="used" x="{_LEFT}" y="{top}" width="{length * min(used, 100) / 100:.1f}" height="20" rx="3">'
        f"<title>{_text(used_text(one))}</title></rect>"
    )
    yield f'<text x="{_LEFT + length + 8:.1f}" y="{top + 15}">{_text(price_text(one.cost))}/h</text>'


def _text(text: str) -> str:
    return escape(printable(text))
