"""Writes that a key has made and the caches have not shown yet.

A key is not reconciled before its own writes are in the `World`, so that nothing is created twice; if they do not
appear in time, it goes on without. Kubernetes: ControllerExpectations. Differs: by revision, not by count.
"""

from collections.abc import Callable

from moorage.control.framework.uncertain_writes import Found
from moorage.control.framework.world import World
from moorage.model.kinds import Kind

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
