"""Cut a byte stream into pieces of one document each (or, rarely, a few), without holding more than one.

YAML is cut at lines that start with `---`, which YAML reserves for that everywhere, even inside block scalars; JSON is
also cut where a `}` ends a line and the next line starts with `{`, which cannot happen inside a value. A List that is
larger than a document may be is cut into its items while it comes, if it is laid out as kubectl prints it. Kubernetes:
apimachinery/pkg/util/yaml/decoder.go. Differs: directives before a `---` stay with their document.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.large_lists import ItemText, Layout, cut_items, layout_of

MAX_DOCUMENT_BYTES = 32 * 1024 * 1024
_BLOCK = 64 * 1024
_LIST_BLOCK = 2 * 1024 * 1024

_SEPARATOR = re.compile(rb"^---([^\n]*)(\n|\Z)", re.MULTILINE)
_JSON_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*\{")
_JSON_BOUNDARY = re.compile(rb"\}[ \t\r]*\n(?=[ \t\r\n]*\{)")
_DIRECTIVES = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n|%[^\n]*\n)*")
_LOOK_BACK = 1024  # how far before a new block a boundary between JSON values may have started
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
#: How binary files begin that get among manifests, and what they are.
_BINARY_STARTS = (
    (b"\x1f\x8b", "a gzip archive (of a Helm chart? render it first: helm template CHART)"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x7fELF", "a binary file (a program)"),
    (b"\x89PNG", "a binary file (an image)"),
    (b"\xff\xd8\xff", "a binary file (an image)"),
    (b"GIF8", "a binary file (an image)"),
    (b"%PDF-", "a PDF file"),
    (b"SQLite format 3\x00", "a binary file (an SQLite database)"),
    (b"k8s\x00", "a binary file (a Kubernetes object in protobuf)"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
)
_BINARY_WITHIN = 8 * 1024  # no text has a NUL; git looks as far


class Chunk(NamedTuple):
    """The text of one piece and the line of its stream it starts at, counted from one.

    `heading` is the comment on the line of the `---` before it. `items` are those of a large List, whose frame (the
    List without them) comes as a piece of its own after the last of them.
    """

    text: bytes
    first_line: int
    heading: bytes = b""
    items: list[ItemText] | None = None
    is_frame: bool = False


def split_stream(stream: BinaryIO, source: str, limit: int = MAX_DOCUMENT_BYTES) -> Iterator[Chunk | DecodeError]:
    """Cut the stream. No more than `limit` bytes and a block are held at any time."""
    splitter = _Splitter(source, limit)
    first = True
    while block := stream.read(max(_BLOCK, splitter.held)):  # as much again as is held: large pieces grow quickly
        if first:
            if block.startswith(_UTF16_MARKS):
                yield splitter.error("the text is UTF-16; Kubernetes reads UTF-8", Problem.UNREADABLE)
                return
            if (what := _binary_format(block)) is not None:
                yield splitter.error(f"this is {what}, not YAML or JSON", Problem.BINARY)
                return
        first = False
        yield from splitter.feed(block)
    yield from splitter.finish()


def _binary_format(block: bytes) -> str | None:
    """Return what a file is that begins like this and is no text; None for text."""
    begin = block[:_BINARY_WITHIN]
    has_null = b"\0" in begin
    if not has_null and begin.isascii():
        return None
    named = (what for start, what in _BINARY_STARTS if begin.startswith(start))
    return next(named, "a binary file" if has_null else None)


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
        self._heading = b""
        self._layout: Layout | None = None  # of the large List that is being cut
        self._frame_line = 1
        self._is_frame = False  # what comes next is the end of a large List

    @property
    def held(self) -> int:
        return len(self._buffer) if self._layout is None else _LIST_BLOCK

    def feed(self, block: bytes) -> Iterator[Chunk | DecodeError]:
        self._buffer += block
        if self._layout is not None:
            yield from self._cut_list(self._layout, final=False)
        if self._layout is None:
            yield from self._cut(final=False)
        if len(self._buffer) > self._limit and self._begins_list():
            text, self._buffer = self._buffer, b""
            for start in range(0, len(text), _LIST_BLOCK):
                yield from self.feed(text[start : start + _LIST_BLOCK])
        if len(self._buffer) > self._limit:
            self._layout = None
            if not self._skipping:
                yield self.error(f"document larger than {self._limit // 1024} KiB", Problem.LIMIT)
            self._skipping = True
            self._drop(self._buffer.rfind(b"\n") + 1)
            if (
                len(self._buffer) > self._limit
            ):  # one endless line: what remains of it only must not look like a separator
                self._buffer = b"#"

    def finish(self) -> Iterator[Chunk | DecodeError]:
        if self._layout is not None:
            yield from self._cut_list(self._layout, final=True)
        yield from self._cut(final=True)
        yield from self._emit(len(self._buffer), b"")

    def _begins_list(self) -> bool:
        """Begin to cut the document that is held into items, if it is a List of which none was cut yet."""
        if self._layout is not None or self._is_frame or self._skipping:
            return False
        self._layout = layout_of(self._buffer)
        if self._layout is None:
            return False
        self._frame_line = self._line - self._directives.count(b"\n")
        self._directives += self._buffer[: self._layout.begin]
        self._drop(self._layout.begin)
        return True

    def _cut_list(self, layout: Layout, *, final: bool) -> Iterator[Chunk]:
        """Hand out the items that are complete, and go on as usual behind the last one."""
        cut = cut_items(self._buffer, layout, final=final)
        if cut.items:
            heading, self._heading = self._heading, b""
            yield Chunk(self._buffer[: cut.end], self._line, heading, cut.items)
        self._drop(cut.end)
        if cut.ends:
            self._layout, self._is_frame = None, True

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
                self._heading = rest
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
        is_frame, self._is_frame = self._is_frame, False
        text = self._buffer[:end]
        if skipping or not (text.strip() or is_frame):
            return
        if separator and b"%" in text and _DIRECTIVES.fullmatch(text):
            self._directives = text + separator
            return
        directives, self._directives = self._directives, b""
        heading, self._heading = self._heading, b""
        first_line = self._frame_line if is_frame else self._line - directives.count(b"\n")
        yield Chunk(directives + text, first_line, heading, is_frame=is_frame)

    def _drop(self, end: int) -> None:
        self._line += self._buffer.count(b"\n", 0, end)
        self._buffer = self._buffer[end:]
        self._scanned = 0

    def error(self, reason: str, problem: Problem) -> DecodeError:
        return DecodeError(reason, problem=problem, source=self._source, line=self._line)
