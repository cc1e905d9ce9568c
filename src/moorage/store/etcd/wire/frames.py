"""Build and read the frames of HTTP/2 (RFC 9113) and their headers (RFC 7541) as far as gRPC needs them.

Headers use no dynamic table: we tell the server that ours holds nothing, so that a block always means the same,
whatever came before, and equal blocks are decoded once.
"""

from struct import Struct
from urllib.parse import unquote_to_bytes

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
#: After this many bytes the connection's window is filled up again.
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


#: The static table of RFC 7541, appendix A: names, of which some have a value.
_STATIC: tuple[tuple[bytes, bytes], ...] = tuple(
    (name, value)
    for name, _, value in (
        line.partition(b" ")
        for line in (
            b":authority;:method GET;:method POST;:path /;:path /index.html;:scheme http;:scheme https;:status 200;"
            b":status 204;:status 206;:status 304;:status 400;:status 404;:status 500;accept-charset;"
            b"accept-encoding gzip, deflate;accept-language;accept-ranges;accept;access-control-allow-origin;age;allow;"
            b"authorization;cache-control;content-disposition;content-encoding;content-language;content-length;"
            b"content-location;content-range;content-type;cookie;date;etag;expect;expires;from;host;if-match;"
            b"if-modified-since;if-none-match;if-range;if-unmodified-since;last-modified;link;location;max-forwards;"
            b"proxy-authenticate;proxy-authorization;range;referer;refresh;retry-after;server;set-cookie;"
            b"strict-transport-security;transfer-encoding;user-agent;vary;via;www-authenticate"
        ).split(b";")
    )
)

#: Bits of the code of each byte, and of the end (RFC 7541, appendix B). Codes of one length are in order.
_CODE_LENGTHS = bytes.fromhex(
    "0d171c1c1c1c1c1c1c181e1c1c1e1c1c1c1c1c1c1c1c1e1c1c1c1c1c1c1c1c1c060a0a0c0d06080b0a0a080b08060606"
    "0505050606060606060607080f060c0a0d06070707070707070707070707070707070707070707070807080d130d0e06"
    "0f05060506050606060507070606060506070605050607070707070f0b0e0d1c14161414161616171617171717171817"
    "1818161718171717171516171617171816151416161717151716161815161717151516151716171714161616171616171a"
    "1a1413161716191a1a1a1b1b1a181913151a1b1b1a1b1815151a1a1c1b1b1b14181415161515171616191918181a171a"
    "1b1a1a1b1b1b1b1b1c1b1b1b1b1b1a1e"
)
_END = 256
_LONGEST_CODE = 30
#: More than any string that we could use; longer ones are a mistake, or an attack.
_MAX_STRING = 65_536

Headers = tuple[tuple[bytes, bytes], ...]


class BadHeaders(Exception):
    """A block of headers cannot be decoded."""


def _codes() -> dict[tuple[int, int], int]:
    """Return the byte for each (length, code)."""
    found, code, last = {}, 0, 0
    for symbol in sorted(range(_END + 1), key=lambda one: (_CODE_LENGTHS[one], one)):
        code <<= _CODE_LENGTHS[symbol] - last
        last = _CODE_LENGTHS[symbol]
        found[last, code] = symbol
        code += 1
    return found


_SYMBOLS = _codes()


def encode_headers(headers: Headers) -> bytes:
    """Return a block of literals, which no table remembers."""
    return b"".join(b"\0" + _string(name) + _string(value) for name, value in headers)


def _string(text: bytes) -> bytes:
    return _integer(len(text), 7) + text


def _integer(value: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((value,))
    found = bytearray((most,))
    value -= most
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def decode_headers(block: bytes) -> Headers:
    """Return the headers of a block. Raises BadHeaders."""
    found: list[tuple[bytes, bytes]] = []
    at, end = 0, len(block)
    while at < end:
        first = block[at]
        if first & 0x80:
            index, at = _read_integer(block, at, 7)
            found.append(_static(index))
        elif first & 0xE0 == 0x20:  # the table's size, which must stay 0
            size, at = _read_integer(block, at, 5)
            if size:
                raise BadHeaders("the server keeps a header table that it was told not to keep")
        else:
            index, at = _read_integer(block, at, 6 if first & 0x40 else 4)
            if index:
                name = _static(index)[0]
            else:
                name, at = _read_string(block, at)
            value, at = _read_string(block, at)
            found.append((name, value))
    return tuple(found)


def _static(index: int) -> tuple[bytes, bytes]:
    if not 1 <= index <= len(_STATIC):
        raise BadHeaders(f"there is no header {index}")
    return _STATIC[index - 1]


def _read_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return the integer, and where it ends."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    for shift in (0, 7, 14):
        if at >= len(block):
            break
        byte = block[at]
        at += 1
        value += (byte & 127) << shift
        if byte < 128:
            return value, at
    raise BadHeaders("a number in the headers is cut off or too large")


def _read_string(block: bytes, at: int) -> tuple[bytes, int]:
    if at >= len(block):
        raise BadHeaders("the headers are cut off")
    is_huffman = block[at] & 0x80
    length, at = _read_integer(block, at, 7)
    if length > _MAX_STRING or at + length > len(block):
        raise BadHeaders("a header is cut off or too long")
    text = block[at : at + length]
    return (_decode_huffman(text) if is_huffman else text), at + length


def _decode_huffman(text: bytes) -> bytes:
    found = bytearray()
    code = length = 0
    for byte in text:
        for bit in (7, 6, 5, 4, 3, 2, 1, 0):
            code = code << 1 | byte >> bit & 1
            length += 1
            symbol = _SYMBOLS.get((length, code))
            if symbol is not None:
                if symbol == _END:
                    raise BadHeaders("a header has an end within it")
                found.append(symbol)
                code = length = 0
            elif length >= _LONGEST_CODE:
                raise BadHeaders("a header has a code that means nothing")
    if length > 7 or code != (1 << length) - 1:
        raise BadHeaders("a header is padded wrongly")
    return bytes(found)
