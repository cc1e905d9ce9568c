"""Cache the objects of one kind by list and watch. Kubernetes: reflector, delta FIFO and shared informer.

Every change of the cache is reported to the handler as a `Delta`, in order. If a watch cannot be resumed (410, or a
server that started over), the changes follow from comparison with a new list. Differs: the handler gets batches, a
long list in several; an object replaced by another of the same name between watches is reported as deleted and added.
"""

import asyncio
import random as randomness
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import NamedTuple

from moorage.client.protocol import Client, EventType, Listing, Object, Unreachable, WatchEvent
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import Locals, Operation, operation

FIRST_DELAY = 0.2
MAX_DELAY = 30.0
#: Seconds without a failure after which a backoff starts again.
_RESET_AFTER = 120.0
#: Changes of a list that are reported before other tasks may work.
_AT_ONCE = 250

_LOG = get_logger("client")


class Backoff:
    """Delays that double from `first` to `most`, each lengthened at random by up to its own length."""

    def __init__(self, first: float, most: float, *, now: Callable[[], float], random: Callable[[], float]) -> None:
        """`now` is a monotonic clock; `random` returns 0 to 1."""
        self._first, self._most = first, most
        self._now, self._random = now, random
        self._next = first
        self._last_failure = float("-inf")

    def delay(self) -> float:
        now = self._now()
        if now - self._last_failure > _RESET_AFTER:
            self._next = self._first
        delay = self._next
        self._next = min(self._next * 2, self._most)
        waited = delay * (1 + self._random())
        self._last_failure = now + waited
        return waited

    def reset(self) -> None:
        self._next = self._first


class Delta(NamedTuple):
    """One change of the cache: no `old` if added; no `new` if deleted, and `old` is then the last state."""

    old: Object | None
    new: Object | None


Handler = Callable[[list[Delta]], None]


#: Groups that an API server may not serve: it is older than they are, or their gates are off.
_OPTIONAL_GROUPS = frozenset({"resource.k8s.io"})


class _StartOver(Exception):
    """The watch cannot be resumed: list again."""


def _informer(local: Locals) -> Operation:
    return Operation(f"informer {local['self'].kind.plural}")


class Informer:
    """The cache and its `run` loop. `cache` and `revision` are read-only for others."""

    def __init__(
        self,
        client: Client,
        kind: Kind,
        handler: Handler,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        now: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = randomness.random,
        max_delay: float = MAX_DELAY,
        on_failure: Callable[[str], None] | None = None,
    ) -> None:
        """`max_delay` bounds the seconds between tries; `on_failure` is told why one failed."""
        self.kind = kind
        self.cache: dict[str, Object] = {}
        self.revision = 0
        self.problem = ""  # why there is no watch; empty while there is one
        self._client, self._handler = client, handler
        self._namespace, self._labels, self._fields = namespace, labels, fields
        self._listed = False
        self._gone_back = False  # a bookmark was older than the cache: the server started over
        self._synced = asyncio.Event()
        self._now = now
        self._on_failure = on_failure
        self._before_retry = Backoff(FIRST_DELAY, max_delay, now=now, random=random)
        self._before_list = Backoff(FIRST_DELAY, max_delay, now=now, random=random)

    @property
    def has_synced(self) -> bool:
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait until the first list has been handled."""
        await self._synced.wait()

    async def run(self) -> None:
        """Keep the cache up to date until cancelled. An exception of the handler ends it."""
        while True:
            try:
                if not self._listed:
                    await self._list()
                await self._watch()
                continue
            except _StartOver as reason:
                delay = self._start_over(str(reason))
            except ApiError as error:
                if error.code == 404 and self.kind.group in _OPTIONAL_GROUPS:
                    self._synced.set()  # there are no such objects: components must not wait for them
                delay = self._start_over(error.message) if _history_is_lost(error) else self._failed(error.message)
            except Unreachable as error:
                delay = self._failed(str(error))
            await asyncio.sleep(delay)

    def _start_over(self, why: str) -> float:
        """Forget the list; return the seconds to wait before the next, which backs off on its own."""
        self._failed(why)
        self._listed = False
        return self._before_list.delay()

    def _failed(self, why: str) -> float:
        """Log a failure; return the seconds to wait."""
        self.problem = why
        if self._on_failure is not None:
            self._on_failure(why)
        doing = "watch" if self._listed else "list"
        _LOG.warning(f"Failed to {doing}, will try again", resource=self.kind.plural, err=why)
        return self._before_retry.delay()

    @operation(_informer)
    async def _list(self) -> None:
        listing = await self._client.list_all(self.kind, self._namespace, labels=self._labels, fields=self._fields)
        deltas = self._compare(listing)
        for start in range(0, len(deltas), _AT_ONCE):
            if start:
                await asyncio.sleep(0)
            self._handler(deltas[start : start + _AT_ONCE])
        self.revision = listing.revision  # not before all that was listed is known
        self._listed = True
        self._before_retry.reset()
        self.problem = ""
        self._synced.set()

    def _compare(self, listing: Listing) -> list[Delta]:
        """Replace the cache by the list; return the changes, deletions first."""
        cache = self.cache
        listed = {item.key: item for item in listing.items}
        deleted: list[Delta] = []
        changed: list[Delta] = []
        for key, old in cache.items():
            new = listed.get(key)
            if new is None:
                deleted.append(Delta(old, None))
            elif new.uid != old.uid:  # possibly at the same revision, if the server started over
                deleted.append(Delta(old, None))
                changed.append(Delta(None, new))
            elif new.revision == old.revision:
                listed[key] = old  # it may be decoded already
            else:
                changed.append(Delta(old, new))
        changed += [Delta(None, new) for key, new in listed.items() if key not in cache]
        cache.clear()
        cache.update(listed)
        return deleted + changed

    @operation(_informer)
    async def _watch(self) -> None:
        """Watch until the server ends it or the connection breaks."""
        started, heard = self._now(), False
        watch = self._client.watch(self.kind, self.revision, self._namespace, labels=self._labels, fields=self._fields)
        async with aclosing(watch):
            async for events in watch:
                if not heard:
                    heard = True
                    self.problem = ""
                    self._before_retry.reset()
                    self._before_list.reset()
                deltas = self._take(events)
                if deltas:
                    self._handler(deltas)
                if self._gone_back:
                    self._gone_back = False
                    raise _StartOver("the server's revision has gone back")
        if not heard and self._now() - started < 1.0:
            # Back off from a server that ends watches at once.
            raise Unreachable("the watch ended at once, without a word")

    def _take(self, events: list[WatchEvent]) -> list[Delta]:
        """Apply events to the cache; return the changes."""
        cache = self.cache
        revision = self.revision
        deltas: list[Delta] = []
        for kind, new in events:
            ahead = new.revision > revision
            if ahead:
                revision = new.revision
            if kind is EventType.DELETED:
                old = cache.get(new.key)
                if old is not None and old.revision <= new.revision:
                    del cache[new.key]
                    deltas.append(Delta(new, None))
            elif kind is EventType.BOOKMARK:
                if new.revision < revision:
                    self._gone_back = True
                    break
            elif ahead:
                deltas.append(Delta(cache.get(new.key), new))
                cache[new.key] = new
        self.revision = revision
        return deltas


def _history_is_lost(error: ApiError) -> bool:
    """Return whether the revision is too old, or one that the server never had."""
    return error.code == 410 or error.has_cause("ResourceVersionTooLarge")
