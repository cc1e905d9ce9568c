"""Print errors about fields as `field.Error` does, and parse the paths of fields in them.

`parse_field_path` turns `spec.containers[0].resources.limits[cpu]`, `metadata.annotations[a.b/c]` or
`spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}` into the steps from the root. Kubernetes:
apimachinery/pkg/util/validation/field, which renders paths and never reads them.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, TypeAlias

import msgspec

from moorage.model.go.quoting import go_float, go_json, go_quote
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short


class ErrorKind(Enum):
    """What is wrong, as (reason of the Status cause, words of the message)."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_SHORT = ("FieldValueTooShort", "Too short")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    INTERNAL = ("InternalError", "Internal error")

    @property
    def reason(self) -> str:
        return self.value[0]

    @property
    def words(self) -> str:
        return self.value[1]


_WITHOUT_VALUE = frozenset(
    {ErrorKind.REQUIRED, ErrorKind.FORBIDDEN, ErrorKind.TOO_LONG, ErrorKind.TOO_SHORT, ErrorKind.INTERNAL}
)


class AsJSON(msgspec.Struct, frozen=True):
    """A value that Go would print as JSON: a struct, a pointer, a list, or a string of a named type such as an enum."""

    value: Any


class FieldError(msgspec.Struct, frozen=True):
    """One error: its kind, the path of the field, the offending value (already rendered) and the reason."""

    kind: ErrorKind
    path: str
    rendered_value: str | None
    detail: str

    @property
    def body(self) -> str:
        """The message without the path, as a Status cause carries it."""
        parts = [self.kind.words]
        if self.rendered_value is not None and self.kind not in _WITHOUT_VALUE:
            parts.append(self.rendered_value)
        if self.detail:
            parts.append(self.detail)
        return ": ".join(parts)

    def __str__(self) -> str:
        return f"{self.path}: {self.body}"


#: What a validation function returns: a list, or a generator if it has several rules. Only a list has a truth value.
FieldErrors: TypeAlias = Iterable[FieldError]


#: Characters of a value that an error shows; Kubernetes shows megabytes.
_MAX_SHOWN = 20_000
_CUT = "… (cut)"
_A_VALUE = 8  # characters, about


def _render(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value) if len(value) <= _MAX_SHOWN else go_quote(value[:_MAX_SHOWN]) + _CUT
    if isinstance(value, float):
        return go_float(value)
    shown = value.value if isinstance(value, AsJSON) else value
    begin, room = _begin_of(shown, _MAX_SHOWN)
    return go_json(shown) if room > 0 else go_json(begin) + _CUT


def _begin_of(value: Any, room: int) -> tuple[Any, int]:
    """Return as much of a value as there is room for, and the room that is left: none if it is not all of it."""
    if isinstance(value, str):
        return value[: max(0, room)], room - len(value) - _A_VALUE
    if isinstance(value, dict):
        begin = type(value)()
        for name, item in value.items():
            if room <= 0:
                break
            begin[name], room = _begin_of(item, room - len(name) - _A_VALUE)
        return begin, room
    if isinstance(value, list | tuple):
        items = []
        for item in value:
            if room <= 0:
                break
            item, room = _begin_of(item, room)
            items.append(item)
        return items, room
    return value, room - _A_VALUE


def invalid(path: str, value: Any, detail: str) -> FieldError:
    return FieldError(ErrorKind.INVALID, path, _render(value), detail)


def required(path: str, detail: str = "") -> FieldError:
    return FieldError(ErrorKind.REQUIRED, path, None, detail)


def forbidden(path: str, detail: str) -> FieldError:
    return FieldError(ErrorKind.FORBIDDEN, path, None, detail)


def not_found(path: str, value: Any, detail: str = "") -> FieldError:
    return FieldError(ErrorKind.NOT_FOUND, path, _render(value), detail)


def duplicate(path: str, value: Any) -> FieldError:
    return FieldError(ErrorKind.DUPLICATE, path, _render(value), "")


def not_supported(path: str, value: Any, supported: Iterable[str]) -> FieldError:
    """Return an unknown member of an enumeration: `supported` in the order in which it is to be printed."""
    names = ", ".join(go_quote(name) for name in supported)
    return FieldError(ErrorKind.NOT_SUPPORTED, path, _render(value), f"supported values: {names}" if names else "")


def one_of(value: str | None, supported: Sequence[str], path: str) -> list[FieldError]:
    """Check that a member of an enumeration is known, or absent."""
    return [] if value is None or value in supported else [not_supported(path, AsJSON(value), supported)]


def required_one_of(value: str | None, supported: Sequence[str], path: str, missing: str = "") -> list[FieldError]:
    """Check that a member of an enumeration is there and known."""
    if value in supported:
        return []
    return [not_supported(path, AsJSON(value), supported)] if value else [required(path, missing)]


def too_long(path: str, limit: int, unit: str = "bytes") -> FieldError:
    shown_unit = unit.removesuffix("s") if limit == 1 else unit
    return FieldError(ErrorKind.TOO_LONG, path, None, f"may not be more than {limit} {shown_unit}")


def too_many(path: str, actual: int, limit: int) -> FieldError:
    items = "item" if limit == 1 else "items"
    return FieldError(ErrorKind.TOO_MANY, path, str(actual), f"must have at most {limit} {items}")


def internal_error(path: str, detail: str) -> FieldError:
    return FieldError(ErrorKind.INTERNAL, path, None, detail)


# Upstream reports some errors under a path that is not the field's.
_MISREPORTED: dict[tuple[str, ...], tuple[str, ...]] = {("metadata", "taints"): ("spec", "taints")}


@reads_text("a", ".", "[", "]", "0", "{")
@remember_short(2048)
def parse_field_path(path: str) -> tuple[str, ...]:
    """Return the steps of a rendered path; list indices are steps of digits. Parts that name no field end the path."""
    steps: list[str] = []
    at = 0
    while at < len(path):
        begin = at + (path[at] == ".")
        is_subscript = path[begin : begin + 1] == "["
        end = _end_of_subscript(path, begin) if is_subscript else _end_of_name(path, begin)
        if end <= begin or path[begin] == "{":
            break
        steps.append(path[begin + 1 : end - 1] if is_subscript else path[begin:end])
        at = end
    parsed = tuple(steps)
    actual = _MISREPORTED.get(parsed[:2])
    return parsed if actual is None else actual + parsed[2:]


def _end_of_name(path: str, at: int) -> int:
    """Return where a name ends: at a dot or a bracket."""
    while at < len(path) and path[at] not in ".[":
        at += 1
    return at


def _end_of_subscript(path: str, at: int) -> int:
    """Return where a subscript ends, or -1: behind the bracket that is followed by a new step or by the end.

    The key of a map may itself hold dots, slashes and (if it is invalid) brackets.
    """
    while (at := path.find("]", at) + 1) > 0:
        if path[at : at + 1] in ("", ".", "["):
            return at
    return -1


def child_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
