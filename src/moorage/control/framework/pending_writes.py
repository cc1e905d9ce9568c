"""Writes that a key has made and the caches have not shown yet. Kubernetes: ControllerExpectations.

A key is not reconciled before its own writes are in the `World`, so that nothing is created twice; if they do not
appear in time, it goes on without. Creates and deletes without an answer, because the connection broke, are looked up
first. Differs: by revision, not by count; Kubernetes does not look up anything, and a ReplicaSet may have a pod too
many for a moment.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moorage.client.protocol import Client, Object
from moorage.control.framework.actions import Create, Delete
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind


class Found(NamedTuple):
    """Revisions that the world must reach, and objects that must be gone or terminating in it."""

    revisions: list[tuple[Kind, int]]
    deleted: list[tuple[Kind, str, str]]


class UncertainWrites:
    """Unanswered writes by key."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._of: dict[str, list[Create | Delete]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._of

    def add(self, key: str, action: Create | Delete) -> None:
        self._of.setdefault(key, []).append(action)

    async def look(self, key: str) -> Found:
        """Look up what became of a key's writes and forget them. Raises ApiError, Unreachable."""
        found = Found([], [])
        for action in self._of[key]:
            if isinstance(action, Create):
                there = await self._made(action)
                if there:
                    found.revisions.append((action.kind, max(one.revision for one in there)))
            elif await self._is_going(action):
                found.deleted.append((action.kind, action.key, action.uid))
        del self._of[key]
        return found

    async def _made(self, action: Create) -> Sequence[Object]:
        """Return what it may have created: with a generated name, all objects that have its labels."""
        metadata = action.document.get("metadata") or {}
        if metadata.get("name"):
            return await find(self._client, action.kind, metadata["name"], action.namespace)
        labels = ",".join(f"{name}={value}" for name, value in (metadata.get("labels") or {}).items())
        return (await self._client.list_all(action.kind, action.namespace, labels=labels)).items

    async def _is_going(self, action: Delete) -> bool:
        there = await find(self._client, action.kind, action.name, action.namespace)
        metadata = there[0].view.metadata if there else None
        return metadata is None or metadata.uid != action.uid or metadata.deletionTimestamp is not None


async def find(client: Client, kind: Kind, name: str, namespace: str) -> Sequence[Object]:
    """Return the object as the only element; empty if it does not exist."""
    try:
        return (await client.get(kind, name, namespace),)
    except ApiError as error:
        if error.code != 404:
            raise
        return ()


#: How long the world may lag behind what a key has written; and behind what was found after the server was away,
#: when it takes a while until everything is watched again.
PATIENCE_SECONDS, LONG_PATIENCE_SECONDS = 10.0, 60.0


class _Pending:
    """What one key waits for: a revision for each kind, and objects that must be gone or terminating."""

    __slots__ = ("deleted", "revisions", "until")

    def __init__(self, until: float) -> None:
        self.until = until
        self.revisions: dict[Kind, int] = {}
        self.deleted: list[tuple[Kind, str, str]] = []


class Expectations:
    """Pending writes by key. `seen` returns the revision up to which the world knows a kind."""

    def __init__(self, world: World, seen: Callable[[Kind], int]) -> None:
        self._world, self._seen = world, seen
        self._pending: dict[str, _Pending] = {}

    def expect_revision(self, key: str, kind: Kind, revision: int, now: float) -> None:
        revisions = self._of(key, now).revisions
        revisions[kind] = max(revision, revisions.get(kind, 0))

    def expect_deletion(self, key: str, kind: Kind, name: str, uid: str, now: float) -> None:
        """Wait until the object, by its key in the world, is gone, terminating or another one."""
        self._of(key, now).deleted.append((kind, name, uid))

    def expect_found(self, key: str, found: Found, now: float) -> None:
        """Wait longer for writes whose outcome was looked up after the server was unreachable."""
        for kind, revision in found.revisions:
            self.expect_revision(key, kind, revision, now)
        pending = self._of(key, now)
        pending.deleted += found.deleted
        pending.until = now + LONG_PATIENCE_SECONDS

    def is_waiting(self, key: str, now: float) -> bool:
        """Return whether the world does not show yet what this key has written."""
        pending = self._pending.get(key)
        if pending is None:
            return False
        waits = now < pending.until and (
            any(self._seen(kind) < revision for kind, revision in pending.revisions.items())
            or any(self._is_there(*deleted) for deleted in pending.deleted)
        )
        if not waits:
            del self._pending[key]
        return waits

    def _is_there(self, kind: Kind, name: str, uid: str) -> bool:
        found = self._world.get(kind, name)
        if found is None:
            return False
        metadata = found.view.metadata
        return metadata.uid == uid and metadata.deletionTimestamp is None

    def _of(self, key: str, now: float) -> _Pending:
        pending = self._pending.get(key)
        if pending is None:
            self._forget_expired(now)
            pending = self._pending[key] = _Pending(now + PATIENCE_SECONDS)
        return pending

    def _forget_expired(self, now: float) -> None:
        """Drop the oldest entries: a key whose object is gone may never be reconciled again."""
        while self._pending:
            key, oldest = next(iter(self._pending.items()))
            if now < oldest.until:
                return
            del self._pending[key]
