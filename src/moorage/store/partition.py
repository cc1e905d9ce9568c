"""Hold one part of a store: its keys in order, and its latest changes.

The part of `/pods/default/web-0` is `/pods/`: each kind has its own history, so that leases and events do not push out
that of pods. Keys are sorted when they are listed, not when they are written. Kubernetes: etcd's key index and the
watch cache's ring buffer, one per resource.
"""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from moorage.store.protocol import Change, Listener, Stored

#: Up to this many keys are put in their places one by one; more are sorted in.
FEW = 32
#: The newest changes of a log keep their views; for older ones, readers decode the value again.
WARM = 4_096
#: Watches that are told of a change in one turn of the event loop.
WOKEN_AT_ONCE = 32

#: A Change begins with its revision, a Stored with its key.
_FIRST = itemgetter(0)


class Forgotten(NamedTuple):
    """History that was dropped: changes of `partition` up to `revision`, and the values only they referred to."""

    partition: str
    revision: int
    superseded: list[int]


class Partition:
    """The keys and changes of one part. `values` is shared by all parts and holds the newest values."""

    __slots__ = (
        "__weakref__",
        "_cooled",
        "_keys",
        "_moved",
        "_values",
        "compacted",
        "listeners",
        "log",
        "name",
        "superseded_bytes",
        "waiting",
    )

    def __init__(self, name: str, values: Mapping[str, Stored], compacted: int = 0) -> None:
        self.name = name
        self.log: list[Change] = []
        self.compacted = compacted
        self.superseded_bytes = 0
        self.waiting: set[asyncio.Future[None]] = set()
        self.listeners: tuple[tuple[str, Listener], ...] = ()
        self._values = values
        self._keys: list[str] = []
        self._moved: set[str] = set()
        self._cooled = 0

    def append(self, key: str, change: Change) -> None:
        self.log.append(change)
        _, old, new = change
        if old is None or new is None:
            self._moved.add(key)
        if old is not None:
            self.superseded_bytes += len(old.value)

    def moved(self, key: str) -> None:
        """Mark a key as created or deleted, without a change in the log; for restarts."""
        self._moved.add(key)

    def wake(self) -> None:
        """Wake all that wait; if they are many, some in each turn of the loop, so that others get theirs."""
        waiting, self.waiting = self.waiting, set()
        if len(waiting) <= WOKEN_AT_ONCE:
            wake(waiting)
        else:
            _wake_some(list(waiting))

    @property
    def is_idle(self) -> bool:
        """Whether it has neither values nor history, and no listener waits for any."""
        if self.log or self.waiting or self.listeners:
            return False
        if self._moved:
            self._put_in_order()
        return not self._keys

    # What is there.

    def keys(self, prefix: str, after: str = "") -> tuple[list[str], int, int]:
        """All keys in order, and the range of those that start with `prefix` and come after `after`."""
        if self._moved:
            self._put_in_order()
        keys = self._keys
        begin = bisect_left(keys, prefix) if prefix != self.name else 0
        if after:
            begin = max(begin, bisect_right(keys, after))
        beyond = _beyond(prefix)
        end = bisect_left(keys, beyond) if beyond and prefix != self.name else len(keys)
        return keys, begin, max(begin, end)

    def _put_in_order(self) -> None:
        keys, values = self._keys, self._values
        if len(self._moved) <= FEW:
            for key in self._moved:
                place = bisect_left(keys, key)
                present = place < len(keys) and keys[place] == key
                if key in values:
                    if not present:
                        insort(keys, key)
                elif present:
                    del keys[place]
        else:
            keys = [key for key in keys if key not in self._moved]
            keys += [key for key in self._moved if key in values]
            keys.sort()
            self._keys = keys
        self._moved.clear()

    def as_of(self, revision: int, prefix: str, limit: int, after: str) -> tuple[list[Stored], int]:
        """The first values as of a revision, all without a limit, and their total number: the newest, rolled back."""
        then: dict[str, Stored | None] = {}
        for change in self.log[self.position(revision) :]:
            key = change.key
            if key > after and key.startswith(prefix):
                then.setdefault(key, change.old)
        keys, begin, end = self.keys(prefix, after)
        values = self._values
        untouched = (values[key] for key in islice(keys, begin, end) if key not in then)
        items = list(islice(untouched, limit) if limit else untouched)
        restored = [stored for stored in then.values() if stored is not None]
        if restored:
            items += restored
            items.sort(key=_FIRST)
        total = end - begin - sum(key in values for key in then) + len(restored)
        return items[:limit] if limit else items, total

    # What happened.

    def position(self, revision: int) -> int:
        log = self.log
        if not log or log[-1].revision <= revision:
            return len(log)
        return bisect_right(log, revision, key=_FIRST)

    def since(self, revision: int) -> list[Change]:
        """Return the changes after a revision, as far as history goes back."""
        return self.log[self.position(revision) :]

    def drop(self, count: int) -> Forgotten:
        """Drop the `count` oldest changes, at least one; return the values that only they referred to."""
        superseded: list[int] = []
        for change in self.log[:count]:
            if change.old is not None:
                superseded.append(change.old.revision)
                self.superseded_bytes -= len(change.old.value)
            if change.new is None:
                superseded.append(change.revision)
        self.compacted = self.log[count - 1].revision
        del self.log[:count]
        if len(self._moved) > FEW + len(self._keys) // 2:  # where nothing is ever listed, only watched
            self._put_in_order()
        self._cooled = max(0, self._cooled - count)
        return Forgotten(self.name, self.compacted, superseded)

    def restart(self, revision: int) -> None:
        """Drop all changes: history begins at a revision."""
        self.log.clear()
        self.compacted, self.superseded_bytes, self._cooled = revision, 0, 0

    def cool(self) -> None:
        """Drop the views of old changes, which take several times the room of the bytes."""
        end = len(self.log) - WARM
        for place in range(self._cooled, end):
            change = self.log[place]
            self.log[place] = Change(change.revision, _bare(change.old), _bare(change.new))
        self._cooled = max(self._cooled, end)


def _wake_some(waiting: list[asyncio.Future[None]]) -> None:
    wake(waiting[-WOKEN_AT_ONCE:])
    del waiting[-WOKEN_AT_ONCE:]
    if waiting:
        waiting[-1].get_loop().call_soon(_wake_some, waiting)


def wake(waiting: Iterable[asyncio.Future[None]]) -> None:
    for waiter in waiting:
        if not waiter.done():
            waiter.set_result(None)


def _bare(stored: Stored | None) -> Stored | None:
    return stored if stored is None or stored.view is None else stored._replace(view=None, template=None)


def _beyond(prefix: str) -> str:
    """The least text greater than all that start with `prefix`; "" if there is none."""
    stem = prefix.rstrip("\U0010ffff")
    return stem[:-1] + chr(ord(stem[-1]) + 1) if stem else ""
