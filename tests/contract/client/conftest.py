from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.client.transports import TRANSPORTS, Connector, running_server

from moorage.client.protocol import Client
from moorage.cluster.api_server import ApiServer


class Running(AbstractAsyncContextManager[ApiServer]):
    """An API server that runs as long as the test does."""

    server: ApiServer

    async def __aenter__(self) -> ApiServer:
        self._running = running_server()
        self.server = await self._running.__aenter__()
        return self.server

    async def __aexit__(self, *reason: object) -> None:
        await self._running.__aexit__(None, None, None)


@asynccontextmanager
async def connected(running: Running, connect: Connector, directory: Path) -> AsyncIterator[Client]:
    client = connect(running.server, directory)
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture
def server() -> Running:
    return Running()


@pytest.fixture(params=list(TRANSPORTS))
def client(request: pytest.FixtureRequest, server: Running, tmp_path: Path) -> AbstractAsyncContextManager[Client]:
    """A client of each kind."""
    return connected(server, TRANSPORTS[request.param], tmp_path)
