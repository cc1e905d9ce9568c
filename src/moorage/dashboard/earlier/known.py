"""Describe one thing that happened before, and merge what is known of it from several places.

An Event says more than a timestamp, and an Event about a cause more than one about its effect: of the same thing the
best account is kept. What one controller creates for one owner in one second is one line, as in what is seen live.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from moorage.dashboard.state.timeline_entry import TimelineEntry
from moorage.watch.happenings import Happening, HappeningKind

#: The same change of a node, known from an Event and from a condition, has times that differ by less.
_SAME_SECONDS = 60.0
CREATED = "was created"


class Rank(IntEnum):
    """How much an account says; the lowest is kept."""

    CAUSE = 0
    EVENT = 1
    TIMESTAMP = 2


class Known(NamedTuple):
    """A happening, who caused it, and what it is about: two that are about the same are the same thing.

    `is_once`: it can happen only once, so times need not be near. `made`: what a controller did to which object, for
    those that become one line.
    """

    happening: Happening
    actor: str
    about: tuple[str, ...]
    rank: Rank
    is_once: bool = True
    made: tuple[str, str] | None = None


def merged(known: Iterable[Known], most: int) -> tuple[list[TimelineEntry], int]:
    """Return the latest entries, the oldest first, and how many are left out."""
    entries = sorted(_lines(_without_repetitions(known)), key=_order)
    return entries[-most:], max(0, len(entries) - most)


def _order(entry: TimelineEntry) -> tuple[float, int]:
    """Sort by time; in one second, which is as exact as most times are, what led to it comes first."""
    if entry.kind == HappeningKind.NODE:
        return entry.time, 0
    if entry.kind != HappeningKind.CONTROL:
        return entry.time, 4
    return entry.time, 1 if entry.detail == CREATED else 3 if " Pod " in f" {entry.detail}" else 2


def _without_repetitions(known: Iterable[Known]) -> list[Known]:
    by_subject: dict[tuple[str, ...], list[Known]] = {}
    for item in known:
        by_subject.setdefault(item.about, []).append(item)
    kept: list[Known] = []
    for items in by_subject.values():
        kept += _best_of(items)
    return sorted(kept, key=lambda item: item.happening.time)


def _best_of(items: list[Known]) -> Iterator[Known]:
    """Return one account of each thing: of all that may happen once, and of those that are near to each other."""
    items.sort(key=lambda item: item.happening.time)
    while items:
        first = items[0]
        same = [item for item in items if first.is_once or item.happening.time <= first.happening.time + _SAME_SECONDS]
        best = min(same, key=lambda item: (item.rank, item.happening.time))
        yield best
        items = items[len(same) :]


def _lines(known: list[Known]) -> Iterator[TimelineEntry]:
    groups: dict[tuple[str, str, int], list[Known]] = {}
    for item in known:
        if item.made is None:
            yield _entry(item, item.happening.detail)
        else:
            verb, _ = item.made
            groups.setdefault((item.happening.subject, verb, int(item.happening.time)), []).append(item)
    for (_, verb, _), items in groups.items():
        names = [item.made[1] for item in items if item.made is not None]
        yield _entry(items[0], f"{verb} {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}")


def _entry(item: Known, detail: str) -> TimelineEntry:
    time, kind, subject, workload, _ = item.happening
    return TimelineEntry(time, kind.value, subject, workload, detail, item.actor)


def control(time: float, subject: str, workload: str, detail: str) -> Happening:
    return Happening(time, HappeningKind.CONTROL, subject, workload or subject, detail)
