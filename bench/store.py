"""The durable store: writes a second and what they cost the event loop, commit latency, reads, watches, a restart.

`python -m bench.store` measures this alone. Writers are tasks of one loop, values have the size of a pod.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from bench.result import Result, table
from moorage.store.memory import MemoryStore
from moorage.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from moorage.store.protocol import Store, Stored

VALUE = bytes(range(256)) * 8
CREATES = 30_000
WRITERS = (1, 50, 500)
WATCHES = 100
READS = 100_000
CHURN_ROUNDS = 60
RESTART_KEYS = 55_000


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        yield from uvloop.run(_measure(Path(folder)))


async def _measure(folder: Path) -> list[Result]:
    results: list[Result] = []
    for writers in WRITERS:
        store = await SqliteStore.open(folder / f"create-{writers}")
        results += await _creates(store, "durable", writers, CREATES if writers > 1 else 2_000)
        await store.close()
    results += await _creates(MemoryStore(), "in memory", WRITERS[-1], CREATES)
    results += await _updates(folder / "updates")
    results += await _reads()
    results += await _restart(folder / "restart")
    return results


async def _creates(store: Store, kind: str, writers: int, count: int) -> list[Result]:
    numbers = iter(range(count))

    async def write(latencies: list[float]) -> None:
        for number in numbers:
            started = time.perf_counter()
            await store.create(f"/pods/default/pod-{number}", VALUE)
            latencies.append(time.perf_counter() - started)

    goals = {"rate": "≥ 15,000 /s", "loop": "≤ 15 µs"} if (kind, writers) == ("durable", 500) else {}
    return await _crowd(f"create, {kind}, {writers} writers", writers, count, write, goals)


async def _updates(path: Path) -> list[Result]:
    """Every update supersedes a value; at this rate, rows are removed as fast as they are written."""
    store = await SqliteStore.open(path)
    known = await asyncio.gather(*(store.create(f"/pods/default/pod-{number}", VALUE) for number in range(1_000)))
    watches = [store.watch("/pods/", store.revision) for _ in range(WATCHES)]
    seen = [0] * WATCHES
    total = CHURN_ROUNDS * 1_000

    async def follow(number: int) -> None:
        while seen[number] < total:
            seen[number] += len(await watches[number].next())

    async def write(latencies: list[float], mine: list[Stored]) -> None:
        for _ in range(CHURN_ROUNDS):
            for place, stored in enumerate(mine):
                started = time.perf_counter()
                mine[place] = await store.update(stored.key, VALUE, stored.revision)
                latencies.append(time.perf_counter() - started)

    following = [asyncio.ensure_future(follow(number)) for number in range(WATCHES)]
    shares = iter([list(known[begin : begin + 2]) for begin in range(0, 1_000, 2)])
    what = f"update, durable, 500 writers, {WATCHES} watches"
    results = await _crowd(what, 500, total, lambda latencies: write(latencies, next(shares)), {})
    await asyncio.gather(*following)
    await store.close()
    size = sum(file.stat().st_size for file in path.iterdir())
    return [*results, Result("store", f"file after {total:,} updates of 1,000 keys", size, "B")]


async def _crowd(
    what: str, writers: int, count: int, write: Callable[[list[float]], Awaitable[None]], goals: dict[str, str]
) -> list[Result]:
    latencies: list[float] = []
    gc.collect()
    gc.freeze()
    started, cpu = time.perf_counter(), time.thread_time()
    await asyncio.gather(*(write(latencies) for _ in range(writers)))
    elapsed, cpu = time.perf_counter() - started, time.thread_time() - cpu
    gc.unfreeze()
    latencies.sort()
    return [
        Result("store", what, count / elapsed, "1/s", goal=goals.get("rate", "")),
        Result("store", f"{what}: latency", latencies[count // 2], p99=latencies[count * 99 // 100]),
        Result("store", f"{what}: CPU of the loop, a write", cpu / count, goal=goals.get("loop", "")),
    ]


async def _reads() -> list[Result]:
    store = MemoryStore()
    for number in range(50_000):
        await store.create(f"/pods/ns-{number % 50}/pod-{number}", VALUE)
    started = time.perf_counter()
    for _ in range(READS):
        await store.get("/pods/ns-7/pod-7")
    get = (time.perf_counter() - started) / READS
    past = store.revision
    for number in range(1_000):
        await store.create(f"/pods/ns-{number % 50}/late-{number}", VALUE)
    pages: dict[str, dict[str, int]] = {
        "list 50,000, once keys are in order": {},
        "list a page of 500": {"limit": 500},
        "list a page of 500 as of 1,000 changes ago": {"limit": 500, "revision": past},
    }
    results = [Result("store", "get", get, goal="≤ 1 µs")]
    await store.list("/pods/", limit=1)
    for what, options in pages.items():
        samples = []
        for _ in range(20):
            started = time.perf_counter()
            await store.list("/pods/", limit=options.get("limit", 0), revision=options.get("revision", 0))
            samples.append(time.perf_counter() - started)
        samples.sort()
        results.append(Result("store", what, samples[len(samples) // 2], p99=samples[-1]))
    return results


async def _restart(path: Path) -> list[Result]:
    store = await SqliteStore.open(path)
    for begin in range(0, RESTART_KEYS, 5_000):
        await asyncio.gather(
            *(store.create(f"/pods/default/pod-{number}", VALUE) for number in range(begin, begin + 5_000))
        )
    await store.close()
    del store
    samples = []
    for _ in range(3):
        gc.collect()
        started = time.perf_counter()
        store = await SqliteStore.open(path)
        samples.append(time.perf_counter() - started)
        await store.close()
        del store
    samples.sort()
    return [Result("store", f"open with {RESTART_KEYS:,} values", samples[1], p99=samples[-1], goal="< 1 s")]


if __name__ == "__main__":
    print(table(measure()))
    sys.exit(0)
