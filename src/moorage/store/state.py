"""Hold the newest values and the history of a store in memory.

Watches hold a position and no buffer: they read the shared log, so a thousand slow ones cost what one costs. History is
bounded by age, number of changes and bytes of superseded values; it is dropped in small pieces, from the part that has
most of it. Kubernetes: etcd's store and compactor, the API server's watch cache. Differs: each part (see `partition`)
has its own oldest revision, so a quiet one can be watched from long ago.
"""

import gc
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

from moorage.store.partition import Forgotten, Partition
from moorage.store.protocol import Change, Compacted, FutureRevision, Listener, Listing, Stored

#: History is looked at after this many changes or seconds; twice as much as came may go at once.
PIECE = 1_024
EVERY_SECONDS = 1.0
#: An empty store is at revision 1, as etcd is: 0 has a meaning of its own in the API.
FIRST_REVISION = 1

_LOG = logging.getLogger(__name__)


class Bounds(NamedTuple):
    """How much history is kept: seconds, changes and bytes of superseded values, whichever is reached first."""

    age: float = 300.0
    changes: int = 100_000
    size: int = 64 * 1024 * 1024


class State:
    """Values and history. `reading`, `watching` and the stores read the attributes; only methods here write them."""

    def __init__(self, bounds: Bounds | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.values: dict[str, Stored] = {}
        self.revision = FIRST_REVISION
        self.floor = 0
        self.ended = False
        self.everywhere = Partition("", self.values)
        self._partitions: dict[str, Partition] = {}
        # Parts without values and history, such as those of kinds that are not served any more, while a watch has them;
        # and the revision to which the history of any such part is gone.
        self._idle: WeakValueDictionary[str, Partition] = WeakValueDictionary()
        self._idle_since = 0
        self._bounds = bounds or Bounds()
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()
        self._expired = 0
        self._untrimmed = 0
        self._next_trim = clock() + EVERY_SECONDS

    # Parts.

    def partition(self, key: str) -> Partition:
        name = key[: key.find("/", 1) + 1]
        found = self._partitions.get(name)
        if found is None:
            found = self._idle.pop(name, None) or Partition(name, self.values, self._idle_since)
            self._partitions[name] = found
        return found

    def parts_of(self, prefix: str) -> list[Partition]:
        end = prefix.find("/", 1) + 1
        if end:
            part = self._partitions.get(prefix[:end]) or self._idle.get(prefix[:end])
            return [part] if part is not None else []
        return [part for name, part in self._partitions.items() if not name or name.startswith(prefix)]

    @property
    def oldest(self) -> int:
        return max([self.floor, self._idle_since, *(part.compacted for part in self._partitions.values())])

    def oldest_of(self, prefix: str) -> int:
        parts = self.parts_of(prefix)
        return max([self.floor, *(part.compacted for part in parts)] if parts else [self.floor, self._idle_since])

    # Reading.

    def listing(self, prefix: str, revision: int, limit: int, after: str) -> Listing:
        if revision and revision != self.revision:
            return self._list_then(prefix, revision, limit, after)
        parts = self.parts_of(prefix)
        if len(parts) == 1:
            keys, begin, end = parts[0].keys(prefix, after)
            stop = min(end, begin + limit) if limit else end
            keys = keys[begin:stop]
            remaining = end - stop
        else:
            keys = []
            for part in parts:
                some, begin, end = part.keys(prefix, after)
                keys += some[begin:end]
            keys.sort()
            remaining = max(0, len(keys) - limit) if limit else 0
            keys = keys[:limit] if limit else keys
        return Listing(list(map(self.values.__getitem__, keys)), self.revision, remaining)

    def _list_then(self, prefix: str, revision: int, limit: int, after: str) -> Listing:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        oldest = self.oldest_of(prefix)
        if revision < oldest:
            raise Compacted(oldest)
        items: list[Stored] = []
        total = 0
        parts = self.parts_of(prefix)
        for part in parts:
            some, count = part.as_of(revision, prefix, limit, after)
            items += some
            total += count
        if len(parts) > 1:
            items.sort(key=lambda stored: stored.key)
            items = items[:limit] if limit else items
        return Listing(items, revision, total - len(items))

    def count(self, prefix: str) -> int:
        total = 0
        for part in self.parts_of(prefix):
            _, begin, end = part.keys(prefix)
            total += end - begin
        return total

    # Writing.

    def publish(self, changes: Sequence[Change]) -> None:
        """Make changes visible, in their order, tell listeners, and wake the watches that wait for them."""
        values = self.values
        touched: dict[str, Partition] = {}
        heard: list[tuple[Partition, Change]] = []
        for change in changes:
            _, old, new = change
            if new is not None:
                key = new.key
                values[key] = new
            elif old is not None:
                key = old.key
                del values[key]
            part = self.partition(key)
            part.append(key, change)
            touched[part.name] = part
            if part.listeners:
                heard.append((part, change))
        self.revision = changes[-1].revision
        self._untrimmed += len(changes)
        if heard:
            _tell(heard)
        for part in touched.values():
            part.wake()
        self.everywhere.wake()

    def subscribe(self, prefix: str, listener: Listener) -> None:
        """Tell a listener of the changes under a prefix, which lies in one part, from now on."""
        part = self.partition(prefix)
        part.listeners = (*part.listeners, (prefix, listener))

    def advance(self, revision: int) -> None:
        """Reach a revision at which nothing changed that is held here."""
        self.revision = max(self.revision, revision)

    def replace(self, items: Mapping[str, Stored], revision: int) -> None:
        """Hold the values of one revision in place of all that is held, and forget history before it.

        Values that are the same stay, with their views. Listeners are told of the others; watches get Compacted.
        """
        values = self.values
        changes = [Change(revision, old, None) for key, old in values.items() if key not in items]
        for key, new in items.items():
            old = values.get(key)
            if old is None or old.revision != new.revision:
                changes.append(Change(revision, old, new))
        heard: list[tuple[Partition, Change]] = []
        for change in changes:
            key = change.key
            if change.new is not None:
                values[key] = change.new
            else:
                del values[key]
            part = self.partition(key)
            part.moved(key)
            heard.append((part, change))
        self.revision = self.floor = max(self.revision, revision)
        for part in self._partitions.values():
            part.restart(self.revision)
        _tell(heard)
        for part in (*self._partitions.values(), self.everywhere):
            part.wake()

    def end(self) -> None:
        self.ended = True
        for part in (*self._partitions.values(), self.everywhere):
            part.wake()

    def restore(
        self,
        rows: Iterable[tuple[int, str, int, bytes | None]],
        compacted: Mapping[str, int],
        floor: int,
        revision: int,
    ) -> list[int]:
        """Fill an empty state from the rows of a file, in order; return the revisions of superseded rows.

        A row without a value is a deletion. Rows up to the revision to which a part is compacted are its state then;
        those after it are its history.
        """
        self.floor = floor
        for name, until in compacted.items():
            self._partitions[name] = Partition(name, self.values, until)
        collecting = gc.isenabled()
        gc.disable()  # nothing here is garbage, and looking for some takes as long as all the rest
        try:
            unneeded, last = self._replay(rows)
        finally:
            if collecting:
                gc.enable()
        self.revision = max(revision, last, FIRST_REVISION)
        return unneeded

    def _replay(self, rows: Iterable[tuple[int, str, int, bytes | None]]) -> tuple[list[int], int]:
        values = self.values
        unneeded: list[int] = []
        revision = 0
        for revision, key, created, value in rows:
            part = self.partition(key)
            old = values.get(key)
            new = None if value is None else Stored(key, value, revision, created)
            if new is not None:
                values[key] = new
            else:
                values.pop(key, None)
            if revision > part.compacted:
                if old is not None or new is not None:
                    part.append(key, Change(revision, old, new))
            else:
                part.moved(key)
                if old is not None:
                    unneeded.append(old.revision)
                if new is None:
                    unneeded.append(revision)
        return unneeded, revision

    # Forgetting.

    def trim(self) -> list[Forgotten]:
        """Drop history beyond the bounds. Cheap to call after every batch."""
        now = self._clock()
        bounds = self._bounds
        if self._untrimmed < PIECE and now < self._next_trim:
            return []
        room = max(2 * PIECE, 2 * self._untrimmed)
        self._untrimmed = 0
        self._next_trim = now + EVERY_SECONDS
        self._marks.append((now, self.revision))
        while self._marks and self._marks[0][0] <= now - bounds.age:
            self._expired = self._marks.popleft()[1]
        forgotten: list[Forgotten] = []
        parts = list(self._partitions.values())
        for part in parts:
            expired = min(part.position(self._expired), room)
            if expired:
                forgotten.append(part.drop(expired))
                room -= expired
            part.cool()
            if part.is_idle:
                self._idle[part.name] = self._partitions.pop(part.name)
                self._idle_since = max(self._idle_since, part.compacted)
        excess = min(room, sum(len(part.log) for part in parts) - bounds.changes)
        while excess > 0:
            part = max(parts, key=lambda part: len(part.log))
            count = min(excess, max(1, len(part.log) // 2))
            forgotten.append(part.drop(count))
            excess -= count
            room -= count
        while room > 0 and sum(part.superseded_bytes for part in parts) > bounds.size:
            part = max(parts, key=lambda part: part.superseded_bytes)
            count = min(room, max(1, len(part.log) // 64))
            forgotten.append(part.drop(count))
            room -= count
        return forgotten

    def compact(self, revision: int) -> list[Forgotten]:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        self.floor = max(self.floor, revision)
        forgotten = []
        for part in self._partitions.values():
            count = part.position(revision)
            if count:
                forgotten.append(part.drop(count))
        return forgotten


def _tell(heard: list[tuple[Partition, Change]]) -> None:
    """Call listeners. One that fails is reported: the change is durable, and other readers are to see it."""
    for part, change in heard:
        revision, old, new = change
        key = new.key if new is not None else old.key if old is not None else ""
        for prefix, listener in part.listeners:
            if key.startswith(prefix):
                try:
                    listener(change)
                except Exception:
                    _LOG.exception("a listener failed at %s, revision %d", key, revision)
