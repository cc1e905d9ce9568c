import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.log_text import log_text
from tests.unit.serve.http.serving import connect, echo, serving

from moorage.serve.http.connection import send_stream
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.http.receiving import Limits
from moorage.serve.pki.credentials import open_credentials, server_names

pytestmark = pytest.mark.real_time(loop="uvloop")


class Source:
    """A stream's source that a test feeds, and that knows whether it was closed."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()
        self.begun = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        self.begun.set()
        try:
            while (item := await self.queue.get()) is not None:
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed.set()

    async def __call__(self, request: Request) -> Response | Stream:
        return await echo(request) if request.path == "/plain" else Stream(self.chunks(), "text/plain")


async def test_chunks_are_sent_as_they_come_and_the_connection_goes_on() -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.send("GET /watch")
        head = await client.head()
        assert (head.headers["transfer-encoding"], head.headers["content-type"]) == ("chunked", "text/plain")
        assert (server.streams, server.requests) == (1, 0)
        for word in (b"one", b"two"):
            source.queue.put_nowait(word)
            assert await client.chunk() == word
        source.queue.put_nowait(None)
        source.queue.put_nowait(None)
        assert await client.chunk() == b""
        client.send("GET /plain")
        assert (await client.answer()).status == 200


async def test_an_old_client_gets_bytes_until_the_end() -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.writer.write(b"GET /watch HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        for item in (b"one", b"two", None):
            source.queue.put_nowait(item)
        assert (await client.head()).headers["connection"] == "close"
        assert await client.reader.read() == b"onetwo"


async def test_a_client_that_vanishes_closes_the_source() -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.send("GET /watch")
        await client.head()
        client.vanish()
        await source.closed.wait()


async def test_a_client_that_vanishes_before_the_stream_begins_closes_it_too() -> None:
    source, reached, let_go = Source(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response | Stream:
        reached.set()
        await let_go.wait()
        return await source(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /watch")
        await reached.wait()
        client.vanish()
        while server.connections:
            await asyncio.sleep(0.001)
        let_go.set()
        await source.closed.wait()
        assert source.begun.is_set()


async def test_no_stream_begins_for_a_client_that_has_closed_its_half() -> None:
    source, reached, let_go = Source(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response | Stream:
        reached.set()
        await let_go.wait()
        return await source(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /watch")
        await reached.wait()
        client.writer.write_eof()
        while not all(connection.stopping for connection in server.connections):
            await asyncio.sleep(0.001)
        let_go.set()
        assert (await client.answer()).body == b""
        assert source.closed.is_set()


async def test_head_has_no_stream() -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.send("HEAD /watch")
        assert (await client.head()).status == 200
        await source.closed.wait()
        client.send("GET /plain")
        assert (await client.answer()).status == 200


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_a_client_that_does_not_read_is_cut_off_and_others_are_not(is_encrypted: bool) -> None:
    credentials = open_credentials(None, server_names("127.0.0.1"), datetime.datetime.now(datetime.UTC))
    ours = credentials.server_context() if is_encrypted else None
    authority = credentials.authority.issued.certificate.decode()
    theirs = ssl.create_default_context(cadata=authority) if is_encrypted else None
    sources = {"/deaf": Source(), "/good": Source()}

    async def handler(request: Request) -> Response | Stream:
        return await sources[request.path](request)

    async with serving(handler, Limits(unread_seconds=0.1, unread_bytes=1000), context=ours) as server:
        deaf, good = await connect(server, theirs), await connect(server, theirs)
        deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
        deaf.send("GET /deaf")
        good.send("GET /good")
        await good.head()
        flood = b"x" * 4_000_000
        while not sources["/deaf"].closed.is_set():
            if sources["/deaf"].queue.empty():
                sources["/deaf"].queue.put_nowait(flood)
            await asyncio.sleep(0.01)
        assert server.cut_off == 1
        sources["/good"].queue.put_nowait(b"still here")
        assert await good.chunk() == b"still here"


async def test_a_source_waits_for_a_client_that_reads_slowly() -> None:
    source = Source()
    async with serving(source, Limits(unread_bytes=1000)) as server:
        client = await connect(server)
        client.send("GET /watch")
        pieces = [bytes([65 + i]) * 1_000_000 for i in range(20)]
        for piece in pieces:
            source.queue.put_nowait(piece)
        source.queue.put_nowait(None)
        await client.head()
        for piece in pieces:
            assert await client.chunk() == piece
        assert server.cut_off == 0


async def test_a_stream_that_fails_ends_without_its_last_chunk(caplog: pytest.LogCaptureFixture) -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.send("GET /watch")
        await client.head()
        source.queue.put_nowait(RuntimeError("for the log"))
        assert await client.is_closed()
    assert "RuntimeError: for the log" in log_text(caplog)


async def test_a_server_that_stops_ends_its_streams_properly() -> None:
    source = Source()
    async with serving(source) as server:
        client = await connect(server)
        client.send("GET /watch")
        await client.head()
        source.queue.put_nowait(b"last words")
        assert await client.chunk() == b"last words"
        await server.stop(5.0)
        assert source.closed.is_set()
        assert await client.chunk() == b""
        assert await client.is_closed()


async def test_a_stream_that_begins_while_the_server_stops_is_empty() -> None:
    source, reached, let_go = Source(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response | Stream:
        reached.set()
        await let_go.wait()
        return await source(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /watch")
        await reached.wait()
        stopping = asyncio.ensure_future(server.stop(5.0))
        await asyncio.sleep(0)
        let_go.set()
        assert (await client.answer()).body == b""
        await stopping
        assert source.closed.is_set()


async def test_sources_that_are_asked_to_end_say_their_last_words() -> None:
    source = Source()

    def end() -> None:
        source.queue.put_nowait(b"bookmark")
        source.queue.put_nowait(None)

    async with serving(source) as server:
        server._end_streams = end
        client = await connect(server)
        client.send("GET /watch")
        await client.head()
        await server.stop(5.0)
        assert await client.chunk() == b"bookmark"
        assert await client.chunk() == b""
        assert await client.is_closed()


async def test_a_source_that_does_not_end_although_it_was_asked_to_is_ended() -> None:
    source = Source()
    async with serving(source) as server:
        server._end_streams = lambda: None
        client = await connect(server)
        client.send("GET /watch")
        await client.head()
        await server.stop(5.0)
        assert source.closed.is_set()
        assert await client.chunk() == b""


class _ClosedLater:
    """A transport of uvloop that is closed after some writes, before its connection hears of it."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def is_closing(self) -> bool:
        return self.left == 0

    def write(self, data: bytes) -> None:
        if self.is_closing():
            raise RuntimeError("the handler is closed")
        self.left -= 1


@pytest.mark.parametrize("writes", [1, 2])
async def test_nothing_is_written_to_a_transport_that_is_closed_already(writes: int) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"one"

    connection: Any = SimpleNamespace(
        transport=_ClosedLater(writes), stopping=False, is_blocked=False, task=None, is_lost=lambda: False
    )
    await send_stream(connection, Request("GET", "/"), Stream(chunks()))
    assert connection.transport.left == 0
