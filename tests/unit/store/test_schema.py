"""Files of other releases, of other programs, and of no program at all."""

import asyncio
import random
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from moorage.store.data_directory import FILE_NAME, StoreUnusable
from moorage.store.log_file import MIGRATIONS, Migration
from moorage.store.protocol import Listing
from moorage.store.sqlite import SqliteStore


def _fill(path: Path, count: int = 3) -> None:
    async def main() -> None:
        store = await SqliteStore.open(path)
        await asyncio.gather(*(store.create(f"/pods/default/{number}", b"x" * 2_000) for number in range(count)))
        await store.close()

    asyncio.run(main())


def _list(path: Path, migrations: Sequence[Migration] = MIGRATIONS) -> Listing:
    async def main() -> Listing:
        store = await SqliteStore.open(path, migrations=migrations)
        listing = await store.list("/")
        await store.close()
        return listing

    return asyncio.run(main())


def _sql(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path / FILE_NAME, isolation_level=None)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def _step(mark: str) -> Migration:
    """A change to the schema that a release to come might make."""

    def migration(connection: sqlite3.Connection) -> None:
        connection.execute(f"CREATE TABLE {mark} AS SELECT count(*) AS pods FROM log")

    return migration


def test_an_older_file_is_migrated_step_by_step(tmp_path: Path) -> None:
    _fill(tmp_path)
    before = _list(tmp_path)
    assert _sql(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
    later = (*MIGRATIONS, _step("second"), _step("third"))
    assert _list(tmp_path, later) == before
    assert _sql(tmp_path, "PRAGMA user_version") == [(len(MIGRATIONS) + 2,)]
    assert _sql(tmp_path, "SELECT * FROM second, third") == [(3, 3)]
    # Once is enough: again would fail, for the tables are there.
    assert _list(tmp_path, later) == before


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    _fill(tmp_path)
    _list(tmp_path, (*MIGRATIONS, _step("second")))
    with pytest.raises(StoreUnusable, match=r"written by a newer release \(data format 3, this one knows up to 2\)"):
        _list(tmp_path)
    # It is left as it was.
    assert len(_list(tmp_path, (*MIGRATIONS, _step("second"))).items) == 3


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    _fill(tmp_path)

    def half(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (one INTEGER)")
        connection.execute("DELETE FROM log")
        connection.execute("SELECT * FROM missing")

    with pytest.raises(StoreUnusable, match="missing"):
        _list(tmp_path, (*MIGRATIONS, half))
    assert len(_list(tmp_path).items) == 3


def test_a_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    _sql(tmp_path, "CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(StoreUnusable, match="written by another program"):
        _list(tmp_path)
    assert _sql(tmp_path, "SELECT name FROM sqlite_master") == [("bookmarks",)]


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"kind: Pod\n" * 1_000)
    with pytest.raises(StoreUnusable, match="is damaged: file is not a database"):
        _list(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"kind: Pod")


@pytest.mark.parametrize("seed", range(8))
def test_a_damaged_file_is_refused_or_read_but_never_a_surprise(tmp_path: Path, seed: int) -> None:
    _fill(tmp_path, 100)
    file = tmp_path / FILE_NAME
    content = bytearray(file.read_bytes())
    chance = random.Random(seed)
    if seed % 2:
        del content[chance.randrange(100, len(content)) :]
    else:
        for _ in range(20):
            begin = chance.randrange(len(content) - 200)
            content[begin : begin + 200] = chance.randbytes(200)
    file.write_bytes(content)
    with suppress(StoreUnusable):
        _list(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE log",
        "DROP TABLE marks",
        "UPDATE log SET key = x'00ff' WHERE revision = 2",
        "UPDATE log SET value = 7 WHERE revision = 2",
        "UPDATE log SET created = 'soon' WHERE revision = 2",
        "INSERT INTO marks VALUES ('/pods/', 'late', 1)",
        "INSERT INTO marks VALUES ('reached', x'00', 1)",
        "INSERT INTO marks VALUES ('/pods/', 4, 4)",
        "UPDATE marks SET revision = 7 WHERE name = 'identity'",
        "DELETE FROM marks WHERE name = 'identity'",
        "UPDATE log SET checksum = checksum + 1 WHERE revision = 3",
        "UPDATE log SET checksum = NULL WHERE revision = 3",
        "UPDATE log SET revision = 40 WHERE revision = 4",
        "UPDATE log SET created = 4 WHERE revision = 3",
        "UPDATE log SET value = NULL WHERE revision = 3",
        "UPDATE log SET key = '/pods/default/7' WHERE revision = 3",
    ],
)
def test_tables_that_hold_something_else_are_refused(tmp_path: Path, damage: str) -> None:
    _fill(tmp_path)
    _sql(tmp_path, damage)
    with pytest.raises(StoreUnusable, match=r"is damaged|is not the store"):
        _list(tmp_path)
