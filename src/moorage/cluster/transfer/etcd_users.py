"""Find out whether API servers use an etcd at the moment.

Each has a note there, its fence, from its start until it stops. One that was killed leaves it behind for a day. So
where there are fences, changes are watched for a while: an API server renews its Lease every ten seconds.
"""

import asyncio
from contextlib import closing

from moorage.cluster.transfer.store_content import TransferError
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.layout import KeyLayout, after_all

#: Longer than an API server is ever silent.
LOOK_SECONDS = 15.0
FENCES = "fences/"


async def fences_in(client: EtcdClient, layout: KeyLayout) -> frozenset[bytes]:
    """Return the fences of API servers, those that run and those that were killed. Raises EtcdError."""
    begin = layout.note(FENCES)
    return frozenset(item.key for item in (await client.range(begin, after_all(begin), keys_only=True)).items)


async def refuse_if_used(client: EtcdClient, layout: KeyLayout, seconds: float = LOOK_SECONDS) -> int:
    """Return how many API servers ended without stopping. Raises TransferError if one runs, and EtcdError."""
    kubernetes = layout.kubernetes_servers
    if (await client.range(kubernetes, after_all(kubernetes), count_only=True)).count:
        raise TransferError(
            "a kube-apiserver is connected to etcd, or was 15 seconds ago: stop the whole cluster first, then try again"
        )
    fences = layout.note(FENCES)
    found = await client.range(fences, after_all(fences), count_only=True)
    if not found.count:
        return 0
    with closing(client.watch(layout.begin, layout.end, found.revision + 1)) as watch:
        try:
            async with asyncio.timeout(seconds):
                while not (await watch.next()).events:
                    pass
        except TimeoutError:
            return found.count
    servers = "an API server is" if found.count == 1 else f"{found.count} API servers are"
    raise TransferError(f"{servers} connected to etcd and something writes: stop the whole cluster first")
