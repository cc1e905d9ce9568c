"""Tell how old the revision is at which a list in pages goes on.

A store may still have a revision of hours ago, of a kind of which nothing has changed since. A token for it expires all
the same after five minutes, so that a client learns soon that it pages too slowly, and can rely on it whatever else is
written. Revisions are noted when pages are asked for. Kubernetes: the compaction of etcd every five minutes.
"""

from collections import deque

LIFETIME = 300.0
_NOTED_EVERY = 10.0


class PageAges:
    """The revisions of the last minutes, one every ten seconds at most."""

    def __init__(self) -> None:
        self._noted: deque[tuple[float, int]] = deque()
        self._oldest = 0

    def note(self, revision: int, now: float) -> None:
        """Note that a revision is the newest now."""
        noted = self._noted
        if not noted or now - noted[-1][0] >= _NOTED_EVERY:
            noted.append((now, revision))
        while noted and now - noted[0][0] >= LIFETIME:
            self._oldest = noted.popleft()[1]

    def has_expired(self, revision: int) -> bool:
        """Return whether there was a newer revision five minutes ago."""
        return revision < self._oldest
