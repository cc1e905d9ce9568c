"""A schema's view as the raw document that it was read from, without what is absent."""

from functools import cache
from typing import Any

import msgspec

from moorage.custom.schema.structural import Structural, compile_schema
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps
from moorage.model.types.view import View

_VALUES = frozenset(("default", "example", "enum"))


def structural_of(schema: JSONSchemaProps) -> Structural:
    """Return a schema, compiled."""
    return compile_schema(_document(schema))


@cache
def _fields(view: type[View]) -> tuple[tuple[str, Any], ...]:
    """The fields of a view by their names in JSON, with their defaults."""
    return tuple((field.encode_name, field.default) for field in msgspec.structs.fields(view))


def _document(view: View) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for (name, default), value in zip(_fields(type(view)), msgspec.structs.astuple(view), strict=True):
        if value is not default:
            raw[name] = value if name in _VALUES else _plain(value)
    if "enum" in raw:
        raw["enum"] = list(raw["enum"])
    return raw


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return _document(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
