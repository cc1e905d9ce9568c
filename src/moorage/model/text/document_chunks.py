"""Cut a byte stream into pieces of one document each (or, rarely, a few), without holding more than one.

YAML is cut at lines that start with `---`, which YAML reserves for that everywhere, even inside block scalars; JSON is
also cut where a `}` ends a line and the next line starts with `{`, which cannot happen inside a value. Kubernetes:
apimachinery/pkg/util/yaml/decoder.go. Differs: directives before a `---` stay with their document.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from moorage.model.text.decode_error import DecodeError, Problem

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
_BLOCK = 64 * 1024

_SEPARATOR = re.compile(rb"^---([^\n]*)(\n|\Z)", re.MULTILINE)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
_JSON_BOUNDARY = re.compile(rb"\}[ \t\r]*\n(?=[ \t\r\n]*\{)")
_DIRECTIVES = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*")
_LOOK_BACK = 1024  # how far before a new block a boundary between JSON values may have started
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Chunk(NamedTuple):
    """The text of one piece and the line of its stream it starts at, counted from one."""

    text: bytes
    first_line: int


def split_stream(stream: BinaryIO, source: str, limit: int = MAX_DOCUMENT_BYTES) -> Iterator[Chunk | DecodeError]:
    """Cut the stream. No more than `limit` bytes and a block are held at any time."""
    splitter = _Splitter(source, limit)
    first = True
    while block := stream.read(max(_BLOCK, splitter.held)):  # as much again as is held: large pieces grow quickly
        if first and block.startswith(_UTF16_MARKS):
            yield splitter.error("the text is UTF-16; Kubernetes reads UTF-8", Problem.UNREADABLE)
            return
        first = False
        yield from splitter.feed(block)
    yield from splitter.finish()


class _Splitter:
    """The text that is not cut yet, always from the start of a line on."""

    def __init__(self, source: str, limit: int) -> None:
        self._source = source
        self._limit = limit
        self._buffer = b""
        self._line = 1  # of the buffer's first byte
        self._scanned = 0
        self._skipping = False  # the rest of a piece that is too large
        self._directives = b""

    @property
    def held(self) -> int:
        return len(self._buffer)

    def feed(self, block: bytes) -> Iterator[Chunk | DecodeError]:
        self._buffer += block
        yield from self._cut(final=False)
        if len(self._buffer) > self._limit:
            if not self._skipping:
                yield self.error(f"document larger than {self._limit // 1024} KiB", Problem.LIMIT)
            self._skipping = True
            self._drop(self._buffer.rfind(b"\n") + 1)
            if (
                len(self._buffer) > self._limit
            ):  # one endless line: what remains of it only must not look like a separator
                self._buffer = b"#"

    def finish(self) -> Iterator[Chunk | DecodeError]:
        yield from self._cut(final=True)
        yield from self._emit(len(self._buffer), b"")

    def _cut(self, final: bool) -> Iterator[Chunk | DecodeError]:
        while True:
            boundary = _JSON_BOUNDARY.search(self._buffer, self._scanned) if _JSON_START.match(self._buffer) else None
            end = len(self._buffer) if boundary is None else boundary.end()
            separator = _SEPARATOR.search(self._buffer, self._scanned, end)
            if separator is not None and not (separator[2] or final):
                self._scanned = separator.start()  # its line has not been read to the end
                return
            if separator is None and boundary is not None:
                yield from self._emit(boundary.end(), b"")
                self._drop(boundary.end())
            elif separator is not None:
                yield from self._emit(separator.start(), separator[0])
                self._drop(separator.start())
                rest = separator[1].strip()
                if rest and not rest.startswith(b"#"):
                    yield self.error(
                        f"invalid Yaml document separator: {rest[:80].decode('utf-8', 'replace')}", Problem.SYNTAX
                    )
                self._drop(len(separator[0]))
            else:
                last_line = self._buffer.rfind(b"\n") + 1
                self._scanned = max(0, min(last_line, len(self._buffer) - _LOOK_BACK))
                return

    def _emit(self, end: int, separator: bytes) -> Iterator[Chunk]:
        """Hand out the text before `end`, unless there is none or it only prepares for what follows the separator."""
        skipping, self._skipping = self._skipping, False
        text = self._buffer[:end]
        if skipping or not text.strip():
            return
        if separator and b"%" in text and _DIRECTIVES.fullmatch(text):
            self._directives = text + separator
            return
        directives, self._directives = self._directives, b""
        yield Chunk(directives + text, self._line - directives.count(b"\n"))

    def _drop(self, end: int) -> None:
        self._line += self._buffer.count(b"\n", 0, end)
        self._buffer = self._buffer[end:]
        self._scanned = 0

    def error(self, reason: str, problem: Problem) -> DecodeError:
        return DecodeError(reason, problem=problem, source=self._source, line=self._line)
