"""Fence off writes whose answer never came, to find out what became of them.

Every write of this process is conditional on a note in etcd, the fence, being as this process wrote it last. Once the
fence is written again, a write that was sent before has been made already or will never be: a member that was paused
cannot make it minutes later. Kubernetes has no counterpart: there such a request times out, and may be made or not.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError, EtcdRefused, EtcdTooManyRequests
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue
from moorage.store.etcd.wire.requests import encode_fence


class SharedRun:
    """An operation whose runs are shared, one at a time."""

    def __init__(self, operation: Callable[[], Awaitable[None]]) -> None:
        self._operation = operation
        self._under_way: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None

    async def __call__(self) -> None:
        """Return when a run that began after this call has ended; raises what it raises."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._run(self._under_way))
        await asyncio.shield(self._next)

    async def _run(self, before: "asyncio.Task[None] | None") -> None:
        if before is not None:
            await asyncio.wait((before,))
        self._under_way, self._next = self._next, None
        await self._operation()

    async def close(self) -> None:
        """Cancel what is under way."""
        running = [task for task in (self._under_way, self._next) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


#: A fence of a process that was killed goes away after this many seconds. It is written again long before.
LEASE_SECONDS = 24 * 3600
_TRY_SECONDS, _PAUSE_SECONDS = 10.0, 0.1


class Fence:
    """The fence of this process. `raised` is the revision at which it was written last."""

    def __init__(self, client: EtcdClient, layout: KeyLayout) -> None:
        self._client = client
        self._key = layout.note(f"fences/{secrets.token_hex(8)}")
        self.raised = self._encoded_at = 0
        self._encoded = encode_fence(self._key, 0)
        self.renew = SharedRun(self._renew)

    @property
    def compare(self) -> Compare:
        """Return the condition of a write."""
        return Compare(self._key, self.raised)

    @property
    def encoded(self) -> tuple[bytes, bytes]:
        """Return the condition of a write and what it reads if it does not hold, as etcd takes them."""
        if self._encoded_at != self.raised:
            self._encoded, self._encoded_at = encode_fence(self._key, self.raised), self.raised
        return self._encoded

    @property
    def get(self) -> Get:
        """Return what a write reads if its conditions do not hold."""
        return Get(self._key)

    def adopt(self, found: KeyValue | None, sent: Compare) -> bool:
        """Return whether the fence is another one than a refused write was sent with; then it may be sent again."""
        now = found.modified if found is not None else 0
        if now == sent.modified:
            return False
        self.raised = max(self.raised, now)
        return True

    async def _renew(self) -> None:
        """Write the fence again, however often it takes. Raises EtcdError when it is refused, or the time is up."""
        deadline = asyncio.get_running_loop().time() + _TRY_SECONDS
        while True:
            try:
                lease = await self._client.grant(LEASE_SECONDS)
                raised = await self._client.note(self._key, lease)
            except EtcdError as error:
                is_final = isinstance(error, EtcdRefused) and not isinstance(error, EtcdTooManyRequests)
                if is_final or asyncio.get_running_loop().time() >= deadline:
                    raise
                await asyncio.sleep(_PAUSE_SECONDS)
            else:
                self.raised = max(self.raised, raised)
                return

    async def close(self) -> None:
        await self.renew.close()
        await self._client.txn((), (Delete(self._key),))
