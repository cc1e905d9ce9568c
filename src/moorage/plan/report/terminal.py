"""Write lines for a terminal: sections, wrapped texts, colours."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from moorage.lint.report.form import counted
from moorage.lint.report.printable import printable, visible_length

BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "31", "32", "33", "36"
#: Longer lists are cut short, unless everything is printed.
MAX_ROWS = 30
Row = TypeVar("Row")


class TerminalLines:
    """The base of text reports. `width` is the terminal's; `everything` prints long lists in full."""

    _narrowest = 40

    def __init__(self, *, colour: bool = False, width: int = 100, everything: bool = False) -> None:
        self._colour = colour
        self._width = max(width, self._narrowest)
        self._all = everything

    def _section(self, title: str, lines: Iterable[str]) -> Iterator[str]:
        """Print a title, the lines and an empty line; nothing if there are no lines."""
        printed = list(lines)
        if printed:
            yield self._styled(title, BOLD)
            yield from printed
            yield ""

    def _cut(self, rows: Sequence[Row], max_rows: int) -> Sequence[Row]:
        return rows if self._all else rows[:max_rows]

    def _left_out(self, number: int, noun: str) -> Iterator[str]:
        if number > 0:
            yield f"  … and {counted(number, noun)} more (--all lists them)"

    def _wrapped(self, first: str, indent: int, text: str, style: str = "") -> Iterator[str]:
        """Wrap a text; its first line begins with `first`, which may hold colours."""
        lead = visible_length(first)
        wrapper = textwrap.TextWrapper(
            self._width, initial_indent=" " * lead, subsequent_indent=" " * indent, break_long_words=False
        )
        wrapper.break_on_hyphens = False
        lines = wrapper.wrap(printable(text)) or [" " * lead]
        yield first + self._styled(lines[0][lead:], style)
        yield from (" " * indent + self._styled(line.strip(), style) for line in lines[1:])

    def _styled(self, text: str, codes: str) -> str:
        return f"\x1b[{codes}m{text}\x1b[0m" if self._colour and codes and text else text
