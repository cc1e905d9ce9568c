"""Runs in a process of its own until it is killed: many writers, each telling what was acknowledged, as it is.

Each writer goes from key to key; a key is created, updated twice, and deleted if its number is even. A line is
`KEY STEP REVISION`, written in one piece after the acknowledgement.
"""

import asyncio
import os
import sys
from pathlib import Path

from moorage.store.sqlite import SqliteStore
from moorage.store.state import Bounds

WRITERS = 30


def _tell(key: str, step: str, revision: int) -> None:
    os.write(1, f"{key} {step} {revision}\n".encode())


async def _write(store: SqliteStore, prefix: str, size: int) -> None:
    number = 0
    while True:
        key = f"{prefix}{number}"
        stored = await store.create(key, f"{key} 0 ".encode() * size)
        _tell(key, "0", stored.revision)
        for step in (1, 2):
            stored = await store.update(key, f"{key} {step} ".encode() * size, stored.revision)
            _tell(key, str(step), stored.revision)
        if number % 2 == 0:
            gone = await store.delete(key, stored.revision)
            _tell(key, "deleted", gone.revision)
        number += 1


async def main(path: Path, life: str) -> None:
    store = await SqliteStore.open(path, bounds=Bounds(changes=500))
    _tell("open", "at", store.revision)
    await asyncio.gather(*(_write(store, f"/pods/{life}/{writer}-", 1 + writer * 10) for writer in range(WRITERS)))


asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
