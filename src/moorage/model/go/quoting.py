"""Write values as Go does in Kubernetes' error texts and stored JSON: `%q`, `%v` and `json.Marshal`."""

import math
from decimal import Decimal
from typing import Any

from moorage.model.text.readers import reads_text
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP

SHORT_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
_JSON_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


@reads_text("a", '"', "\\", "\n", "é", "\x00")
def go_quote(text: str) -> str:
    """`strconv.Quote`: double quotes, short escapes, and `\\x`, `\\u`, `\\U` for what is not printable."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{text.translate(_QUOTES)}"'


def _quoted(code: int) -> str:
    character = chr(code)
    if character in SHORT_ESCAPES:
        return SHORT_ESCAPES[character]
    if character.isprintable():
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, as surrogateescape keeps it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Quotes(dict[int, str]):
    """What each character becomes between quotes. The usual ones are remembered."""

    def __missing__(self, code: int) -> str:
        quoted = _quoted(code)
        if code < _USUAL:
            self[code] = quoted
        return quoted


_USUAL = 0x800
_QUOTES = _Quotes()


def go_float(value: float) -> str:
    """Write a float as `%v` does: `2.5`, `1e+06`, and an exponent also below 0.0001."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1 if value else 0
    if -4 <= power < 6:
        return repr(value).removesuffix(".0")
    rest = "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{digits[0]}{'.' if rest else ''}{rest}e{power:+03d}"


def go_json(value: Any) -> str:
    """Write as `json.Marshal` does: no spaces, maps sorted by key; structs are dicts in field order, as `GoStruct`."""
    if value is None or value is ABSENT_LIST or value is ABSENT_MAP:
        return "null"
    if isinstance(value, str):
        return f'"{value.translate(_IN_JSON)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _json_float(value)
    if isinstance(value, GoStruct):
        return "{" + ",".join(f"{go_json(name)}:{go_json(item)}" for name, item in value.items()) + "}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{go_json(name)}:{go_json(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(go_json(item) for item in value) + "]"
    return go_json(str(value))


def _json_float(value: float) -> str:
    """Write a float in full unless it is very large or small, and its exponent without a leading zero."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    return repr(value).replace("e-0", "e-")


class GoStruct(dict[str, Any]):
    """A Go struct's exported fields in declaration order, to be rendered in that order."""


_IN_JSON = {code: f"\\u{code:04x}" for code in range(0x20)} | {ord(key): text for key, text in _JSON_ESCAPES.items()}


_ESCAPES = tuple((letter.encode(), f"\\u{ord(letter):04x}".encode()) for letter in "<>&\u2028\u2029")
#: Go reads numbers of untyped JSON as floats, which hold whole numbers up to this one.
_MAX_EXACT = 1 << 53


def sorted_keys(value: Any) -> Any:
    """Return decoded JSON as Go writes a map of any values: keys in order, numbers as precise as a float is."""
    if isinstance(value, dict):
        return {name: sorted_keys(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [sorted_keys(item) for item in value]
    if isinstance(value, int) and abs(value) > _MAX_EXACT:
        return int(Decimal(repr(float(value))))
    return value


def escape_html(text: bytes) -> bytes:
    """Return JSON with Go's escapes, which mean the same. Such characters occur in strings only."""
    for letter, escaped in _ESCAPES:
        if letter in text:
            text = text.replace(letter, escaped)
    return text
