"""The file: what a restart finds, what is removed from it, and that it stops growing."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from moorage.store import log_file, sqlite
from moorage.store.checksums import mark_checksum
from moorage.store.data_directory import FILE_NAME
from moorage.store.log_file import CHECKPOINT_BYTES
from moorage.store.protocol import Change, ClaimTaken, Compacted, StoreFailed
from moorage.store.sqlite import SqliteStore
from moorage.store.state import Bounds

pytestmark = pytest.mark.real_time


@asynccontextmanager
async def opened(path: Path, bounds: Bounds | None = None) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(path, bounds=bounds)
    try:
        yield store
    finally:
        await store.close()


def _rows(path: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(path / FILE_NAME)
    try:
        return connection.execute("SELECT revision, key FROM log ORDER BY revision").fetchall()
    finally:
        connection.close()


async def test_values_and_history_survive_a_restart(tmp_path: Path) -> None:
    seen: list[list[Change]] = []
    async with opened(tmp_path) as store:
        pod = await store.create("/pods/default/a", b"1")
        await store.create("/nodes/a", b"1")
        pod = await store.update("/pods/default/a", b"2", pod.revision)
        await store.delete("/pods/default/a", pod.revision)
        await store.create("/pods/default/b", b"3")
        seen.append(await store.watch("/", 0).next())
    async with opened(tmp_path) as store:
        seen.append(await store.watch("/", 0).next())
        assert store.revision == 6
        listing = await store.list("/")
        assert [(stored.key, stored.value, stored.created) for stored in listing.items] == [
            ("/nodes/a", b"1", 3),
            ("/pods/default/b", b"3", 6),
        ]
        assert [stored.value for stored in (await store.list("/pods/", revision=4)).items] == [b"2"]
    assert seen[0] == seen[1]


async def test_revisions_go_on_even_if_nothing_is_left(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for _ in range(5):
            stored = await store.create("/pods/default/a", b"")
            await store.delete("/pods/default/a", stored.revision)
        await store.compact(store.revision)
    assert _rows(tmp_path) == []
    async with opened(tmp_path) as store:
        assert (store.revision, store.oldest) == (11, 11)
        assert (await store.create("/pods/default/a", b"")).revision == 12
        with pytest.raises(Compacted):
            store.watch("/pods/", 10)


async def test_what_is_compacted_is_removed_from_the_file_and_forgotten_for_good(tmp_path: Path) -> None:
    async with opened(tmp_path, Bounds(changes=100)) as store:
        await store.create("/nodes/a", b"")
        lease = await store.create("/leases/a", b"")
        for _ in range(3_000):
            lease = await store.update("/leases/a", b"x" * 100, lease.revision)
    rows = _rows(tmp_path)
    assert rows[0] == (2, "/nodes/a")
    assert len(rows) < 2_000  # rows go in pieces: some of the 3,000 may wait for the next one
    async with opened(tmp_path) as store:
        store.watch("/nodes/", 1)
        with pytest.raises(Compacted):
            store.watch("/leases/", 1)
        with pytest.raises(Compacted):
            await store.list("/leases/", revision=store.oldest - 1)
        past = await store.list("/leases/", revision=store.oldest)
        assert [stored.revision for stored in past.items] == [store.oldest]
        changes: list[Change] = []
        watch = store.watch("/leases/", store.oldest)
        while watch.at < store.revision:
            changes += await watch.next()
        assert [change.revision for change in changes] == list(range(store.oldest + 1, store.revision + 1))


async def test_rows_that_a_removal_left_behind_are_removed_by_the_next_start(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        lease = await store.create("/leases/a", b"")
        for _ in range(10):
            lease = await store.update("/leases/a", b"", lease.revision)
        await store.delete("/leases/a", lease.revision)
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("INSERT INTO marks VALUES ('/leases/', 13, ?)", (mark_checksum("/leases/", 13),))
    connection.commit()
    connection.close()
    assert len(_rows(tmp_path)) == 12
    async with opened(tmp_path) as store:
        assert await store.count("/") == 0
        assert store.revision == 13
    assert _rows(tmp_path) == []
    async with opened(tmp_path) as store:
        assert await store.count("/") == 0
        assert store.revision == 13


async def test_neither_file_nor_write_ahead_log_grow_under_churn(tmp_path: Path) -> None:
    sizes: list[tuple[int, int]] = []
    async with opened(tmp_path, Bounds(changes=50)) as store:
        value = b"x" * 50_000
        leases = [await store.create(f"/leases/{number}", value) for number in range(50)]
        for _ in range(6):
            for _ in range(10):
                leases = await asyncio.gather(*(store.update(one.key, value, one.revision) for one in leases))
            wal = tmp_path / f"{FILE_NAME}-wal"
            sizes.append(((tmp_path / FILE_NAME).stat().st_size, wal.stat().st_size))
    assert max(wal for _, wal in sizes) < 4 * CHECKPOINT_BYTES
    # 6 rounds write 25 MB each.
    assert max(file for file, _ in sizes) < 100_000_000
    assert (tmp_path / FILE_NAME).stat().st_size < 80_000_000
    assert not (tmp_path / f"{FILE_NAME}-wal").exists()


async def test_small_writes_one_by_one_keep_the_write_ahead_log_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "CHECKPOINT_BYTES", 512 * 1024)
    wal = tmp_path / f"{FILE_NAME}-wal"
    async with opened(tmp_path) as store:
        lease = await store.create("/leases/a", b"x" * 300)
        for _ in range(120):  # the log has whole pages of 8 KiB
            lease = await store.update("/leases/a", b"y" * 300, lease.revision)
        assert wal.stat().st_size < 512 * 1024


async def test_the_write_ahead_log_is_cut_off_when_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "QUIET_SECONDS", 0.01)
    wal = tmp_path / f"{FILE_NAME}-wal"
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.create(f"/pods/{number}", b"x" * 2_000) for number in range(500)))
        for _ in range(1_000):
            if not wal.stat().st_size:
                break
            await asyncio.sleep(0.01)
        assert wal.stat().st_size == 0
        await store.create("/pods/late", b"z")
    async with opened(tmp_path) as store:
        assert await store.count("/pods/") == 501


async def test_more_at_once_than_fit_into_one_transaction(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await asyncio.gather(*(store.create(f"/pods/{number}", b"") for number in range(10_000)))
    async with opened(tmp_path) as store:
        assert await store.count("/pods/") == 10_000
        assert store.revision == 10_001


async def test_a_key_that_cannot_be_written_fails_and_the_store_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(StoreFailed, match="surrogates"):
            await store.create("/pods/\ud800", b"")
        assert (await store.create("/pods/a", b"")).revision == 2


async def test_a_store_that_nobody_closes_does_not_keep_the_process(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.create("/pods/a", b"")
    # The loop ends with a write on its way: the writer finds nobody to tell, and that is all.
    writing = asyncio.ensure_future(store.create("/pods/b", b""))
    await asyncio.sleep(0)
    writing.cancel()


async def test_a_write_that_fails_gives_its_claims_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        web = await store.create("/services/web", b"1", claims=("ip/1", "ip/2"))
        failing = store.update("/services/web", b"2", web.revision, claims=("ip/3",), released=("ip/2",))
        broken = store.create("/services/\ud800", b"", claims=("ip/4",))
        outcomes = await asyncio.gather(broken, failing, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StoreFailed, StoreFailed]
        with pytest.raises(ClaimTaken):
            await store.create("/services/api", b"1", claims=("ip/2",))
        await store.create("/services/api", b"1", claims=("ip/3", "ip/4"))


async def test_what_is_being_written_is_waited_for(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        writing = asyncio.ensure_future(store.create("/services/web", b"1"))
        await asyncio.sleep(0)
        await store.catch_up()
        assert store.peek("/services/web") is not None
        await writing
