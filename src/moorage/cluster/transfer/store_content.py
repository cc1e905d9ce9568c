"""Read all objects of a store: a data directory under its lock, or etcd as of one revision.

Values are as they are stored, whether or not they can be read: `store_check` reports what is wrong with them. An etcd
is in use while API servers have fences there, notes that each keeps from its start until it stops. One that was killed
leaves its fence behind for a day, so where there are fences, changes are watched for a while: an API server renews its
Lease every ten seconds.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from moorage.cluster.ha.layout import MEMBERS_FILE
from moorage.cluster.transfer.stored_values import SIBLINGS, stored_problem
from moorage.serve.resources.kube_apiserver_values import etcd_roots
from moorage.store.data_directory import FILE_NAME, MARK_NAME, DataDirectory, StoreUnusable
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.errors import EtcdError
from moorage.store.etcd.layout import KeyLayout, after_all
from moorage.store.etcd.messages import KeyValue
from moorage.store.etcd.settings import EtcdSettings
from moorage.store.log_file import ALL_PARTS, REACHED, LogFile
from moorage.store.opening import open_log_file
from moorage.store.salvage import Salvaged
from moorage.store.state import FIRST_REVISION, State

_PAGE = 500


class TransferError(Exception):
    """Why a store cannot be read, checked or migrated: one line for the user."""


class StoredItem(NamedTuple):
    """One value. `shown` is its key for the user, as it is called in that store."""

    key: str
    shown: str
    value: bytes
    revision: int
    created: int
    lease: int = 0


class StoreContent(NamedTuple):
    """All values of a store as of one revision, in the order of their revisions. `notes` are Moorage's own, in etcd."""

    title: str
    items: list[StoredItem]
    revision: int
    notes: dict[str, bytes]
    is_etcd: bool


@contextmanager
def locked_directory(path: Path) -> Iterator[DataDirectory]:
    """Lock a data directory that has, or had, a store of its own. Raises TransferError."""
    database = path / FILE_NAME
    if (path / MEMBERS_FILE).is_file():
        raise TransferError(
            f"{path} is a cluster of `moorage up --ha`, whose objects are in its etcd: while it runs, give the URLs "
            f"and certificates of its API servers (`ps`, and {path}/pki/etcd) as --etcd-servers, --etcd-cafile, …"
        )
    if not database.is_file() and not any((path / name).exists() for name in (MARK_NAME, *SIBLINGS)):
        raise TransferError(f"there is no cluster in {path}: it has no file {FILE_NAME} (`moorage list` shows where)")
    try:
        with closing(DataDirectory(path)) as directory:
            yield directory
    except StoreUnusable as error:
        raise TransferError(str(error)) from None
    except sqlite3.Error as error:
        raise TransferError(f"{database} cannot be read: {error}") from None


@contextmanager
def opened_directory(path: Path) -> Iterator[LogFile]:
    """Lock a data directory that has objects, and open its file, which is sound. Raises TransferError."""
    with (
        locked_directory(path) as directory,
        closing(open_log_file(directory, check=stored_problem, siblings=SIBLINGS)) as file,
    ):
        yield file


def salvaged_content(path: Path, salvaged: Salvaged) -> StoreContent:
    """Return what was read of a directory, whether or not it is all that there was."""
    items = [StoredItem(key, key, value or b"", revision, created) for revision, key, created, value in salvaged.rows]
    return StoreContent(str(path), items, max(salvaged.reached, FIRST_REVISION), {}, is_etcd=False)


def read_directory(path: Path, file: LogFile) -> StoreContent:
    """Read the newest values of an opened directory. Raises StoreUnusable."""
    state, marks = State(), file.marks()
    floor, reached = marks.pop(ALL_PARTS, 0), marks.pop(REACHED, 0)
    with closing(file.rows()) as rows:
        state.restore(rows, marks, floor, reached)
    items = [
        StoredItem(stored.key, stored.key, stored.value, stored.revision, stored.created)
        for stored in sorted(state.values.values(), key=lambda stored: stored.revision)
    ]
    return StoreContent(str(path), items, max(state.revision, FIRST_REVISION), {}, is_etcd=False)


def layout_of(settings: EtcdSettings) -> KeyLayout:
    return KeyLayout(settings.prefix, etcd_roots())


@asynccontextmanager
async def opened_etcd(settings: EtcdSettings) -> AsyncIterator[EtcdClient]:
    """Connect to etcd for a while. Raises TransferError, also for what etcd refuses inside the block."""
    try:
        client = await EtcdClient.connect(settings)
        try:
            yield client
        finally:
            await client.close()
    except EtcdError as error:
        raise TransferError(str(error)) from None


async def read_etcd(client: EtcdClient, layout: KeyLayout, title: str) -> StoreContent:
    """Read all values at one revision. Raises EtcdError."""
    items: list[StoredItem] = []
    notes: dict[str, bytes] = {}
    revision = 0
    async for page_revision, page in pages(client, layout):
        revision = page_revision
        for item in page:
            if layout.is_note(item.key):
                notes[layout.note_name(item.key)] = item.value
            elif not layout.is_kubernetes_note(item.key):
                shown = item.key.decode("utf-8", "backslashreplace")
                key = layout.from_etcd(item.key)
                items.append(StoredItem(key, shown, item.value, item.modified, item.created, item.lease))
    items.sort(key=lambda one: one.revision)
    return StoreContent(title, items, revision, notes, is_etcd=True)


async def pages(client: EtcdClient, layout: KeyLayout) -> AsyncIterator[tuple[int, list[KeyValue]]]:
    """Yield all keys under the prefix, notes too, as of one revision, and the revision; at least once."""
    begin, revision, has_more = layout.begin, 0, True
    while has_more:
        page = await client.range(begin, layout.end, revision=revision, limit=_PAGE)
        revision, has_more = revision or page.revision, page.has_more
        yield revision, page.items
        if page.items:
            begin = page.items[-1].key + b"\0"


#: Longer than an API server is ever silent.
LOOK_SECONDS = 15.0
FENCES = "fences/"


async def fences_in(client: EtcdClient, layout: KeyLayout) -> frozenset[bytes]:
    """Return the fences of API servers, those that run and those that were killed. Raises EtcdError."""
    begin = layout.note(FENCES)
    return frozenset(item.key for item in (await client.range(begin, after_all(begin), keys_only=True)).items)


async def refuse_if_used(client: EtcdClient, layout: KeyLayout, seconds: float = LOOK_SECONDS) -> int:
    """Return how many API servers ended without stopping. Raises TransferError if one runs, and EtcdError."""
    kubernetes = layout.kubernetes_servers
    if (await client.range(kubernetes, after_all(kubernetes), count_only=True)).count:
        raise TransferError(
            "a kube-apiserver is connected to etcd, or was 15 seconds ago: stop the whole cluster first, then try again"
        )
    fences = layout.note(FENCES)
    counted = await client.range(fences, after_all(fences), count_only=True)
    if not counted.count:
        return 0
    with closing(client.watch(layout.begin, layout.end, counted.revision + 1)) as watch:
        try:
            async with asyncio.timeout(seconds):
                while not (await watch.next()).events:
                    pass
        except TimeoutError:
            return counted.count
    servers = "an API server is" if counted.count == 1 else f"{counted.count} API servers are"
    raise TransferError(f"{servers} connected to etcd and something writes: stop the whole cluster first")
