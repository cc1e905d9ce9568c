"""Text from files, made safe to print: manifests are other people's text, terminals obey control characters.

In: any text. Out: the same with what is not printable written as an escape, and the part of a long line that matters.
Next: `text` and `github` print these.
"""

from __future__ import annotations

import unicodedata

_WIDEST = 160
_BEFORE = 60


def printable(text: str) -> str:
    """One line's text with control characters, lone surrogates and direction marks escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def printable_lines(text: str) -> list[str]:
    """Several lines, each made printable."""
    return [printable(line.replace("\t", "    ")) for line in text.split("\n")]


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def excerpt_with_caret(line: str, column: int) -> tuple[str, str]:
    """A source line fit for a terminal, and the line of carets below it that points at the column (from 1).

    The carets reach to the end of what is written there; very long lines are cut around the column.
    """
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
    return f"{prefix}{left}{middle}{right}{suffix}", carets


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
