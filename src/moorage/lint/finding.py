"""Define a finding: one message about one place in the input, with the source line and carets below the place.

`RecentLines` wraps the stream that is read and keeps its last 33 MiB (no document is larger) to look lines up in.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import deque
from enum import StrEnum
from typing import BinaryIO, Protocol

import msgspec

from moorage.lint.report.printable import printable

_WIDEST = 160
_MAX_PLACES = 10
_LONGEST_KEPT = 400
_BEFORE = 60


class Severity(StrEnum):
    """An error is refused by the API server, a warning will surprise, an info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Excerpt(msgspec.Struct, frozen=True):
    """A source line cut to fit a screen and safe to print, and the carets to print below it."""

    line: str = ""
    carets: str = ""

    def cut(self, width: int) -> Excerpt:
        """Return the text around the first caret, within this width."""
        if len(self.line) <= width:
            return Excerpt(self.line, self.carets[:width])
        first = len(self.carets) - len(self.carets.lstrip())
        start = max(0, min(first - width // 3, len(self.line) - width + 1))
        before, room = ("…", width - 1) if start else ("", width)
        after = "…" if start + room < len(self.line) else ""
        line = self.line[start : start + room - len(after)]
        return Excerpt(f"{before}{line}{after}", (" " * len(before) + self.carets[start:])[:width])


NO_EXCERPT = Excerpt()


class SourcePlace(msgspec.Struct, frozen=True):
    """A source, a position in it (from 1; 0 is unknown), the object, the path of the field in it, the source line.

    A field that comes from a YAML alias has the position of the anchor, and `alias` is that of the alias.
    """

    source: str
    line: int = 0
    column: int = 0
    object: str = ""
    path: str = ""
    line_text: str | Excerpt = NO_EXCERPT
    alias: tuple[int, int] | None = None

    @property
    def excerpt(self) -> Excerpt:
        """What to show of the line; most places are never shown."""
        text = self.line_text
        return excerpt_of(text, self.column) if isinstance(text, str) else text

    @property
    def at_alias(self) -> SourcePlace:
        """The place of the alias."""
        line, column = self.alias or (self.line, self.column)
        return SourcePlace(self.source, line, column, self.object, self.path)

    @property
    def position(self) -> str:
        """`file:line`, as terminals make it a link."""
        return f"{self.source}:{self.line}" if self.line else self.source

    @property
    def described(self) -> str:
        """`Pod default/web, spec.tolerations[0] (pods.yaml:12)`: how one finding names the place of another thing."""
        what = ", ".join(part for part in (self.object, self.path) if part)
        return f"{what} ({self.position})" if what else self.position


class Finding(msgspec.Struct, frozen=True):
    """What is wrong, where, why, and what to do; `api_server` if the API server says so."""

    rule: str
    severity: Severity
    message: str
    place: SourcePlace
    hint: str = ""
    api_server: bool = False
    #: A `# moorage: ignore` comment covers it.
    ignored: bool = False
    #: The aliases of a YAML anchor through which other fields have the same fault, in the order of the text.
    also_at: list[SourcePlace] = msgspec.field(default_factory=list)

    @property
    def file(self) -> str:
        return self.place.source

    @property
    def line(self) -> int:
        return self.place.line

    @property
    def column(self) -> int:
        return self.place.column

    @property
    def object(self) -> str:
        return self.place.object

    @property
    def path(self) -> str:
        return self.place.path

    @property
    def documentation(self) -> str:
        """The page about the rule."""
        from moorage.lint.catalogue import rules

        return rules()[self.rule].page

    @property
    def message_and_hint(self) -> str:
        parts = (self.message, self.also, f"hint: {self.hint}" if self.hint else "")
        return "\n".join(part for part in parts if part)

    @property
    def also(self) -> str:
        """`also at line 40 (Pod default/web), 63 (Pod default/db)`; empty without aliases."""
        if not self.also_at:
            return ""
        places = [f"{place.line} ({place.object})" for place in self.also_at[:_MAX_PLACES]]
        more = len(self.also_at) - len(places)
        return f"also at line {', '.join(places)}{f' and {more:,} more' if more else ''}"

    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        return (self.place.line, self.place.column, self.rule, self.message)


def text_to_keep(line: str, column: int) -> str | Excerpt:
    """Return a line to make an excerpt of later; of a long one the excerpt."""
    return line if len(line) <= _LONGEST_KEPT else excerpt_of(line, column)


def excerpt_of(line: str, column: int) -> Excerpt:
    """Return the line, safe for a terminal and cut around the column (from 1), and carets below what starts there."""
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
    """Return the part of `text` to mark: up to the end of a flow entry, a comment, or the line."""
    in_flow = text[:1] in "{[" or before.count("{") > before.count("}") or before.count("[") > before.count("]")
    if not in_flow and "#" not in text:
        return text
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
    """Return the columns on a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    width = 0
    for character in text:
        if not unicodedata.combining(character):
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


_FIRST_BLOCK = 32 * 1024
_MAX_BYTES = 33 * 1024 * 1024
_MAX_LINE_LENGTH = 256 * 1024


class Lines(Protocol):
    """Lines of a source, by number: of a stream that is being read, or of one document."""

    def line(self, number: int) -> str: ...


class RecentLines:
    """A binary stream that remembers its last blocks and the line each starts in; lines are split when asked for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._blocks: list[bytes] = []
        self._first_lines: list[int] = []
        self._cut: dict[int, list[bytes]] = {}
        self._next_line = 1
        self._bytes = 0

    def read(self, size: int, /) -> bytes:
        # Most files are small, and room for a large block costs more than reading a small one.
        block = self._stream.read(size if self._blocks else min(size, _FIRST_BLOCK))
        self._remember(block)
        return block

    def _remember(self, block: bytes) -> None:
        self._blocks.append(block)
        self._first_lines.append(self._next_line)
        self._next_line += block.count(b"\n")
        self._bytes += len(block)
        if self._bytes > _MAX_BYTES:
            self._forget()

    def _forget(self) -> None:
        half = len(self._blocks) // 2 + 1
        del self._blocks[:half], self._first_lines[:half]
        self._cut.clear()
        self._bytes = sum(map(len, self._blocks))

    def line(self, number: int) -> str:
        """Return a line's text (from 1); empty if it is forgotten, not read yet, or too long to show."""
        at = bisect_right(self._first_lines, number) - 1
        if at < 0 or number > self._next_line:
            return ""
        pieces = self._pieces(at)
        offset = number - self._first_lines[at]
        line = pieces[offset] if offset < len(pieces) else b""
        if offset == 0:  # the line may begin in an earlier block; blocks without an end of line have but one piece
            before = at
            while before > 0 and self._first_lines[before] == number and len(line) < _MAX_LINE_LENGTH:
                before -= 1
                line = self._pieces(before)[-1] + line
        return line.rstrip(b"\r").decode("utf-8", "replace") if len(line) < _MAX_LINE_LENGTH else ""

    def _pieces(self, at: int) -> list[bytes]:
        if at not in self._cut:
            self._cut[at] = self._blocks[at].split(b"\n")
        return self._cut[at]


class LinesReadAhead(RecentLines):
    """A stream that is read ahead: it remembers a block when the turn of the text has come for which it was read."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream)
        self._pending: deque[bytes] = deque()
        self._remembered = 0
        self.blocks_read = 0

    def read(self, size: int, /) -> bytes:
        block = self._stream.read(size if self.blocks_read else min(size, _FIRST_BLOCK))
        self._pending.append(block)
        self.blocks_read += 1
        return block

    def catch_up(self, blocks: int) -> None:
        """Remember all blocks up to this number of them."""
        while self._remembered < blocks:
            self._remember(self._pending.popleft())
            self._remembered += 1
