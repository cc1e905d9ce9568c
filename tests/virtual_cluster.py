"""A cluster in memory and in virtual time: the real API server, the real controllers, nobody else.

`async with VirtualCluster.running(make)` inside `run_virtual`: `make` gives the controllers to run, new ones each time
they are started, so that `restart` forgets whatever a controller remembered. Events are kept in `events`.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from tests.virtual_time import time_of_day

from moorage.client.protocol import Client, Object
from moorage.control.framework.controller import Controller
from moorage.control.framework.runner import ControllerManager
from moorage.model.gates import GateSet, default_gates
from moorage.model.kinds import Kind
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]


class Reported(NamedTuple):
    """One event, before anybody aggregates it."""

    involved: Raw
    type: str
    reason: str
    message: str


class VirtualCluster:
    """See the module."""

    def __init__(
        self,
        api: Api,
        store: MemoryStore,
        make: Callable[[], Iterable[Controller]],
        seed: int,
        connect: Callable[[Client], Client],
        clock: Callable[[], float] = time_of_day,
    ) -> None:
        self._clock = clock
        self.api, self.store, self._connect = api, store, connect
        self.client = LoopbackClient(api, "test")
        self.events: list[Reported] = []
        self.metrics = Metrics()
        self._make, self._random = make, random.Random(seed).random
        self._task: asyncio.Task[None] | None = None

    @classmethod
    @asynccontextmanager
    async def running(
        cls,
        make: Callable[[], Iterable[Controller]],
        *,
        gates: GateSet | None = None,
        seed: int = 0,
        store: MemoryStore | None = None,
        collects_garbage: bool = False,
        connect: Callable[[Client], Client] = lambda client: client,
        clock: Callable[[], float] = time_of_day,
    ) -> AsyncIterator["VirtualCluster"]:
        """`connect` may put something between the controllers and the API server, such as a slow network.

        `clock` is the time of day for all of them, and may be set.
        """
        store = store or MemoryStore()
        api = Api(store, gates or default_gates(), clock=clock, collects_garbage=collects_garbage)
        await api.start()
        await bootstrap(api, 443)
        cluster = cls(api, store, make, seed, connect, clock)
        await cluster.start()
        try:
            yield cluster
            cluster.check()
        finally:
            await cluster.stop()
            await store.close()

    def named(self, component: str) -> "VirtualCluster":
        return self

    def report(self, involved: Raw, kind: str, reason: str, message: str) -> None:
        """The controllers' recorder."""
        self.events.append(Reported(involved, kind, reason, message))

    def rewrite(self, involved: Raw, kind: str, reason: str, message: str, event: str, count: int) -> None:
        self.report(involved, kind, reason, message)

    async def start(self) -> None:
        """Start the controllers and let them see everything."""
        self.metrics = Metrics()
        client = self._connect(LoopbackClient(self.api, "controller-manager"))
        self.manager = ControllerManager(
            client, self, self._make(), self.metrics, clock=self._clock, random=self._random
        )
        self._task = asyncio.create_task(self.manager.run())
        for informer in self.manager.informers.values():
            await informer.synced()

    async def stop(self) -> None:
        """As if killed, wherever they are."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    def check(self) -> None:
        """Raise what the controllers died of, if they did."""
        if self._task is not None and self._task.done():
            self._task.result()

    async def settle(self, seconds: float = 1.0) -> None:
        """Let everybody do what they can do within this time."""
        await asyncio.sleep(seconds)
        self.check()

    async def all(self, facts: Kind, namespace: str = "") -> list[Object]:
        return (await self.client.list_all(facts, namespace)).items

    def reasons(self, name: str = "") -> list[str]:
        """The reasons of all events, or of those about objects with this name."""
        return [event.reason for event in self.events if not name or event.involved.get("name") == name]
