"""Watch ConfigMaps through one API server after the other, and record every event.

A watcher goes on from the last revision that it has seen, at another API server, whenever its connection ends; at times
it moves without need. It lists again only when it is told that the revision is too old.
"""

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from tests.faults.check.history import Fate, State
from tests.faults.check.watches import Part, Seen
from tests.faults.load.registers import state_of
from tests.faults.load.wire import WatchStream, Wire

_PAUSE_SECONDS = 0.1
_MOVE_SECONDS = (2.0, 12.0)


class Watcher:
    """One watcher of a namespace. `parts` is what it has recorded."""

    def __init__(self, name: str, namespace: str, wires: Sequence[Wire], seed: int) -> None:
        self.name = name
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._wires = list(wires)
        self._random = random.Random(seed)
        self.parts: list[Part] = []
        self.moves = 0
        self._events: list[Seen] = []
        self.reached = 0

    async def run(self) -> None:
        """Watch until cancelled."""
        wire = self._random.choice(self._wires)
        while True:
            if not self.parts and not await self._list(wire):
                wire = await self._other(wire)
                continue
            await self._watch(wire)
            wire = await self._other(wire)

    async def _other(self, wire: Wire) -> Wire:
        await asyncio.sleep(_PAUSE_SECONDS)
        self.moves += 1
        others = [one for one in self._wires if one is not wire]
        return self._random.choice(others) if others else wire

    async def _list(self, wire: Wire) -> bool:
        reply = await wire.send("GET", self._path)
        if reply.fate is not Fate.DONE:
            return False
        listed: dict[str, tuple[int, State]] = {}
        for item in reply.body.get("items") or ():
            listed[_key(item)] = int(item["metadata"]["resourceVersion"]), state_of(item)
        self._events = []
        self.reached = reply.revision
        self.parts.append(Part(reply.revision, listed, self._events, reply.revision))
        return True

    async def _watch(self, wire: Wire) -> None:
        """Follow one API server until it ends the watch, breaks off, or it is time to move."""
        query = f"?watch=true&allowWatchBookmarks=true&timeoutSeconds=600&resourceVersion={self.reached}"
        stream = await wire.watch(self._path + query)
        if not isinstance(stream, WatchStream):
            if stream.code == 410:
                await self._list(wire)
            return
        try:
            async with asyncio.timeout(self._random.uniform(*_MOVE_SECONDS)):
                while events := await stream.next():
                    for event in events:
                        if not await self._take(event, wire):
                            return
        except TimeoutError:
            return
        finally:
            stream.close()

    async def _take(self, event: Any, wire: Wire) -> bool:
        """Record an event; return whether the watch goes on."""
        item = event["object"]
        if event["type"] == "ERROR":
            if item.get("code") == 410:
                await self._list(wire)
            return False
        revision = int(item["metadata"]["resourceVersion"])
        if event["type"] != "BOOKMARK":
            self._events.append(Seen(event["type"], _key(item), revision, state_of(item), wire.name))
        self.reached = max(self.reached, revision)
        self.parts[-1] = self.parts[-1]._replace(reached=self.reached)
        return True


def _key(item: Any) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"
