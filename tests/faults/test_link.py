"""A link passes everything on, until it is told otherwise."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.faults.rig.link import Link

pytestmark = pytest.mark.real_time


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(100):
        writer.write(piece)
    writer.close()


@asynccontextmanager
async def linked() -> AsyncIterator[tuple[Link, asyncio.StreamReader, asyncio.StreamWriter]]:
    """A link to a server that sends back what it gets, and a connection through it."""
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    link = Link("echo", server.sockets[0].getsockname()[:2])
    await link.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    try:
        writer.write(b"first")
        assert await reader.readexactly(5) == b"first"
        yield link, reader, writer
    finally:
        writer.transport.abort()
        await link.stop()
        server.close()


async def is_silent(reader: asyncio.StreamReader) -> bool:
    try:
        async with asyncio.timeout(0.2):
            await reader.read(1)
    except TimeoutError:
        return True
    return False


@pytest.mark.parametrize("how", [{}, {"there": False}, {"back": False}], ids=str)
async def test_what_is_sent_into_a_cut_link_arrives_when_it_is_mended(how: dict[str, bool]) -> None:
    async with linked() as (link, reader, writer):
        link.cut(**how)
        writer.write(b"second")
        assert await is_silent(reader)
        link.mend()
        assert await reader.readexactly(6) == b"second"


async def test_a_reset_ends_connections_and_lets_new_ones_in() -> None:
    async with linked() as (link, reader, _):
        link.reset()
        assert await _ends(reader)
        again, writer = await asyncio.open_connection("127.0.0.1", link.port)
        writer.write(b"third")
        assert await again.readexactly(5) == b"third"
        writer.transport.abort()


async def test_a_link_that_refuses_ends_new_connections_too() -> None:
    async with linked() as (link, reader, _):
        link.refuse()
        assert await _ends(reader)
        again, writer = await asyncio.open_connection("127.0.0.1", link.port)
        assert await _ends(again)
        writer.transport.abort()


async def test_a_slow_link_delays() -> None:
    async with linked() as (link, reader, writer):
        link.slow(0.1)
        began = asyncio.get_running_loop().time()
        writer.write(b"slow")
        assert await reader.readexactly(4) == b"slow"
        assert asyncio.get_running_loop().time() - began >= 0.2


async def _ends(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True
