"""Damaged stores are checked and repaired: what is removed, mended or restored is named, and what was there is kept."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.etcd_process import EtcdCluster
from tests.unit.cluster.transfer.stored_clusters import config_map, items_at, make_directory, many, under

from moorage.cli.main import moorage
from moorage.cluster.automatic_snapshots import snapshots_in
from moorage.store.data_directory import FILE_NAME, MARK_NAME, SNAPSHOTS, StoreUnusable
from moorage.store.etcd.client import EtcdClient
from moorage.store.etcd.messages import Put
from moorage.store.high_water import MarkFile, read_mark
from moorage.store.protocol import Stored
from moorage.store.snapshot_file import write_snapshot
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time


def _moorage(*arguments: str | Path) -> Result:
    return CliRunner().invoke(moorage, [str(argument) for argument in arguments])


def _sql(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path / FILE_NAME, isolation_level=None)) as connection:
        connection.execute(statement)


def _served(path: Path) -> tuple[dict[str, Stored], int, int]:
    """Start the store; return what it has, its revision, and from where on it remembers changes."""

    async def serve() -> tuple[dict[str, Stored], int, int]:
        store = await SqliteStore.open(path)
        try:
            values = {stored.key: stored for stored in (await store.list("/")).items}
            return values, store.revision, store.oldest
        finally:
            await store.close()

    return asyncio.run(serve())


def _store(path: Path, count: int = 5) -> Path:
    """Make a store with objects at revisions 2 and on, as a server leaves it."""
    make_directory(path, items_at(*many(count)))
    _served(path)
    return path


def _aside(path: Path) -> Path:
    (folder,) = path.glob("damaged-*")
    return folder


def test_damaged_objects_are_named_and_removed(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    _sql(path, "UPDATE log SET value = x'7b00' WHERE revision IN (3, 5)")
    with pytest.raises(StoreUnusable, match="map-1"):
        _served(path)
    checked = _moorage("store", "check", path)
    assert checked.exit_code == 1
    for name in ("map-1", "map-3"):
        assert f"error: /configmaps/default/{name} at revision" in checked.stdout
    assert "is not as it was written" in checked.stdout
    unchanged = (path / FILE_NAME).read_bytes()
    looked = _moorage("store", "repair", path)
    assert looked.exit_code == 1
    assert "nothing was changed" in looked.stderr
    refused = _moorage("store", "repair", path, "--remove", "/configmaps/default/map-1")
    assert refused.exit_code == 1
    assert "would still be damaged: /configmaps/default/map-3 (revision 5)" in refused.stderr
    assert (path / FILE_NAME).read_bytes() == unchanged
    repaired = _moorage("store", "repair", path, "--remove-damaged")
    assert repaired.exit_code == 0, repaired.output
    assert "removed /configmaps/default/map-1\nremoved /configmaps/default/map-3\n" in repaired.stdout
    assert f"kept in {_aside(path)}" in repaired.stdout
    assert (_aside(path) / FILE_NAME).read_bytes() == unchanged
    values, revision, oldest = _served(path)
    assert sorted(values) == [f"/configmaps/default/map-{number}" for number in (0, 2, 4)]
    assert revision == oldest == 7
    assert values["/configmaps/default/map-4"].revision == 6
    assert _moorage("store", "check", path).exit_code == 0


def test_single_objects_are_removed_by_name(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    _sql(path, "UPDATE log SET value = x'7b00' WHERE revision = 3")
    assert _moorage("store", "repair", path, "--remove", "/configmaps/default/none").exit_code == 1
    keys = ("/configmaps/default/map-1", "/configmaps/default/map-4")
    repaired = _moorage("store", "repair", path, "--remove", keys[0], "--remove", keys[1])
    assert repaired.exit_code == 0, repaired.output
    assert sorted(_served(path)[0]) == [f"/configmaps/default/map-{number}" for number in (0, 2, 3)]
    assert "is sound: there is nothing to repair" in _moorage("store", "repair", path, "--remove-damaged").stderr


def test_one_flipped_bit_is_mended(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    before = _served(path)[0]
    content = (path / FILE_NAME).read_bytes()
    place = content.index(b'"map-2"') + 1
    (path / FILE_NAME).write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
    assert "has one flipped bit, which can be mended" in _moorage("store", "check", path).stdout
    repaired = _moorage("store", "repair", path, "--remove-damaged")
    assert "mended /configmaps/default/map-2" in repaired.stdout
    assert _served(path)[0] == before


def test_an_object_whose_newest_value_is_damaged_is_not_served_as_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "data"

    async def write() -> None:
        store = await SqliteStore.open(path)
        stored = await store.create(*config_map("a"))
        await store.update(stored.key, config_map("a")[1] + b" ", stored.revision)
        await store.create(*config_map("b"))
        await store.close()

    asyncio.run(write())
    _sql(path, "UPDATE log SET value = x'7b00' WHERE revision = 3")
    assert _moorage("store", "repair", path, "--remove-damaged").exit_code == 0
    assert sorted(_served(path)[0]) == ["/configmaps/default/b"]


def test_a_damaged_page_takes_the_objects_on_it_and_no_others(tmp_path: Path) -> None:
    path = make_directory(
        tmp_path / "data", items_at(*(config_map(f"map-{n}", data={"a": "x" * 2_000}) for n in range(60)))
    )
    before = _served(path)[0]
    content = bytearray((path / FILE_NAME).read_bytes())
    place = content.index(b"map-30") // 8192 * 8192
    content[place : place + 8192] = b"\xff" * 8192
    (path / FILE_NAME).write_bytes(content)
    with pytest.raises(StoreUnusable, match="is damaged"):
        _served(path)
    assert _moorage("store", "check", path).exit_code == 1
    assert _moorage("store", "repair", path, "--remove-damaged").exit_code == 0
    after = _served(path)[0]
    assert 50 <= len(after) < 60
    assert after.items() <= before.items()
    assert "/configmaps/default/map-30" not in after


def test_a_missing_end_is_accepted_and_revisions_go_on(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    mark = read_mark(path / MARK_NAME)
    assert mark is not None
    MarkFile(path / MARK_NAME, mark.identity, 60).close()
    assert "revisions 7–60 are missing" in _moorage("store", "check", path).stdout
    refused = _moorage("store", "repair", path, "--remove-damaged")
    assert refused.exit_code == 1
    assert "--accept-missing goes on without it" in refused.stderr
    repaired = _moorage("store", "repair", path, "--accept-missing")
    assert repaired.exit_code == 0, repaired.output
    values, revision, oldest = _served(path)
    assert (len(values), revision, oldest) == (5, 61, 61)


def test_the_newest_whole_snapshot_is_restored(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    (path / SNAPSHOTS).mkdir()
    for name, count in (("2026-01-01", 3), ("2026-01-02", 4), ("2026-01-03", 5)):
        source = make_directory(tmp_path / name, items_at(*many(count)))
        copied = (source / FILE_NAME).read_bytes()

        def fill(file: Path, copied: bytes = copied) -> None:
            file.write_bytes(copied)

        place = path / SNAPSHOTS / f"{name}.snapshot"
        write_snapshot(place, fill, release="1", taken="then", description="{}")
    newest = snapshots_in(path)[-1]
    content = bytearray(newest.read_bytes())
    content[content.index(b"map-4") + 1] ^= 1
    newest.write_bytes(content)
    (path / FILE_NAME).write_bytes(b"")
    with pytest.raises(StoreUnusable, match="has 0 bytes"):
        _served(path)
    restored = _moorage("store", "repair", path, "--restore-snapshot")
    assert restored.exit_code == 0, restored.output
    assert "Restored 4 objects as of revision 5" in restored.stdout
    assert "2026-01-02.snapshot" in restored.stdout
    values, revision, oldest = _served(path)
    assert (len(values), revision, oldest) == (4, 7, 7)


def test_a_store_that_is_gone_is_begun_again_only_when_told_to(tmp_path: Path) -> None:
    path = _store(tmp_path / "data")
    (path / FILE_NAME).unlink()
    assert "is missing, but moorage.mark says" in _moorage("store", "check", path).stdout
    assert "there is no snapshot in" in _moorage("store", "repair", path, "--restore-snapshot").stderr
    assert _moorage("store", "repair", path, "--new").exit_code == 0
    assert _served(path) == ({}, 7, 7)


@pytest.mark.parametrize(
    "arguments",
    [(), ("data", "--new", "--remove-damaged"), ("--etcd-servers", "http://127.0.0.1:1", "--new")],
)
def test_wrong_command_lines(arguments: tuple[str, ...]) -> None:
    assert _moorage("store", "repair", *arguments).exit_code == 2


def test_unreadable_values_are_removed_from_etcd_and_kept_in_a_file(
    etcd: EtcdCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = under(etcd, tmp_path)
    keys = {name: f"{settings.prefix}/configmaps/default/{name}" for name in ("good", "bad")}

    async def write() -> None:
        client = await EtcdClient.connect(settings)
        await client.txn((), [Put(keys["good"].encode(), config_map("good")[1]), Put(keys["bad"].encode(), b"\0{")])
        await client.close()

    asyncio.run(write())
    monkeypatch.chdir(tmp_path)
    options = ("--etcd-servers", ",".join(settings.servers), "--etcd-prefix", settings.prefix)
    assert f"error: {keys['bad']}" in _moorage("store", "check", *options).stdout
    repaired = _moorage("store", "repair", *options, "--remove-damaged")
    assert repaired.exit_code == 0, repaired.output
    assert f"removed {keys['bad']}" in repaired.stdout
    (kept,) = tmp_path.glob("moorage-removed-*.json")
    assert '"AHs="' in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert "1 object at revision" in _moorage("store", "check", *options).stdout
    assert "nothing to repair" in _moorage("store", "repair", *options, "--remove-damaged").stderr
