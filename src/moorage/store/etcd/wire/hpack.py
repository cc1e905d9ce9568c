"""Encode and decode the headers of HTTP/2 (RFC 7541) without a dynamic table.

We tell the server that our table holds nothing, so that a block always means the same, whatever came before: equal
blocks are decoded once. What we send refers to no table at all.
"""

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
