"""Integers as Go reads them: text → int, or strconv's words for why not.

Values of `Lt` and `Gt` tolerations and of taints must be canonical; those of node selectors and labels are anything
strconv.ParseInt takes, so `007` is 7 and `+5` is 5. Kubernetes: content.IsDecimalInteger, then strconv.ParseInt.
"""

from moorage.model.go.quoting import go_quote
from moorage.model.text.readers import reads_text

MUST_BE_NON_EMPTY = "must be non-empty"
MUST_BE_CANONICAL = "must be a valid decimal integer in canonical form"
_OUT_OF_RANGE = "value out of range"

_MIN_INT64, _MAX_INT64, _MAX_UINT64 = -(2**63), 2**63 - 1, 2**64 - 1
_DIGITS = frozenset("0123456789")
_MAX_UINT_LENGTH64 = len(str(_MAX_UINT64))


class NumberError(ValueError):
    """A text that is no integer of the wanted kind; `str()` is what Kubernetes says."""


@reads_text("1", "0", "-", "+", "x", raises=NumberError)
def parse_int64(text: str) -> int:
    """strconv.ParseInt(text, 10, 64): a sign and leading zeros are allowed, underscores and spaces are not."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    magnitude = _magnitude("ParseInt", text, digits)
    value = -magnitude if text[0] == "-" else magnitude
    if not _MIN_INT64 <= value <= _MAX_INT64:
        raise NumberError(_out_of_range("ParseInt", text))
    return value


def parse_uint64(text: str) -> int:
    """strconv.ParseUint(text, 10, 64): digits only."""
    return _magnitude("ParseUint", text, text)


def parse_canonical_int64(text: str) -> int:
    """Read the one way to write an integer: `0`, or an optional `-`, a digit from 1 to 9 and any digits after it."""
    if not text:
        raise NumberError(MUST_BE_NON_EMPTY)
    if not _is_canonical(text):
        raise NumberError(MUST_BE_CANONICAL)
    return parse_int64(text)


@reads_text("1", "0", "-", "+", "x")
def canonical_int64_errors(text: str) -> list[str]:
    """Return what the API server says about the value of a `Lt` or `Gt` toleration, in its order; empty when it is one.

    It asks both questions of every value: `+5` is merely not canonical, `95.5` neither canonical nor an integer.
    """
    errors: list[str] = []
    if not text:
        errors.append(MUST_BE_NON_EMPTY)
    elif not _is_canonical(text):
        errors.append(MUST_BE_CANONICAL)
    try:
        parse_int64(text)
    except NumberError as error:
        errors.append(str(error))
    return errors


def why_not_canonical(text: str) -> str:
    """Return the end of a sentence about a value that `parse_canonical_int64` refuses."""
    try:
        parse_int64(text)
    except NumberError as error:
        return (
            "is out of the range of 64-bit integers"
            if str(error).endswith(_OUT_OF_RANGE)
            else "is not a 64-bit integer"
        )
    return "is not a 64-bit integer in canonical form"


def _is_canonical(text: str) -> bool:
    if text == "0":
        return True
    digits = text.removeprefix("-")
    return bool(digits) and digits[0] != "0" and _DIGITS.issuperset(digits)


def _magnitude(function: str, text: str, digits: str) -> int:
    if not _DIGITS.issuperset(digits):
        # strconv reads from the left: a number that has already overflowed is out of range, whatever comes after it.
        leading = digits[: next(i for i, character in enumerate(digits) if character not in _DIGITS)]
        if _overflows_uint64(leading):
            raise NumberError(_out_of_range(function, text))
    elif digits:
        if _overflows_uint64(digits):
            raise NumberError(_out_of_range(function, text))
        return int(digits.lstrip("0") or "0")
    raise NumberError(f"strconv.{function}: parsing {go_quote(text)}: invalid syntax")


def _overflows_uint64(digits: str) -> bool:
    significant = digits.lstrip("0")
    # Very long ones must not reach int(), which refuses to read them.
    return len(significant) > _MAX_UINT_LENGTH64 or int(significant or "0") > _MAX_UINT64


def _out_of_range(function: str, text: str) -> str:
    return f"strconv.{function}: parsing {go_quote(text)}: {_OUT_OF_RANGE}"
