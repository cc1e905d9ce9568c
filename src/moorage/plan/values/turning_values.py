"""List the values of one key at which something may change for a pod, nearest to a given value first.

Operators that compare cut the values into cells, in each of which every operator answers the same
(`match.intervals.cells`); a value that `Equal`, `In` or an expression names is a cell of its own. So one value of each
cell stands for all. An expression that computes with a value (`int(taint.value) * 2 < 9`) may also change between the
numbers that it names: that is not found.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from moorage.lint.facts.expression_reading import nodes_of
from moorage.lint.rules.expressions import compiled_expression
from moorage.match.cel.parse.syntax import Literal
from moorage.match.comparison import CANONICAL_INTEGER, INTEGER, ValueKind
from moorage.match.intervals import Interval, Intervals, cells, exactly
from moorage.match.operators import OperatorPlace, accepted_values, comparison_of
from moorage.model.names import label_value_errors
from moorage.plan.values.value_scale import NamedValue, kind_of_values

#: Expressions of which the constants are read, and constants of one key.
MAX_EXPRESSIONS, MAX_CONSTANTS = 50, 200
_NUMBERS = (CANONICAL_INTEGER, INTEGER)


class TurningValues:
    """The cells of one key's values. `kind` is None if the values have no order."""

    def __init__(
        self,
        place: OperatorPlace,
        counts: Mapping[str, int],
        named: Sequence[NamedValue],
        constants: Iterable[str] = (),
    ) -> None:
        self._texts = [text for text in (*counts, *(one.value for one in named)) if text]
        comparing = [one for one in named if comparison_of(one.operator, place) is not None]
        self.kind: ValueKind | None = kind_of_values(self._texts, comparing, place)
        self._points: dict[Any, str] = {}
        self._cells: list[Interval] = []
        if self.kind is not None:
            self._cut(self.kind, place, named, constants)

    def _cut(
        self, kind: ValueKind, place: OperatorPlace, named: Sequence[NamedValue], constants: Iterable[str]
    ) -> None:
        sets: list[Intervals] = []
        texts = list(constants)[:MAX_CONSTANTS]
        for one in named:
            accepted = accepted_values(one.operator, place, (one.value,))
            if accepted is None:
                continue
            sets += [span for at, span in accepted.spans if at is kind]
            texts += accepted.texts
        for text in texts:
            if (value := kind.value_of(text)) is not None:
                self._points.setdefault(value, text)
        sets += [exactly(kind.scale, value) for value in self._points]
        self._cells = cells(kind.scale, sets)

    def beyond(self, now: str, direction: int) -> Iterator[str]:
        """Yield one value of each cell above (1) or below (-1) that of `now`, the nearest cell first."""
        value = self.kind.value_of(now) if self.kind is not None else None
        if value is None:
            return
        here = next(at for at, cell in enumerate(self._cells) if cell.contains(value))
        order = range(here + 1, len(self._cells)) if direction > 0 else range(here - 1, -1, -1)
        for at in order:
            text = self._nearest_in(self._cells[at], value, now)
            if text is not None:
                yield text

    def cells(self, wanted: Sequence[str], near: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield a value of each cell, and the cell in words, in ascending order.

        It is each of the `wanted` values that are inside, or else the first of `near` that is, or else the value that
        is nearest to the first of them. A cell of which no label may have a value is left out.
        """
        kind = self.kind
        if kind is None:
            return
        values = [(kind.read(text), text) for text in (*near, *self._texts) if kind.value_of(text) is not None]
        asked = sorted({kind.read(text): text for text in wanted if kind.value_of(text) is not None}.items())
        start, like = values[0] if values else (kind.scale.lowest, "")
        for cell in self._cells:
            words = str(Intervals(kind.scale, (cell,)))
            inside = [text for value, text in asked if cell.contains(value)]
            inside = inside or [text for value, text in values if cell.contains(value)][:1]
            if not inside and (nearest := self._nearest_in(cell, start, like)) is not None:
                inside = [nearest]
            yield from ((text, words) for text in inside)

    def _nearest_in(self, cell: Interval, value: Any, now: str) -> str | None:
        """Return the value of a cell that is the smallest change; None if a label may have no value of it."""
        kind = self.kind
        assert kind is not None
        if cell.low in self._points and kind.scale.next_above(cell.low) == cell.high:
            text = self._points[cell.low]
            return None if label_value_errors(text) else text
        if kind in _NUMBERS:
            cell = Interval(max(cell.low, 0), cell.high)
            if cell.high is not None and cell.high <= cell.low:
                return None
        inside = sorted(Intervals(kind.scale, (cell,)).candidates(), key=lambda one: kind.scale.distance(value, one))
        texts = (kind.scale.write(one, now) for one in inside)
        return next((text for text in texts if not label_value_errors(text)), None)

    def nearness(self, now: str, text: str) -> float:
        """Return how far a value is moved: 0 is not at all, 1 is over all values that there are."""
        kind = self.kind
        assert kind is not None
        values = [value for one in (*self._texts, now, text) if (value := kind.value_of(one)) is not None]
        widest = kind.scale.move(min(values), max(values))
        return kind.move(now, text) / widest if widest else 1.0


def constants_of(expressions: Iterable[str]) -> list[str]:
    """Return the numbers and texts that expressions name, as values could be written."""
    texts: dict[str, None] = {}
    for expression in list(dict.fromkeys(expressions))[:MAX_EXPRESSIONS]:
        compiled = compiled_expression(expression)
        for node in nodes_of(compiled[1]) if compiled is not None else ():
            if isinstance(node, Literal) and isinstance(node.value, int | str) and not isinstance(node.value, bool):
                texts.setdefault(str(node.value))
    return list(texts)
