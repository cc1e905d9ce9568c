"""Two watches, of Deployments and of pods: how far the controllers have come, and whether they keep their promises.

In: the server's watch events, of which as little is read as is needed. Out: `Deployments` and `Pods`, as they are now,
and a wait until something holds of them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from bench.controllers.documents import APP
from bench.e2e.problems import RunFailed
from bench.e2e.watch_lines import WatchLines
from moorage.model.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.e2e.requests import Requests
    from bench.e2e.sender import Sender

_FINISHED = ("Succeeded", "Failed")


class _Metadata(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    deletionTimestamp: str = ""
    labels: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True, gc=False):
    nodeName: str = ""
    replicas: int = 0


class _Condition(msgspec.Struct, frozen=True, gc=False):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct, frozen=True, gc=False):
    phase: str = ""
    conditions: list[_Condition] = []
    observedGeneration: int = 0
    replicas: int = 0
    updatedReplicas: int = 0
    availableReplicas: int = 0


class _Object(msgspec.Struct, frozen=True, gc=False):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status | str = _Status()
    message: str = ""


class _Event(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: _Object


_EVENTS = msgspec.json.Decoder(_Event)


class Deployments:
    """Who has all its pods, new ones, and no others; and at which generation."""

    kind = KINDS.DEPLOYMENT

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._settled: dict[str, int] = {}

    def settled(self, generation: int = 1) -> int:
        """How many are, at this generation or a later one."""
        return sum(reached >= generation for reached in self._settled.values())

    def see(self, kind: str, seen: _Object) -> None:
        name, wanted, status = seen.metadata.name, seen.spec.replicas, seen.status
        self._settled.pop(name, None)
        if kind == "DELETED":
            self.names.discard(name)
            return
        self.names.add(name)
        if isinstance(status, _Status) and status.observedGeneration >= seen.metadata.generation:
            counts = (status.replicas, status.updatedReplicas, status.availableReplicas)
            if counts == (wanted, wanted, wanted):
                self._settled[name] = seen.metadata.generation


class Pods:
    """Where each pod is; how many were made, were told to go, and went; the most that an owner had at a time."""

    kind = KINDS.POD

    def __init__(self) -> None:
        self.node_of: dict[str, str] = {}
        self.ready: set[str] = set()
        self.created = self.told_to_go = self.gone = 0
        self.moved = 0
        self.last_told = 0.0
        self.most_of_an_owner = 0
        self._active: Counter[str] = Counter()
        self._owner_of: dict[str, str] = {}

    def see(self, kind: str, seen: _Object) -> None:
        uid, node, status = seen.metadata.uid, seen.spec.nodeName, seen.status
        if kind == "DELETED":
            self.gone += self.node_of.pop(uid, None) is not None
            self._leave(uid)
            return
        before = self.node_of.get(uid)
        if before is None:
            self.created += 1
            owner = self._owner_of[uid] = seen.metadata.labels.get(APP, "")
            self._active[owner] += 1
            self.most_of_an_owner = max(self.most_of_an_owner, self._active[owner])
        elif before and before != node:
            self.moved += 1
        self.node_of[uid] = node
        if isinstance(status, str):  # of an error, which has one word for it
            return
        if seen.metadata.deletionTimestamp or status.phase in _FINISHED:
            self._leave(uid)
        elif any(condition.type == "Ready" and condition.status == "True" for condition in status.conditions):
            self.ready.add(uid)

    def _leave(self, uid: str) -> None:
        self.ready.discard(uid)
        owner = self._owner_of.pop(uid, None)
        if owner is not None:
            self._active[owner] -= 1
            self.told_to_go += 1
            self.last_told = perf_counter()


class Follower:
    """See the module. `run` is a task of its own."""

    def __init__(self, seen: Deployments | Pods, requests: Requests, sender: Sender, changed: asyncio.Event) -> None:
        self._seen, self._changed = seen, changed
        self._watch = WatchLines(seen.kind, requests, sender, self._receive)
        self.failure: RunFailed | None = None

    async def begin(self) -> None:
        await self._watch.begin()

    async def run(self) -> None:
        self.failure = await self._watch.run()
        self._changed.set()

    def _receive(self, lines: bytes) -> str:
        revision = ""
        for event in _EVENTS.decode_lines(lines):
            if event.type == "ERROR":
                raise RunFailed(event.object.message or "it ended")
            if event.type != "BOOKMARK":
                self._seen.see(event.type, event.object)
            revision = event.object.metadata.resourceVersion
        self._changed.set()
        return revision


class Following:
    """Both watches at work."""

    def __init__(self, requests: Requests, sender: Sender) -> None:
        self.deployments, self.pods = Deployments(), Pods()
        self._changed = asyncio.Event()
        followed: tuple[Deployments | Pods, ...] = (self.deployments, self.pods)
        self._followers = [Follower(one, requests, sender, self._changed) for one in followed]
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        for follower in self._followers:
            await follower.begin()
            self._tasks.append(asyncio.create_task(follower.run()))

    async def until(self, holds: Callable[[], bool], what: str, patience: float) -> None:
        """Raises RunFailed if it does not, and nothing has happened for this number of seconds."""
        while not holds():
            self._changed.clear()
            try:
                async with asyncio.timeout(patience):
                    await self._changed.wait()
            except TimeoutError:
                raise RunFailed(f"{what}: nothing has happened for {patience:g} seconds; {self._how_far()}") from None
            for follower in self._followers:
                if follower.failure is not None:
                    raise follower.failure

    def _how_far(self) -> str:
        deployments, pods = self.deployments, self.pods
        there = f"{deployments.settled()} of {len(deployments.names)} Deployments are complete"
        now = f"{len(pods.node_of)} pods are there, {len(pods.ready)} of them ready"
        return f"{there}, {now}, {pods.created} were made, {pods.gone} are gone"

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
