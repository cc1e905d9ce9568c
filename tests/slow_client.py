"""A network between a component and the API server: everything takes a while, and not always the same.

A call may be broken off before the server hears of it, or after it was carried out, if its caller is killed meanwhile.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

from moorage.client.protocol import Client, Listing, Object, PatchType, WatchEvent
from moorage.model.kinds import Kind

Raw = dict[str, Any]


class SlowClient:
    """A `Client`. `lag` gives seconds, each time anew."""

    def __init__(self, client: Client, lag: Callable[[], float]) -> None:
        self._client, self._lag = client, lag

    async def _there(self) -> None:
        await asyncio.sleep(self._lag())

    async def get(self, kind: Kind, name: str, namespace: str = "") -> Object:
        await self._there()
        return await self._client.get(kind, name, namespace)

    async def read(self, path: str) -> Raw:
        await self._there()
        found = await self._client.read(path)
        await self._there()
        return found

    async def list_all(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        await self._there()
        found = await self._client.list_all(kind, namespace, labels=labels, fields=fields)
        await self._there()
        return found

    async def watch(
        self, kind: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        async for events in self._client.watch(kind, revision, namespace, labels=labels, fields=fields):
            await self._there()
            yield events

    async def create(self, kind: Kind, document: Raw, namespace: str = "") -> Object:
        await self._there()
        made = await self._client.create(kind, document, namespace)
        await self._there()
        return made

    async def update(self, kind: Kind, document: Raw, *, subresource: str = "") -> Object:
        await self._there()
        made = await self._client.update(kind, document, subresource=subresource)
        await self._there()
        return made

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        await self._there()
        made = await self._client.patch(kind, name, namespace, patch, subresource=subresource, patch_type=patch_type)
        await self._there()
        return made

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
        revision: int = 0,
    ) -> None:
        await self._there()
        await self._client.delete(
            kind,
            name,
            namespace,
            uid=uid,
            grace_seconds=grace_seconds,
            propagation=propagation,
            revision=revision,
        )
        await self._there()

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        await self._there()
        await self._client.bind(namespace, name, uid, node)

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        await self._there()
        await self._client.evict(namespace, name, uid)

    async def close(self) -> None:
        await self._client.close()
