"""Define what a store is: keys, values, one growing revision for all of them, and the changes since a revision.

Keys are such as `/pods/default/web-0`; values are bytes that the store does not look into. A write is acknowledged when
it is durable, and is not visible before. `view` and `template` travel with a value for readers in the same process:
what the value means, decoded, and what it shares with others; they are not stored, and are None after a restart. All
methods are called from one event loop.
Kubernetes: storage.Interface over etcd's key-value API.
"""

from pathlib import Path
from typing import Any, NamedTuple, Protocol


class Stored(NamedTuple):
    """One value as of the revision that wrote it. `created` is the revision that created the key."""

    key: str
    value: bytes
    revision: int
    created: int
    view: Any = None
    template: Any = None


class Change(NamedTuple):
    """What happened at one revision. Created: no `old`. Deleted: no `new`."""

    revision: int
    old: Stored | None
    new: Stored | None

    @property
    def key(self) -> str:
        stored = self.new if self.new is not None else self.old
        return stored.key if stored is not None else ""


class Listing(NamedTuple):
    """Values in the order of their keys, all as of `revision`; `remaining` come after the last one."""

    items: list[Stored]
    revision: int
    remaining: int = 0


class StoreError(Exception):
    """A store refused a request, or failed."""


class KeyExists(StoreError):
    """There is a value at the key already."""


class KeyMissing(StoreError):
    """There is no value at the key."""


class RevisionMismatch(StoreError):
    """The value is at another revision than the caller expects. `found` is the newest one."""

    def __init__(self, found: Stored) -> None:
        super().__init__(f"{found.key} is at revision {found.revision}")
        self.found = found


class Compacted(StoreError):
    """History from before `oldest` is forgotten."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"history before revision {oldest} is compacted")
        self.oldest = oldest


class FutureRevision(StoreError):
    """The revision has not been reached yet."""

    def __init__(self, asked: int, current: int) -> None:
        super().__init__(f"revision {asked} is in the future, the current one is {current}")
        self.asked, self.current = asked, current


class StoreFailed(StoreError):
    """The write did not become durable: a full disk, a broken file. Nothing of it is seen."""


class Watch(Protocol):
    """Changes under a prefix, in order, in batches of all that there is, at least one.

    A watcher that falls behind delays no other; if what it has not read yet is compacted, it gets `Compacted`. `at` is
    the revision up to which everything has been delivered, for bookmarks.
    """

    @property
    def at(self) -> int: ...

    async def next(self) -> list[Change]:
        """The next changes; waits for the first one. Raises Compacted, or StoreError once the store is closed."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    """Keys, values and their changes, as the module says."""

    @property
    def revision(self) -> int:
        """The newest revision that is durable and seen."""
        ...

    @property
    def oldest(self) -> int:
        """The revision from which on changes are remembered; lists and watches before it raise Compacted."""
        ...

    @property
    def complaint(self) -> str:
        """Why the last write did not become durable; empty if it did."""
        ...

    async def get(self, key: str) -> Stored | None:
        """The newest value, which includes every write acknowledged so far."""
        ...

    def peek(self, key: str) -> Stored | None:
        """The same at once: newest values are in memory."""
        ...

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        """Values whose key starts with `prefix` and comes after `after`; 0 means the newest revision, no limit.

        Raises Compacted and FutureRevision.
        """
        ...

    async def count(self, prefix: str) -> int: ...

    async def create(self, key: str, value: bytes, view: Any = None, template: Any = None) -> Stored:
        """Raises KeyExists, StoreFailed."""
        ...

    async def update(self, key: str, value: bytes, expected: int, view: Any = None, template: Any = None) -> Stored:
        """Replace what `expected` wrote. Raises KeyMissing, RevisionMismatch, StoreFailed."""
        ...

    async def delete(self, key: str, expected: int) -> Change:
        """Remove what `expected` wrote. Raises KeyMissing, RevisionMismatch, StoreFailed."""
        ...

    def watch(self, prefix: str, after: int) -> Watch:
        """Changes with a revision greater than `after`. Raises Compacted; a future `after` is waited for."""
        ...

    async def compact(self, revision: int) -> None:
        """Forget what is superseded as of `revision`. Newest values are never forgotten."""
        ...

    async def copy(self, path: Path) -> None:
        """Write everything acknowledged so far, as of one revision, into a new file in the format of `log_file`.

        Raises StoreFailed.
        """
        ...

    async def close(self) -> None:
        """Finish writes that were accepted, end watches, let go of the file."""
        ...
