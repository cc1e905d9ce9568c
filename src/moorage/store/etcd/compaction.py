"""Compact etcd's history every few minutes, by one of the API servers.

In each round every server tries to write the revision that it has seen in the last round into one note; the one that
succeeds compacts. Kubernetes: etcd3's compactor.
"""

import asyncio

from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError
from moorage.store.etcd.layout import KeyLayout
from moorage.store.etcd.messages import Compare, Get, Put
from moorage.telemetry.logs import get_logger

_LOG = get_logger("etcd")


class Compaction:
    """The rounds of one server."""

    def __init__(self, client: EtcdClient, layout: KeyLayout) -> None:
        self._client = client
        self._key = layout.note("compacted")
        self._seen, self._modified = 0, 0

    async def run(self, seconds: float) -> None:
        """Take part in a round every so many seconds, until it is cancelled; never with 0."""
        while seconds:
            await asyncio.sleep(seconds)
            try:
                await self.take_part()
            except EtcdError as error:
                _LOG.warning("History could not be compacted, trying again later", err=str(error))

    async def take_part(self) -> bool:
        """Compact up to the revision of the last round, unless another server has; return whether it did."""
        compares = (Compare(self._key, self._modified),)
        result = await self._client.txn(compares, (Put(self._key, b"%d" % self._seen),), (Get(self._key),))
        compacted, self._seen = self._seen, result.revision
        if not result.succeeded:
            found = result.found[0]
            self._modified = found.modified if found is not None else 0
            return False
        self._modified = result.revision
        if compacted:
            await self._client.compact(compacted)
            _LOG.debug(1, "Compacted history of etcd", revision=compacted)
        return bool(compacted)
