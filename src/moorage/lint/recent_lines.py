"""The lines just read, for showing the one a decoder stumbled over.

In: a binary stream. Out: the same stream, and `line(n)` for the lines of the last blocks. A document that could be
decoded knows its own lines; one that could not is known only here. Memory: a few blocks, however long the stream.
Next: `engine` wraps every source in it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

_MOST_BLOCKS = 8
_LONGEST_LINE = 10_000
_FIRST_BLOCK = 32 * 1024


class RecentLines:
    """Reads through, and remembers the last blocks with the line each starts in."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._blocks: deque[tuple[int, bytes]] = deque(maxlen=_MOST_BLOCKS)
        self._line = 1

    def read(self, size: int, /) -> bytes:
        # Most files are small, and room for a large block costs more than reading a small one.
        block = self._stream.read(size if self._blocks else min(size, _FIRST_BLOCK))
        self._blocks.append((self._line, block))
        self._line += block.count(b"\n")
        return block

    def line(self, number: int) -> str:
        """The text of a line, counted from one; empty if it has gone by, or is not known."""
        if not self._blocks or number < self._blocks[0][0]:
            return ""
        text = b"".join(block for _, block in self._blocks)
        start = 0
        for _ in range(number - self._blocks[0][0]):
            start = text.find(b"\n", start) + 1
            if start == 0:
                return ""
        end = text.find(b"\n", start)
        line = text[start : len(text) if end < 0 else end]
        return line[:_LONGEST_LINE].rstrip(b"\r").decode("utf-8", "replace")
