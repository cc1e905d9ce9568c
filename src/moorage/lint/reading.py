"""Open the sources of a run one after another, and read their documents when they are asked for."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from moorage.lint.finding import RecentLines
from moorage.lint.sources import opened
from moorage.model.text.documents import read_documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from moorage.lint.finding import Lines
    from moorage.lint.sources import Source
    from moorage.model.text.decode_error import DecodeError
    from moorage.model.text.document_chunks import Chunk
    from moorage.model.text.documents import Document


class WorkerDiedError(Exception):
    """A process that checks documents has ended before its work was done."""


class ReadDocuments(Protocol):
    """Yields the documents of a source; `on_chunk` is called with the text of each before it."""

    def __call__(self, *, on_chunk: Callable[[Chunk], None]) -> Iterator[Document | DecodeError]: ...


class Reading(Protocol):
    """A source whose turn has come."""

    @property
    def source(self) -> Source: ...

    def opened(self) -> AbstractContextManager[tuple[Lines, ReadDocuments]]:
        """Open it. Raises OSError, also while it is read."""
        ...


class PlainReading:
    """A source that is opened and read when its turn comes."""

    def __init__(self, source: Source) -> None:
        self.source = source

    @contextmanager
    def opened(self) -> Iterator[tuple[Lines, ReadDocuments]]:
        with opened(self.source) as stream:
            lines = RecentLines(stream)
            yield lines, partial(read_documents, cast("BinaryIO", lines), self.source.name)


def plain_readings(sources: Iterable[Source]) -> Iterator[Reading]:
    """Open each source when its turn comes."""
    return map(PlainReading, sources)
