"""kill -9 under load, again and again: what was acknowledged stays, and nobody is told of what did not happen."""

import asyncio
import shutil
from pathlib import Path
from random import Random

import pytest
from tests.e2e.crash_load import Watcher, Writer
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, WireClient

_PATIENCE = 240.0  # seconds: for a test that fails instead of hanging


class _Load:
    """All writers and the watcher, over all lives of the server."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._left = 0
        self._enough = asyncio.Event()
        kinds = ("pods", "pods", "pods", "configmaps", "configmaps")
        self.writers = [Writer(kind, number, seed + number, self._count) for number, kind in enumerate(kinds)]
        self.watcher = Watcher()
        self.revision = 0

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._enough.set()

    async def until_killed(self, server: UpProcess, access: Access, most: int) -> None:
        """Write, until a number of writes that nobody knows beforehand is acknowledged; then the server is killed."""
        self._left = self._random.randrange(1, most)
        self._enough.clear()
        runs = [*(writer.run(access) for writer in self.writers), self.watcher.run(access)]
        working = [asyncio.create_task(run) for run in runs]
        waiting = asyncio.create_task(self._enough.wait())
        await asyncio.wait([waiting, *working], return_when=asyncio.FIRST_COMPLETED)
        for _ in range(self._random.randrange(3)):
            await asyncio.sleep(0)
        server.kill()
        waiting.cancel()
        await asyncio.gather(*working)

    async def check(self, access: Access) -> None:
        """After a restart."""
        async with WireClient(access) as client:
            page = (await client.ask("GET", "/api/v1/pods?limit=1")).json
            revision = int(page["metadata"]["resourceVersion"])
            assert revision >= max(self.revision, self.watcher.last), "revisions went back"
            self.revision = revision
            for writer in self.writers:
                assert await writer.check(client) <= revision


async def _crash_and_restart(directory: Path, seed: int, lives: int, most: int) -> None:
    options = ("--data-dir", str(directory / "data"), "--nodes", "3")
    load = _Load(seed)
    first = directory / "first-kubeconfig"  # it stays valid for as long as the data is there
    port = 0
    for life in range(lives + 1):
        with UpProcess(directory, *options, port=port) as server:
            if not life:
                port = server.port
                shutil.copy(server.kubeconfig, first)
            access = Access(first)
            await load.check(access)
            if life < lives:
                await load.until_killed(server, access, most)
                continue
            async with WireClient(access) as client:
                await load.watcher.check(client)
            assert server.kubeconfig.read_text() == first.read_text()
            assert server.terminate() == 0
            assert "Traceback" not in server.output
    assert load.watcher.resumed + load.watcher.started_over >= lives - 1
    acknowledged = [known for writer in load.writers for known in writer.known.values() if known.revision]
    assert len(acknowledged) > lives


def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_crash_and_restart(tmp_path, seed=1, lives=4, most=300), _PATIENCE))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_acknowledged_writes_survive_kill_9_again_and_again(tmp_path: Path, seed: int) -> None:
    asyncio.run(asyncio.wait_for(_crash_and_restart(tmp_path, seed=seed, lives=15, most=1500), 20 * _PATIENCE))
