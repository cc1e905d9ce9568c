"""Lay out the values of one key for a slider: ordered stops, thresholds, and where something changes.

The page draws what is here and reads no value itself: it knows a value by its index among the stops. All of it follows
from the sets that operators accept (`match.operators.accepted_values`), so a stop is on the side of a threshold on
which the scheduler and the taint eviction controller see it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from moorage.match.comparison import CANONICAL_INTEGER, INTEGER, VERSION, ValueKind
from moorage.match.intervals import Interval, Intervals, cells
from moorage.match.operators import NODE_SELECTOR, OperatorPlace, accepted_values, comparison_of

#: The most stops of a slider, the most of them that are values of nodes, and below which range each number is a stop.
MAX_STOPS, MAX_VALUES, MAX_DENSE = 200, 100, 500
_HIGHEST = 2**63 - 1
_NUMBERS = (CANONICAL_INTEGER, INTEGER)


class NamedValue(msgspec.Struct, frozen=True):
    """A value that pods name for a key, with its operator; `workloads` are the first of those that have it."""

    operator: str
    value: str
    pods: int = 0
    workloads: tuple[str, ...] = ()
    moreWorkloads: int = 0


def scale_of(
    place: OperatorPlace, counts: Mapping[str, int], named: Sequence[NamedValue], value: str | None = None
) -> dict[str, Any]:
    """Return the scale of a key. `counts` are its values now, `value` is one more to place on the scale.

    `form` is `number`, `version` or `text`. `ticks` are thresholds: `stop` is the index of their value, `holds` are
    ranges of stops that match, each with its end left out. `turns` are the stops at which a threshold begins or ceases
    to hold, seen from the left. `now` are the stops of the values that there are.
    """
    comparing = [one for one in named if comparison_of(one.operator, place) is not None]
    commonest = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    shown: dict[str, Any] = {
        "on": sum(counts.values()),
        "pods": sum(one.pods for one in named),
        "compared": bool(comparing),
        "values": commonest[:MAX_VALUES],
        "moreValues": max(0, len(counts) - MAX_VALUES),
        "form": "text",
        "stops": [],
        "turns": [],
        "now": [],
    }
    texts = [*dict.fromkeys((*counts, *(one.value for one in named), *([value] if value is not None else ())))]
    kind = kind_of_values([text for text in texts if text and text != value], comparing, place)
    layout = None if kind is None else _Layout(kind, place, counts, named, value)
    if layout is not None and layout.stops:
        shown |= {"form": layout.kind.noun, "stops": layout.stops, "turns": layout.turns(), "now": layout.now()}
    else:
        shown["suggestions"] = sorted(filter(None, texts))[:MAX_STOPS]
    shown["ticks"] = [_tick(one, place, layout) for one in comparing]
    if value is not None:
        shown["value"] = _placed(value, place, comparing, layout)
    return shown


def kind_of_values(texts: Sequence[str], comparing: Sequence[NamedValue], place: OperatorPlace) -> ValueKind | None:
    """Return how values are read: as pods compare them, or else as all that there are can be read; None as texts."""
    compared = [comparison_of(one.operator, place) for one in comparing]
    kinds = [
        comparison.kind
        for one, comparison in zip(comparing, compared, strict=True)
        if comparison is not None and comparison.unreadable(one.value) is None
    ]
    if kinds:
        return min(kinds, key=lambda kind: kind.noun)
    if comparing or not texts:
        return None
    number = INTEGER if place is NODE_SELECTOR else CANONICAL_INTEGER
    if all(number.value_of(text) is not None for text in texts):
        return number
    is_version = all(VERSION.value_of(text) is not None for text in texts) and any("." in text for text in texts)
    return VERSION if is_version else None


class _Layout:
    """The stops of a slider, by text and by value, and the cells that thresholds cut them into."""

    def __init__(
        self,
        kind: ValueKind,
        place: OperatorPlace,
        counts: Mapping[str, int],
        named: Sequence[NamedValue],
        value: str | None,
    ) -> None:
        self.kind, self._place, self._counts, self._named = kind, place, counts, named
        self._accepted = [accepted_values(one.operator, place, (one.value,)) for one in named]
        sets = [span for one in self._accepted if one is not None for at, span in one.spans if at is kind]
        self._cells = cells(kind.scale, sets)
        texts = [*(one.value for one in named), *sorted(counts, key=lambda text: -counts[text])[:MAX_VALUES]]
        self.stops = self._numbers(texts, value) if kind in _NUMBERS else self._versions(texts, value)
        self.values = [kind.read(text) for text in self.stops]

    def _numbers(self, texts: Iterable[str], value: str | None) -> list[str]:
        known = {
            number for text in (*texts, value or "") if (number := self.kind.value_of(text)) is not None and number >= 0
        }
        low, high = min(known, default=0), max(known, default=10)
        room = max(1, -(-(high - low or high) * 3 // 20))
        low, high = max(0, low - room), min(_HIGHEST, high + room)
        if high - low <= MAX_DENSE:
            return [str(number) for number in range(low, high + 1)]
        step = next(size for size in _round_steps() if size * MAX_STOPS >= high - low)
        known.update(range(-(-low // step) * step, high + 1, step), (low, high))
        for cell in self._cells[1:]:  # both sides of each threshold
            known.update(number for number in (cell.low - 1, cell.low) if low <= number <= high)
        return [str(number) for number in sorted(known)]

    def _versions(self, texts: Iterable[str], value: str | None) -> list[str]:
        known = dict.fromkeys(text for text in (value or "", *texts) if self.kind.value_of(text) is not None)
        chosen = list(known)[:MAX_STOPS]
        like = next((one.value for one in self._named if self.kind.value_of(one.value) is not None), "")
        # A stop on each side of each threshold, so that the slider can be moved across it.
        for cell in self._cells:
            if not any(cell.contains(self.kind.read(text)) for text in chosen):
                beside = next((text for text in chosen if self.kind.read(text) == cell.low), like)
                chosen.append(self._release_in(cell, beside))
        return sorted(dict.fromkeys(chosen), key=lambda text: (self.kind.read(text), text))

    def _release_in(self, cell: Interval, like: str) -> str:
        """Return a version of the cell: a release next to a threshold, if there is one."""
        scale = self.kind.scale
        edge = cell.low if cell.high is None else cell.high
        inside = Intervals(scale, (cell,)).candidates()
        nearest = min(inside, key=lambda candidate: (not candidate[3], scale.distance(edge, candidate)))
        return scale.write(nearest, like)

    def index(self, text: str) -> int | None:
        """Return the stop with the text, or with its value in another spelling; None if there is none."""
        value = self.kind.value_of(text)
        if value is None:
            return None
        at = bisect_left(self.values, value)
        same = self.stops[at : bisect_right(self.values, value)]
        return at + same.index(text) if text in same else at if same else None

    def turns(self) -> list[int]:
        """Return the stops at which something changes for a pod: the first of each run of stops that are alike."""
        alike = [self.ranges(at) for at in range(len(self._named))]
        ends = {end for ranges in alike for pair in ranges for end in pair}
        return sorted(ends - {0, len(self.stops)})

    def ranges(self, at: int) -> list[tuple[int, int]]:
        """Return the ranges of stops that a named value's operator accepts."""
        accepted = self._accepted[at]
        if accepted is None:
            return []
        if accepted.all_but and not accepted.texts and [kind for kind, _ in accepted.spans] == [self.kind]:
            span = accepted.spans[0][1]
            pairs = [
                (
                    bisect_left(self.values, part.low),
                    len(self.values) if part.high is None else bisect_left(self.values, part.high),
                )
                for part in span.parts
            ]
            return [pair for pair in pairs if pair[0] < pair[1]]
        found: list[tuple[int, int]] = []
        for index, text in enumerate(self.stops):
            if accepted.contains(text):
                start = found.pop()[0] if found and found[-1][1] == index else index
                found.append((start, index + 1))
        return found

    def ranges_of(self, named: NamedValue) -> list[tuple[int, int]]:
        return self.ranges(self._named.index(named))

    def now(self) -> list[int]:
        places = {self.index(text) for text in self._counts}
        return sorted(place for place in places if place is not None)


def _round_steps() -> Iterable[int]:
    """Yield 1, 2, 5, 10, 20, 50, …"""
    for power in range(20):
        yield from (10**power, 2 * 10**power, 5 * 10**power)


def _tick(named: NamedValue, place: OperatorPlace, layout: _Layout | None) -> dict[str, Any]:
    comparison = comparison_of(named.operator, place)
    return {
        **msgspec.to_builtins(named),
        "rule": f"{comparison.symbol if comparison is not None else named.operator} {named.value}",
        "stop": None if layout is None else layout.index(named.value),
        "holds": [] if layout is None else layout.ranges_of(named),
    }


def _placed(
    value: str, place: OperatorPlace, comparing: Sequence[NamedValue], layout: _Layout | None
) -> dict[str, Any]:
    """Return where a value stands: its stop, which thresholds hold for it, and why it cannot be compared."""
    sets = [accepted_values(one.operator, place, (one.value,)) for one in comparing]
    return {
        "text": value,
        "stop": None if layout is None else layout.index(value),
        "holds": [accepted is not None and accepted.contains(value) for accepted in sets],
        "unreadable": (layout.kind.unreadable(value) if layout is not None else None) or "",
    }
