"""String and bytes literals → their values.

In comes a literal as written (`r'a'`, `b"\x00"`, `'''…'''`); out comes the value, or a ValueError with cel-go's text.
Kubernetes: cel-go parser/unescape.go.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def _body(literal: str) -> tuple[str, bool]:
    raw = literal[0] in "rR"
    if raw:
        literal = literal[1:]
    quotes = 3 if len(literal) >= 6 and literal[:3] in ('"""', "'''") else 1
    return literal[quotes:-quotes], raw


def _code(match: re.Match[str]) -> tuple[int, bool]:
    """Return the number an escape stands for, and whether it is one byte in a bytes literal."""
    hexadecimal, short, long, octal, _ = match.groups()
    if octal is not None:
        return int(octal, 8), True
    return int(hexadecimal or short or long, 16), hexadecimal is not None


def unescape_string(literal: str) -> str:
    """Return the value of a string literal."""
    body, raw = _body(literal)
    if raw or "\\" not in body:
        return body

    def replace(match: re.Match[str]) -> str:
        if match.group(5) is not None:
            return _SIMPLE.get(match.group(5), match.group(5))
        code, _ = _code(match)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise ValueError("invalid unicode code point")
        return chr(code)

    return _ESCAPE.sub(replace, body)


def unescape_bytes(literal: str) -> bytes:
    """Return the value of a bytes literal, written with its leading b."""
    body, raw = _body(literal[1:])
    if raw or "\\" not in body:
        return body.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()].encode("utf-8", "surrogatepass"))
        position = match.end()
        if match.group(5) is not None:
            parts.append(_SIMPLE.get(match.group(5), match.group(5)).encode("utf-8", "surrogatepass"))
            continue
        code, is_byte = _code(match)
        if not is_byte:
            raise ValueError("unable to unescape string")
        parts.append(bytes([code]))
    parts.append(body[position:].encode("utf-8", "surrogatepass"))
    return b"".join(parts)
