"""Damage one file of a store at random: it starts with exactly what was acknowledged, or refuses and names the damage.

A killed process leaves what its files have at that moment: they are copied while the store is open. The twins read
without checksums, and without looking at the mark.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples

from moorage.store import log_file, opening
from moorage.store.data_directory import FILE_NAME, MARK_NAME, StoreUnusable
from moorage.store.protocol import Stored
from moorage.store.sqlite import SqliteStore
from moorage.store.state import Bounds

WAL = f"{FILE_NAME}-wal"
#: What a line about damage has in it, whatever it is.
NAMES_DAMAGE = ("damaged", "missing", "has 0 bytes", "is not the store", "not a file of Moorage", "newer release")


class Left(NamedTuple):
    """What a process has left behind, and what it has acknowledged."""

    folder: Path
    values: dict[str, Stored]
    revision: int


@cache
def _scratch() -> Path:
    folder = tempfile.mkdtemp(prefix="moorage-damage-")
    return Path(folder)


@pytest.fixture(scope="module", autouse=True)
def _clean() -> Iterator[None]:
    yield
    shutil.rmtree(_scratch(), ignore_errors=True)
    _scratch.cache_clear()
    _left_behind.cache_clear()


@cache
def _left_behind(seed: int) -> Left:
    """Write at random; be killed, or stop."""
    return asyncio.run(_write(seed))


async def _write(seed: int) -> Left:
    random = Random(seed)
    folder, copy = _scratch() / f"store-{seed}", _scratch() / f"left-{seed}"
    store = await SqliteStore.open(folder, bounds=Bounds(changes=random.choice((5, 1_000))))
    for step in range(random.randrange(5, 120)):
        key = f"/pods/default/{random.randrange(30)}"
        value = random.randbytes(random.choice((3, 300, 3_000, 30_000 if step % 20 == 0 else 30)))
        stored = await store.get(key)
        if stored is None:
            await store.create(key, value)
        elif random.random() < 0.3:
            await store.delete(key, stored.revision)
        else:
            await store.update(key, value, stored.revision)
        if random.random() < 0.05:
            await store.compact(store.revision)
        if random.random() < 0.03:  # as when it starts again
            await store.close()
            store = await SqliteStore.open(folder)
    values = {stored.key: stored._replace(view=None) for stored in (await store.list("/")).items}
    left = Left(copy, values, store.revision)
    if seed % 3 == 0:
        await store.close()
    shutil.copytree(folder, copy)
    await store.close()
    return left


async def _started(folder: Path) -> tuple[dict[str, Stored], int] | str:
    """Start; return what is served, or why nothing is."""
    try:
        store = await SqliteStore.open(folder)
    except StoreUnusable as error:
        return str(error)
    try:
        return {stored.key: stored for stored in (await store.list("/")).items}, store.revision
    finally:
        await store.close()


def _damage(folder: Path, name: str, how: str, place: float, bit: int) -> None:
    file = folder / name
    if not file.exists():
        return
    content = bytearray(file.read_bytes())
    if how == "deleted":
        file.unlink()
    elif how == "cut":
        file.write_bytes(content[: int(place * len(content))])
    elif content:
        content[int(place * len(content))] ^= 1 << bit
        file.write_bytes(content)


def _content(folder: Path) -> dict[str, bytes]:
    names = (FILE_NAME, WAL, MARK_NAME)
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


@settings(LAW_SETTINGS, max_examples=examples(300))
@given(
    seed=st.integers(0, 11),
    name=st.sampled_from((FILE_NAME, FILE_NAME, WAL, WAL, f"{FILE_NAME}-shm", MARK_NAME)),
    how=st.sampled_from(("flipped", "flipped", "flipped", "cut", "deleted")),
    place=st.floats(0.0, 1.0, exclude_max=True),
    bit=st.integers(0, 7),
)
def damage_is_noticed(seed: int, name: str, how: str, place: float, bit: int) -> None:
    left = _left_behind(seed)
    with tempfile.TemporaryDirectory(dir=_scratch()) as scratch:
        folder = Path(scratch) / "data"
        shutil.copytree(left.folder, folder)
        _damage(folder, name, how, place, bit)
        before = _content(folder)
        started = asyncio.run(_started(folder))
        if isinstance(started, str):
            assert any(words in started for words in NAMES_DAMAGE), started
            assert "\n" not in started
            again = asyncio.run(_started(folder))
            assert isinstance(again, str), "refused once, served the next time"
            if "missing" in started:
                assert _content(folder) == before, "what is left is kept"
        else:
            values, revision = started
            assert values == left.values
            assert revision == left.revision


def test_damage_is_noticed() -> None:
    damage_is_noticed()


def test_undamaged_stores_start() -> None:
    for seed in range(12):
        left = _left_behind(seed)
        with tempfile.TemporaryDirectory(dir=_scratch()) as scratch:
            folder = Path(scratch) / "data"
            shutil.copytree(left.folder, folder)
            assert asyncio.run(_started(folder)) == (left.values, left.revision)


def test_a_store_without_checksums_serves_what_was_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "row_problem", lambda row: "")
    assert_notices(damage_is_noticed)


def test_a_store_without_a_mark_loses_its_end_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "lost", lambda path, mark: "")
    assert_notices(damage_is_noticed)


def test_a_store_that_trusts_an_empty_file_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "emptiness", lambda path, mark, siblings=(): "")
    monkeypatch.setattr(opening, "lost", lambda path, mark: "")
    assert_notices(damage_is_noticed)
