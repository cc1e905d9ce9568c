"""Know some places of a document that another process has decoded; its text is decoded here for any other place."""

from collections.abc import Callable
from functools import lru_cache

from moorage.model.text.document_chunks import Chunk
from moorage.model.text.documents import Document, documents_in
from moorage.model.text.positions import Location, Positions

#: Rules ask for several places of one document in turn.
_REMEMBERED = 2


class KnownPositions:
    """Positions in a document without aliases, `number` among those of its piece of text."""

    has_aliases = False

    def __init__(self, known: dict[tuple[str, ...], tuple[int, int]], chunk: Chunk, source: str, number: int) -> None:
        """`known` has the place of the document itself, at no steps."""
        self._known, self._chunk, self._source, self._number = known, chunk, source, number

    def find(self, steps: tuple[str, ...]) -> Location:
        place = self._known.get(steps)
        return self._decoded().find(steps) if place is None else Location(*place)

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        return None

    def below(self, steps: tuple[str, ...]) -> Positions:
        return self._decoded().below(steps)

    def start(self) -> Callable[[], Location]:
        location = Location(*self._known[()])
        return lambda: location

    def detached(self) -> Positions:
        return self

    def _decoded(self) -> Positions:
        return _documents(self._chunk.text, self._chunk.first_line, self._source)[self._number].positions


@lru_cache(_REMEMBERED)
def _documents(text: bytes, first_line: int, source: str) -> list[Document]:
    return [one for one in documents_in(Chunk(text, first_line), source) if isinstance(one, Document)]
