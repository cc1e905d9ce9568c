"""Build and read the frames of HTTP/2 (RFC 9113) as far as gRPC needs them."""

from struct import Struct
from urllib.parse import unquote_to_bytes

from moorage.store.etcd.wire.hpack import decode_headers

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

REFUSED_STREAM = 7
CANCEL = 8

#: The codes of RST_STREAM and GOAWAY.
CODES = (
    *("no error", "protocol error", "internal error", "flow control error", "settings timeout", "stream closed"),
    *("frame size error", "refused stream", "cancel", "compression error", "connect error", "enhance your calm"),
    *("inadequate security", "HTTP/1.1 required"),
)

HEAD_SIZE = 9
#: What we accept, and what every server must.
MAX_FRAME = 16_384
DEFAULT_WINDOW = 65_535
MAX_WINDOW = (1 << 31) - 1
MAX_STREAM_ID = (1 << 31) - 1
#: Bytes that the server may send on a stream before we say that it may go on.
STREAM_WINDOW = 8 * 1024 * 1024
_CONNECTION_WINDOW = 1 << 30

#: Length (16 and 8 bits), type, flags, stream.
read_head = Struct(">HBBBL").unpack_from
_head = Struct(">HBBBL").pack
_head_and_prefix = Struct(">HBBBLBL").pack
_number = Struct(">L").pack
_setting = Struct(">HL")


class BadFrame(Exception):
    """The server broke the rules of HTTP/2, or it does not speak it."""


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    """Return one frame."""
    length = len(content)
    return _head(length >> 8, length & 255, kind, flags, stream) + content


def request_frames(stream: int, block: bytes, message: bytes, is_last: bool) -> bytes:
    """Return the frames that start a stream: its headers, and a message with gRPC's prefix of 5 bytes."""
    length, size = len(block), len(message)
    return b"%b%b%b%b" % (
        _head(length >> 8, length & 255, HEADERS, END_HEADERS, stream),
        block,
        _head_and_prefix((size + 5) >> 8, (size + 5) & 255, DATA, is_last, stream, 0, size),
        message,
    )


def message_with_prefix(message: bytes) -> bytes:
    """Return a message as gRPC puts it into data: not compressed, its length, its bytes."""
    return b"\0" + _number(len(message)) + message


def window_update(stream: int, size: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream, _number(size))


def reset(stream: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream, _number(code))


def _settings(*pairs: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(_setting.pack(*pair) for pair in pairs))


#: What a client says first: no header table, no pushes, the window of a stream; then the window of the connection.
OPENING = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + _settings((1, 0), (2, 0), (4, STREAM_WINDOW), (5, MAX_FRAME))
    + window_update(0, _CONNECTION_WINDOW - DEFAULT_WINDOW)
)
SETTINGS_ACK = frame(SETTINGS, ACK, 0)
#: After so many bytes the connection's window is filled up again.
CONNECTION_CREDIT = _CONNECTION_WINDOW // 8


def read_settings(content: bytes) -> dict[int, int]:
    """Return the settings by their numbers. Raises BadFrame."""
    if len(content) % 6:
        raise BadFrame("settings are cut off")
    found = dict(_setting.iter_unpack(content))
    if found.get(4, 0) > MAX_WINDOW or not MAX_FRAME <= found.get(5, MAX_FRAME) < 1 << 24:
        raise BadFrame("settings are out of range")
    return found


def read_number(content: bytes) -> int:
    """Return the 31 bits of WINDOW_UPDATE, or the first of GOAWAY. Raises BadFrame."""
    if len(content) < 4:
        raise BadFrame("a frame is cut off")
    return int.from_bytes(content[:4], "big") & MAX_WINDOW


def unpadded(content: bytes, flags: int) -> bytes:
    """Return the content of HEADERS or DATA without padding and priority. Raises BadFrame."""
    start, end = 0, len(content)
    if flags & PADDED:
        if not content:
            raise BadFrame("padding is cut off")
        start, end = 1, end - content[0]
    if flags & WITH_PRIORITY:
        start += 5
    if start > end:
        raise BadFrame("padding is longer than its frame")
    return content[start:end]


def code_name(code: int) -> str:
    return CODES[code] if code < len(CODES) else f"code {code}"


class Heading:
    """What matters of a block of headers. `status` is that of gRPC, -1 where there is none."""

    __slots__ = ("http_status", "is_grpc", "status", "text")

    def __init__(self, block: bytes) -> None:
        """Raises BadHeaders."""
        headers = dict(decode_headers(block))
        self.http_status = headers.get(b":status", b"").decode("latin-1")
        self.is_grpc = headers.get(b"content-type", b"").startswith(b"application/grpc")
        status = headers.get(b"grpc-status", b"")
        self.status = int(status) if status.isdigit() and len(status) < 4 else (2 if status else -1)
        self.text = _unquoted(headers.get(b"grpc-message", b""))


def _unquoted(text: bytes) -> str:
    """Return text without gRPC's percent-encoding, on one line."""
    return " ".join(unquote_to_bytes(text).decode("utf-8", "replace").split())
