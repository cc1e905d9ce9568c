"""Runs in a process of its own: writes until no file may grow any more, then goes on when they may again."""

import asyncio
import resource
import sys
from pathlib import Path

from moorage.store.data_directory import FILE_NAME
from moorage.store.protocol import StoreFailed
from moorage.store.sqlite import SqliteStore


async def main(path: Path) -> None:
    store = await SqliteStore.open(path)
    first = [await store.create(f"/pods/before/{number}", b"x" * 1_000) for number in range(10)]
    watch = store.watch("/", store.revision)
    size = max(file.stat().st_size for file in (path / FILE_NAME, path / f"{FILE_NAME}-wal"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))

    crowd = (store.create(f"/pods/crowd/{number}", b"x" * 10_000) for number in range(100))
    updates = (store.update(stored.key, b"y" * 10_000, stored.revision) for stored in first)
    writing = [asyncio.ensure_future(write) for write in (*crowd, *updates)]
    await asyncio.sleep(0)
    # These come on top of a batch that is going to fail, and the last waits for a write that does.
    writing += [asyncio.ensure_future(store.create(f"/pods/later/{number}", b"x" * 10_000)) for number in range(20)]
    conflict = asyncio.ensure_future(store.update(first[0].key, b"", first[0].revision + 1_000))
    outcomes = await asyncio.gather(*writing, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StoreFailed}, outcomes
    assert "durable" in str(outcomes[0])
    assert store.complaint
    refused = (await asyncio.gather(conflict, return_exceptions=True))[0]
    assert getattr(refused, "found", None) == first[0], refused

    assert store.revision == first[-1].revision == watch.at
    assert (await store.list("/")).items == first

    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = await store.create("/pods/after/0", b"z")
    assert after.revision == first[-1].revision + 1
    assert not store.complaint
    assert [change.new for change in await watch.next()] == [after]
    everything = await store.list("/")
    await store.close()

    store = await SqliteStore.open(path)
    assert await store.list("/") == everything
    await store.close()
    print("all as it should be")


asyncio.run(main(Path(sys.argv[1])))
