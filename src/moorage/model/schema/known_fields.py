"""Tell the fields that a kind has from those it has not: drop the unknown, or report them with a suggestion.

Kubernetes: decoding into a Go struct and writing it again (zeros and quantities as Go writes them), and strict decoding
(`unknown field "spec.foo"`). Times that Go writes as null when they are not set stay. Differs: suggests a name.
Documents without unknown fields, which are nearly all, cost one set comparison per object.
"""

from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

from moorage.model.field_error import child_path
from moorage.model.go.quoting import go_json, go_quote
from moorage.model.quantity import QuantityError, parse_quantity
from moorage.model.schema.shapes import (
    EitherShape,
    ListShape,
    MapShape,
    QuantityShape,
    ScalarShape,
    Shape,
    StructShape,
    struct_shape,
)
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short
from moorage.model.types.view import View

#: Times that are no pointers in Go, and lists that Go always writes: what is not set is still there.
_WRITTEN_AS_NULL = frozenset(
    [
        "lastProbeTime",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "lastUpdateTime",
        "startedAt",
        "finishedAt",
        "firstTimestamp",
        "lastTimestamp",
        "deprecatedFirstTimestamp",
        "deprecatedLastTimestamp",
        "eventTime",
        "lastObservedTime",
        "currentMetrics",
    ]
)

#: A longer text is kept as it is: exponents can be absurd.
_MAX_AMOUNT_LENGTH = 32


def kept_part(raw: Any, view: type[View], *, internal: bool = False) -> Any:
    """Return the document as Go writes it: without unknown fields, nulls and zeros, but for those always written.

    The argument is not modified. `internal`: fields that the API does not have are kept, if the view has them.
    """
    return _kept(raw, struct_shape(view), internal)


def _kept(raw: Any, shape: Shape, internal: bool) -> Any:
    if isinstance(shape, EitherShape):
        shape = shape.chosen(raw)
    if isinstance(shape, StructShape):
        return _kept_fields(raw, shape, internal) if isinstance(raw, dict) else raw
    if isinstance(shape, ListShape) and isinstance(raw, list):
        items = [_kept(_element(item, shape.item), shape.item, internal) for item in raw]
        return items if _differ(items, raw) else raw
    if isinstance(shape, MapShape) and isinstance(raw, dict):
        values = {key: _kept(_element(value, shape.value), shape.value, internal) for key, value in raw.items()}
        return values if _differ(values.values(), raw.values()) else raw
    return canonical_amount(raw) if isinstance(shape, QuantityShape) else raw


def canonical_amount(raw: Any) -> Any:
    """Return a quantity as Go writes it: `1000m` is `1`, 0.5 is `500m`. Other values are left alone."""
    text = raw.strip() if isinstance(raw, str) else go_json(raw) if type(raw) in (int, float) else ""
    if not text or len(text) > _MAX_AMOUNT_LENGTH:
        return raw
    canonical = _canonical(text)
    return raw if canonical in (raw, None) else canonical


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str | None:
    try:
        return str(parse_quantity(text))
    except QuantityError:
        return None


def _element(value: Any, shape: Shape) -> Any:
    """Return an element of a list or map; a null is the zero of its type."""
    if value is not None:
        return value
    if isinstance(shape, StructShape):
        return {}
    return shape.zero if isinstance(shape, ScalarShape) else "0" if isinstance(shape, QuantityShape) else None


def _kept_fields(raw: dict[str, Any], shape: StructShape, internal: bool) -> dict[str, Any]:
    known, nested, omitted = shape.readable if internal else shape.known, shape.rewritten, shape.omitted
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in known:
            continue
        if not value:
            if value is None:
                if name not in _WRITTEN_AS_NULL:
                    continue
            elif omitted.get(name) is type(value):
                continue
        if name in nested:
            value = _kept(value, nested[name], internal)
        elif None in (value.values() if type(value) is dict else value if type(value) is list else ()):
            value = _kept(value, shape.field(name), internal)
        kept[name] = value
    if not shape.written.keys() <= kept.keys():
        return {**shape.written, **kept}
    return kept if len(kept) != len(raw) or _differ(kept.values(), raw.values()) else raw


def _differ(new: Any, old: Any) -> bool:
    return any(new_value is not old_value for new_value, old_value in zip(new, old, strict=True))


def write_as_go(raw: dict[str, Any], view: type[View]) -> None:
    """Remove the empty lists and maps that Go does not write from a document that was admitted, and add what it does.

    A struct that is no pointer is written even if nothing in it is set: `spec: {}`.
    """
    _write_as_go(raw, struct_shape(view))


def _write_as_go(raw: Any, shape: Shape) -> None:
    if isinstance(shape, EitherShape):
        shape = shape.chosen(raw)
    if isinstance(shape, StructShape):
        if isinstance(raw, dict):
            nested, empty = shape.nested, []
            for name, value in raw.items():
                if not value and isinstance(value, list | dict) and name in shape.collections:
                    empty.append(name)
                elif name in nested:
                    _write_as_go(value, nested[name])
            for name in empty:
                del raw[name]
            if not shape.implied.keys() <= raw.keys():
                _add_implied(raw, shape)
    elif isinstance(shape, ListShape) and isinstance(raw, list):
        for item in raw:
            _write_as_go(item, shape.item)
    elif isinstance(shape, MapShape) and isinstance(raw, dict):
        for item in raw.values():
            _write_as_go(item, shape.value)


def _add_implied(raw: dict[str, Any], shape: StructShape) -> None:
    for name, implied in shape.implied.items():
        if name in raw:
            continue
        if isinstance(implied, StructShape):
            raw[name] = dict(implied.written)
            _add_implied(raw[name], implied)
        else:
            raw[name] = None if implied is None else "0"


MAX_SUGGESTIONS = 100
#: The most complaints about fields that a client is sent. Kubernetes: sigs.k8s.io/json keeps as many strict errors.
MAX_STRICT_ERRORS = 100


class UnknownField(NamedTuple):
    """A field the API does not have: its path, and the known field of that object with the most similar name."""

    path: str
    nearest: str | None

    def __str__(self) -> str:
        return f"unknown field {go_quote(self.path)}"


class _Enough(Exception):
    """As many were found as were asked for."""


def unknown_fields(raw: Any, view: type[View], limit: int | None = None) -> list[UnknownField]:
    """Return the unknown fields, or the first of them."""
    unknown: list[UnknownField] = []
    shape = struct_shape(view)
    if not _knows(raw, shape):
        with suppress(_Enough):
            _walk(raw, shape, "", unknown, limit)
    return unknown


def _knows(raw: Any, shape: Shape) -> bool:
    """Return whether all fields are known: most documents have no other, and need no paths."""
    if isinstance(shape, StructShape):
        if not isinstance(raw, dict):
            return True
        if not raw.keys() <= shape.known:
            return False
        nested = shape.nested
        for name in raw.keys() & nested.keys():
            if (value := raw[name]) and not _knows(value, nested[name]):
                return False
    elif isinstance(shape, ListShape):
        if isinstance(raw, list):
            for item in raw:
                if not _knows(item, shape.item):
                    return False
    elif isinstance(shape, MapShape) and isinstance(raw, dict):
        for value in raw.values():
            if not _knows(value, shape.value):
                return False
    return True


def _walk(raw: Any, shape: Shape, path: str, unknown: list[UnknownField], limit: int | None) -> None:
    if isinstance(shape, StructShape):
        if not isinstance(raw, dict):
            return
        known, nested = shape.known, shape.nested
        has_unknown = not raw.keys() <= known
        for name, value in raw.items():
            if value and name in nested:
                _walk(value, nested[name], child_path(path, name), unknown, limit)
            elif has_unknown and name not in known:
                # Who has this many needs no more suggestions, and each takes a while to find.
                near = nearest_name(name, known) if len(unknown) < MAX_SUGGESTIONS else None
                unknown.append(UnknownField(child_path(path, name), near))
                if len(unknown) == limit:
                    raise _Enough
    elif isinstance(shape, ListShape):
        if isinstance(raw, list):
            for i, item in enumerate(raw):
                _walk(item, shape.item, f"{path}[{i}]", unknown, limit)
    elif isinstance(shape, MapShape) and isinstance(raw, dict):
        for key, value in raw.items():
            _walk(value, shape.value, child_path(path, key), unknown, limit)


@reads_text("a", "_", "spec", "-", arguments=(frozenset(("spec", "replicas")),))
@remember_short(1024)
def nearest_name(name: str, known: frozenset[str]) -> str | None:
    """Return the known name a typo most probably meant, or None if nothing is near."""
    folded = name.lower().replace("_", "").replace("-", "")
    allowed = min(3, max(1, len(name) // 3))
    best: tuple[int, str] | None = None
    for candidate in sorted(known):
        distance = _edit_distance(folded, candidate.lower(), allowed)
        if distance is not None and (best is None or distance < best[0]):
            best = (distance, candidate)
    return None if best is None else best[1]


def _edit_distance(a: str, b: str, limit: int) -> int | None:
    """Count insertions, deletions, replacements and swaps of neighbours that turn a into b; None above the limit."""
    if abs(len(a) - len(b)) > limit:
        return None
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        current = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return None
        before, previous = previous, current
    return previous[-1] if previous[-1] <= limit else None
