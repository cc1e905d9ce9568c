"""What an unquoted YAML scalar means: `yes` is true, `010` is eight, `1e3` is a thousand, a date is text.

Kubernetes: sigs.k8s.io/yaml over go-yaml v2, which follows YAML 1.1 with exceptions.
"""

import math
import re
from decimal import Decimal

JsonScalar = str | int | float | bool | None

# A plain scalar is text unless it is one of WORDS or starts like a number.
NUMERIC_START = frozenset("0123456789+-.")

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
}
_NOT_IN_JSON = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"x": 16, "b": 2, "o": 8}
_MAX_NUMBER_TEXT = 4000  # longer integers are floats out of range, and so text; Python would refuse to read them


class NotJson(ValueError):
    """A scalar YAML knows and JSON does not: infinities and not-a-number. `str()` is Go's name of it."""


def resolve_plain(text: str) -> JsonScalar:
    """Return the value of a plain scalar. Raises NotJson for `.inf`, `.nan` and their kin."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in NUMERIC_START and len(text) <= _MAX_NUMBER_TEXT:
        return _resolve_number(text)
    return text


def _resolve_number(text: str) -> JsonScalar:
    name = _NOT_IN_JSON.get(text)
    if name is not None:
        raise NotJson(name)
    plain = text if text[0] == "." else text.replace("_", "")
    match = _INTEGER.fullmatch(plain)
    if match is not None:
        number = _read_integer(match)
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        if math.isfinite(value):
            return json_number(value)
    return text


def _read_integer(match: re.Match[str]) -> int:
    sign, digits = match.groups()
    base = 10
    if digits[0] == "0" and len(digits) > 1:
        base = _BASES.get(digits[1].lower(), 0)
        digits, base = (digits[2:], base) if base else (digits[1:], 8)
    number = int(digits, base)
    return -number if sign == "-" else number


def json_number(value: float) -> int | float:
    """Return the number Go's JSON encoder would print: without a fraction or an exponent where it needs none."""
    if value.is_integer() and abs(value) < 1e21:
        return int(Decimal(repr(value)))
    return value
