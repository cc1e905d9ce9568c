"""The regex library: find and findAll, with Go's notion of successive matches.

Kubernetes: apiserver/pkg/cel/library/regex.go. A pattern written as a literal is compiled with the expression, and
fails there; any other fails here, as "Illegal regex".
Differs: findAll stops with an error rather than return more than a million matches. Patterns are `patterns.py`'s.
"""

from __future__ import annotations

from typing import Any

from moorage.match.cel.functions import Argument, CallEstimate, Interval, pattern_cost, pattern_estimate, row
from moorage.match.cel.patterns import compile_pattern
from moorage.match.cel.values import CelError

_MAX_MATCHES = 1_000_000


def _compile(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    found = _compile(pattern).search(text.encode("utf-8", "surrogatepass"))
    return "" if found is None else _decoded(found.group(0))


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Successive matches; an empty one right after another match does not count."""
    search = _compile(pattern).search
    raw = text.encode("utf-8", "surrogatepass")
    matches: list[str] = []
    position, previous_end = 0, -1
    while position <= len(raw) and (limit < 0 or len(matches) < limit):
        found = search(raw, position)
        if found is None:
            break
        start, end = found.span(0)
        if end > position or start != previous_end:
            if len(matches) == _MAX_MATCHES:
                raise CelError(f"result too large: findAll() stops at {_MAX_MATCHES} matches")
            matches.append(_decoded(raw[start:end]))
        position = end if end > position else _next_code_point(raw, position)
        previous_end = end
    return matches


def _next_code_point(raw: bytes, position: int) -> int:
    position += 1
    while position < len(raw) and raw[position] & 0xC0 == 0x80:
        position += 1
    return position


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _estimate(text: Argument, pattern: Argument, *_: Argument) -> CallEstimate:
    """At worst every character is a match of its own."""
    return CallEstimate(pattern_estimate(text, pattern).cost, Interval(0, text.size.max))


_COSTS = (_estimate, pattern_cost)
FUNCTIONS = (
    row("string.find(string) -> string", "string_find_string", _find, *_COSTS),
    row("string.findAll(string) -> list(string)", "string_find_all_string", _find_all, *_COSTS),
    row("string.findAll(string, int) -> list(string)", "string_find_all_string_int", _find_all, *_COSTS),
)
