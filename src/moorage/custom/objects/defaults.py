"""Defaults of a schema, and nulls that its fields may not have. Kubernetes: apiextensions-apiserver, schema/defaulting.

A null where null is not allowed counts as absent: it is dropped, or replaced by the default. Items of a list stay.
"""

from typing import Any

import msgspec

from moorage.custom.schema.structural import Structural
from moorage.model.well_known.limits import MAX_REQUEST_BYTES


def drop_nulls(value: Any, schema: Structural | None) -> None:
    """Remove, in place, nulls of fields that neither may be null nor have a default."""
    if isinstance(value, dict):
        dropped = []
        for name, item in value.items():
            below = None if schema is None else schema.child(name)
            if item is None:
                if below is not None and not below.nullable and below.default is None:
                    dropped.append(name)
            elif isinstance(item, dict | list):
                drop_nulls(item, below)
        for name in dropped:
            del value[name]
    elif isinstance(value, list):
        items = None if schema is None else schema.items
        for item in value:
            drop_nulls(item, items)


#: The most that defaults may add to an object, as text: what is larger could not be stored.
MAX_DEFAULT_BYTES = MAX_REQUEST_BYTES


def apply_defaults(value: Any, schema: Structural | None, room: int = MAX_DEFAULT_BYTES) -> bool:
    """Set, in place, the defaults of absent fields, also inside lists and maps. Return whether there was room for all.

    A few bytes of schema and object may ask for any number of defaults, so they end where the room does.
    """
    filling = _Filling(room)
    if schema is not None:
        filling.fill(value, schema)
    return filling.room >= 0


class _Filling:
    def __init__(self, room: int) -> None:
        self.room = room

    def fill(self, value: Any, schema: Structural) -> None:
        if self.room < 0:
            return
        if isinstance(value, dict):
            for name, below in schema.defaulted:
                if _is_missing(value, name, below) and self._has_room_for(below):
                    value[name] = _copied(below.default)
            for name, item in value.items():
                named = schema.properties.get(name)
                if named is not None:
                    self.fill(item, named)
                elif schema.additional is not None:
                    value[name] = self._filled(item, schema.additional)
        elif isinstance(value, list) and schema.items is not None:
            value[:] = [self._filled(item, schema.items) for item in value]

    def _filled(self, item: Any, schema: Structural) -> Any:
        if item is None and not schema.nullable and self._has_room_for(schema):
            item = _copied(schema.default)
        self.fill(item, schema)
        return item

    def _has_room_for(self, schema: Structural) -> bool:
        self.room -= schema.default_size
        return self.room >= 0


def _is_missing(obj: dict[str, Any], name: str, schema: Structural) -> bool:
    return name not in obj or (obj[name] is None and not schema.nullable)


def _copied(value: Any) -> Any:
    return msgspec.to_builtins(value)
