"""Find the place in a YAML text of each character of a scalar's value: quotes, escapes and folded lines lie between.

An issue of a CEL expression has a line and a column in the expression; an editor has to underline them in the manifest.
"""

import re

from yaml import ScalarNode

#: How many characters follow these in an escape of a double-quoted scalar.
_LONG_ESCAPES = {"x": 2, "u": 4, "U": 8}
_BREAK = "\n"
_BLANK = " \t\n"
_HEADER = re.compile(r"[|>]([0-9+-]*)[^\n]*\n")


def value_offsets(text: str, node: ScalarNode, start: int, end: int) -> list[int]:
    """Return the offset in the text of each character of the node's value, and of its end.

    `start` and `end` enclose the scalar as it is written. What cannot be followed is at the start.
    """
    value = str(node.value)
    if node.style == "|":
        offsets = _literal(text, value, start, end)
    else:
        offsets = _aligned(text, value, start, end, str(node.style or ""))
    return offsets if offsets is not None else [start] * (len(value) + 1)


def _literal(text: str, value: str, start: int, end: int) -> list[int] | None:
    """Each line of a literal block is a line of the value, less its indentation."""
    header = _HEADER.match(text, start)
    if header is None:
        return None
    offsets: list[int] = []
    at = header.end()
    digits = re.sub("[+-]", "", header[1])
    first = value.lstrip("\n")[:1]
    indent = _indentation(text, at, first) if not digits else None
    for line in value.split("\n"):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        written = text[at:stop]
        begin = at + (len(written) - len(line) if indent is None else min(indent, len(written)))
        if text[begin:stop].rstrip("\r") != line:
            return offsets + [min(at, end)] * (len(value) + 1 - len(offsets)) if not line else None
        offsets += range(begin, begin + len(line))
        offsets.append(min(begin + len(line), len(text)))
        at = min(stop + 1, len(text))
    return offsets[: len(value) + 1]


def _indentation(text: str, at: int, first: str) -> int:
    """Return how far the first line of a block that is not empty is indented."""
    while at < len(text):
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        line = text[at:stop]
        if line.strip(" "):
            spaces = len(line) - len(line.lstrip(" "))
            return spaces if first != " " else 0
        at = stop + 1
    return 0


def _aligned(text: str, value: str, start: int, end: int, style: str) -> list[int] | None:
    """Walk through value and text side by side; the text has more blanks, quotes and escapes."""
    at = start
    if style == ">":
        header = _HEADER.match(text, start)
        if header is None:
            return None
        at = header.end()
    elif style:
        at += 1
    offsets: list[int] = []
    for character in value:
        at, length = _next(text, at, character, style)
        if at >= end and length == 0:
            return None
        offsets.append(at)
        at += length
    offsets.append(min(at, end))
    return offsets


def _next(text: str, at: int, character: str, style: str) -> tuple[int, int]:
    """Return where the next character of the value is written, and how much text it takes."""
    if character not in _BLANK or (text[at : at + 1] != character and style != '"'):
        at = _skip(text, at, character)
    written = text[at : at + 1]
    if style == '"' and written == "\\":
        return _escape(text, at, character)
    if style == "'" and character == "'" and text[at : at + 2] == "''":
        return at, 2
    if written == character:
        return at, 1
    if character in _BLANK and written == _BREAK:
        # A folded line: the break and the indentation after it are one blank.
        return at, 1
    return len(text), 0


def _skip(text: str, at: int, character: str) -> int:
    """Skip blanks that the value does not have; those before a folded line break, too."""
    while at < len(text) and text[at] in _BLANK:
        if character in _BLANK and text[at] in (_BREAK, character):
            break
        at += 1
    return at


def _escape(text: str, at: int, character: str) -> tuple[int, int]:
    while text[at : at + 2] == "\\\n":  # the line goes on without a blank
        at += 2
        while at < len(text) and text[at] in " \t":
            at += 1
        if text[at : at + 1] != "\\":
            return (at, 1) if text[at : at + 1] == character else (len(text), 0)
    return at, 2 + _LONG_ESCAPES.get(text[at + 1 : at + 2], 0)
