"""kill -9 at random moments: what was acknowledged is there, revisions never go back, history has no holes."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest

from moorage.store.protocol import Change
from moorage.store.sqlite import SqliteStore

STEPS = ("0", "1", "2", "deleted")


def _live_and_die(path: Path, life: int, acknowledgements: int) -> list[tuple[str, str, int]]:
    """One life of the writing process: what it said before it was killed, amid its work."""
    child = Path(__file__).with_name("crash_child.py")
    said: list[tuple[str, str, int]] = []
    with subprocess.Popen([sys.executable, str(child), str(path), str(life)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(acknowledgements + 1):
            said.append(_parse(process.stdout.readline()))
        process.kill()
        # What it said in its last moments counts; a line that was cut off does not.
        said += [_parse(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
    return said


def _parse(line: bytes) -> tuple[str, str, int]:
    key, step, revision = line.decode().split()
    return key, step, int(revision)


async def _check(path: Path, acknowledged: dict[str, tuple[str, int]], highest: int) -> int:
    store = await SqliteStore.open(path)
    try:
        assert store.revision >= highest
        found = {stored.key: stored for stored in (await store.list("/pods/")).items}
        for key, (step, revision) in acknowledged.items():
            stored = found.get(key)
            if stored is None:
                # Deleted, or its deletion was under way.
                assert step == "deleted" or (step == "2" and int(key.rsplit("-", 1)[1]) % 2 == 0), (key, step)
            else:
                assert step != "deleted", key
                assert stored.revision >= revision, key
                was, at = stored.value.decode().split()[:2]
                assert was == key
                assert STEPS.index(at) >= STEPS.index(step)
                assert (stored.revision == revision) == (at == step)
        changes: list[Change] = []
        oldest = max(store.oldest, 1)
        watch = store.watch("/pods/", oldest)
        while watch.at < store.revision:
            changes += await watch.next()
        assert [change.revision for change in changes] == list(range(oldest + 1, store.revision + 1))
        return store.revision
    finally:
        await store.close()


def _crash(path: Path, lives: int, most: int, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged: dict[str, tuple[str, int]] = {}
    highest = 0
    for life in range(lives):
        said = _live_and_die(path, life, chance.randrange(most))
        # It began where the one before it was found to have ended.
        assert said[0][2] >= highest
        for key, step, revision in said[1:]:
            acknowledged[key] = (step, revision)
            highest = max(highest, revision)
        highest = asyncio.run(_check(path, acknowledged, highest))


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    _crash(tmp_path, lives=4, most=2_000, seed=4)


@pytest.mark.slow
def test_what_was_acknowledged_survives_kill_9_many_times(tmp_path: Path) -> None:
    _crash(tmp_path, lives=60, most=6_000, seed=60)
