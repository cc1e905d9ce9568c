"""One HTTP/2 connection: its rules, kept and broken, with a server that is played by the test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from tests.unit.store.etcd.fake_member import HEADING, answer_frames

from moorage.store.etcd.errors import EtcdError, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.wire import frames
from moorage.store.etcd.wire.connection import TICK, Connection
from moorage.store.etcd.wire.frames import encode_headers, frame, message_with_prefix
from moorage.store.etcd.wire.streams import MAX_MESSAGE, GrpcStatus

UPDATE = frames.WINDOW_UPDATE
SETTINGS = frame(frames.SETTINGS, 0, 0)
OK = frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, encode_headers(((b"grpc-status", b"0"),)))
START = frame(frames.HEADERS, frames.END_HEADERS, 1, HEADING)


class Wire:
    """The other end of a connection: a transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.is_aborted = False

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True

    def sent(self) -> list[tuple[int, int, int, bytes]]:
        """Return kind, flags, stream and content of all frames since the last time."""
        data, found = bytes(self.written), []
        data = data.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        while data:
            high, low, kind, flags, stream = frames.read_head(data, 0)
            end = 9 + (high << 8 | low)
            found.append((kind, flags, stream, data[9:end]))
            data = data[end:]
        self.written.clear()
        return found


@asynccontextmanager
async def connected(settings: bytes = SETTINGS) -> AsyncIterator[tuple[Connection, Wire]]:
    connection, wire = Connection("http://etcd:2379", 0.5, 1.5), Wire()
    connection.connection_made(cast(Any, wire))
    if settings:
        connection.data_received(settings)
        await connection.ready
    try:
        yield connection, wire
    finally:
        connection.close()


async def start(connection: Connection, message: bytes = b"ask", seconds: float = 60) -> "asyncio.Task[bytes]":
    task = asyncio.create_task(connection.call(b"block", message, seconds))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_a_call_in_pieces_of_any_size() -> None:
    answer = answer_frames(1, b"x" * 40_000)
    for size in (1, 7, 16_000, len(answer)):
        async with connected() as (connection, _):
            call = await start(connection)
            for at in range(0, len(answer), size):
                connection.data_received(answer[at : at + size])
            assert await call == b"x" * 40_000


async def test_what_starts_in_one_turn_leaves_in_one_write() -> None:
    async with connected() as (connection, wire):
        await asyncio.sleep(0)
        wire.sent()
        writes: list[bytes] = []
        wire.write = writes.append  # type: ignore[assignment]
        calls = [asyncio.create_task(connection.call(b"block", b"%d" % number, 9)) for number in range(10)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(writes) == 1
        for number in range(10):
            connection.data_received(answer_frames(2 * number + 1, b"%d" % number))
        assert await asyncio.gather(*calls) == [b"%d" % number for number in range(10)]


async def test_long_requests_wait_for_the_windows() -> None:
    window = frame(frames.SETTINGS, 0, 0, b"\0\4" + (100_000).to_bytes(4, "big"))
    async with connected(window) as (connection, wire):
        wire.sent()
        message = b"m" * 150_000
        call = await start(connection, message)
        other = await start(connection, b"short")
        sent = wire.sent()
        data = b"".join(content for kind, _, stream, content in sent if kind == frames.DATA and stream == 1)
        assert len(data) == frames.DEFAULT_WINDOW
        assert not any(flags & frames.END_STREAM for _, flags, _, _ in sent[1:])
        connection.data_received(frames.window_update(0, 1_000_000))
        connection.data_received(frames.window_update(1, 60_000))
        await asyncio.sleep(0)
        more = wire.sent()
        data += b"".join(content for kind, _, stream, content in more if kind == frames.DATA and stream == 1)
        assert data == message_with_prefix(message)
        assert [stream for kind, flags, stream, _ in more if kind == frames.DATA and flags] == [3, 1]
        assert all(len(content) <= frames.MAX_FRAME for _, _, _, content in more)
        connection.data_received(answer_frames(1, b"1") + answer_frames(3, b"2"))
        assert [await call, await other] == [b"1", b"2"]


async def test_a_request_that_did_not_fit_into_the_window_was_not_sent() -> None:
    async with connected() as (connection, _):
        long, short = await start(connection, b"m" * 100_000), await start(connection)
        connection.connection_lost(None)
        for call in (long, short):
            with pytest.raises(EtcdUnreachable):
                await call


async def test_calls_above_the_limit_of_the_server_wait_in_line() -> None:
    limit = frame(frames.SETTINGS, 0, 0, b"\0\3\0\0\0\2")
    async with connected(limit) as (connection, wire):
        calls = [await start(connection) for _ in range(4)]
        assert [stream for kind, _, stream, _ in wire.sent() if kind == frames.HEADERS] == [1, 3]
        connection.data_received(answer_frames(1, b"1"))
        await asyncio.sleep(0)
        assert [stream for kind, _, stream, _ in wire.sent() if kind == frames.HEADERS] == [5]
        calls[3].cancel()
        connection.data_received(answer_frames(3, b"3") + answer_frames(5, b"5"))
        assert [await call for call in calls[:3]] == [b"1", b"3", b"5"]


async def test_a_status_other_than_ok() -> None:
    async with connected() as (connection, _):
        call = await start(connection)
        connection.data_received(answer_frames(1, (14, "etcdserver: no leader")))
        with pytest.raises(GrpcStatus, match="no leader") as caught:
            await call
        assert caught.value.code == 14


async def test_headers_that_go_on_and_padding() -> None:
    block = encode_headers(((b"grpc-status", b"0"),))
    padded = bytes([4]) + bytes(5) + HEADING + bytes(4)
    async with connected() as (connection, _):
        call = await start(connection)
        flags = frames.END_HEADERS | frames.PADDED | frames.WITH_PRIORITY
        connection.data_received(frame(frames.HEADERS, flags, 1, padded))
        connection.data_received(
            frame(frames.DATA, frames.PADDED, 1, b"\3" + message_with_prefix(b"answer") + b"\0\0\0")
        )
        connection.data_received(frame(frames.HEADERS, frames.END_STREAM, 1, block[:3]))
        connection.data_received(frame(frames.CONTINUATION, 0, 1, block[3:5]))
        connection.data_received(frame(frames.CONTINUATION, frames.END_HEADERS, 1, block[5:]))
        assert await call == b"answer"


async def test_what_the_server_asks_for_is_answered() -> None:
    async with connected() as (connection, wire):
        await asyncio.sleep(0)
        assert [sent[0] for sent in wire.sent()] == [frames.SETTINGS, frames.WINDOW_UPDATE, frames.SETTINGS]
        connection.data_received(frame(frames.PING, 0, 0, b"12345678") + frame(99, 0, 0, b"unknown kind"))
        await asyncio.sleep(0)
        assert wire.sent() == [(frames.PING, frames.ACK, 0, b"12345678")]


async def test_calls_that_a_stopping_server_does_not_take_are_not_sent() -> None:
    async with connected() as (connection, wire):
        taken, refused = await start(connection), await start(connection)
        goaway = frame(frames.GOAWAY, 0, 0, (1).to_bytes(4, "big") + bytes(4) + b"graceful_stop")
        connection.data_received(goaway)
        with pytest.raises(EtcdUnreachable, match="graceful_stop"):
            await refused
        with pytest.raises(EtcdUnreachable):
            await connection.call(b"block", b"", 9)
        assert not connection.is_usable
        assert not wire.is_aborted
        connection.data_received(answer_frames(1, b"done"))
        assert await taken == b"done"
        assert wire.is_aborted


@pytest.mark.parametrize(("code", "error"), [(7, EtcdUnreachable), (2, EtcdUncertain), (99, EtcdUncertain)])
async def test_a_call_that_is_reset(code: int, error: type[EtcdError]) -> None:
    async with connected() as (connection, _):
        call = await start(connection)
        connection.data_received(frames.reset(1, code))
        with pytest.raises(error):
            await call
        assert connection.is_usable


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    async with connected() as (connection, wire):
        call = await start(connection)
        wire.sent()
        call.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert wire.sent() == [(frames.RST_STREAM, 0, 1, (8).to_bytes(4, "big"))]
        connection.data_received(answer_frames(1, b"late"))
        assert connection.is_usable


async def test_a_call_ends_at_its_deadline() -> None:
    async with connected() as (connection, _):
        call = await start(connection, seconds=1.0)
        for _ in range(8):
            connection.data_received(frame(frames.PING, frames.ACK, 0, bytes(8)))
            await asyncio.sleep(TICK)
        with pytest.raises(EtcdUncertain, match="in time"):
            await call
        assert connection.is_usable


async def test_a_silent_server_is_given_up() -> None:
    async with connected() as (connection, wire):
        heard: list[bytes] = []
        connection.question, connection.on_answer = b"how are you", heard.append
        call = await start(connection)
        stream = connection.open_stream(b"watch", b"create")
        for number in (5, 7, 9):  # questions are answered, with whatever
            await asyncio.sleep(0.8)
            assert [content for kind, _, _, content in wire.sent() if kind == frames.HEADERS][-1] == b"how are you"
            connection.data_received(answer_frames(number, b"fine" if number == 5 else (12, "what?")))
            await asyncio.sleep(0)
        assert heard == [b"fine"]
        await asyncio.sleep(1.5)
        assert connection.is_usable
        await asyncio.sleep(1.0)
        assert "does not answer" in connection.failure
        with pytest.raises(EtcdUncertain, match="does not answer"):
            await call
        with pytest.raises(EtcdUnreachable, match="does not answer"):
            await stream.peek()


async def test_calls_from_before_an_election_end_soon() -> None:
    async with connected() as (connection, _):
        before = await start(connection)
        connection.hurry(0.5)
        after = await start(connection)
        await asyncio.sleep(0.8)
        with pytest.raises(EtcdUncertain, match="in time"):
            await before
        connection.data_received(answer_frames(3, b"here"))
        assert await after == b"here"


async def test_a_stream_whose_reader_is_slow_stops_the_server() -> None:
    async with connected() as (connection, wire):
        stream = connection.open_stream(b"watch", b"create")
        await asyncio.sleep(0)
        wire.sent()
        connection.data_received(START)
        message = message_with_prefix(b"e" * 1_000_000)
        sent, allowed = 0, frames.STREAM_WINDOW
        while sent < allowed:
            at = sent % len(message)
            piece = message[at : at + min(frames.MAX_FRAME, allowed - sent)]
            sent += len(piece)
            connection.data_received(frame(frames.DATA, 0, 1, piece))
            await asyncio.sleep(0)
            allowed += sum(int.from_bytes(content, "big") for kind, _, _, content in wire.sent() if kind == UPDATE)
        assert sent <= 3 * frames.STREAM_WINDOW
        for _ in range(sent // len(message)):
            assert len(await stream.peek()) == 1_000_000
            stream.take()
        await asyncio.sleep(0)
        assert [kind for kind, _, _, _ in wire.sent()] == [UPDATE]


async def test_a_message_longer_than_the_window_arrives() -> None:
    async with connected() as (connection, wire):
        stream = connection.open_stream(b"watch", b"create")
        await asyncio.sleep(0)
        connection.data_received(START)
        wire.sent()
        message = message_with_prefix(b"e" * (3 * frames.STREAM_WINDOW))
        sent, allowed = 0, frames.STREAM_WINDOW
        while sent < len(message):
            assert sent < allowed
            piece = message[sent : sent + min(frames.MAX_FRAME, allowed - sent)]
            sent += len(piece)
            connection.data_received(frame(frames.DATA, 0, 1, piece))
            await asyncio.sleep(0)
            allowed += sum(int.from_bytes(content, "big") for kind, _, _, content in wire.sent() if kind == UPDATE)
        assert len(await stream.peek()) == 3 * frames.STREAM_WINDOW


#: What a server can send after its settings, and a word of the error. The call is stream 1.
HOSTILE: list[tuple[str, bytes, str]] = [
    ("a huge frame", b"\xff\xff\xff\0\0\0\0\0\1", "frame of 16777215 bytes"),
    ("headers cut off", frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff"), "number"),
    ("a header table", frame(frames.HEADERS, frames.END_HEADERS, 1, b"\x3f\x01"), "table"),
    ("padding beyond the frame", frame(frames.DATA, frames.PADDED, 1, b"\x09a"), "padding"),
    ("padding of nothing", frame(frames.DATA, frames.PADDED, 1), "padding"),
    ("headers that do not go on", frame(frames.HEADERS, 0, 1, HEADING) + frame(frames.PING, 0, 0, bytes(8)), "go on"),
    ("headers from nothing", frame(frames.CONTINUATION, 4, 1, HEADING), "nothing"),
    ("headers of another stream", frame(frames.HEADERS, 0, 1) + frame(frames.CONTINUATION, 4, 3), "nothing"),
    ("headers without end", frame(frames.HEADERS, 0, 1) + frame(frames.CONTINUATION, 0, 1, bytes(16_000)) * 20, "end"),
    ("empty headers without end", frame(frames.HEADERS, 0, 1) + frame(frames.CONTINUATION, 0, 1), "end"),
    ("a push", frame(frames.PUSH_PROMISE, 4, 1, bytes(4)), "not asked"),
    ("settings cut off", frame(frames.SETTINGS, 0, 0, b"\0\4\0"), "settings"),
    ("settings out of range", frame(frames.SETTINGS, 0, 0, b"\0\4\xff\xff\xff\xff"), "settings"),
    ("frames too small", frame(frames.SETTINGS, 0, 0, b"\0\5\0\0\0\1"), "settings"),
    ("a short ping", frame(frames.PING, 0, 0, b"1"), "ping"),
    ("a window too large", frames.window_update(0, frames.MAX_WINDOW), "flow control"),
    ("a window of nothing", frames.window_update(0, 0), "flow control"),
    ("a window cut off", frame(frames.WINDOW_UPDATE, 0, 0, b"1"), "cut off"),
    ("an end cut off", frame(frames.GOAWAY, 0, 0, b"123"), "cut off"),
    ("a reset cut off", frame(frames.RST_STREAM, 0, 1, b"1"), "cut off"),
]


@pytest.mark.parametrize(("data", "word"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
async def test_a_server_that_breaks_the_rules_is_left(data: bytes, word: str) -> None:
    async with connected() as (connection, wire):
        call = await start(connection)
        connection.data_received(data)
        connection.data_received(answer_frames(1, b"ignored"))
        assert wire.is_aborted
        with pytest.raises(EtcdUncertain, match=word) as caught:
            await call
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith("http://etcd:2379")


#: Answers that are wrong while the connection is right.
WRONG_ANSWERS: list[tuple[str, bytes]] = [
    ("a message longer than any", START + frame(frames.DATA, 0, 1, b"\0" + (MAX_MESSAGE + 1).to_bytes(4, "big"))),
    ("compressed", START + frame(frames.DATA, 0, 1, b"\1\0\0\0\1x")),
    ("two messages", START + frame(frames.DATA, 0, 1, message_with_prefix(b"a") * 2)),
    ("a second message", START + frame(frames.DATA, 0, 1, message_with_prefix(b"a")) * 2),
    ("no message", START + OK),
    ("half a message", START + frame(frames.DATA, 0, 1, b"\0\0\0\0\5ab") + OK),
    ("no status", START + frame(frames.DATA, frames.END_STREAM, 1, message_with_prefix(b"a"))),
]


@pytest.mark.parametrize("data", [row[1] for row in WRONG_ANSWERS], ids=[row[0] for row in WRONG_ANSWERS])
async def test_a_wrong_answer_ends_its_call_only(data: bytes) -> None:
    async with connected() as (connection, _):
        call = await start(connection)
        connection.data_received(data)
        with pytest.raises(EtcdUncertain):
            await call
        other = await start(connection)
        connection.data_received(answer_frames(3, b"right"))
        assert await other == b"right"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        (encode_headers(((b":status", b"404"), (b"content-type", b"text/html"))), "HTTP status 404"),
        (encode_headers(((b":status", b"200"), (b"content-type", b"text/html"))), "HTTP status 200"),
    ],
)
async def test_an_answer_that_is_not_grpc(block: bytes, text: str) -> None:
    async with connected() as (connection, _):
        call = await start(connection)
        connection.data_received(frame(frames.HEADERS, frames.END_HEADERS, 1, block))
        with pytest.raises(GrpcStatus, match=text):
            await call


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1"),
        (b"<html>", "HTTP/1"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "https://"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "client URL"),
        (b"\x00" * 40, "client URL"),
        (b"\xff" * 40, "client URL"),
    ],
)
async def test_what_is_not_etcd(data: bytes, word: str) -> None:
    async with connected(b"") as (connection, wire):
        connection.data_received(data)
        assert wire.is_aborted
        with pytest.raises(EtcdUnreachable, match=word):
            await connection.ready


async def test_a_server_that_asks_and_does_not_read_is_left() -> None:
    async with connected() as (connection, wire):
        connection.pause_writing()
        connection.data_received(frame(frames.PING, 0, 0, bytes(8)))
        assert wire.is_aborted
        assert "reads" in connection.failure


async def test_numbers_of_streams_are_used_up() -> None:
    async with connected() as (connection, wire):
        connection._next_id = frames.MAX_STREAM_ID
        call = await start(connection)
        assert not connection.is_usable
        connection.data_received(answer_frames(frames.MAX_STREAM_ID, b"last"))
        assert await call == b"last"
        assert wire.is_aborted
