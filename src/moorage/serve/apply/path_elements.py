"""The elements that field paths are made of, as text: written, read, put in order, shown to people.

In: names of fields and elements of lists. Out: `f:replicas`, `k:{"name":"a"}`, `v:"a"`; for people `.replicas`,
`[name="a"]`, `[="a"]`. Kubernetes: structured-merge-diff, fieldpath (element, serialize-pe) and value.
"""

import json
from functools import lru_cache
from typing import Any

_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_KINDS = {"f": 0, "k": 1, "v": 2, "i": 3}
_UNKNOWN_KIND = 4


def as_json(value: Any) -> str:
    """Compact JSON that is safe in HTML, which is how Go writes it."""
    return _dump(value).translate(_ESCAPES)


def value_element(value: Any) -> str:
    """An element of a set."""
    return "v:" + _scalar(value)


def key_element(keys: list[tuple[str, Any]]) -> str:
    """An element of a list that is told apart by keys, which are given in order."""
    return "k:{" + ",".join([f'"{name}":{_scalar(value)}' for name, value in keys]) + "}"


def _scalar(value: Any) -> str:
    """JSON of what is nearly always a short text or a number."""
    if type(value) is str:
        return _text(value)
    return str(value) if type(value) is int else as_json(value)


@lru_cache(maxsize=4096)
def _text(value: str) -> str:
    return as_json(value)


def canonical_element(text: str) -> str | None:
    """A path element as this module writes it; None for a kind that a later version may know. Raises ValueError."""
    if len(text) < 2:
        raise ValueError("key must be 2 characters long:")
    kind, rest = text[:2], text[2:]
    if kind[1] != ":":
        raise ValueError(f"missing colon: {text}")
    if kind == "f:":
        return text
    if kind == "v:":
        return value_element(json.loads(rest))
    if kind == "k:":
        keys = json.loads(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"expected an object: {text}")
        return "k:" + as_json(dict(sorted(keys.items())))
    if kind == "i:":
        return f"i:{int(rest)}"
    return None


@lru_cache(maxsize=4096)
def element_order(element: str) -> tuple[Any, ...]:
    """Fields by name, then elements of lists by their values: numbers before text, text before booleans."""
    kind = element[:1]
    rank = _KINDS.get(kind, _UNKNOWN_KIND)
    if kind == "k":
        return (rank, [(name, _value_order(value)) for name, value in sorted(json.loads(element[2:]).items())])
    if kind == "v":
        return (rank, _value_order(json.loads(element[2:])))
    if kind == "i":
        return (rank, int(element[2:]))
    return (rank if element != "." else -1, element)


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, _dump(value))


def render_path(path: tuple[str, ...]) -> str:
    """A path as messages show it: `.spec.containers[name="a"].image`."""
    return "".join(map(render_element, path))


def render_element(element: str) -> str:
    kind, rest = element[:2], element[2:]
    if kind == "k:":
        shown = (f"{name}={_shown(value)}" for name, value in sorted(json.loads(rest).items()))
        return f"[{','.join(shown)}]"
    if kind == "v:":
        return f"[={_shown(json.loads(rest))}]"
    if kind == "i:":
        return f"[{rest}]"
    return f".{rest}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
