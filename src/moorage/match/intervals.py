"""Compute with sets of ordered values: intervals of 64-bit integers and of semantic versions.

A comparison such as `> 5` is a set of values, and questions about thresholds are questions about sets: no taint can
match (empty), one toleration makes another redundant (subset), the smallest change that helps (the nearest value
inside), where a slider's answer changes (the cells that several sets cut the values into). Each value but the highest
has a next one, also each version: after 1.2.3 comes 1.2.4-0, and after 1.2.3-rc comes 1.2.3-rc.0. So every interval,
open or closed, is written in one way: `low <= value < high`.

    above(INTEGERS, 5) & below(INTEGERS, 9)              > 5 and < 9, stored as [6, 9)
    (~exactly(INTEGERS, 7)).nearest(7)                   6
Kubernetes: Karpenter's scheduling.Requirements keep label values in the same spirit.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from moorage.match.semver import GO_SPACE, OrderKey, Version

_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_MAX_UINT64 = 2**64 - 1
#: People write no higher minor and patch numbers where they mean "all of them": 1.36.99 is above every 1.36.
_HIGHEST_WRITTEN = 99


class Interval(msgspec.Struct, frozen=True):
    """The values from `low` on, up to but without `high`; without an end if that is None."""

    low: Any
    high: Any = None

    def contains(self, value: Any) -> bool:
        return bool(self.low <= value) and (self.high is None or bool(value < self.high))


class Scale(msgspec.Struct, frozen=True):
    """Ordered values of one kind, as keys that Python compares.

    `next_above` is None for the highest value; `next_below` is None for the lowest, and where no value is the nearest
    below. `candidates` are values of an interval that people would write, among them the nearest to any value outside
    it. `distance(from, to)` sorts them, `move` is about the same as one number. `write(value, like)` keeps the spelling
    of another text.
    """

    lowest: Any
    next_above: Callable[[Any], Any]
    next_below: Callable[[Any], Any]
    candidates: Callable[[Interval], Iterable[Any]]
    distance: Callable[[Any, Any], Any]
    move: Callable[[Any, Any], float]
    write: Callable[[Any, str], str]


class Intervals(msgspec.Struct, frozen=True):
    """A set of values: intervals that neither overlap nor touch, in order. Equal sets are equal objects."""

    scale: Scale
    parts: tuple[Interval, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.parts

    def contains(self, value: Any) -> bool:
        return any(part.contains(value) for part in self.parts)

    def __or__(self, other: "Intervals") -> "Intervals":
        return intervals(self.scale, (*self.parts, *other.parts))

    def __and__(self, other: "Intervals") -> "Intervals":
        return intervals(
            self.scale,
            (
                Interval(max(mine.low, theirs.low), _lower_end(mine.high, theirs.high))
                for mine in self.parts
                for theirs in other.parts
            ),
        )

    def __invert__(self) -> "Intervals":
        gaps: list[Interval] = []
        low = self.scale.lowest
        for part in self.parts:
            gaps.append(Interval(low, part.low))
            if part.high is None:
                return intervals(self.scale, gaps)
            low = part.high
        return intervals(self.scale, (*gaps, Interval(low)))

    def __sub__(self, other: "Intervals") -> "Intervals":
        return self & ~other

    def candidates(self) -> Iterator[Any]:
        """Yield values of the set that people would write, among them the nearest to any value outside it."""
        for part in self.parts:
            yield from filter(part.contains, self.scale.candidates(part))

    def nearest(self, value: Any) -> Any:
        """Return the value inside that is the smallest change of the given one, itself if it is inside; None if empty.

        Of versions below 1.3.0 that is 1.3.0-0, since nothing tells which release came before it; below 1.3.5 and above
        1.3.5 it is the neighbouring release.
        """
        if self.contains(value):
            return value
        return min(self.candidates(), key=lambda candidate: self.scale.distance(value, candidate), default=None)

    def __str__(self) -> str:
        """Write the set as inequalities."""
        return " or ".join(_inequality(self.scale, part) for part in self.parts) or "no value"


def intervals(scale: Scale, parts: Iterable[Interval]) -> Intervals:
    """Return the union of intervals, each of which may be empty."""
    merged: list[Interval] = []
    for part in sorted((part for part in parts if not _is_empty(part)), key=lambda part: part.low):
        last = merged[-1] if merged else None
        if last is not None and (last.high is None or part.low <= last.high):
            high = None if last.high is None or part.high is None else max(last.high, part.high)
            merged[-1] = Interval(last.low, high)
        else:
            merged.append(part)
    return Intervals(scale, tuple(merged))


def everything(scale: Scale) -> Intervals:
    return Intervals(scale, (Interval(scale.lowest),))


def below(scale: Scale, value: Any) -> Intervals:
    return intervals(scale, (Interval(scale.lowest, value),))


def at_least(scale: Scale, value: Any) -> Intervals:
    return Intervals(scale, (Interval(value),))


def at_most(scale: Scale, value: Any) -> Intervals:
    return ~above(scale, value)


def above(scale: Scale, value: Any) -> Intervals:
    following = scale.next_above(value)
    return Intervals(scale) if following is None else at_least(scale, following)


def exactly(scale: Scale, value: Any) -> Intervals:
    return Intervals(scale, (Interval(value, scale.next_above(value)),))


def related(scale: Scale, value: Any, holds: Callable[[Any, Any], bool]) -> Intervals:
    """Return every x with `holds(x, value)`, for a relation that depends on nothing but the order of the two."""
    parts = Intervals(scale)
    if holds(0, 1):
        parts |= below(scale, value)
    if holds(0, 0):
        parts |= exactly(scale, value)
    if holds(1, 0):
        parts |= above(scale, value)
    return parts


def cells(scale: Scale, sets: Iterable[Intervals]) -> list[Interval]:
    """Cut all values where one of the sets begins or ends: each set contains a cell whole or not at all."""
    cuts = {scale.lowest}
    for one in sets:
        for part in one.parts:
            cuts.add(part.low)
            if part.high is not None:
                cuts.add(part.high)
    ordered = sorted(cuts)
    return [Interval(low, high) for low, high in zip(ordered, [*ordered[1:], None], strict=True)]


def _is_empty(part: Interval) -> bool:
    return part.high is not None and not part.low < part.high


def _lower_end(one: Any, other: Any) -> Any:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _inequality(scale: Scale, part: Interval) -> str:
    low, high = part.low, part.high
    if scale.next_above(low) == high:
        return f"= {scale.write(low, '')}"
    sides = []
    if low != scale.lowest:
        before = scale.next_below(low)
        sides.append(f">= {scale.write(low, '')}" if before is None else f"> {scale.write(before, '')}")
    if high is not None:
        sides.append(f"< {scale.write(high, '')}")
    return " and ".join(sides) or "any value"


# -- integers ---------------------------------------------------------------------------------------------------------


def _integer_candidates(part: Interval) -> tuple[int, ...]:
    last = _MAX_INT64 if part.high is None else part.high - 1
    return (part.low, 0, last)


INTEGERS = Scale(
    _MIN_INT64,
    lambda value: value + 1 if value < _MAX_INT64 else None,
    lambda value: value - 1 if value > _MIN_INT64 else None,
    _integer_candidates,
    lambda before, after: abs(after - before),
    lambda before, after: float(abs(after - before)),
    lambda value, like: str(value),
)


# -- versions ---------------------------------------------------------------------------------------------------------


def _key(major: int, minor: int, patch: int, pre: tuple[int | str, ...] = ()) -> OrderKey:
    return Version(major, minor, patch, pre).order_key


def _version_of(key: OrderKey) -> Version:
    pre = tuple(word if is_word else number for is_word, number, word in key[4])
    return Version(key[0], key[1], key[2], pre)


def _version_above(key: OrderKey) -> OrderKey | None:
    version = _version_of(key)
    major, minor, patch = version.major, version.minor, version.patch
    if version.pre:
        return _key(major, minor, patch, (*version.pre, 0))
    if patch < _MAX_UINT64:
        return _key(major, minor, patch + 1, (0,))
    if minor < _MAX_UINT64:
        return _key(major, minor + 1, 0, (0,))
    return _key(major + 1, 0, 0, (0,)) if major < _MAX_UINT64 else None


def _version_below(key: OrderKey) -> OrderKey | None:
    version = _version_of(key)
    *shorter, last = version.pre or (None,)
    if last != 0:
        return None
    if shorter:
        return _key(version.major, version.minor, version.patch, tuple(version.pre[:-1]))
    return _key(version.major, version.minor, version.patch - 1) if version.patch else None


def _version_candidates(part: Interval) -> Iterator[OrderKey]:
    """Yield releases at both ends, then what is there where no release is."""
    yield (*part.low[:3], True, ())
    if part.high is not None:
        major, minor, patch = part.high[:3]
        if patch:
            yield _key(major, minor, patch - 1)
        yield _key(major, minor, patch, (0,))
        if minor:
            yield _key(major, minor - 1, _HIGHEST_WRITTEN)
        if major:
            yield _key(major - 1, _HIGHEST_WRITTEN, _HIGHEST_WRITTEN)
    yield part.low


def _version_distance(before: OrderKey, after: OrderKey) -> tuple[int, int, bool, int]:
    """Compare by major and minor number, then releases before pre-releases, then by patch number."""
    low, high = sorted((before, after))
    return high[0] - low[0], high[1] - low[1], not after[3], high[2] - low[2]


def _version_move(before: OrderKey, after: OrderKey) -> float:
    numbers = (after[0] - before[0]) * 1e12 + (after[1] - before[1]) * 1e6 + (after[2] - before[2])
    return abs(numbers) + (0.5 if before[3:] != after[3:] else 0.0)


def _written_version(key: OrderKey, like: str) -> str:
    """Write a version with the leading `v` of another text, and without the zeros that the other leaves out."""
    version, trimmed = _version_of(key), like.strip(GO_SPACE)
    text = str(version)
    if not version.pre and trimmed:
        shown = 1 + trimmed.partition("-")[0].partition("+")[0].count(".")
        while text.count(".") >= shown and text.endswith(".0"):
            text = text.removesuffix(".0")
    return f"v{text}" if trimmed.startswith("v") else text


VERSIONS = Scale(
    _key(0, 0, 0, (0,)),
    _version_above,
    _version_below,
    _version_candidates,
    _version_distance,
    _version_move,
    _written_version,
)
