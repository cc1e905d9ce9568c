"""A cluster in a file: saved while it runs and when it is stopped, checked, and restored so that clients can go on."""

import asyncio
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Object
from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings
from moorage.cluster.kept.description import Description, read_description, write_description
from moorage.cluster.kept.kept_cluster import KeptCluster
from moorage.cluster.transfer.snapshots import SnapshotError, restore_cluster, save_cluster, save_running
from moorage.model.api_error import ApiError
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time

TOLD = Description(name="first", options={"gates": ["AllAlpha=true"], "port": 7}, contexts=("/c",), port=7)


async def _started(data_dir: Path | None, kubeconfig: Path | None = None) -> tuple[ApiServerProcess, HttpClient]:
    process = ApiServerProcess(ApiServerSettings(gates_from({}), data_dir), kubeconfig)
    await process.start()
    return process, HttpClient(load_access(str(process.kubeconfig.path)))


async def _stopped(process: ApiServerProcess, client: HttpClient) -> None:
    await client.close()
    await process.stop()


async def _make(client: HttpClient, *names: str) -> list[Object]:
    return [
        await client.create(KINDS.CONFIG_MAP, {"metadata": {"name": name}, "data": {"a": name}}, "default")
        for name in names
    ]


async def _seen_after(client: HttpClient, revision: int) -> str:
    async with asyncio.timeout(10):
        async for batch in client.watch(KINDS.CONFIG_MAP, revision):
            for event in batch:
                if event.object is not None and event.object.name:
                    return event.object.name
    return ""


async def test_a_snapshot_of_a_running_cluster_can_be_restored_and_started(tmp_path: Path) -> None:
    file, second = tmp_path / "s", KeptCluster("second", tmp_path / "second")
    process, client = await _started(tmp_path / "first")
    one, two = await _make(client, "one", "two")
    await client.delete(KINDS.CONFIG_MAP, "one", "default")
    access = load_access(str(process.kubeconfig.path))
    saved = await asyncio.to_thread(save_running, access, file)
    (late,) = await _make(client, "late")  # it goes on
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    await _stopped(process, client)

    assert restore_cluster(file, second) == saved
    process, client = await _started(second.directory)
    assert [item.name for item in (await client.list_all(KINDS.CONFIG_MAP, "default")).items] == ["two"]
    again = await client.get(KINDS.CONFIG_MAP, "two", "default")
    assert (again.revision, again.uid) == (two.revision, two.uid)
    assert await _seen_after(client, one.revision) == "two"  # history is there, too
    assert (await _make(client, "next"))[0].revision >= late.revision  # the server has said where it is now
    await _stopped(process, client)


async def test_a_snapshot_of_a_stopped_cluster_has_its_options(tmp_path: Path) -> None:
    first, second = (KeptCluster(name, tmp_path / name) for name in ("first", "second"))
    process, client = await _started(first.directory)
    await _make(client, "one")
    with pytest.raises(SnapshotError, match="still starting"):
        save_cluster(first, tmp_path / "s")
    await _stopped(process, client)
    write_description(first.directory, TOLD)
    save_cluster(first, tmp_path / "s")
    restore_cluster(tmp_path / "s", second)
    told = read_description(second.directory)
    assert told is not None
    assert (told.name, told.options, told.contexts, told.port) == ("second", {"gates": ["AllAlpha=true"]}, (), 0)


async def test_an_ephemeral_cluster_is_saved_by_its_kubeconfig(tmp_path: Path) -> None:
    process, client = await _started(None, tmp_path / "kubeconfig")
    (one,) = await _make(client, "one")
    await asyncio.to_thread(save_running, load_access(str(tmp_path / "kubeconfig")), tmp_path / "s")
    await _stopped(process, client)
    restore_cluster(tmp_path / "s", KeptCluster("", tmp_path / "data"))
    process, client = await _started(tmp_path / "data")
    assert (await client.get(KINDS.CONFIG_MAP, "one", "default")).revision == one.revision
    await _stopped(process, client)


async def test_objects_are_replaced_by_force_only_and_revisions_never_go_back(tmp_path: Path) -> None:
    cluster, file = KeptCluster("c", tmp_path / "c"), tmp_path / "s"
    process, client = await _started(cluster.directory)
    await _make(client, "one")
    access = load_access(str(process.kubeconfig.path))
    await asyncio.to_thread(save_running, access, file)
    with pytest.raises(SnapshotError, match="exists already"):
        await asyncio.to_thread(save_running, access, file)
    with pytest.raises(SnapshotError, match="is running"):
        restore_cluster(file, cluster)
    (late,) = await _make(client, "late")
    await _stopped(process, client)
    with pytest.raises(SnapshotError, match="has objects already"):
        restore_cluster(file, cluster)
    restore_cluster(file, cluster, force=True)

    process, client = await _started(cluster.directory)
    assert [item.name for item in (await client.list_all(KINDS.CONFIG_MAP, "default")).items] == ["one"]
    with pytest.raises(ApiError) as caught:  # who has seen what is gone now must list again
        await _seen_after(client, late.revision - 1)
    assert caught.value.code == 410
    assert (await _make(client, "next"))[0].revision > late.revision
    await _stopped(process, client)


async def test_damaged_newer_or_foreign_snapshots_are_not_restored(tmp_path: Path) -> None:
    file, target = tmp_path / "s", KeptCluster("", tmp_path / "new")
    process, client = await _started(tmp_path / "data")
    await _make(client, "one")
    await asyncio.to_thread(save_running, load_access(str(process.kubeconfig.path)), file)
    await _stopped(process, client)
    whole = file.read_bytes()

    def changed(statement: str) -> str:
        file.write_bytes(whole)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(statement)
            connection.commit()
        return refused()

    def refused() -> str:
        with pytest.raises(SnapshotError) as caught:
            restore_cluster(file, target)
        return str(caught.value)

    assert "is damaged" in changed("UPDATE log SET value = '{}' WHERE key LIKE '%one'")
    assert "newer release (0." in changed("PRAGMA user_version = 99")
    assert "not a snapshot of Moorage's" in changed("PRAGMA application_id = 1")
    assert "a store's file and not a snapshot" in changed("DROP TABLE snapshot")
    assert "newer release (0.9)" in changed(
        """UPDATE snapshot SET value = '{"format": 9, "version": "0.9"}' WHERE name = 'description'"""
    )
    for content in (whole[: len(whole) // 2], b"", b"kind: Pod\n"):
        file.write_bytes(content)
        assert "not a snapshot" in refused()
    file.unlink()
    assert "No such file" in refused()
    assert not target.directory.exists() or not (target.directory / "moorage.db").exists()
