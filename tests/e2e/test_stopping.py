"""A server that is told to stop under load answers each request rightly, or 503 with Retry-After, or closes: never 500.

Clients hold connections open, make new ones all the time, and have handshakes under way when SIGTERM comes.
"""

import asyncio
import json
import signal
import ssl
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.component_processes import components as running_components

from moorage.client.kubeconfig.access import tls_context
from moorage.client.kubeconfig.loading import load_access

CLIENTS, LATE = 24, 16
_GOOD = {201, 503}
_PATH = "/api/v1/namespaces/default/configmaps"


class _Client:
    """Creates ConfigMaps, some on each connection; counts answers, and keeps those that are wrong."""

    def __init__(self, port: int, context: ssl.SSLContext, number: int) -> None:
        self._port, self._context, self._number = port, context, number
        self.codes: Counter[int] = Counter()
        self.wrong: list[str] = []
        self._made = 0

    async def run(self) -> None:
        """Go on until no server listens any more."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            except ConnectionRefusedError:
                return
            try:
                await self.use(reader, writer)
            except (OSError, asyncio.IncompleteReadError, ssl.SSLError):
                await asyncio.sleep(0.01)
            finally:
                writer.close()

    async def use(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: int = 20) -> None:
        await writer.start_tls(self._context, server_hostname="127.0.0.1")
        for _ in range(requests):
            self._made += 1
            name = f"c{self._number}-{self._made}"
            body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).encode()
            head = (
                "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            )
            writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            code = int(answer.split()[1])
            length = next(int(line.split(":")[1]) for line in answer.split("\r\n") if line.startswith("content-length"))
            content = await reader.readexactly(length)
            self.codes[code] += 1
            if code not in _GOOD or (code == 503 and "retry-after: 1" not in answer):
                self.wrong.append(f"{answer}{content.decode()}")
            if "connection: close" in answer:
                return


@pytest.mark.real_time
def test_no_request_fails_because_the_server_stops(tmp_path: Path) -> None:
    with running_components(tmp_path) as components:
        process = components.api_server()
        context = tls_context(load_access(str(components.kubeconfig)))
        assert context is not None

        async def load() -> list[_Client]:
            clients = [_Client(components.port, context, number) for number in range(CLIENTS + LATE)]
            running = [asyncio.create_task(client.run()) for client in clients[:CLIENTS]]
            while sum(client.codes[201] for client in clients) < 10 * CLIENTS:
                await asyncio.sleep(0.02)
            late = [await asyncio.open_connection("127.0.0.1", components.port) for _ in range(LATE)]
            process.send_signal(signal.SIGTERM)
            for client, (reader, writer) in zip(clients[CLIENTS:], late, strict=True):
                with suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
                    await client.use(reader, writer, requests=2)
                writer.close()
            await asyncio.gather(*running)
            return clients

        clients = asyncio.run(load())
        assert process.wait(60) == 0, components.said()
        wrong = [answer for client in clients for answer in client.wrong]
        assert not wrong, f"{len(wrong)} answers, such as {wrong[0]}"
