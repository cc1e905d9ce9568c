"""The lines just read, for showing the one a finding is about.

In: a binary stream. Out: the same stream, and `line(n)` for its lines, as long as they are recent enough to belong to
the document at hand. Each block is cut into lines when the first of them is asked for, and only then.
Memory: the last 33 MiB at most, since no document is larger, however long the stream.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

_FIRST_BLOCK = 32 * 1024
_MAX_BYTES = 33 * 1024 * 1024
_MAX_LINE_LENGTH = 256 * 1024


class RecentLines:
    """Reads through, and remembers the last blocks with the line each starts in."""

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
        self._blocks.append(block)
        self._first_lines.append(self._next_line)
        self._next_line += block.count(b"\n")
        self._bytes += len(block)
        if self._bytes > _MAX_BYTES:
            self._forget()
        return block

    def _forget(self) -> None:
        """Forget the older half, so that this is done rarely."""
        half = len(self._blocks) // 2 + 1
        del self._blocks[:half], self._first_lines[:half]
        self._cut.clear()
        self._bytes = sum(map(len, self._blocks))

    def line(self, number: int) -> str:
        """The text of a line, counted from one; empty if it has gone by, is not known, or is too long to look at."""
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
