"""Decode JSON text into raw values, one after another, with their duplicate keys.

Kubernetes: sigs.k8s.io/json, which is Go's decoder made strict. As there, a lone surrogate becomes the replacement
character; unlike there, a number with a fraction of zero is the integer it equals, as kubectl makes it.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from moorage.model.field_error import child_path
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.readers import reads_text
from moorage.model.text.yaml_text import MAX_DEPTH, json_number

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(
    r"\\(?:(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SPACE = re.compile(r"[ \t\r\n]*")
# A string that is never closed runs to the end: looking for its end again from every later quote would take forever.
_BRACKET_OR_STRING = re.compile(r'[\[{]|[\]}]|"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


class JsonValue(NamedTuple):
    """One decoded value, where it starts, and whether any object in it has a key twice."""

    raw: Any
    start: int
    has_duplicates: bool


class JsonDuplicate(NamedTuple):
    """A key that an object has more than once: its path as strict decoding writes it, and the steps to it."""

    path: str
    steps: tuple[str, ...]


def json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "null" if value is None else "object"


@reads_text("\\\\ud800", "\\\\udc00", "\\\\", "a", '"')
def replace_lone_surrogates(text: str) -> str:
    """Turn escapes of half a character into escapes of the replacement character, of the same length."""
    if not _SURROGATE_ESCAPE.search(text):
        return text
    return _ESCAPES.sub(lambda escape: "\\ufffd" if escape["lone"] else escape[0], text)


@reads_text("{", "[", '"a"', ":", ",", "1", "]", "}", "\\", arguments=("", 1), raises=DecodeError)
def decode_json_values(text: str, source: str, first_line: int) -> Iterator[JsonValue]:
    """Yield each JSON value of the text. Raises DecodeError where it stops being JSON."""
    _check_depth(text, source, first_line)
    found_duplicate = False

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal found_duplicate
        built = dict(pairs)
        if len(built) != len(pairs):
            found_duplicate = True
        return built

    decoder = json.JSONDecoder(object_pairs_hook=build, parse_constant=_refuse_constant, parse_float=_parse_float)
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        found_duplicate = False
        try:
            raw, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _error(f"json: {error.msg}", text, error.pos, source, first_line) from None
        except ValueError as error:
            raise _error(f"json: {error}", text, at, source, first_line) from None
        yield JsonValue(raw, at, found_duplicate)
        at = _SPACE.match(text, end).end()  # type: ignore[union-attr]


def json_duplicates(text: str, start: int, limit: int | None = None) -> list[JsonDuplicate]:
    """Return the duplicate keys of the value at `start`, or the first of them, with their paths, in their order.

    Decodes once more, so only for rare use.
    """
    duplicates: list[JsonDuplicate] = []
    value, _ = json.JSONDecoder(object_pairs_hook=_Pairs).raw_decode(text, start)
    pending = [_members(value, "", ())]
    while pending and (limit is None or len(duplicates) < limit):
        entry = next(pending[-1], None)
        if entry is None:
            pending.pop()
            continue
        child, path, steps, is_repeated = entry
        if is_repeated:
            duplicates.append(JsonDuplicate(path, steps))
        if isinstance(child, list):
            pending.append(_members(child, path, steps))
    return duplicates


def _members(value: Any, path: str, steps: tuple[str, ...]) -> Iterator[tuple[Any, str, tuple[str, ...], bool]]:
    """Yield what is in an object or a list: the value, its path, the steps to it, whether its key was there before."""
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, child in value:
            yield child, child_path(path, key), (*steps, key), key in seen
            seen.add(key)
    elif isinstance(value, list):
        for i, child in enumerate(value):
            yield child, f"{path}[{i}]", (*steps, str(i)), False


class _Pairs(list[tuple[str, Any]]):
    """An object as its pairs."""


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"invalid value {name}")


def _parse_float(text: str) -> int | float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"cannot unmarshal number {text} into Go value of type float64")
    return json_number(value)


def _check_depth(text: str, source: str, first_line: int) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                reason = f"nested deeper than {MAX_DEPTH} levels"
                raise _error(reason, text, match.start(), source, first_line, Problem.LIMIT)
        elif token in "]}":
            depth -= 1


def _error(
    reason: str, text: str, offset: int, source: str, first_line: int, problem: Problem = Problem.SYNTAX
) -> DecodeError:
    line = first_line + text.count("\n", 0, offset)
    column = offset - text.rfind("\n", 0, offset)
    return DecodeError(reason, problem=problem, source=source, line=line, column=column)
