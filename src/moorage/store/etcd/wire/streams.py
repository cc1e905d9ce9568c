"""Follow the streams of one HTTP/2 connection: a call with one answer, or messages both ways, as a watch has.

A stream gets from its connection what arrives, and how it ended: by etcd with a gRPC status, or by an error.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Protocol

from moorage.store.etcd.errors import EtcdError, EtcdUncertain, EtcdUnreachable
from moorage.store.etcd.wire.frames import STREAM_WINDOW, BadFrame

#: No answer is longer: callers read in pages, and etcd takes values of 1.5 MiB.
MAX_MESSAGE = 512 * 1024 * 1024
#: Bytes of messages that wait to be read, beyond which the server is not told to go on.
_MAX_WAITING = STREAM_WINDOW
_PREFIX = 5


class GrpcStatus(Exception):
    """Etcd ended a call with this status and text, or with something that is no gRPC (2, UNKNOWN)."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


class MessageBuffer:
    """Put messages together from pieces of data. Never holds more than MAX_MESSAGE and a frame."""

    __slots__ = ("_held", "_need")

    def __init__(self) -> None:
        self._held, self._need = bytearray(), _PREFIX

    @property
    def is_empty(self) -> bool:
        return not self._held

    def feed(self, piece: bytes) -> list[bytes]:
        """Return the messages that are whole now. Raises BadFrame."""
        held = self._held
        held += piece
        found: list[bytes] = []
        if len(held) < self._need:
            return found
        at, end = 0, len(held)
        self._need = _PREFIX
        while end - at >= _PREFIX:
            if held[at]:
                raise BadFrame("a message is compressed, which was not asked for")
            length = int.from_bytes(held[at + 1 : at + _PREFIX], "big")
            if length > MAX_MESSAGE:
                raise BadFrame(f"a message of {length} bytes is longer than any that etcd should send")
            if end - at - _PREFIX < length:
                self._need = _PREFIX + length
                break
            start = at + _PREFIX
            at = start + length
            found.append(bytes(memoryview(held)[start:at]))
        del held[:at]
        return found


class Stream(ABC):
    """What calls and message streams have in common. `id` is 0 while the server's limit of streams is reached."""

    __slots__ = ("block", "buffer", "credit", "deadline", "has_heading", "id", "is_sent", "unsent", "window")

    #: Whether the last data that we send ends our side.
    is_unary = True

    def __init__(self, block: bytes, deadline: int) -> None:
        self.id = 0
        self.block, self.deadline = block, deadline
        #: Bytes received since the server was last told to go on; bytes that it lets us send.
        self.credit = self.window = 0
        self.unsent = b""
        self.is_sent = False
        self.has_heading = False
        self.buffer: MessageBuffer | None = None

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Nothing waits for it any more."""

    @property
    def may_go_on(self) -> bool:
        """Whether the server may send more."""
        return True

    @abstractmethod
    def receive(self, piece: bytes) -> None:
        """Take data. Raises BadFrame."""

    @abstractmethod
    def end(self, code: int, text: str) -> None:
        """Take the status with which etcd ended the stream."""

    @abstractmethod
    def fail(self, error: EtcdError) -> None:
        """Take the reason for which there will be no status."""

    def fail_by(self, reason: str) -> None:
        """Fail with what the reason means for this stream: whether the server may have begun with it."""
        self.fail(EtcdUncertain(reason) if self.is_sent else EtcdUnreachable(reason))


class Unary(Stream):
    """One message there and one back."""

    __slots__ = ("message",)

    def __init__(self, block: bytes, deadline: int) -> None:
        super().__init__(block, deadline)
        self.message: bytes | None = None

    @abstractmethod
    def finish(self, outcome: bytes | Exception) -> None:
        """Tell the answer, or why there is none, to who waits for it."""

    def receive(self, piece: bytes) -> None:
        if self.buffer is None and self.message is None:
            if len(piece) >= _PREFIX and not piece[0] and int.from_bytes(piece[1:5], "big") == len(piece) - _PREFIX:
                self.message = piece[_PREFIX:]  # nearly always
                return
            self.buffer = MessageBuffer()
        messages = self.buffer.feed(piece) if self.buffer is not None else [piece]
        if messages:
            if self.message is not None or len(messages) > 1:
                raise BadFrame("a call has two answers")
            self.message = messages[0]

    def end(self, code: int, text: str) -> None:
        if code:
            self.finish(GrpcStatus(code, text))
        elif self.message is None or (self.buffer is not None and not self.buffer.is_empty):
            self.finish(EtcdUncertain("an answer of etcd has no message, or is cut off"))
        else:
            self.finish(self.message)

    def fail(self, error: EtcdError) -> None:
        self.finish(error)


class Call(Unary):
    """A call whose answer a coroutine waits for."""

    __slots__ = ("future",)

    def __init__(self, block: bytes, deadline: int, future: "asyncio.Future[bytes]") -> None:
        super().__init__(block, deadline)
        self.future = future

    @property
    def is_over(self) -> bool:
        return self.future.done()

    def finish(self, outcome: bytes | Exception) -> None:
        if self.future.done():
            return
        if isinstance(outcome, bytes):
            self.future.set_result(outcome)
        else:
            self.future.set_exception(outcome)


class ToldCall(Unary):
    """A call whose outcome is told to a function, once, in the turn of the event loop in which it arrives."""

    __slots__ = ("_tell",)

    def __init__(self, block: bytes, deadline: int, tell: Callable[[bytes | Exception], None]) -> None:
        super().__init__(block, deadline)
        self._tell: Callable[[bytes | Exception], None] | None = tell

    @property
    def is_over(self) -> bool:
        return self._tell is None

    def finish(self, outcome: bytes | Exception) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(outcome)


class Carrier(Protocol):
    """The connection of a message stream."""

    def send_message(self, stream: Stream, message: bytes) -> None: ...

    def let_go_on(self, stream: Stream) -> None: ...

    def drop(self, stream: Stream) -> None: ...


class MessageStream(Stream):
    """Messages both ways, until one side ends it."""

    __slots__ = ("_carrier", "_error", "_messages", "_waiter", "_waiting")

    is_unary = False

    def __init__(self, block: bytes, carrier: Carrier) -> None:
        super().__init__(block, 0)
        self.buffer: MessageBuffer = MessageBuffer()
        self._carrier = carrier
        self._messages: deque[bytes] = deque()
        self._waiting = 0
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_over(self) -> bool:
        return self._error is not None

    @property
    def may_go_on(self) -> bool:
        return self._waiting < _MAX_WAITING

    def write(self, message: bytes) -> None:
        """Send a message. Raises EtcdUnreachable, GrpcStatus if the stream has ended."""
        if self._error is not None:
            raise self._error
        self._carrier.send_message(self, message)

    async def peek(self) -> bytes:
        """Wait for a message, and return it until `take` is called. For one reader.

        Raises EtcdUnreachable, GrpcStatus when the stream has ended.
        """
        while not self._messages:
            if self._error is not None:
                raise self._error
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._messages[0]

    def next_in_line(self) -> bytes | None:
        """Return what `peek` would return at once, None if it would wait."""
        return self._messages[0] if self._messages else None

    def take(self) -> None:
        """Go on to the next message, and let the server do so, too."""
        if not self._messages:
            return  # it was closed meanwhile
        self._waiting -= len(self._messages.popleft())
        if self.credit and not self.is_over:
            self._carrier.let_go_on(self)

    def close(self) -> None:
        """End the stream, and forget what was not read."""
        self._messages.clear()
        if self._error is None:
            self.fail(EtcdUnreachable("the watch was closed"))
            self._carrier.drop(self)

    def receive(self, piece: bytes) -> None:
        for message in self.buffer.feed(piece):
            self._messages.append(message)
            self._waiting += len(message)
        if self._messages:
            self._wake()

    def end(self, code: int, text: str) -> None:
        if self._error is None:
            self._error = GrpcStatus(code, text) if code else EtcdUnreachable("etcd ended the watch")
        self._wake()

    def fail(self, error: EtcdError) -> None:
        if self._error is None:
            self._error = error
        self._wake()

    def fail_by(self, reason: str) -> None:
        self.fail(EtcdUnreachable(reason))

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
