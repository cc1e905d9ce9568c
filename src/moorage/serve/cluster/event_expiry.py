"""Delete events an hour after they were last written, and the oldest when there are too many.

A restart starts the hour again. The times are kept in memory, in order, so that checking is cheap. Kubernetes: the TTL
of events in etcd (`--event-ttl`). Differs: the number of events is bounded, too.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from moorage.model.kinds import KINDS
from moorage.serve.resources.objects import prefix_of
from moorage.store.protocol import Compacted, KeyMissing, RevisionMismatch, Store, StoreError, StoreFailed
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import operation

EVENT_SECONDS = 3600.0
MAX_EVENTS = 50_000
_LOOK_EVERY = 30.0
_AT_ONCE = 500
_LOG = get_logger("apiserver")


class EventExpiry:
    """Deletes events; run it in a task. `clock` is monotonic."""

    def __init__(
        self, store: Store, clock: Callable[[], float], seconds: float = EVENT_SECONDS, most: int = MAX_EVENTS
    ) -> None:
        self._store, self._clock, self._seconds, self._most = store, clock, seconds, most
        self._written: dict[str, tuple[float, int]] = {}

    async def run(self) -> None:
        """Until cancelled, or until the store is closed."""
        while True:
            try:
                await self._follow()
            except Compacted:
                continue  # fell behind: look at all of them again
            except StoreFailed:
                await asyncio.sleep(_LOOK_EVERY)  # such as a full disk: they are deleted when there is room again
            except StoreError:
                return

    @operation("forgetting events")
    async def _follow(self) -> None:
        prefix = prefix_of(KINDS.EVENT)
        listing = await self._store.list(prefix)
        now = self._clock()
        self._written = {item.key: (self._written.get(item.key, (now, 0))[0], item.revision) for item in listing.items}
        changes = self._store.watch(prefix, listing.revision)
        try:
            while True:
                try:
                    async with asyncio.timeout(_LOOK_EVERY):
                        batch = await changes.next()
                except TimeoutError:
                    batch = []
                now = self._clock()
                for change in batch:
                    # Last in, last out: whatever was written most recently is at the end.
                    self._written.pop(change.key, None)
                    if change.new is not None:
                        self._written[change.key] = now, change.revision
                await self._forget(now)
        finally:
            changes.close()

    async def _forget(self, now: float) -> None:
        old: list[tuple[str, int]] = []
        too_many = len(self._written) - self._most
        for key, (written, revision) in self._written.items():
            is_old = now - written >= self._seconds or len(old) < too_many
            if not is_old or len(old) >= _AT_ONCE:
                break
            old.append((key, revision))
        if old:
            await asyncio.gather(*(self._delete(key, revision) for key, revision in old))
            _LOG.debug(3, "Events expired", count=len(old))

    async def _delete(self, key: str, revision: int) -> None:
        self._written.pop(key, None)
        with suppress(KeyMissing, RevisionMismatch):  # gone, or written again: the watch tells
            await self._store.delete(key, revision)
