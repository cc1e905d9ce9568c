"""Define what a store is: keys, values, one growing revision for all of them, and the changes since a revision.

Keys are such as `/pods/default/web-0`; values are bytes that the store does not look into. A write is acknowledged when
it is durable, and is not visible before. `view` and `template` travel with a value for readers in the same process:
what the value means, decoded, and what it shares with others; they are not stored, and are None after a restart. All
methods are called from one event loop.

    store = MemoryStore()
    stored = await store.create("/pods/default/web-0", b"{}")       # KeyExists if there is one
    assert (await store.get(stored.key)) == stored

    changes = store.watch("/pods/", after=stored.revision)          # everything from here on, nothing twice
    newer = await store.update(stored.key, b"{}", expected=stored.revision)
    with suppress(RevisionMismatch):                                # not the revision that the caller has seen
        await store.update(stored.key, b"late", expected=stored.revision)
    await store.delete(stored.key, expected=newer.revision)
    assert [change.new is None for change in await changes.next()] == [False, True]
    await store.close()

A store may be shared: then other servers write to it too, newest values are those that this process has heard of, and
`catch_up` waits for what it has not. Writes are decided by the shared store, not by memory.
A *claim* is a name, such as `ip/10.96.0.7`, that one value at a time may hold. It is taken and released in one step
with the write of the value that holds it.
Kubernetes: storage.Interface over etcd's key-value API, and the allocators of the registry's rangeallocation.
"""

from collections.abc import Callable, Sequence
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


#: Is told of changes, see `Store.subscribe`.
Listener = Callable[[Change], None]


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


class ClaimTaken(StoreError):
    """Another value holds the claim."""

    def __init__(self, claim: str) -> None:
        super().__init__(f"{claim} is taken")
        self.claim = claim


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


class StoreUnavailable(StoreFailed):
    """The store does not answer at the moment, and nothing was done: trying again later helps."""


class StoreClosed(StoreError):
    """The store was closed: the server stops, and nothing was done."""

    def __init__(self) -> None:
        super().__init__("the store is closed")


class StoreUncertain(StoreError):
    """It could not be found out whether the write was made. It may become visible later, or never."""


class Watch(Protocol):
    """Changes under a prefix, in order, in batches of all that there is, at least one.

    A watcher that falls behind delays no other; if what it has not read yet is compacted, it gets `Compacted`. `at` is
    the revision up to which everything has been delivered, for bookmarks.
    """

    @property
    def at(self) -> int: ...

    async def next(self) -> list[Change]:
        """The next changes; waits for the first one. Raises Compacted, or StoreClosed."""
        ...

    def close(self) -> None: ...


class WritableStore(Protocol):
    """Newest values and the writes that change them: what the verbs of the API need."""

    @property
    def revision(self) -> int:
        """The newest revision that is durable and seen."""
        ...

    @property
    def is_shared(self) -> bool:
        """Whether other servers write to the same store."""
        ...

    async def catch_up(self) -> None:
        """Return when newest values include every write that any server acknowledged before the call.

        Raises StoreFailed if that cannot be found out within a bounded time.
        """
        ...

    async def reach(self, revision: int) -> None:
        """Return when `revision` is seen. Raises FutureRevision if it is not within a bounded time."""
        ...

    async def get(self, key: str) -> Stored | None:
        """The newest value, which includes every write acknowledged by this server so far."""
        ...

    def peek(self, key: str) -> Stored | None:
        """The same at once: newest values are in memory."""
        ...

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Listing:
        """Values whose key starts with `prefix` and comes after `after`; 0 means the newest revision, no limit.

        Raises Compacted and FutureRevision.
        """
        ...

    async def create(
        self, key: str, value: bytes, view: Any = None, template: Any = None, *, claims: Sequence[str] = ()
    ) -> Stored:
        """Create a value that holds `claims`. Raises KeyExists, ClaimTaken, StoreFailed, StoreUncertain."""
        ...

    async def update(
        self,
        key: str,
        value: bytes,
        expected: int,
        view: Any = None,
        template: Any = None,
        *,
        claims: Sequence[str] = (),
        released: Sequence[str] = (),
    ) -> Stored:
        """Replace what `expected` wrote; hold `claims` besides those that it held, let go of those `released`.

        Raises KeyMissing, RevisionMismatch, ClaimTaken, StoreFailed, StoreUncertain.
        """
        ...

    async def delete(self, key: str, expected: int, *, released: Sequence[str] = ()) -> Change:
        """Remove what `expected` wrote, and let go of the claims `released`, which are all that it held.

        Raises KeyMissing, RevisionMismatch, StoreFailed, StoreUncertain.
        """
        ...


class Store(WritableStore, Protocol):
    """Keys, values, their history and their changes, as the module says."""

    @property
    def oldest(self) -> int:
        """The revision from which on changes are remembered; lists and watches before it raise Compacted."""
        ...

    @property
    def complaint(self) -> str:
        """Why the last write did not become durable; empty if it did."""
        ...

    async def count(self, prefix: str) -> int: ...

    async def hold(self, holder: Stored, claims: Sequence[str]) -> None:
        """Take claims for a value that was written without them; called for every holder when a server starts.

        Claims that are held already, and those of a value that is gone or newer by now, are left as they are.
        """
        ...

    def expires(self, prefix: str, seconds: int) -> bool:
        """Let values under a prefix disappear so long after they are written. False: the caller is to delete them."""
        ...

    def subscribe(self, prefix: str, listener: Listener) -> None:
        """Call `listener` for each change under the prefix of a kind, such as `/pods/`, in order, from now on.

        It is called when the newest values have the change, before watches wake and before the write is acknowledged;
        changes of other servers as well. It must be quick and must not write. Values may have no view.
        """
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
