"""A server that goes away and comes back: informers over HTTP pick up where they were."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from tests.contract.client.transports import config_map

from moorage.client.http_client import HttpClient
from moorage.client.informer import Delta, Informer
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.api_server import ApiServer, ApiServerSettings, start_api_server
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient

pytestmark = pytest.mark.real_time


async def _start(directory: Path, port: int = 0) -> ApiServer:
    return await start_api_server(ApiServerSettings(default_gates(), directory / "data", port=port))


async def test_an_informer_survives_a_restart_of_its_server(tmp_path: Path) -> None:
    said: list[tuple[str, bool]] = []
    changed = asyncio.Event()

    def follow(deltas: list[Delta]) -> None:
        said.extend((new.name, old is None) for old, new in deltas if new is not None)
        changed.set()

    async def heard(count: int) -> None:
        while len(said) < count:
            changed.clear()
            await changed.wait()

    server = await _start(tmp_path)
    (tmp_path / "kubeconfig").write_text(server.kubeconfig())
    access = load_access(str(tmp_path / "kubeconfig"))
    port = int(access.server.rpartition(":")[2])
    client = HttpClient(access, "test")
    informer = Informer(client, KINDS.CONFIG_MAP, follow, namespace="default", random=lambda: 0.0)
    task = asyncio.create_task(informer.run())
    await informer.synced()
    await client.create(KINDS.CONFIG_MAP, config_map("before"))
    await heard(1)
    await server.stop()
    server = await _start(tmp_path, port)
    await LoopbackClient(server.api).create(KINDS.CONFIG_MAP, config_map("after"))
    await heard(2)
    assert said == [("before", True), ("after", True)]
    assert (await client.get(KINDS.CONFIG_MAP, "before", "default")).key == "default/before"
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await client.close()
    await server.stop()
