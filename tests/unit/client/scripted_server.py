"""A server at the level of the client's protocol, whose misfortunes a test decides: the informer's other half."""

import asyncio
from collections.abc import AsyncGenerator

from moorage.client.protocol import EventType, Listing, Object, Unreachable, WatchEvent
from moorage.model.api_error import expired
from moorage.model.kinds import KINDS, Kind


def pod(name: str, revision: int, uid: str = "") -> Object:
    metadata = {"namespace": "default", "name": name, "uid": uid or f"uid-{name}", "resourceVersion": str(revision)}
    return Object(KINDS.POD, f"default/{name}", revision, raw={"metadata": metadata})


class ScriptedServer:
    """Objects, their history since `oldest`, and watches that can be broken at any moment."""

    def __init__(self) -> None:
        self.objects: dict[str, Object] = {}
        self.history: list[WatchEvent] = []
        self.revision = 1
        self.oldest = 1
        self.lists = 0
        self.watches: list[int] = []  # the revisions that watches began at
        self.refusals: list[Exception] = []  # what the next calls run into
        self.fate: Exception | None = None  # what running watches end with, when they are ended
        self._ends = 0
        self._changed = asyncio.Event()

    def put(self, name: str, uid: str = "") -> None:
        self.revision += 1
        new = pod(name, self.revision, uid)
        kind = EventType.MODIFIED if new.key in self.objects else EventType.ADDED
        self.objects[new.key] = new
        self._say(WatchEvent(kind, new))

    def remove(self, name: str) -> None:
        self.revision += 1
        old = self.objects.pop(f"default/{name}")
        self._say(WatchEvent(EventType.DELETED, pod(name, self.revision, old.uid)))

    def bookmark(self, revision: int | None = None) -> None:
        self._say(
            WatchEvent(EventType.BOOKMARK, Object(KINDS.POD, "", self.revision if revision is None else revision))
        )

    def repeat(self, event: WatchEvent) -> None:
        self._say(event)

    def forget(self) -> None:
        """Compact: nobody can watch from before now."""
        self.oldest = self.revision

    def start_over(self) -> None:
        """As a server does that keeps nothing: the revisions begin anew."""
        self.objects, self.history, self.revision, self.oldest = {}, [], 1, 1
        self.end_watches(Unreachable("restarting"))

    def end_watches(self, fate: Exception | None = None) -> None:
        self.fate = fate
        self._ends += 1
        self._wake()

    def _say(self, event: WatchEvent) -> None:
        self.history.append(event)
        self._wake()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        self.lists += 1
        await asyncio.sleep(0)
        if self.refusals:
            raise self.refusals.pop(0)
        return Listing(list(self.objects.values()), self.revision)

    async def watch(
        self, facts: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        self.watches.append(revision)
        ends = self._ends
        if self.refusals:
            raise self.refusals.pop(0)
        if revision < self.oldest:
            raise expired("too old resource version")
        said = next((i for i, event in enumerate(self.history) if event.object.revision > revision), len(self.history))
        history = self.history
        while self._ends == ends:
            changed = self._changed
            if said < len(history):
                batch = history[said:]
                said = len(history)
                yield batch
            else:
                await changed.wait()
        if self.fate is not None:
            raise self.fate
