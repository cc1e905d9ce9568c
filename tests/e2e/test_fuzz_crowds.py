"""Many clients at once, and some that never read: the others are served as if they were alone."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.up_process import UpProcess
from tests.e2e.wire_client import Access, Streams, WireClient, read_head

_PATIENCE = 240.0  # seconds: for a test that fails instead of hanging
_IDLE = 1_000
_PATH = "/api/v1/namespaces/default/configmaps"
_JSON = {"Content-Type": "application/json"}


async def _put(client: WireClient, name: str, text: str = "") -> None:
    document: Any = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}
    answer = await client.ask("POST", _PATH, json.dumps(document).encode(), _JSON)
    assert answer.status == 201, answer


async def _connect_many(access: Access, count: int) -> list[Streams]:
    """Connect, again where a busy machine takes longer for a handshake than the server waits."""
    streams: list[Streams] = []
    while len(streams) < count:
        tried = await asyncio.gather(*(access.connect() for _ in range(50)), return_exceptions=True)
        streams += [one for one in tried if not isinstance(one, BaseException)]
    return streams


async def _idle_connections(directory: Path) -> None:
    with UpProcess(directory, "--ephemeral") as server:
        access = Access(server.kubeconfig)
        idle = await _connect_many(access, _IDLE)
        async with WireClient(access) as client:
            for number in range(20):
                await _put(client, f"beside-{number}")
            names = [one["metadata"]["name"] for one in (await client.ask("GET", _PATH)).json["items"]]
            assert len([name for name in names if name.startswith("beside-")]) == 20
        # They were let be: the last and the first can still ask.
        for reader, writer in (idle[0], idle[-1]):
            writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await read_head(reader))[0] == 200
        for _, writer in idle:
            writer.transport.abort()
        assert await asyncio.to_thread(server.terminate) == 0
        assert server.complaints == []


def test_a_thousand_idle_connections(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_idle_connections(tmp_path), _PATIENCE))


async def _watch_without_reading(access: Access) -> Streams:
    reader, writer = await asyncio.open_connection(access.host, access.port, ssl=access.context, limit=1024)
    head = f"GET {_PATH}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {access.token}\r\n\r\n"
    writer.write(head.encode())
    assert (await read_head(reader))[0] == 200
    return reader, writer


async def _slow_watchers(directory: Path) -> None:
    with UpProcess(directory, "--ephemeral") as server:
        access = Access(server.kubeconfig)
        slow = [await _watch_without_reading(access) for _ in range(3)]
        seen = 0

        async def listen() -> None:
            nonlocal seen
            async with WireClient(access) as client:
                async for event in client.watch(f"{_PATH}?watch=1"):
                    seen += event["type"] == "ADDED" and event["object"]["metadata"]["name"] != "kube-root-ca.crt"
                    if event["object"]["metadata"]["name"] == "last":
                        return

        listening = asyncio.create_task(listen())
        async with WireClient(access) as client:
            for number in range(30):
                await _put(client, f"large-{number}", "x" * 700_000)
            await _put(client, "last")
        await listening
        assert seen == 31
        # Those who do not read have more waiting for them than the system buffers: they are cut off.
        await asyncio.gather(*(_until_cut_off(reader) for reader, _ in slow))
        for _, writer in slow:
            writer.transport.abort()
        assert await asyncio.to_thread(server.terminate) == 0
        assert server.complaints == []


async def _until_cut_off(reader: asyncio.StreamReader) -> None:
    """Nothing is read meanwhile: a transport that is paused notices nothing, so it is asked for what is left after."""
    await asyncio.sleep(_UNREAD_SECONDS)
    whole = b""
    try:
        while data := await reader.read(1 << 20):
            whole = data
    except OSError:
        return
    assert not whole.endswith(b"0\r\n\r\n"), "the stream was ended as if all of it had been told"


#: The server's limit for leaving an answer unread is 20 seconds.
_UNREAD_SECONDS = 24.0


@pytest.mark.slow
def test_watchers_that_do_not_read_are_cut_off_and_others_go_on(tmp_path: Path) -> None:
    asyncio.run(asyncio.wait_for(_slow_watchers(tmp_path), _PATIENCE))
