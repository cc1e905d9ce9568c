"""Sets of completion indexes, as a status writes them: `0-3,5,7,8`. Kubernetes: orderedIntervals."""

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple


class Indexes(NamedTuple):
    """Disjoint intervals in order, each by its first and last index."""

    intervals: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int:
        return sum(last - first + 1 for first, last in self.intervals)

    def has(self, index: int) -> bool:
        low, high = 0, len(self.intervals)
        while low < high:
            middle = (low + high) // 2
            if self.intervals[middle][1] >= index:
                high = middle
            else:
                low = middle + 1
        return low < len(self.intervals) and self.intervals[low][0] <= index

    def plus(self, indexes: Iterable[int]) -> "Indexes":
        return self.united(Indexes(tuple((index, index) for index in sorted(set(indexes)))))

    def united(self, other: "Indexes") -> "Indexes":
        if not other.intervals:
            return self
        merged: list[tuple[int, int]] = []
        for first, last in sorted(chain(self.intervals, other.intervals)):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return Indexes(tuple(merged))

    def overlap(self, other: "Indexes") -> int:
        """Count the indexes that are in both."""
        return self.total + other.total - self.united(other).total

    def first_missing(self, count: int, below: int) -> list[int]:
        """Return the lowest `count` indexes that are not in the set."""
        found: list[int] = []
        candidate = 0
        for first, last in self.intervals:
            found += range(candidate, min(first, below, candidate + count - len(found)))
            candidate = max(candidate, last + 1)
            if len(found) >= count or candidate >= below:
                return found
        found += range(candidate, min(below, candidate + count - len(found)))
        return found

    def __str__(self) -> str:
        return ",".join(_interval_text(first, last) for first, last in self.intervals)


def _interval_text(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first}{',' if last == first + 1 else '-'}{last}"


def parse_indexes(text: str, below: int) -> Indexes:
    """Parse indexes below a bound; malformed parts are skipped."""
    intervals: list[tuple[int, int]] = []
    for part in text.split(",") if text else ():
        first, dash, last = part.partition("-")
        if not _is_number(first) or (dash and not _is_number(last)):
            continue
        low = int(first)
        high = min(int(last), below - 1) if dash else low
        if low < below and low <= high:
            intervals.append((low, high))
    return Indexes().united(Indexes(tuple(intervals)))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 11
