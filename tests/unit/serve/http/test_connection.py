import asyncio
import gc
import gzip
import weakref
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log_text import log_text
from tests.unit.serve.http.serving import connect, echo, run, serving

from moorage.model.api_error import bad_request, too_many_requests
from moorage.serve.http.connection import Connection
from moorage.serve.http.messages import Request, Response

pytestmark = pytest.mark.real_time(loop="uvloop")


async def test_requests_on_one_connection_are_answered_one_after_the_other() -> None:
    async with serving() as server:
        client = await connect(server)
        for path in ("/a", "/b"):
            client.send(f"GET {path}")
            answer = await client.answer()
            assert (answer.status, answer.json["path"]) == (200, path)
            assert "connection" not in answer.headers
        assert len(server.connections) == 1


async def test_pipelined_requests_are_answered_in_order_whatever_each_takes() -> None:
    let_go = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.path == "/slow":
            await let_go.wait()
        return await echo(request)

    async with serving(handler) as server:
        client = await connect(server)
        paths = ["/slow", *(f"/{i}" for i in range(100))]
        for path in paths:
            client.send(f"GET {path}")
        let_go.set()
        assert [(await client.answer()).json["path"] for _ in paths] == paths


async def test_bodies_come_by_length_or_in_chunks() -> None:
    async with serving() as server:
        client = await connect(server)
        client.send("POST /a", "Content-Length: 5", body=b"hello")
        client.send("POST /a", "Transfer-Encoding: chunked", body=b"2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nA: trailer\r\n\r\n")
        client.send("POST /a", "Content-Length: 0")
        assert [(await client.answer()).json["body"] for _ in range(3)] == ["hello", "hello", ""]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 150), max_size=8))
def test_how_bytes_are_cut_makes_no_difference(cuts: list[int]) -> None:
    sent = b"POST /a%20b?c=d HTTP/1.1\r\nHost: here\r\nX-A: b\r\nContent-Length: 3\r\n\r\nabc"
    sent += b"GET /e HTTP/1.1\r\nHost: x\r\n\r\n"
    places = [0, *sorted(min(cut, len(sent)) for cut in cuts), len(sent)]

    async def main() -> None:
        async with serving() as server:
            client = await connect(server)
            for begin, end in pairwise(places):
                client.writer.write(sent[begin:end])
                await client.writer.drain()
                await asyncio.sleep(0)
            assert (await client.answer()).json == {"method": "POST", "path": "/a b", "body": "abc"}
            assert (await client.answer()).json == {"method": "GET", "path": "/e", "body": ""}

    run(main)


async def test_a_client_that_asks_may_send_its_body() -> None:
    async with serving() as server:
        client = await connect(server)
        client.send("POST /a", "Content-Length: 2", "Expect: 100-continue")
        assert (await client.head()).status == 100
        client.writer.write(b"ok")
        assert (await client.answer()).json["body"] == "ok"
        client.send("POST /a", "Content-Length: 2", "Expect: tea")
        assert (await client.answer()).status == 417


async def test_leave_to_send_waits_for_the_answers_before_it() -> None:
    let_go = asyncio.Event()

    async def handler(request: Request) -> Response:
        await let_go.wait()
        return await echo(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /first")
        client.send("POST /second", "Content-Length: 2", "Expect: 100-continue")
        let_go.set()
        assert (await client.answer()).json["path"] == "/first"
        assert (await client.head()).status == 100
        client.writer.write(b"ok")
        assert (await client.answer()).json["path"] == "/second"


async def test_an_answer_to_head_has_the_length_but_not_the_body() -> None:
    async with serving() as server:
        client = await connect(server)
        client.send("HEAD /a")
        head = await client.head()
        assert int(head.headers["content-length"]) > 0
        client.send("GET /b")
        assert (await client.answer()).json["path"] == "/b"


@pytest.mark.parametrize(
    ("request_bytes", "stays"),
    [
        (b"GET /a HTTP/1.0\r\n\r\n", False),
        (b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /ignored HTTP/1.1\r\nHost: x\r\n\r\n", False),
        (b"GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x81\x05", False),
        (b"GET http://proxied/a HTTP/1.1\r\nHost: proxied\r\n\r\n", True),
    ],
)
async def test_keep_alive_follows_the_client(request_bytes: bytes, stays: bool) -> None:
    async with serving() as server:
        client = await connect(server)
        client.writer.write(request_bytes)
        answer = await client.answer()
        assert answer.json["path"] == "/a"
        assert answer.headers.get("connection", "keep-alive") == ("keep-alive" if stays else "close")
        if stays:
            client.send("GET /b")
            assert (await client.answer()).json["path"] == "/b"
        else:
            assert await client.is_closed()


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_what_is_not_http_gets_400_and_is_closed(nonsense: bytes) -> None:
    async with serving() as server:
        client = await connect(server)
        client.send("GET /first")
        client.writer.write(nonsense)
        assert (await client.answer()).json["path"] == "/first"
        answer = await client.answer()
        assert (answer.status, answer.reason) == (400, "BadRequest")
        assert await client.is_closed()


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_hurt_the_server(data: bytes) -> None:
    async def main() -> None:
        async with serving() as server:
            rude = await connect(server)
            rude.writer.write(data)
            await rude.writer.drain()
            rude.vanish()
            polite = await connect(server)
            polite.send("GET /a")
            assert (await polite.answer()).status == 200

    run(main)


async def test_refusals_are_statuses_with_their_headers(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(request: Request) -> Response:
        if request.path == "/busy":
            raise too_many_requests("later", retry_after=7)
        if request.path == "/bad":
            raise bad_request("no\r\nSet-Cookie: x")
        raise ZeroDivisionError("not for clients")

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /busy")
        busy = await client.answer()
        assert (busy.status, busy.reason, busy.headers["retry-after"]) == (429, "TooManyRequests", "7")
        client.send("GET /bad")
        assert (await client.answer()).json["message"] == "no\r\nSet-Cookie: x"
        client.send("GET /broken")
        broken = await client.answer()
        assert (broken.status, broken.reason) == (500, "InternalError")
        assert b"not for clients" not in broken.body
    logged = log_text(caplog)
    assert "ZeroDivisionError: not for clients" in logged
    assert 'path="/broken"' in logged


async def test_a_header_cannot_be_ended_by_what_it_quotes() -> None:
    async def handler(request: Request) -> Response:
        return Response(200, b"", headers=(("Warning", '299 - "a\r\nEvil: yes é"'),))

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /")
        answer = await client.answer()
        assert answer.headers["warning"] == '299 - "a  evil: yes é"'
        assert "evil" not in answer.headers


@pytest.mark.parametrize("size", [128 * 1024 + 1, 2 * 1024 * 1024])
async def test_large_answers_are_compressed_for_those_who_want_it(size: int) -> None:
    body = b"0123456789abcdef" * (size // 16) + b"x" * (size % 16)

    async def handler(request: Request) -> Response:
        return Response(200, body if request.path == "/large" else body[: 128 * 1024])

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /large", "Accept-Encoding: deflate, gzip;q=1.0")
        packed = await client.answer()
        assert packed.headers["content-encoding"] == "gzip"
        assert gzip.decompress(packed.body) == body
        client.send("GET /large")
        plain = await client.answer()
        assert "content-encoding" not in plain.headers
        assert plain.body == body
        client.send("GET /small", "Accept-Encoding: gzip")
        assert "content-encoding" not in (await client.answer()).headers


async def test_a_large_body_is_written_in_pieces_between_which_others_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = b"x" * (8 * 1024 * 1024)
    written: list[int] = []
    made = Connection.connection_made

    class Spied:
        """The transport of a connection, whose writes are noted."""

        def __init__(self, transport: asyncio.Transport) -> None:
            self._transport = transport

        def write(self, data: bytes) -> None:
            written.append(len(data))
            self._transport.write(data)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._transport, name)

    def connection_made(self: Connection, transport: asyncio.BaseTransport) -> None:
        made(self, transport)
        self.transport = cast(asyncio.Transport, Spied(self.transport))

    monkeypatch.setattr(Connection, "connection_made", connection_made)

    async def handler(request: Request) -> Response:
        return Response(200, body) if request.path == "/large" else await echo(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /large")
        client.send("GET /after")
        assert (await client.answer()).body == body
        assert (await client.answer()).json["path"] == "/after"
        client.send("HEAD /large")
        assert (await client.head()).headers["content-length"] == str(len(body))
        gone = await connect(server)
        gone.send("GET /large")
        gone.vanish()
    assert max(written) <= 256 * 1024


async def test_no_content_has_no_length() -> None:
    async def handler(request: Request) -> Response:
        return Response(304 if request.path == "/304" else 204, b"", "", (("ETag", '"a"'),))

    async with serving(handler) as server:
        client = await connect(server)
        for status in (204, 304):
            client.send(f"GET /{status}")
            head = await client.head()
            assert (head.status, head.headers) == (status, {"etag": '"a"'})


async def test_a_client_that_closes_its_half_still_gets_its_answer() -> None:
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        reached.set()
        await let_go.wait()
        return await echo(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("GET /a")
        await reached.wait()
        client.writer.write_eof()
        await asyncio.sleep(0)
        let_go.set()
        assert (await client.answer()).status == 200
        assert await client.is_closed()


async def test_a_connection_leaves_nothing_for_the_garbage_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        async with serving() as server:
            client = await connect(server)
            client.send("POST /a", "Content-Length: 2", body=b"ok")
            assert (await client.answer()).status == 200
            left = weakref.ref(next(iter(server.connections)))
            client.vanish()
            while server.connections:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0)
            assert left() is None
    finally:
        gc.enable()


async def test_what_a_vanished_client_asked_for_is_still_done() -> None:
    reached, let_go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        reached.set()
        await let_go.wait()
        done.set()
        return await echo(request)

    async with serving(handler) as server:
        client = await connect(server)
        client.send("POST /a")
        await reached.wait()
        client.vanish()
        while server.connections:
            await asyncio.sleep(0.001)
        let_go.set()
        await done.wait()
        await asyncio.gather(*server.tasks)
