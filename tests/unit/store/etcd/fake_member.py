"""An HTTP/2 server that answers gRPC calls from a table, and can be told to misbehave."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from moorage.store.etcd.wire import frames
from moorage.store.etcd.wire.frames import decode_headers, encode_headers
from moorage.store.etcd.wire.requests import varint

HEADING = encode_headers(((b":status", b"200"), (b"content-type", b"application/grpc")))
STATUS = "/etcdserverpb.Maintenance/Status"
PROOF = b"/moorage/none"

#: A message, or a gRPC status and its text; None: no answer.
Reply = bytes | tuple[int, str] | None


def header(revision: int = 7) -> bytes:
    """A ResponseHeader as field 1 of an answer."""
    content = b"\x08\x01\x10\x02\x18" + varint(revision) + b"\x20\x01"
    return b"\x0a" + varint(len(content)) + content


def status_answer(version: str = "3.5.1", leader: int = 2, cluster: int = 1, term: int = 3) -> bytes:
    content = b"\x08" + varint(cluster) + b"\x10\x02\x18\x07"
    start = b"\x0a" + varint(len(content)) + content + b"\x12" + varint(len(version)) + version.encode()
    return start + (b"\x20" + varint(leader) if leader else b"") + b"\x30" + varint(term)


def answer_frames(stream: int, reply: Reply) -> bytes:
    if reply is None:
        return b""
    if isinstance(reply, bytes):
        trailers = encode_headers(((b"grpc-status", b"0"),))
        parts = [frames.frame(frames.HEADERS, frames.END_HEADERS, stream, HEADING)]
        data = frames.message_with_prefix(reply)
        parts += [
            frames.frame(frames.DATA, 0, stream, data[at : at + frames.MAX_FRAME])
            for at in range(0, len(data), frames.MAX_FRAME)
        ]
    else:
        code, text = reply
        quoted = text.encode()
        trailers = HEADING + encode_headers(((b"grpc-status", b"%d" % code), (b"grpc-message", quoted)))
        parts = []
    parts.append(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, stream, trailers))
    return b"".join(parts)


class FakeMember:
    """`replies` by path: a reply for every call, or a function of what was called before, with its headers.

    `proof` is the reply to the read by which a client sees that a member answers at all.
    """

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[tuple[str, dict[bytes, bytes], bytes]] = []
        self.replies: dict[str, Reply | Callable[[dict[bytes, bytes]], Reply]] = {
            STATUS: status_answer(),
        }
        self.proof: Reply = header()
        self.is_silent = False
        #: Seconds that every answer on the first connection takes.
        self.late = 0.0
        self.writers: list[asyncio.StreamWriter] = []

    def paths(self) -> list[str]:
        return [path for path, _, _ in self.calls if path != STATUS]

    def reply(self, path: str, headers: dict[bytes, bytes], message: bytes) -> Reply:
        if PROOF in message:
            return self.proof
        self.calls.append((path, headers, message))
        reply = self.replies.get(path, (12, "unknown service"))
        return reply(headers) if callable(reply) else reply

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while self.is_silent:
                await reader.readexactly(1)
            await reader.readexactly(24)
            writer.write(frames.frame(frames.SETTINGS, 0, 0))
            open_calls: dict[int, tuple[dict[bytes, bytes], bytearray]] = {}
            while True:
                high, low, kind, flags, stream = frames.read_head(await reader.readexactly(9), 0)
                content = await reader.readexactly(high << 8 | low)
                if kind == frames.HEADERS:
                    open_calls[stream] = (dict(decode_headers(content)), bytearray())
                elif kind == frames.DATA:
                    headers, body = open_calls[stream]
                    body += content
                    if content:
                        writer.write(frames.window_update(0, len(content)) + frames.window_update(stream, len(content)))
                    if flags & frames.END_STREAM:
                        path = headers[b":path"].decode()
                        answer = answer_frames(stream, self.reply(path, headers, bytes(body[5:])))
                        if self.late and writer is self.writers[0]:
                            asyncio.get_running_loop().call_later(self.late, writer.write, answer)
                        else:
                            writer.write(answer)
                elif kind == frames.SETTINGS and not flags & frames.ACK:
                    writer.write(frames.SETTINGS_ACK)
        writer.close()


@asynccontextmanager
async def fake_member() -> AsyncIterator[FakeMember]:
    """Run one on a free port."""
    member = FakeMember()
    server = await asyncio.start_server(member.serve, "127.0.0.1", 0)
    member.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield member
    finally:
        server.close()
        for writer in member.writers:
            writer.transport.abort()
        await asyncio.sleep(0)
