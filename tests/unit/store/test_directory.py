"""One process at a time, and nobody else's eyes."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.store.data_directory import FILE_NAME, LOCK_FILE, MARK_NAME, DataDirectory, StoreUnusable
from moorage.store.sqlite import SqliteStore

pytestmark = pytest.mark.real_time

_HOLDER = """
import asyncio, sys
from pathlib import Path
from moorage.store.sqlite import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    await store.create("/pods/default/a", b"held")
    print("open", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await store.close()

asyncio.run(main())
"""


async def test_a_second_process_is_refused_and_told_who_is_first(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(StoreUnusable, match=rf"{tmp_path} is in use by another process \(pid {holder.pid}\)"):
            await SqliteStore.open(tmp_path)
        holder.stdin.write("\n")
    assert holder.returncode == 0
    store = await SqliteStore.open(tmp_path)
    assert await store.count("/pods/") == 1
    await store.close()


def test_the_lock_of_a_killed_process_is_no_lock(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        holder.kill()
    directory = DataDirectory(tmp_path)
    directory.close()


def test_the_same_process_is_refused_too(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    with pytest.raises(StoreUnusable, match="is in use"):
        DataDirectory(tmp_path)
    directory.close()
    DataDirectory(tmp_path).close()


async def test_only_the_owner_can_read(tmp_path: Path) -> None:
    path = tmp_path / "state" / "moorage"
    store = await SqliteStore.open(path)
    await store.create("/secrets/default/a", b"secret")
    files = {file.name: file.stat().st_mode & 0o777 for file in path.iterdir()}
    assert files == dict.fromkeys((LOCK_FILE, FILE_NAME, f"{FILE_NAME}-wal", MARK_NAME), 384)
    assert path.stat().st_mode & 0o777 == 0o700
    await store.close()


def test_a_path_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / ("long" * 100)):
        with pytest.raises(StoreUnusable, match="cannot be used"):
            asyncio.run(SqliteStore.open(path))


def test_a_file_that_cannot_be_a_file(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(StoreUnusable, match="cannot be used"):
        asyncio.run(SqliteStore.open(tmp_path))
    DataDirectory(tmp_path).close()
