"""The strings library as the CEL specification has it today, for environments that need not agree with Kubernetes.

Kubernetes: stays at version 2, `strings.py`, for compatibility. Differs from it: format() prints lists and maps without
quotes, takes integers where doubles are wanted (and the reverse, in `%d`), knows no locale and heeds the precision of
`%e`; reverse() exists; an offset beyond the end is an error in indexOf() and lastIndexOf(). Costs are version 2's.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from moorage.match.cel.functions import Function, Overload, row
from moorage.match.cel.libraries import strings
from moorage.match.cel.libraries.calendar import format_timestamp
from moorage.match.cel.libraries.conversions import format_seconds
from moorage.match.cel.libraries.string_format import VERBS, Clause, FormatError, interpolate, refusal
from moorage.match.cel.types import Type
from moorage.match.cel.values import (
    CelError,
    CelMap,
    Duration,
    Timestamp,
    UInt,
    is_number,
    type_of_value,
)

_DEFAULT_PRECISION = 6
_MAX_DIGITS = 1100  # a double has no more digits after the point


def _format(text: str, arguments: list[Any]) -> str:
    def render(index: int, clause: Clause) -> str:
        try:
            return _render(clause, arguments[index])
        except FormatError as error:
            raise FormatError(f"error during formatting: {error}") from None

    try:
        return interpolate(text, len(arguments), render, arguments_first=True)
    except FormatError as error:
        raise CelError(str(error)) from None


def _render(clause: Clause, value: Any) -> str:
    if clause.verb == "s":
        return _string(value)
    if clause.verb in "dfe" and type(value) is float and not math.isfinite(value):
        return _string(value)
    if clause.verb == "d" and type(value) is float:
        return _string(value)
    if clause.verb in "fe":
        if not is_number(value):
            raise refusal(clause.verb, type_of_value(value).name)
        precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
        if precision > _MAX_DIGITS:
            raise FormatError(f"precision {precision} exceeds the limit of {_MAX_DIGITS}")
        return f"{float(value):.{precision}{clause.verb}}"
    return VERBS[clause.verb].render(value, clause)


def _string(value: Any) -> str:
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is UInt or kind is str:
        return str(value)
    if kind is float:
        return _double(value)
    if kind is bytes:
        return bytes(value).decode("utf-8", "replace")
    if kind is Duration:
        return f"{format_seconds(value)}s"
    if kind is Timestamp:
        return format_timestamp(Timestamp(value.nanos))
    if isinstance(value, Type):
        return value.name
    if kind is list:
        return "[" + ", ".join(map(_string, value)) + "]"
    if isinstance(value, CelMap):
        entries = sorted(((_string(key), _string(entry)) for key, entry in value.items()), key=lambda pair: pair[0])
        return "{" + ", ".join(f"{key}: {entry}" for key, entry in entries) + "}"
    raise refusal("s", type_of_value(value).name)


def _double(value: float) -> str:
    """Return the shortest digits that read back the same, never with an exponent."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def _index_of(text: str, part: str, offset: int) -> int:
    if part and not 0 <= offset < max(len(text), 1):
        raise CelError(f"index out of range: {offset}")
    return offset if not part else text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int) -> int:
    if part and not 0 <= offset < max(len(text), 1):
        raise CelError(f"index out of range: {offset}")
    return offset if not part else text.rfind(part, 0, offset + len(part))


_OFFSETS = {"string_index_of_string_int": _index_of, "string_last_index_of_string_int": _last_index_of}


def _updated(function: Function) -> Function:
    rows = tuple(
        Overload(
            row.id,
            row.params,
            row.result,
            _OFFSETS.get(row.id, row.implementation),
            row.member,
            row.estimate,
            row.cost,
        )
        for row in function.overloads
    )
    return Function(function.name, rows)


FUNCTIONS = (
    *(_updated(function) for function in strings.FUNCTIONS if function.name != "format"),
    row("string.format(list(dyn)) -> string", "string_format_latest", _format),
    row("string.reverse() -> string", "string_reverse", lambda text: text[::-1]),
)
