"""The line a finding is about, with carets below the place.

In: a line of the source and a column. Out: an `Excerpt`: cut around the column if the line is long, safe for terminals,
the carets as long as what is meant.
"""

from __future__ import annotations

import unicodedata

from moorage.lint.finding import NO_EXCERPT, Excerpt
from moorage.lint.report.printable import printable

_WIDEST = 160
_BEFORE = 60


def excerpt_of(line: str, column: int) -> Excerpt:
    """A source line fit for a terminal, and the line of carets below it that points at the column (from 1).

    The carets reach to the end of what is written there; very long lines are cut around the column.
    """
    if not line.strip():
        return NO_EXCERPT
    start = max(column - 1, 0)
    cut_before = start - _BEFORE if start > _WIDEST - _BEFORE else 0
    shown = line[cut_before : cut_before + _WIDEST]
    left = printable(shown[: start - cut_before].replace("\t", "    "))
    marked = _marked(line[:start], shown[start - cut_before :].rstrip())
    rest = shown[start - cut_before + len(marked) :].rstrip()
    prefix = "…" if cut_before else ""
    suffix = "…" if cut_before + _WIDEST < len(line) else ""
    middle, right = printable(marked.replace("\t", "    ")), printable(rest.replace("\t", "    "))
    carets = " " * (len(prefix) + _width(left)) + "^" * max(1, _width(middle))
    return Excerpt(f"{prefix}{left}{middle}{right}{suffix}", carets)


def _marked(before: str, text: str) -> str:
    """How far the thing that starts here reaches: to the end of a flow entry, to a comment, or to the line's end."""
    in_flow = text[:1] in "{[" or before.count("{") > before.count("}") or before.count("[") > before.count("]")
    depth, quote = 0, ""
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#" and index and text[index - 1] == " ":
            return text[:index].rstrip()
        elif in_flow and character in "{[":
            depth += 1
        elif in_flow and character in "}]":
            depth -= 1
            if depth <= 0:
                return text[: index + (depth == 0)]
        elif in_flow and character == "," and depth == 0:
            return text[:index]
    return text


def _width(text: str) -> int:
    """Columns on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if not unicodedata.combining(character):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width
