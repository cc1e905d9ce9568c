"""Try writes through each API server again and again, and tell how long a fault kept them from working."""

import asyncio
import time
from collections.abc import Iterable
from typing import NamedTuple

from tests.faults.check.history import Fate
from tests.faults.load.wire import MERGE_PATCH, Wire

EVERY_SECONDS = 0.1
#: A try that takes longer does not work.
TRY_SECONDS = 10.0
#: Writes work again when they have worked for so long.
STEADY_SECONDS = 0.5


class Probe(NamedTuple):
    """One try."""

    begun: float
    ended: float
    works: bool


class Prober:
    """Probes one API server."""

    def __init__(self, wire: Wire, namespace: str) -> None:
        self.wire = wire
        self.probes: list[Probe] = []
        self._collection = f"/api/v1/namespaces/{namespace}/configmaps"
        self._name = f"probe-{wire.name}"

    async def run(self) -> None:
        """Probe until cancelled. A try does not wait for the one before."""
        count = 0
        under_way: set[asyncio.Task[None]] = set()
        try:
            while True:
                count += 1
                if len(under_way) < 20:
                    task = asyncio.create_task(self._try(count))
                    under_way.add(task)
                    task.add_done_callback(under_way.discard)
                await asyncio.sleep(EVERY_SECONDS)
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _try(self, count: int) -> None:
        clock = time.monotonic
        begun = clock()
        change = {"data": {"count": str(count)}}
        reply = await self.wire.send(
            "PATCH", f"{self._collection}/{self._name}", change, MERGE_PATCH, seconds=TRY_SECONDS
        )
        if reply.code == 404:
            document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self._name}}
            reply = await self.wire.send("POST", self._collection, document, seconds=TRY_SECONDS)
        self.probes.append(Probe(begun, clock(), reply.fate is Fate.DONE or reply.code == 409))
        if len(self.probes) > 5000:
            del self.probes[:2500]

    def works_since(self, moment: float) -> float | None:
        """Return when writes begun after a moment began to work for good; None if they do not work yet."""
        return working_since(self.probes, moment)


def working_since(probes: Iterable[Probe], moment: float) -> float | None:
    """Return when, after a moment, writes began to work: the first success, if every later try has worked, for a while.

    A try that began earlier and is answered late does not count, as long as those that began later are answered.
    """
    after = sorted((one for one in probes if one.begun >= moment), key=lambda one: one.begun)
    last_failed = next((place for place in reversed(range(len(after))) if not after[place].works), -1)
    working = after[last_failed + 1 :]
    if not working or working[-1].begun - working[0].begun < STEADY_SECONDS:
        return None
    return min(one.ended for one in working)


def slowest_since(probes: Iterable[Probe], moment: float) -> float:
    """Return how long the slowest try took that began after a moment."""
    return max((one.ended - one.begun for one in probes if one.begun >= moment), default=0.0)
