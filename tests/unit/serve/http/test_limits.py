import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.unit.serve.http.serving import connect, echo, serving

from moorage.model.api_error import unauthorized
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.http.receiving import Limits

pytestmark = pytest.mark.real_time(loop="uvloop")

SOON = 0.05  # seconds


@pytest.mark.parametrize(
    ("limits", "sent", "status", "reason"),
    [
        (Limits(request_line_bytes=20), b"GET /" + b"a" * 20 + b" HTTP/1.1\r\n", 414, "RequestURITooLong"),
        (
            Limits(head_bytes=100),
            b"GET / HTTP/1.1\r\nA: " + b"a" * 100 + b"\r\n\r\n",
            431,
            "RequestHeaderFieldsTooLarge",
        ),
        (Limits(header_count=3), b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 4 + b"\r\n", 431, "RequestHeaderFieldsTooLarge"),
        (
            Limits(body_bytes=9),
            b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
            413,
            "RequestEntityTooLarge",
        ),
        (
            Limits(body_bytes=9),
            b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
            400,
            "BadRequest",
        ),
        (
            Limits(body_bytes=9),
            b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\naaaaa\r\n5\r\naaaaa\r\n",
            413,
            "RequestEntityTooLarge",
        ),
    ],
)
async def test_who_sends_too_much_is_told_so_and_closed(limits: Limits, sent: bytes, status: int, reason: str) -> None:
    async with serving(limits=limits) as server:
        client = await connect(server)
        client.writer.write(sent)
        answer = await client.answer()
        assert (answer.status, answer.reason) == (status, reason)
        assert answer.headers["connection"] == "close"
        assert await client.is_closed()


async def test_a_head_that_never_ends_is_refused() -> None:
    async with serving(limits=Limits(head_bytes=1000)) as server:
        client = await connect(server)
        client.writer.write(b"GET / HTTP/1.1\r\nA: ")
        for _ in range(30):
            client.writer.write(b"a" * 50)
            await client.writer.drain()
            await asyncio.sleep(0)
        assert (await client.answer()).status == 431


async def test_what_is_exactly_at_the_limit_passes() -> None:
    async with serving(limits=Limits(body_bytes=10, request_line_bytes=5)) as server:
        client = await connect(server)
        client.send("PUT /four", "Content-Length: 10", body=b"a" * 10)
        assert (await client.answer()).json["body"] == "a" * 10


async def test_the_largest_body_is_named_as_upstream_names_it() -> None:
    async with serving() as server:
        client = await connect(server)
        client.send("POST /", f"Content-Length: {3 * 1024 * 1024 + 1}")
        assert (await client.answer()).json["message"] == "Request entity too large: limit is 3145728"


async def test_who_is_refused_while_sending_can_still_read_why() -> None:
    async with serving(limits=Limits(body_bytes=9)) as server:
        client = await connect(server)
        client.send("POST /", "Content-Length: 1000000", body=b"a" * 1_000_000)
        assert (await client.answer()).status == 413


async def test_strangers_are_refused_before_their_body_is_read() -> None:
    def gate(request: Request) -> None:
        if "authorization" not in request.headers:
            raise unauthorized()

    async with serving(gate=gate) as server:
        stranger, friend = await connect(server), await connect(server)
        stranger.send("POST /", "Content-Length: 100", "Expect: 100-continue")
        assert (await stranger.answer()).status == 401
        friend.send("POST /", "Content-Length: 2", "Authorization: x", body=b"ok")
        assert (await friend.answer()).status == 200
        for head in ("GET /", "DELETE /"):
            without_a_body = await connect(server)
            without_a_body.send(head)
            assert (await without_a_body.answer()).status == 401, head


@pytest.mark.parametrize(
    ("limits", "sent"),
    [
        (Limits(head_seconds=SOON), b"GET / HTTP/1.1\r\nA: b"),
        (Limits(body_seconds=SOON), b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na"),
    ],
)
async def test_who_sends_too_slowly_is_refused(limits: Limits, sent: bytes) -> None:
    async with serving(limits=limits) as server:
        client = await connect(server)
        client.writer.write(sent)
        answer = await client.answer()
        assert (answer.status, answer.reason) == (408, "Timeout")
        assert await client.is_closed()


async def test_who_says_nothing_is_closed() -> None:
    async with serving(limits=Limits(head_seconds=SOON)) as server:
        assert await (await connect(server)).is_closed()
    async with serving(limits=Limits(idle_seconds=SOON)) as server:
        client = await connect(server)
        client.send("GET /")
        assert (await client.answer()).status == 200
        assert await client.is_closed()


async def test_a_handler_that_takes_too_long_is_cancelled() -> None:
    cancelled = asyncio.Event()

    async def handler(request: Request) -> Response:
        if request.path == "/quick":
            return await echo(request)
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return Response(200)

    async with serving(handler, Limits(answer_seconds=SOON)) as server:
        client = await connect(server)
        client.send("GET /")
        answer = await client.answer()
        assert (answer.status, answer.reason) == (504, "Timeout")
        assert cancelled.is_set()
        client.send("GET /quick")
        assert (await client.answer()).status == 200


async def test_a_connection_above_the_limit_is_refused() -> None:
    async with serving(limits=Limits(connections=10)) as server:
        clients = [await connect(server) for _ in range(10)]
        for client in clients:
            client.send("GET /")
            assert (await client.answer()).status == 200
        late = await connect(server)
        assert (await late.answer()).reason == "ServiceUnavailable"
        assert await (await connect(server)).is_closed()


async def test_too_many_requests_at_once_are_told_to_come_back_but_watches_are_not() -> None:
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def chunks() -> AsyncIterator[bytes]:
        yield b"event"

    async def handler(request: Request) -> Response | Stream:
        if "watch" in request.query:
            return Stream(chunks())
        reached.set()
        await let_go.wait()
        return await echo(request)

    async with serving(handler, Limits(requests=1)) as server:
        busy, other = await connect(server), await connect(server)
        busy.send("GET /")
        await reached.wait()
        other.send("GET /")
        answer = await other.answer()
        assert (answer.status, answer.reason, answer.headers["retry-after"]) == (429, "TooManyRequests", "1")
        assert answer.json["message"] == "too many requests, please try again later"
        assert server.turned_away == 1
        other.send("GET /?watch=1")
        assert (await other.answer()).body == b"event"
        let_go.set()
        assert (await busy.answer()).status == 200


def test_the_sweep_is_finer_than_the_shortest_limit() -> None:
    assert Limits().sweep_seconds <= 1.0
    assert Limits(head_seconds=0.2).sweep_seconds == 0.05
