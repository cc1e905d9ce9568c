"""Give keys that expire their leases, one for many keys, so that etcd need not keep one for each.

A lease is shared by the keys that are written within a minute, or `--lease-reuse-duration-seconds`, a thousand at most;
they live a little longer than they have to. Kubernetes: etcd3's lease manager.
"""

from collections.abc import Callable

from moorage.store.etcd.client import EtcdClient

SHARED_SECONDS = 60
MAX_KEYS = 1000


class Leases:
    """The leases of keys that live for so many seconds."""

    def __init__(
        self, client: EtcdClient, seconds: int, clock: Callable[[], float], shared_seconds: int = SHARED_SECONDS
    ) -> None:
        self._client, self._seconds, self._clock = client, seconds, clock
        self._shared = min(shared_seconds, max(1, seconds // 20))
        self._lease, self._keys, self._until = 0, 0, 0.0

    def at_hand(self) -> int:
        """Return the lease of one more key; 0 if another one must be granted first, by `next`."""
        if not self._lease or self._keys >= MAX_KEYS or self._clock() >= self._until:
            return 0
        self._keys += 1
        return self._lease

    async def next(self) -> int:
        """Return the lease of one more key. Raises EtcdError."""
        self._keys += 1
        if not self._lease or self._keys > MAX_KEYS or self._clock() >= self._until:
            self._keys, self._until = 1, self._clock() + self._shared
            self._lease = await self._client.grant(self._seconds + self._shared)
        return self._lease
