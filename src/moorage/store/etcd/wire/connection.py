"""Speak gRPC over one HTTP/2 connection with one member of etcd.

Any number of calls and watches share it. What is sent in one turn of the event loop leaves together. A clock that
ticks four times a second ends calls that took too long, asks the server how it is, and gives the connection up if it
is silent: it counts turns of our own event loop, so that a pause of this process is not taken for silence of the
server. Kubernetes: grpc-go's http2Client.
Differs: we ask by a call, not by PING, which etcd refuses more often than every 5 s; and the answer tells of leaders
that are lost or new, too.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import cast

from moorage.store.etcd.errors import EtcdUnreachable
from moorage.store.etcd.wire import frames
from moorage.store.etcd.wire.frames import BadFrame, BadHeaders, Heading
from moorage.store.etcd.wire.outbox import Outbox
from moorage.store.etcd.wire.streams import Call, MessageStream, Stream, ToldCall
from moorage.store.etcd.wire.tls import closed_at_once, tls_trouble

TICK = 0.25
_MAX_HEADINGS, _MAX_BLOCK = 64, 256 * 1024
#: The window of a stream is filled up after this many bytes.
_STREAM_CREDIT = frames.STREAM_WINDOW // 2
_UNAVAILABLE = 14
#: Ticks without an answer that are not counted, while the server reads what waits to be sent.
_MOST_SPARED = round(2 / TICK)


class Connection(asyncio.Protocol):
    """One connection, named by its URL. `ready` is done when the server has answered in HTTP/2."""

    def __init__(self, name: str, interval: float, patience: float) -> None:
        """Ask the server how it is every `interval` seconds; give up after `patience` more without a byte from it."""
        self.name = name
        #: Why the connection cannot be used any more; empty while it can.
        self.failure = ""
        #: Headers of the call that asks the server how it is (empty: it is not asked), and who hears the answer.
        self.question = b""
        self.on_answer: Callable[[bytes], None] | None = None
        #: Ticks for which calls have waited and none was answered, and who hears of the second and later ones.
        self.mute_ticks = 0
        self.on_mute: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        self._transport: asyncio.Transport | None = None
        self._ask_after = max(1, round(interval / TICK))
        self._end_after = self._ask_after + max(1, round(patience / TICK))
        self._is_asked = False
        self._is_draining = False
        self._ticks = self._silent_ticks = self._spared_ticks = 0
        self._is_read = False
        self._ticker: asyncio.TimerHandle | None = None
        # Streams.
        self._streams: dict[int, Stream] = {}
        self._next_id = 1
        self._max_streams = 100
        self._not_started: deque[tuple[Stream, bytes]] = deque()
        self._outbox = Outbox(self._loop, self._streams)
        # Receiving.
        self._rest = b""
        self._credit = 0
        self._headings: dict[bytes, Heading] = {}
        self._partial: tuple[int, int, bytearray] | None = None  # headers that go on: stream, flags, block

    # For callers.

    @property
    def is_usable(self) -> bool:
        """Whether new calls may be started on it."""
        return not self._is_draining and not self.failure

    async def call(self, block: bytes, message: bytes, seconds: float) -> bytes:
        """Send a message and return the answer.

        `block` are encoded headers. Raises GrpcStatus, EtcdUnreachable, EtcdUncertain.
        """
        call = Call(block, self._ticks + 1 + int(seconds / TICK), self._loop.create_future())
        self._start(call, message)
        try:
            return await call.future
        except asyncio.CancelledError:
            self.drop(call)
            raise

    def send(self, block: bytes, message: bytes, seconds: float, tell: Callable[[bytes | Exception], None]) -> None:
        """Send a message and tell a function the answer, or what `call` would raise."""
        self._start(ToldCall(block, self._ticks + 1 + int(seconds / TICK), tell), message)

    def open_stream(self, block: bytes, message: bytes) -> MessageStream:
        """Start a stream with a first message."""
        stream = MessageStream(block, self)
        self._start(stream, message)
        return stream

    def close(self, reason: str = "the connection to etcd was closed") -> None:
        """End the connection and everything on it."""
        self._fail(f"{self.name}: {reason}" if self.name not in reason else reason)

    # Sending.

    def _start(self, stream: Stream, message: bytes) -> None:
        if not self.is_usable:
            stream.fail(EtcdUnreachable(self.failure or f"{self.name} is shutting down"))
        elif len(self._streams) >= self._max_streams:
            self._not_started.append((stream, message))
        else:
            self._start_now(stream, message)

    def _start_now(self, stream: Stream, message: bytes) -> None:
        stream.id = number = self._next_id
        self._next_id = number + 2
        if number + 2 > frames.MAX_STREAM_ID:
            self._is_draining = True  # numbers are used up: the next call takes a new connection
        self._streams[number] = stream
        self._outbox.start(stream, message)

    def send_message(self, stream: Stream, message: bytes) -> None:
        """Send another message on a stream."""
        self._outbox.send_message(stream, message)

    def let_go_on(self, stream: Stream) -> None:
        """Let the server send more on the stream if it is time to, and if its reader keeps up."""
        if stream.credit >= _STREAM_CREDIT and stream.may_go_on:
            self._outbox.send(frames.window_update(stream.id, stream.credit))
            stream.credit = 0

    def drop(self, stream: Stream) -> None:
        """Forget a stream, and tell the server."""
        if self._streams.pop(stream.id, None) is not None:
            if not self.failure:
                self._outbox.send(frames.reset(stream.id, frames.CANCEL))
            self._stream_is_over()
        elif not stream.id:
            self._not_started = deque(one for one in self._not_started if one[0] is not stream)

    def _stream_is_over(self) -> None:
        while self._not_started and len(self._streams) < self._max_streams and self.is_usable:
            stream, message = self._not_started.popleft()
            if not stream.is_over:
                self._start_now(stream, message)
        if self._is_draining:
            if self._not_started:
                self._fail_not_started(f"{self.name} is shutting down")
            if not self._streams:
                self._fail(f"{self.name} has shut down")

    # The event loop's calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = self._outbox.transport = cast(asyncio.Transport, transport)
        self._transport.write(frames.OPENING)
        self._ticker = self._loop.call_later(TICK, self._tick)

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self._fail(f"{self.name}: {tls_trouble(exc)}")
        elif not self.ready.done():
            self._fail(closed_at_once(self.name))
        else:
            self._fail(f"{self.name}: the connection was lost{f' ({exc})' if exc else ''}")

    def pause_writing(self) -> None:
        self._outbox.is_choked = True

    def resume_writing(self) -> None:
        self._outbox.is_choked = False

    def data_received(self, data: bytes) -> None:
        self._silent_ticks = 0
        if self._rest:
            data = self._rest + data
        try:
            if not self.ready.done():
                self._check_first(data)
            at = self._read_frames(data)
        except (BadFrame, BadHeaders) as error:
            self._fail(f"{self.name}: {error}")
            return
        self._rest = data[at:]

    def _check_first(self, data: bytes) -> None:
        if data.startswith((b"HTTP/", b"<", b"{")):
            raise BadFrame("answers in HTTP/1, not as an etcd client URL does")
        if data.startswith(b"\x15\x03"):
            raise BadFrame("expects TLS: write https:// instead of http://")
        if len(data) >= 4 and data[3] != frames.SETTINGS:
            raise BadFrame("does not speak HTTP/2 as etcd does: is this etcd's client URL?")

    def _read_frames(self, data: bytes) -> int:
        """Read whole frames and return where the last one ends."""
        at, end = 0, len(data)
        streams = self._streams
        while end - at >= frames.HEAD_SIZE and not self.failure:
            high, low, kind, flags, number = frames.read_head(data, at)
            length = high << 8 | low
            if length > frames.MAX_FRAME:
                raise BadFrame(f"sends a frame of {length} bytes: is this etcd's client URL?")
            start = at + frames.HEAD_SIZE
            stop = start + length
            if stop > end:
                break
            at = stop
            if self._partial is not None and kind != frames.CONTINUATION:
                raise BadFrame("sends headers that do not go on")
            if kind == frames.DATA:
                self._credit += length
                if self._credit > frames.CONNECTION_CREDIT:
                    self._outbox.send(frames.window_update(0, self._credit))
                    self._credit = 0
                stream = streams.get(number)
                if stream is None:
                    continue
                piece = data[start:stop]
                if flags & frames.PADDED:
                    piece = frames.unpadded(piece, frames.PADDED)
                stream.credit += length
                if piece:
                    try:
                        stream.receive(piece)
                    except BadFrame as error:
                        self._end(stream, f"{self.name}: {error}")
                        continue
                if stream.credit >= _STREAM_CREDIT:
                    self.let_go_on(stream)
                if flags & frames.END_STREAM:
                    self._end(stream, f"{self.name} ended an answer without a status")
            elif kind == frames.HEADERS:
                block = data[start:stop]
                if flags & (frames.PADDED | frames.WITH_PRIORITY):
                    block = frames.unpadded(block, flags)
                if flags & frames.END_HEADERS:
                    self._take_headers(number, flags, block)
                else:
                    self._partial = (number, flags, bytearray(block))
            else:
                self._take_control(kind, flags, number, data[start:stop])
        return at

    def _end(self, stream: Stream, reason: str) -> None:
        """End one stream whose answer is wrong; the connection goes on."""
        stream.fail_by(reason)
        self.drop(stream)

    def _take_headers(self, number: int, flags: int, block: bytes) -> None:
        heading = self._headings.get(block)
        if heading is None:
            heading = Heading(block)
            if len(self._headings) >= _MAX_HEADINGS:
                self._headings.clear()
            self._headings[block] = heading
        stream = self._streams.get(number)
        if stream is None:
            return
        if heading.status >= 0:
            self._over(stream, heading.status, heading.text)
        elif not heading.is_grpc or heading.http_status != "200" or stream.has_heading or flags & frames.END_STREAM:
            self._over(stream, 2, f"answers with HTTP status {heading.http_status}, not as etcd does")
        stream.has_heading = True

    def _over(self, stream: Stream, code: int, text: str) -> None:
        del self._streams[stream.id]
        if stream.unsent:
            self._outbox.send(frames.reset(stream.id, frames.CANCEL))
        if code != _UNAVAILABLE and stream.is_unary and stream.block is not self.question:
            self.mute_ticks = self._spared_ticks = 0
        stream.end(code, text)
        if self._not_started or self._is_draining:
            self._stream_is_over()

    def _take_control(self, kind: int, flags: int, number: int, content: bytes) -> None:
        if kind == frames.WINDOW_UPDATE:
            self._is_read = self._outbox.is_blocked
            self._outbox.take_window(number, frames.read_number(content))
        elif kind == frames.SETTINGS:
            if not flags & frames.ACK:
                self._take_settings(frames.read_settings(content))
        elif kind == frames.PING:
            if len(content) != 8:
                raise BadFrame("sends a ping of a wrong length")
            if not flags & frames.ACK:
                self._outbox.reply(frames.frame(frames.PING, frames.ACK, 0, content))
        elif kind == frames.RST_STREAM:
            code = frames.read_number(content)
            stream = self._streams.pop(number, None)
            if stream is not None:
                reason = f"{self.name} reset the call: {frames.code_name(code)}"
                if code == frames.REFUSED_STREAM:
                    stream.fail(EtcdUnreachable(reason))
                else:
                    stream.fail_by(reason)
                self._stream_is_over()
        elif kind == frames.GOAWAY:
            self._take_goaway(frames.read_number(content), content[4:])
        elif kind == frames.CONTINUATION:
            self._take_continuation(number, flags, content)
        elif kind == frames.PUSH_PROMISE:
            raise BadFrame("sends what was not asked for")

    def _take_continuation(self, number: int, flags: int, content: bytes) -> None:
        if self._partial is None or self._partial[0] != number:
            raise BadFrame("sends headers that go on from nothing")
        _, first_flags, block = self._partial
        block += content
        if len(block) > _MAX_BLOCK or not (content or flags & frames.END_HEADERS):
            raise BadFrame("sends headers without end")
        if flags & frames.END_HEADERS:
            self._partial = None
            self._take_headers(number, first_flags, bytes(block))

    def _take_settings(self, settings: dict[int, int]) -> None:
        # A server that does not say how many streams it takes, takes any number.
        self._max_streams = settings.get(3, self._max_streams if self.ready.done() else 1 << 20)
        self._outbox.take_settings(settings)
        self._outbox.reply(frames.SETTINGS_ACK)
        if not self.ready.done():
            self.ready.set_result(None)
        self._stream_is_over()

    def _take_goaway(self, last: int, rest: bytes) -> None:
        """Fail what the server will not begin with; what it has begun may finish."""
        code, text = frames.read_number(rest), rest[4:].decode("utf-8", "replace")
        reason = f"{self.name} is shutting down ({text or frames.code_name(code)})"
        self._is_draining = True
        for number in [number for number in self._streams if number > last]:
            self._streams.pop(number).fail(EtcdUnreachable(reason))
        self._fail_not_started(reason)
        self._stream_is_over()

    # Time.

    def _tick(self) -> None:
        self._ticker = self._loop.call_later(TICK, self._tick)
        self._ticks += 1
        self._silent_ticks += 1
        if self._silent_ticks > self._end_after:
            self._fail(f"{self.name} does not answer")
            return
        if not self._ticks % self._ask_after and self.question and not self._is_asked and self.is_usable:
            self._ask()
        self._listen_for_answers()
        late = [stream for stream in self._streams.values() if 0 < stream.deadline <= self._ticks]
        for stream in late:
            self._end(stream, f"{self.name} did not answer in time")
        for stream, _ in self._not_started:
            if 0 < stream.deadline <= self._ticks:
                stream.fail(EtcdUnreachable(f"{self.name} has too many calls under way"))

    def _listen_for_answers(self) -> None:
        """Notice calls without answers: what else the server sends may come from a watch, while no call reaches it."""
        waits = any(stream.is_unary and stream.block is not self.question for stream in self._streams.values())
        if not waits:
            self.mute_ticks = self._spared_ticks = 0
        elif self._is_read and self._spared_ticks < _MOST_SPARED:
            self._spared_ticks += 1  # it still takes what we have to say: the answers come later
        else:
            self.mute_ticks += 1
        self._is_read = False
        if self.mute_ticks > 1 and self.on_mute is not None and self.is_usable:
            self.on_mute()

    def _ask(self) -> None:
        if len(self._streams) >= self._max_streams:
            return  # many calls are under way: silence will tell
        self._is_asked = True
        call = Call(self.question, self._ticks + self._end_after, self._loop.create_future())
        call.future.add_done_callback(self._hear)
        self._start_now(call, b"")

    def _hear(self, answer: "asyncio.Future[bytes]") -> None:
        self._is_asked = False
        # Any answer shows that the server lives.
        if not answer.cancelled() and answer.exception() is None and self.on_answer is not None:
            self.on_answer(answer.result())

    def hurry(self, seconds: float) -> None:
        """End calls that are under way now in this many seconds at the latest: they are probably lost."""
        latest = self._ticks + max(1, round(seconds / TICK))
        for stream in self._streams.values():
            if stream.deadline > latest:
                stream.deadline = latest

    # The end.

    def _fail_not_started(self, reason: str) -> None:
        waiting, self._not_started = self._not_started, deque()
        for stream, _ in waiting:
            stream.fail(EtcdUnreachable(reason))

    def _fail(self, reason: str) -> None:
        if self.failure:
            return
        self.failure = reason
        if self._ticker is not None:
            self._ticker.cancel()
        if self._transport is not None:
            self._transport.abort()
        if not self.ready.done():
            self.ready.set_exception(EtcdUnreachable(reason))
            self.ready.exception()  # it may be that no one waits for it
        self._outbox.close()
        streams = list(self._streams.values())
        self._streams.clear()
        for stream in streams:
            stream.fail_by(reason)
        self._fail_not_started(reason)
