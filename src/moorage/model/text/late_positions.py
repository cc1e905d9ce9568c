"""Find fields of YAML documents that are kept: their nodes are composed again when a field is asked for.

Nodes take far more memory than their text, and most documents are never asked for a place after they were read.
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from moorage.model.text.yaml_text import YamlConstructor, compose_documents

if TYPE_CHECKING:
    from moorage.model.text.positions import Location, Positions, YamlPositions

#: Items of one list are asked in turn; one text may have millions of nodes.
_REMEMBERED = 2


class Written(NamedTuple):
    """A text without aliases, which of its documents is meant, and the steps to the part of it that is meant."""

    text: bytes
    source: str
    first_line: int
    number: int
    steps: tuple[str, ...] = ()

    def below(self, steps: tuple[str, ...]) -> "Written":
        return self._replace(steps=self.steps + steps)


class LatePositions:
    """Positions out of nodes that are composed when one is asked for."""

    has_aliases = False

    def __init__(self, written: Written) -> None:
        self._written = written

    def find(self, steps: tuple[str, ...]) -> "Location":
        return self._composed().find(steps)

    def alias(self, steps: tuple[str, ...]) -> "Location | None":
        return None

    def below(self, steps: tuple[str, ...]) -> "Positions":
        return LatePositions(self._written.below(steps))

    def start(self) -> "Callable[[], Location]":
        return lambda: self.find(())

    def detached(self) -> "Positions":
        return self

    def _composed(self) -> "Positions":
        whole, steps = _compose(self._written._replace(steps=())), self._written.steps
        return whole.below(steps) if steps else whole


@lru_cache(_REMEMBERED)
def _compose(written: Written) -> "YamlPositions":
    from moorage.model.text.positions import YamlPositions

    text, source, first_line, number, _ = written
    root = next(islice(compose_documents(text, source, first_line), number, None))
    return YamlPositions(root, first_line, YamlConstructor(source, first_line, False).key_text)
