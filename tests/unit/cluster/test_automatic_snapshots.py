"""Snapshots are taken by themselves: whole or not at all, the newest are kept, and trouble does not end it."""

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.log_text import log_text

from moorage.cli.main import moorage
from moorage.cluster.api_server import ApiServerSettings, start_api_server
from moorage.cluster.automatic_snapshots import AutomaticSnapshots, SnapshotPlan, snapshots_in
from moorage.model.gates import default_gates
from moorage.store.data_directory import SNAPSHOTS
from moorage.store.snapshot_file import read_snapshot
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time


def _taking(store: SqliteStore, directory: Path, kept: int = 2) -> AutomaticSnapshots:
    seconds = iter(range(1_800_000_000, 1_900_000_000))
    return AutomaticSnapshots(store, directory, SnapshotPlan(0.01, kept), lambda: b"{}", lambda: next(seconds))


async def test_the_newest_snapshots_are_kept(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    taking = _taking(store, tmp_path)
    for number in range(4):
        await store.create(f"/pods/default/{number}", b"{}")
        taken = await taking.take()
        assert taken is not None
        assert await taking.take() is None, "nothing has changed"
    await store.close()
    assert [read_snapshot(file).objects for file in snapshots_in(tmp_path)] == [3, 4]
    assert [file.name.partition("-")[2] for file in snapshots_in(tmp_path)] == ["r4.snapshot", "r5.snapshot"]
    assert sorted((tmp_path / SNAPSHOTS).iterdir()) == snapshots_in(tmp_path), "nothing unfinished is left"
    assert {file.stat().st_mode & 0o777 for file in snapshots_in(tmp_path)} == {0o600}
    assert (tmp_path / SNAPSHOTS).stat().st_mode & 0o777 == 0o700


async def test_trouble_is_logged_and_the_next_one_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.create("/pods/default/a", b"{}")
    (tmp_path / SNAPSHOTS).write_text("in the way")
    running = asyncio.create_task(_taking(store, tmp_path).run())
    async with asyncio.timeout(60):
        while "A snapshot cannot be taken" not in log_text(caplog):
            await asyncio.sleep(0.01)
        (tmp_path / SNAPSHOTS).unlink()
        while not snapshots_in(tmp_path):
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await store.close()


async def test_what_a_killed_server_left_unfinished_is_removed(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    (tmp_path / SNAPSHOTS).mkdir()
    (tmp_path / SNAPSHOTS / ".copy-1234").write_text("half")
    running = asyncio.create_task(_taking(store, tmp_path).run())
    async with asyncio.timeout(60):
        while not snapshots_in(tmp_path):
            await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await store.close()
    assert not list((tmp_path / SNAPSHOTS).glob(".*"))


async def test_an_api_server_takes_them(tmp_path: Path) -> None:
    plan = SnapshotPlan(0.05, 2)
    server = await start_api_server(ApiServerSettings(default_gates(), tmp_path, snapshot_plan=plan))
    async with asyncio.timeout(60):
        while not snapshots_in(tmp_path):
            await asyncio.sleep(0.01)
    await server.stop()
    assert read_snapshot(snapshots_in(tmp_path)[-1]).objects > 50


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--snapshot-every", "1h", "--ephemeral"), "is for objects that are kept in SQLite"),
        (("--snapshot-every", "1h", "--etcd-servers", "http://127.0.0.1:1"), "is for objects that are kept in SQLite"),
        (("--snapshot-every", "10ms"), "must be at least 1s"),
        (("--snapshot-every", "soon"), "--snapshot-every"),
        (("--snapshot-every", "1h", "--snapshots-kept", "0"), "--snapshots-kept"),
    ],
)
@pytest.mark.parametrize("command", ["up", "apiserver"])
def test_wrong_options(command: str, arguments: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    where = () if "--ephemeral" in arguments else ("--data-dir", str(tmp_path))
    ran = CliRunner().invoke(moorage, [command, *where, *arguments])
    assert ran.exit_code == 2, ran.output
    assert problem in ran.stderr
