"""Read sources ahead of their turn, and let other processes check their documents meanwhile.

The linter gets the same documents in the same order as without, with what was found of them; where nothing was found
ahead, it does that work itself. This process looks at batches, too, instead of waiting. Large documents are not read
past: lines are remembered up to a bound.
"""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, cast

from moorage.lint.checked_alone import Ahead
from moorage.lint.finding import LinesReadAhead
from moorage.lint.jobs.worker import Found, Piece, look_at_piece
from moorage.lint.jobs.workers import Batch, Workers
from moorage.lint.sources import opened
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.document_chunks import Chunk, split_stream
from moorage.model.text.documents import Document, documents_in
from moorage.model.text.known_positions import KnownPositions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moorage.lint.finding import Lines
    from moorage.lint.reading import ReadDocuments, Reading
    from moorage.lint.sources import Source
    from moorage.model.gates import GateSet

_BATCH_PIECES = 16
_BATCH_BYTES = 64 * 1024
#: A larger piece is not sent, and nothing behind it is read before its turn.
_LARGE = 256 * 1024
#: How far is read ahead for each process.
_BATCHES_AHEAD = 6


class Threshold:
    """The input that is worth other processes, in pieces or bytes."""

    def __init__(self, pieces: int, size: int) -> None:
        self._pieces, self._size = pieces, size

    def is_reached_with(self, chunk: Chunk) -> bool:
        self._pieces -= 1
        self._size -= len(chunk.text)
        return self._pieces < 0 or self._size < 0


class _Opened:
    """A source, its lines as far as it was read, and why it cannot be read any further."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: LinesReadAhead | None = None
        self.problem: Exception | None = None
        self.has_ended = False


class _Part:
    """A piece of a source on its way, and the batch that has it; `chunk` is None at the end of the source."""

    __slots__ = ("batch", "blocks", "chunk", "number", "of")

    def __init__(self, of: _Opened, chunk: Chunk | DecodeError | None) -> None:
        self.of, self.chunk = of, chunk
        self.blocks = of.lines.blocks_read if of.lines is not None else 0
        self.batch: Batch | None = None
        self.number = 0


class ReadAhead:
    """Sources that are read ahead, for one run."""

    def __init__(self, jobs: int, gates: GateSet, *, strict: bool, threshold: Threshold) -> None:
        """`jobs` processes work, this one counted. The others start when the input has reached the threshold."""
        self._jobs, self._gates, self._strict, self._threshold = jobs, gates, strict, threshold
        self._workers: Workers | None = None
        self._may_start = True
        self._parts: Iterator[_Part] = iter(())
        self._ahead: deque[_Part] = deque()
        self._batches: deque[Batch] = deque()  # those that no process has taken yet
        self._open = Batch()

    def readings(self, sources: Iterable[Source]) -> Iterator[Reading]:
        """Yield the sources in their order. Each is to be read to its end before the next."""
        self._parts = self._read(sources)
        try:
            while (first := self._next()) is not None:
                yield _AheadReading(first.of, self._documents_of(first))
                while not first.of.has_ended:  # the rest of a source that could not be linted
                    self._next()
        finally:
            if self._workers is not None:
                self._workers.stop()

    def _read(self, sources: Iterable[Source]) -> Iterator[_Part]:
        """Yield the parts of all sources: those of each end with one without text."""
        for source in sources:
            of = _Opened(source)
            try:
                if not source.problem:
                    yield from self._read_source(of)
            except Exception as error:  # raised when the turn of this part has come
                of.problem = error
            yield _Part(of, None)

    def _read_source(self, of: _Opened) -> Iterator[_Part]:
        with opened(of.source) as stream:
            of.lines = LinesReadAhead(stream)
            for chunk in split_stream(cast("BinaryIO", of.lines), of.source.name):
                yield _Part(of, chunk)

    def _next(self) -> _Part | None:
        """Return the part whose turn it is."""
        if not self._ahead or (self._workers is not None and not _is_large(self._ahead[-1]) and self._has_room()):
            self._fill()
        if not self._ahead:
            return None
        part = self._ahead.popleft()
        part.of.has_ended = part.chunk is None
        if part.of.lines is not None:
            part.of.lines.catch_up(part.blocks)
        return part

    def _has_room(self) -> bool:
        most = _BATCHES_AHEAD * self._jobs
        return len(self._batches) < most and len(self._ahead) < 2 * most * _BATCH_PIECES

    def _fill(self) -> None:
        """Read ahead: one part until there are other processes, and never past a large one."""
        while not self._ahead or self._has_room():
            part = next(self._parts, None)
            if part is None:
                break
            self._ahead.append(part)
            if isinstance(part.chunk, Chunk) and self._may_start and self._threshold.is_reached_with(part.chunk):
                self._start()
            if self._workers is None or _is_large(part):
                break
            self._put(part)
        self._close_batch()

    def _start(self) -> None:
        """Start the other processes. Where the system allows no more of them, this one does all."""
        self._may_start = False
        with suppress(OSError):
            self._workers = Workers(self._jobs - 1, self._gates, strict=self._strict)

    def _put(self, part: _Part) -> None:
        """Put a part into the open batch."""
        chunk = part.chunk
        if chunk is None or isinstance(chunk, DecodeError):
            return
        batch = self._open
        part.batch, part.number = batch, len(batch.pieces)
        batch.pieces.append(Piece(part.of.source.name, chunk))
        if len(batch.pieces) >= _BATCH_PIECES or sum(len(each.chunk.text) for each in batch.pieces) >= _BATCH_BYTES:
            self._close_batch()

    def _close_batch(self) -> None:
        if self._open.pieces:
            self._batches.append(self._open)
            self._open = Batch()

    def _exchange(self, *, patience: float | None = 0) -> None:
        assert self._workers is not None
        self._workers.exchange(self._batches, patience=patience)
        while self._batches and self._batches[0].is_taken:
            self._batches.popleft()

    def _found(self, part: _Part) -> Found:
        """Return what was found of a part; look at other parts while the answer is under way."""
        batch = part.batch
        if batch is None:
            return None
        if not part.number:
            self._exchange()
        while batch.found is None:
            if self._batches:
                other = self._batches.popleft()
                other.is_taken = True
                other.found = [look_at_piece(piece, self._gates, strict=self._strict) for piece in other.pieces]
                self._exchange()
            else:
                self._exchange(patience=None)
        found, batch.found[part.number] = batch.found[part.number], None
        return found

    def _documents_of(self, first: _Part) -> Callable[..., Iterator[Document | DecodeError]]:
        def read(*, on_chunk: Callable[[Chunk], None]) -> Iterator[Document | DecodeError]:
            part: _Part | None = first
            index = 0
            while part is not None and part.chunk is not None:
                for document in self._decoded(part, on_chunk):
                    if isinstance(document, Document):
                        document.index = index
                        index += 1
                    yield document
                part = self._next()
            if part is not None and part.of.problem is not None:
                raise part.of.problem

        return read

    def _decoded(self, part: _Part, on_chunk: Callable[[Chunk], None]) -> Iterator[Document | DecodeError]:
        chunk, source = part.chunk, part.of.source.name
        assert chunk is not None
        if isinstance(chunk, DecodeError):
            yield chunk
            return
        on_chunk(chunk)
        found = self._found(part)
        if found is not None:
            for number, each in enumerate(found):
                yield _document(Ahead._make(each), chunk, source, number)
            return
        try:
            yield from documents_in(chunk, source)
        except DecodeError as error:
            yield error


class _AheadReading:
    """A source that is read ahead."""

    def __init__(self, of: _Opened, read: ReadDocuments) -> None:
        self._of, self._read = of, read

    @property
    def source(self) -> Source:
        return self._of.source

    @contextmanager
    def opened(self) -> Iterator[tuple[Lines, ReadDocuments]]:
        if self._of.lines is None and self._of.problem is not None:
            raise self._of.problem
        assert self._of.lines is not None
        yield self._of.lines, self._read


def _is_large(part: _Part) -> bool:
    chunk = part.chunk
    return isinstance(chunk, Chunk) and (len(chunk.text) > _LARGE or chunk.items is not None or chunk.is_frame)


def _document(ahead: Ahead, chunk: Chunk, source: str, number: int) -> Document:
    """Return a document that was decoded elsewhere."""
    positions = KnownPositions(ahead.places, chunk, source, number)
    document = Document(source, ahead.raw, positions, chunk.text, chunk.first_line)
    document.ahead = ahead
    return document
