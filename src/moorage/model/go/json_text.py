"""JSON as Go writes it: maps sorted by key, and the characters that matter to HTML and JavaScript escaped.

A Kubernetes API server keeps `data` of a ControllerRevision as text, and compares texts: the same JSON written
otherwise is another value there. Kubernetes: json.Marshal.
"""

from decimal import Decimal
from typing import Any

_ESCAPES = tuple((letter.encode(), f"\\u{ord(letter):04x}".encode()) for letter in "<>&\u2028\u2029")
#: Go reads numbers of untyped JSON as floats, which hold whole numbers up to this one.
_MAX_EXACT = 1 << 53


def sorted_keys(value: Any) -> Any:
    """Return decoded JSON as Go writes a map of any values: keys in order, numbers as precise as a float is."""
    if isinstance(value, dict):
        return {name: sorted_keys(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [sorted_keys(one) for one in value]
    if isinstance(value, int) and abs(value) > _MAX_EXACT:
        return int(Decimal(repr(float(value))))
    return value


def escape_html(text: bytes) -> bytes:
    """Return JSON with Go's escapes, which mean the same. Such characters occur in strings only."""
    for letter, escaped in _ESCAPES:
        if letter in text:
            text = text.replace(letter, escaped)
    return text
