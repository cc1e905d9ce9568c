"""Send what the streams of a connection have to say, as far as the server's flow control lets us.

What is said in one turn of the event loop leaves in one write.
"""

import asyncio
from collections import deque

from moorage.store.etcd.wire import frames
from moorage.store.etcd.wire.frames import BadFrame
from moorage.store.etcd.wire.streams import Stream

#: We never send longer frames, even to a server that takes them.
_LARGEST_FRAME = 1 << 20


class Outbox:
    """The sending side of a connection. `is_choked`: the transport holds more than the server reads."""

    def __init__(self, loop: asyncio.AbstractEventLoop, streams: dict[int, Stream]) -> None:
        """`streams` are those of the connection that are under way, by number."""
        self.transport: asyncio.Transport | None = None
        self.is_choked = False
        self._loop, self._streams = loop, streams
        self._out: list[bytes] = []
        self._blocked: deque[Stream] = deque()
        self._window = self._stream_window = frames.DEFAULT_WINDOW
        self._max_frame = frames.MAX_FRAME

    @property
    def is_blocked(self) -> bool:
        """Whether messages wait for the server to make room for them."""
        return bool(self._blocked)

    def start(self, stream: Stream, message: bytes) -> None:
        """Send the headers of a stream that has its number, and its first message."""
        number, size = stream.id, len(message) + 5
        if size <= self._max_frame and size <= self._window and size <= self._stream_window and not self._blocked:
            self._window -= size
            stream.window = self._stream_window - size
            stream.is_sent = True
            self.send(frames.request_frames(number, stream.block, message, stream.is_unary))
            return
        self.send(frames.frame(frames.HEADERS, frames.END_HEADERS, number, stream.block))
        stream.window = self._stream_window
        stream.unsent = frames.message_with_prefix(message)
        self._blocked.append(stream)
        self._send_blocked()

    def send_message(self, stream: Stream, message: bytes) -> None:
        """Send another message on a stream."""
        if stream.id not in self._streams:
            return
        if not stream.unsent:
            self._blocked.append(stream)
        stream.unsent += frames.message_with_prefix(message)
        self._send_blocked()

    def send(self, data: bytes) -> None:
        """Send frames that flow control does not limit."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def reply(self, data: bytes) -> None:
        """Send what the server asked for. Raises BadFrame if it asks and asks, and does not read."""
        if self.is_choked:
            raise BadFrame("asks for more than it reads")
        self.send(data)

    def take_settings(self, settings: dict[int, int]) -> None:
        """Change the size of frames and windows as the server wishes."""
        self._max_frame = min(settings.get(5, self._max_frame), _LARGEST_FRAME)
        if 4 in settings:
            more = settings[4] - self._stream_window
            self._stream_window = settings[4]
            for stream in self._streams.values():
                stream.window += more
        self._send_blocked()

    def take_window(self, number: int, size: int) -> None:
        """Send on, after the server has made room for a stream, or for all. Raises BadFrame."""
        if not number:
            self._window += size
            if self._window > frames.MAX_WINDOW or not size:
                raise BadFrame("breaks the rules of flow control")
        elif (stream := self._streams.get(number)) is not None:
            stream.window += size
        if self._blocked:
            self._send_blocked()

    def close(self) -> None:
        """Send nothing any more."""
        self.transport = None
        self._blocked.clear()

    def _send_blocked(self) -> None:
        for _ in range(len(self._blocked)):
            if self._window <= 0:
                return
            stream = self._blocked.popleft()
            if stream.id not in self._streams:
                continue
            at, unsent = 0, stream.unsent
            while at < len(unsent):
                size = min(len(unsent) - at, self._max_frame, self._window, stream.window)
                if size <= 0:
                    break
                is_last = stream.is_unary and at + size == len(unsent)
                self._window -= size
                stream.window -= size
                flags = frames.END_STREAM if is_last else 0
                self.send(frames.frame(frames.DATA, flags, stream.id, unsent[at : at + size]))
                at += size
            stream.unsent = unsent[at:]
            stream.is_sent = not stream.unsent
            if stream.unsent:
                self._blocked.append(stream)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self.transport is not None:
            self.transport.write(b"".join(out) if len(out) > 1 else out[0])
