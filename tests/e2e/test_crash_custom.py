"""kill -9 while definitions, custom objects and role bindings are written: all that was acknowledged is there again."""

import asyncio
import shutil
from pathlib import Path
from random import Random

import pytest
from tests.e2e.custom_crash_load import BindingWriter, BoatWriter, DefinitionWriter, check_quota, prepare
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, WireClient

_PATIENCE = 300.0  # seconds: for a test that fails instead of hanging


class _Load:
    """All writers, over all lives of the server."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._left = 0
        self._enough = asyncio.Event()
        self.boats = [BoatWriter("boats", number, seed + number, self._count) for number in range(3)]
        self.definitions = DefinitionWriter(seed, self._count)
        self.bindings = BindingWriter(self._count)

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._enough.set()

    async def until_killed(self, server: UpProcess, access: Access, most: int) -> None:
        """Write, until a number of writes that nobody knows beforehand is acknowledged; then the server is killed."""
        self._left = self._random.randrange(1, most)
        self._enough.clear()
        writers: list[BoatWriter | DefinitionWriter | BindingWriter]
        writers = [*self.boats, self.definitions, self.bindings]
        working = [asyncio.create_task(writer.run(access)) for writer in writers]
        waiting = asyncio.create_task(self._enough.wait())
        await asyncio.wait([waiting, *working], return_when=asyncio.FIRST_COMPLETED)
        for _ in range(self._random.randrange(3)):
            await asyncio.sleep(0)
        server.kill()
        waiting.cancel()
        await asyncio.gather(*working)

    async def check(self, client: WireClient) -> None:
        for writer in self.boats:
            await writer.check(client)
        await self.definitions.check(client)
        await self.bindings.check(client)
        await check_quota(client)


async def _crash_and_restart(directory: Path, seed: int, lives: int, most: int) -> None:
    options = ("--data-dir", str(directory / "data"), "--nodes", "1")
    load = _Load(seed)
    first = directory / "first-kubeconfig"
    port = 0
    for life in range(lives + 1):
        with UpProcess(directory, *options, port=port) as server:
            if not life:
                port = server.port
                shutil.copy(server.kubeconfig, first)
            access = Access(first)
            async with WireClient(access) as client:
                if life:
                    await load.check(client)
                else:
                    await prepare(client)
            if life < lives:
                await load.until_killed(server, access, most)
                continue
            assert server.terminate() == 0
            assert "Traceback" not in server.output
    assert any(known.revision for writer in load.boats for known in writer.known.values())
    assert load.definitions.known


def test_definitions_objects_quotas_and_roles_survive_kill_9(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_crash_and_restart(tmp_path, seed=1, lives=3, most=150), _PATIENCE))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_definitions_objects_quotas_and_roles_survive_kill_9_again_and_again(tmp_path: Path, seed: int) -> None:
    asyncio.run(asyncio.wait_for(_crash_and_restart(tmp_path, seed=seed, lives=12, most=800), 20 * _PATIENCE))
