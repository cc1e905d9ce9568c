"""Implement the strings library, version 2: positions, case, replacing, splitting, joining, quoting, formatting.

Kubernetes: cel-go ext/strings.go with StringsVersion(2), hence no reverse(); costs: apiserver/pkg/cel/library/cost.go.
Positions count code points. Differs: results are capped in size before they are built (upstream, nested replace() calls
grow without bound). `string_format.py` has format(); `costs.py` the costs shared with the list functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from moorage.match.cel.functions import (
    MAX_COST,
    READS_TEXT,
    STRING_FACTOR,
    TRAVERSES,
    UNKNOWN_SIZE,
    ZERO,
    Argument,
    CallEstimate,
    Interval,
    argument_cost,
    argument_estimate,
    ceil_factor,
    row,
)
from moorage.match.cel.libraries.string_format import format_string
from moorage.match.cel.values import CelError, require_result_size
from moorage.match.semver import GO_SPACE
from moorage.model.go.quoting import SHORT_ESCAPES

_TO_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_TO_UPPER = {lower: lower - 32 for lower in range(ord("a"), ord("z") + 1)}
_QUOTED = str.maketrans(SHORT_ESCAPES)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _last_index_of_from(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old)
    if 0 <= limit < count:
        count = limit
    require_result_size(len(text) + count * (len(new) - len(old)))
    return text.replace(old, new, count)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, -1 if limit < 0 else limit - 1)
    if limit < 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


def _substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    return text[start:]


def _substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _joined_size(parts: list[Any], separator: str) -> int | None:
    """Return how long the joined text will be, or None if some part is no string."""
    size = len(separator) * max(len(parts) - 1, 0)
    for part in parts:
        if type(part) is not str:
            return None
        size += len(part)
    return size


def _join(parts: list[Any], separator: str = "") -> str:
    size = _joined_size(parts, separator)
    if size is None:
        stranger = next(part for part in parts if type(part) is not str)
        raise CelError(f"join: invalid input: {str(stranger).lower() if type(stranger) is bool else stranger}")
    require_result_size(size)
    return separator.join(parts)


def _quote(text: str) -> str:
    return f'"{text.translate(_QUOTED)}"'


def _quotient(size: int, part: int) -> int:
    quotient = math.ceil(float(size) / float(part))
    return quotient if quotient <= MAX_COST else 2**63  # what amd64 makes of a double beyond uint64


def _replace_estimate(*arguments: Argument) -> CallEstimate:
    """One traversal to read and one to write; the result is bounded by the best and the worst replacement."""
    size, old, new = (argument.size for argument in arguments[:3])
    if old.min == 0:
        most, kept_at_most = min(size.max + 1, MAX_COST), size.max
    elif new.max <= old.min:
        most, kept_at_most = 0, size.max
    else:
        most, kept_at_most = _quotient(size.max, old.min), 0
    if old.max == 0:
        fewest, kept_at_least = min(size.min + 1, MAX_COST), size.min
    elif old.max <= new.min:
        fewest, kept_at_least = 0, size.min
    else:
        fewest, kept_at_least = _quotient(size.min, old.max), 0
    result = Interval(fewest, most).times(new).plus(Interval(kept_at_least, kept_at_most))
    return CallEstimate(size.by_factor(2 * STRING_FACTOR), result)


def _split_estimate(text: Argument, _: Argument, limit: Argument | None = None) -> CallEstimate:
    """At worst every character becomes an element; a literal limit says otherwise, read as an unsigned number."""
    most = text.size.max if limit is None or type(limit.literal) is not int else limit.literal % 2**64
    return CallEstimate(text.size.by_factor(2 * STRING_FACTOR), Interval(0, most))


def _join_estimate(parts: Argument, separator: Argument | None = None) -> CallEstimate:
    length = parts.size
    result = length.times(parts.element_size or UNKNOWN_SIZE) if parts.type.parameters else ZERO
    if separator is not None:
        separators = Interval(max(length.min - 1, 0), max(length.max - 1, 0))
        result = result.plus(separator.size.times(separators))
    return CallEstimate(result.by_factor(STRING_FACTOR), result)


def _join_cost(values: Sequence[Any]) -> int:
    """Charged by the result, whose size the parts tell; a failed call counts as one character."""
    parts = values[0]
    separator = values[1] if len(values) > 1 else ""
    size = _joined_size(parts, separator) if isinstance(parts, list) and type(separator) is str else None
    return ceil_factor((1 if size is None else size) * 2, STRING_FACTOR)


def _quote_estimate(text: Argument) -> CallEstimate:
    """Between no character and every character is escaped, inside two quotes; unsigned numbers wrap around."""
    size = text.size
    return CallEstimate(size.by_factor(STRING_FACTOR), Interval((size.min + 2) % 2**64, (size.max * 2 + 2) % 2**64))


_ONCE = argument_cost(STRING_FACTOR)
_TWICE = argument_cost(STRING_FACTOR, times=2)
_COPIES = (argument_estimate(STRING_FACTOR, keeps_size=True), _ONCE)
_REPLACES = (_replace_estimate, _TWICE)

FUNCTIONS = (
    row("string.charAt(int) -> string", "string_char_at_int", _char_at),
    row("string.indexOf(string) -> int", "string_index_of_string", _index_of, *TRAVERSES),
    row("string.indexOf(string, int) -> int", "string_index_of_string_int", _index_of, *TRAVERSES),
    row("string.lastIndexOf(string) -> int", "string_last_index_of_string", _last_index_of, *TRAVERSES),
    row("string.lastIndexOf(string, int) -> int", "string_last_index_of_string_int", _last_index_of_from, *TRAVERSES),
    row("string.lowerAscii() -> string", "string_lower_ascii", lambda s: s.translate(_TO_LOWER), *_COPIES),
    row("string.replace(string, string) -> string", "string_replace_string_string", _replace, *_REPLACES),
    row("string.replace(string, string, int) -> string", "string_replace_string_string_int", _replace, *_REPLACES),
    row("string.split(string) -> list(string)", "string_split_string", _split, _split_estimate, _TWICE),
    row("string.split(string, int) -> list(string)", "string_split_string_int", _split, _split_estimate, _TWICE),
    row("string.substring(int) -> string", "string_substring_int", _substring, *_COPIES),
    row("string.substring(int, int) -> string", "string_substring_int_int", _substring_range, *_COPIES),
    row("string.trim() -> string", "string_trim", lambda s: s.strip(GO_SPACE), *_COPIES),
    row("string.upperAscii() -> string", "string_upper_ascii", lambda s: s.translate(_TO_UPPER), *_COPIES),
    row("string.format(list(dyn)) -> string", "string_format", format_string, *READS_TEXT),
    row("strings.quote(string) -> string", "strings_quote", _quote, _quote_estimate, _ONCE),
    row("list(string).join() -> string", "list_join", _join, _join_estimate, _join_cost),
    row("list(string).join(string) -> string", "list_join_string", _join, _join_estimate, _join_cost),
)
