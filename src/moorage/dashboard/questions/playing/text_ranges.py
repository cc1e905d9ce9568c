"""Find the part of a line that an editor underlines: of a node of a YAML text, or of the value of a scalar."""

from collections.abc import Sequence
from typing import Any

import msgspec
from yaml import ScalarNode

from moorage.dashboard.questions.playing.scalar_places import value_offsets


class TextRange(msgspec.Struct, frozen=True):
    """A part of one line of the text; lines and columns count characters from one, and `end_column` is behind it."""

    line: int
    column: int
    end_column: int


def offset_of_mark(lines: Sequence[str], mark: Any) -> int:
    """Return a mark's offset in the text that has these lines; YAML counts characters."""
    before = sum(len(line) + 1 for line in lines[: mark.line])
    return min(before + int(mark.column), sum(len(line) + 1 for line in lines) - 1)


def range_between(text: str, start: int, end: int) -> TextRange:
    """Return what is between two offsets, cut at the end of the first line."""
    start = min(start, len(text))
    line = text.count("\n", 0, start)
    begin = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", start)
    stop = len(text) if stop < 0 else stop
    shown = text[start : min(max(end, start), stop)].rstrip()
    return TextRange(line + 1, start - begin + 1, start - begin + 1 + max(len(shown), 1))


def value_range(text: str, lines: Sequence[str], node: ScalarNode, start: int, end: int) -> TextRange:
    """Return a part of a scalar's value; `start` and `end` count the value's characters."""
    offsets = value_offsets(text, node, offset_of_mark(lines, node.start_mark), offset_of_mark(lines, node.end_mark))
    last = len(offsets) - 1
    first = offsets[min(start, last)]
    behind = offsets[min(end, last)] if end <= start else offsets[min(end - 1, last)] + 1
    return range_between(text, first, behind)
