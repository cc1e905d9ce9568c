"""Write a value as CEL would write it, shortened where it is long."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from moorage.match.cel.constructed import ConstructedValue
from moorage.match.cel.libraries.conversions import TO_STRING, format_double
from moorage.match.cel.types import Type
from moorage.match.cel.values import CelMap, Duration, OptionalValue, Timestamp, UInt, type_of_value

MAX_SHOWN = 160
_ELLIPSIS = "…"


def shown_value(value: Any, longest: int = MAX_SHOWN) -> str:
    """Return a value as text of at most `longest` characters; what is left out is an ellipsis."""
    pieces: list[str] = []
    size = 0
    for piece in _pieces(value, longest):
        pieces.append(piece)
        size += len(piece)
        if size > longest:
            return "".join(pieces)[: longest - 1] + _ELLIPSIS
    return "".join(pieces)


def _pieces(value: Any, longest: int) -> Iterator[str]:
    """Yield the text in pieces, so that it can be stopped; containers are walked with a stack of their own."""
    waiting: list[Iterator[Any]] = [iter((value,))]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, _Text):
                yield item
            elif isinstance(item, list):
                waiting.append(_list_parts(item))
                break
            elif isinstance(item, CelMap):
                waiting.append(_map_parts(item))
                break
            elif isinstance(item, ConstructedValue):
                waiting.append(_field_parts(item))
                break
            elif isinstance(item, OptionalValue):
                parts = (_Text("optional.of("), item.value, _Text(")")) if item.present else (_Text("optional.none()"),)
                waiting.append(iter(parts))
                break
            else:
                yield _scalar(item, longest)
        else:
            waiting.pop()


class _Text(str):
    """A piece of the notation, as opposed to a string value."""

    __slots__ = ()


def _list_parts(items: list[Any]) -> Iterator[Any]:
    yield _Text("[")
    for index, item in enumerate(items):
        if index:
            yield _Text(", ")
        yield item
    yield _Text("]")


def _map_parts(entries: CelMap) -> Iterator[Any]:
    yield _Text("{")
    for index, (key, value) in enumerate(entries.items()):
        if index:
            yield _Text(", ")
        yield key
        yield _Text(": ")
        yield value
    yield _Text("}")


def _field_parts(constructed: ConstructedValue) -> Iterator[Any]:
    yield _Text(constructed.cel_type.name + "{")
    for index, (name, value) in enumerate(constructed.fields.items()):
        yield _Text(f", {name}: " if index else f"{name}: ")
        yield value
    yield _Text("}")


def _scalar(value: Any, longest: int) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, UInt):
        return f"{int(value)}u"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, str):
        return json.dumps(value[: longest + 1], ensure_ascii=False)
    if isinstance(value, bytes):
        return repr(value[: longest + 1])
    if isinstance(value, Duration | Timestamp):
        return f"{type(value).__name__.lower()}({json.dumps(TO_STRING[type(value)](value))})"
    if isinstance(value, Type):
        return str(value)
    name = type_of_value(value).name
    content = getattr(value, "content", value)
    has_text = "__str__" in vars(type(content))
    return f"{name}({str(content)[: longest + 1] if has_text else _ELLIPSIS})"
