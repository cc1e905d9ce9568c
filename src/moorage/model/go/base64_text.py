"""Bytes as the API writes them: base64, and Go's words about what is not.

In: text. Out: why it is no base64, or None; the bytes, or their number. `BASE64_PATTERN` matches exactly the texts that
are base64, so that views can be checked without calling this. Line ends are skipped wherever they are, and the bits
after the last byte may be anything. Kubernetes: encoding/base64 under encoding/json.
"""

import re
from binascii import a2b_base64

BYTES_TITLE = "[]uint8"
_DIGIT = r"[A-Za-z0-9+/][\r\n]*+"
_PADDING = r"=[\r\n]*+"
#: Nothing in it can match in two ways, and nothing is given back: hostile text costs what its length is.
BASE64_PATTERN = (
    rf"^[\r\n]*+(?:(?:{_DIGIT}){{4}})*+(?:(?:{_DIGIT}){{2}}{_PADDING}{_PADDING}|(?:{_DIGIT}){{3}}{_PADDING})?\Z"
)
_is_digit = re.compile("[A-Za-z0-9+/]").match


def base64_complaint(text: str) -> str | None:
    """Where the text stops being base64, as Go's decoder counts; None if it does not."""
    at = _first_corrupt(text.encode("utf-8", "surrogatepass"))
    return None if at is None else f"illegal base64 data at input byte {at}"


def decode_base64(text: str) -> bytes:
    return a2b_base64(text)


def _first_corrupt(data: bytes) -> int | None:
    """Go's decodeQuantum, over and over: four characters at a time, padding only at the very end."""
    at, end = 0, len(data)
    while True:
        for place in range(4):
            at = _skip_ends(data, at)
            if at == end:
                return None if place == 0 else at - place
            found = chr(data[at])
            at += 1
            if _is_digit(found):
                continue
            if found != "=" or place < 2:
                return at - 1
            return _corrupt_padding(data, at, place)


def _corrupt_padding(data: bytes, at: int, place: int) -> int | None:
    end = len(data)
    if place == 2:
        at = _skip_ends(data, at)
        if at == end:
            return end
        if data[at] != ord("="):
            return at - 1
        at += 1
    at = _skip_ends(data, at)
    return None if at == end else at


def _skip_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b"\r\n":
        at += 1
    return at
