"""What is lost is refused in one line: a log that is cut or gone, a file that is empty or of another store."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from moorage.store.checksums import row_checksum
from moorage.store.data_directory import FILE_NAME, MARK_NAME, StoreUnusable
from moorage.store.high_water import MarkFile, MarkUnreadable, read_mark
from moorage.store.log_file import MIGRATIONS
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time

WAL = f"{FILE_NAME}-wal"


async def _killed(path: Path, *, writes: int = 20, early: int = 5) -> Path:
    """Return what a process leaves behind that is killed after some writes, the first of which are in the file."""
    store = await SqliteStore.open(path / "live")
    for number in range(early):
        await store.create(f"/pods/default/early-{number}", b"x" * 2_000)
    await store.close()
    store = await SqliteStore.open(path / "live")
    for number in range(writes):
        await store.create(f"/pods/default/{number}", b"y" * 2_000)
    shutil.copytree(path / "live", path / "left")
    await store.close()
    return path / "left"


async def _refusal(path: Path, *siblings: str) -> str:
    with pytest.raises(StoreUnusable) as refused:
        await SqliteStore.open(path, siblings=siblings)
    return str(refused.value)


async def test_a_missing_log_is_refused_with_the_revisions_that_are_missing(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    (left / WAL).unlink()
    line = await _refusal(left)
    assert "the write-ahead log (moorage.db-wal) is missing; revisions 7–26 are missing" in line
    assert "`moorage store repair" in line
    assert "\n" not in line


async def test_a_cut_log_is_refused_with_the_revisions_that_are_missing(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    content = (left / WAL).read_bytes()
    (left / WAL).write_bytes(content[: len(content) // 2])
    line = await _refusal(left)
    assert "is cut: it has" in line
    assert "–26 are missing" in line
    assert (left / WAL).read_bytes() == content[: len(content) // 2]


async def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    content = bytearray((left / WAL).read_bytes())
    content[len(content) // 2] ^= 16
    (left / WAL).write_bytes(content)
    assert "the end of the write-ahead log (moorage.db-wal) is damaged; revisions" in await _refusal(left)


async def test_a_log_that_is_cut_though_no_revision_is_missing_is_refused(tmp_path: Path) -> None:
    """As after a checkpoint that a kill interrupted: the last page may be there, and those before it not."""
    left = await _killed(tmp_path)
    with closing(sqlite3.connect(left / FILE_NAME)) as connection:  # which brings the log home
        identity = connection.execute("SELECT revision FROM marks WHERE name = 'identity'").fetchone()[0]
    mark = MarkFile(left / MARK_NAME, identity, 1)
    mark.note(2, 100_000)
    mark.close()
    assert "the write-ahead log (moorage.db-wal) is missing." in await _refusal(left)


@pytest.mark.parametrize("is_empty", [True, False])
async def test_an_empty_or_missing_file_beside_a_mark_is_refused(tmp_path: Path, is_empty: bool) -> None:
    left = await _killed(tmp_path)
    (left / WAL).unlink()
    (left / FILE_NAME).write_bytes(b"") if is_empty else (left / FILE_NAME).unlink()
    line = await _refusal(left)
    assert f"{'has 0 bytes' if is_empty else 'is missing'}, but moorage.mark says" in line
    assert "revision 26" in line
    assert (left / FILE_NAME).exists() == is_empty


@pytest.mark.parametrize("is_empty", [True, False])
async def test_an_empty_or_missing_file_beside_certificates_is_refused(tmp_path: Path, is_empty: bool) -> None:
    (tmp_path / "pki").mkdir()
    if is_empty:
        (tmp_path / FILE_NAME).touch()
    assert "but pki of a cluster is there: its objects are gone" in await _refusal(tmp_path, "pki")
    assert (tmp_path / FILE_NAME).exists() == is_empty
    store = await SqliteStore.open(tmp_path)  # certificates that are not the store's matter
    await store.close()


async def test_an_empty_file_beside_its_log_is_refused(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    (left / MARK_NAME).unlink()
    (left / FILE_NAME).write_bytes(b"")
    assert "has 0 bytes, but its write-ahead log is there" in await _refusal(left)
    assert (left / WAL).stat().st_size


async def test_a_file_of_another_store_is_refused(tmp_path: Path) -> None:
    one, other = await _killed(tmp_path / "a"), await _killed(tmp_path / "b", writes=30)
    for name in (FILE_NAME, WAL):
        shutil.copy(other / name, one / name)
    assert "is not the store that moorage.mark was written for" in await _refusal(one)


async def test_a_missing_mark_is_written(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    (left / MARK_NAME).unlink()
    store = await SqliteStore.open(left)
    assert store.revision == 26
    await store.close()
    mark = read_mark(left / MARK_NAME)
    assert mark is not None
    assert (mark.revision, mark.log_bytes) == (26, 0)


async def test_a_mark_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    left = await _killed(tmp_path)
    (left / MARK_NAME).write_bytes(b"")
    assert "it is not known whether the end of the store is missing" in await _refusal(left)


async def test_every_commit_is_noted_before_it_is_acknowledged(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    for number in range(5):
        stored = await store.create(f"/pods/{number}", b"")
        mark = read_mark(tmp_path / MARK_NAME)
        assert mark is not None
        assert mark.revision == stored.revision
        assert 0 < mark.log_bytes <= (tmp_path / WAL).stat().st_size
    await store.close()


def test_either_slot_of_a_mark_is_enough(tmp_path: Path) -> None:
    path = tmp_path / MARK_NAME
    mark = MarkFile(path, 7, 1)
    for revision in range(2, 6):
        mark.note(revision, revision)
    mark.close()
    content = path.read_bytes()
    revisions = set()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        found = read_mark(path)
        assert found is not None
        revisions.add(found.revision)
    assert revisions == {4, 5}
    path.write_bytes(b"\0" * len(content))
    with pytest.raises(MarkUnreadable):
        read_mark(path)


async def _old_file(path: Path) -> None:
    """Write a file as releases without checksums did."""
    store = await SqliteStore.open(path, migrations=MIGRATIONS)
    await store.create("/pods/default/a", b'{"metadata":{"name":"a"}}')
    await store.create("/pods/default/b", b'{"metadata":{"name":"b"}}')
    await store.close()
    connection = sqlite3.connect(path / FILE_NAME, isolation_level=None)
    connection.execute("ALTER TABLE log DROP COLUMN checksum")
    connection.execute("ALTER TABLE marks DROP COLUMN checksum")
    connection.execute("DELETE FROM marks WHERE name = 'identity'")
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    (path / MARK_NAME).unlink()


async def test_values_of_older_releases_get_checksums(tmp_path: Path) -> None:
    await _old_file(tmp_path)
    checked: list[str] = []

    def check(key: str, value: bytes) -> str:
        checked.append(key)
        return ""

    store = await SqliteStore.open(tmp_path, check=check)
    assert await store.count("/pods/") == 2
    assert store.revision == 3
    await store.close()
    assert checked == ["/pods/default/a", "/pods/default/b"]
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    rows = connection.execute("SELECT revision, key, created, value, checksum FROM log").fetchall()
    connection.close()
    assert [row[4] for row in rows] == [row_checksum(*row[:4]) for row in rows]
    store = await SqliteStore.open(tmp_path, check=check)
    await store.close()
    assert len(checked) == 2, "once is enough"


async def test_a_damaged_value_of_an_older_release_gets_no_checksum(tmp_path: Path) -> None:
    await _old_file(tmp_path)

    def check(key: str, value: bytes) -> str:
        return "is not JSON" if key.endswith("b") else ""

    for _ in range(2):
        with pytest.raises(StoreUnusable, match=r"/pods/default/b \(revision 3\) is not JSON"):
            await SqliteStore.open(tmp_path, check=check)


async def test_all_damaged_rows_are_counted_in_one_line(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await asyncio.gather(*(store.create(f"/pods/default/{number}", b"value") for number in range(10)))
    await store.close()
    connection = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    connection.execute("UPDATE log SET value = x'00' WHERE revision > 6")
    connection.close()
    line = await _refusal(tmp_path)
    assert "/pods/default/5 (revision 7) is not as it was written, and 4 more rows are damaged" in line
