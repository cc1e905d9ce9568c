"""Decode custom objects: prune unknown fields, drop nulls, check the types of metadata, set defaults.

A null where null is not allowed counts as absent: it is dropped, or replaced by the default. Items of a list stay.
Kubernetes: unstructuredSchemaCoercer and unstructuredDefaulter of apiextensions-apiserver, pkg/apiserver; its
schema/pruning and schema/defaulting.
"""

from decimal import Decimal
from typing import Any

import msgspec

from moorage.custom.objects.embedded import MalformedError, coerce_embedded, coerce_metadata
from moorage.custom.structural import Structural
from moorage.model.go.integers import fits_int64
from moorage.model.schema.conversion import ConversionError
from moorage.model.well_known.limits import MAX_REQUEST_BYTES

#: Go writes whole floats below this one without an exponent.
_PLAIN_FLOATS = 1e21


def decode_request(obj: dict[str, Any], schema: Structural | None, *, prunes: bool = True) -> list[str]:
    """Make an object of a request what the schema says, in place, and return the paths of its unknown fields.

    Raises MalformedError with the reason for a 400. `prunes` is false for CRDs with preserveUnknownFields.
    """
    return _decode(obj, schema, prunes=prunes, drops=False)


def decode_stored(obj: dict[str, Any], schema: Structural | None, *, prunes: bool = True) -> None:
    """Make a stored object what the schema says now, in place: it may have been written under another one."""
    _decode(obj, schema, prunes=prunes, drops=True)


def decode_metadata(obj: dict[str, Any], *, drops: bool = False) -> list[str]:
    """Make the metadata of an object what it is in Kubernetes, in place; return the paths of its unknown fields."""
    try:
        return coerce_metadata(obj, "", drops=drops)
    except ConversionError as error:
        raise MalformedError(error.problems[0].reason) from None


def _decode(obj: dict[str, Any], schema: Structural | None, *, prunes: bool, drops: bool) -> list[str]:
    unknown = decode_metadata(obj, drops=drops)
    if prunes:
        unknown += prune(obj, schema)
        metadata = obj.get("metadata")
        drop_nulls(obj, schema)
        if metadata is not None:
            obj["metadata"] = metadata
    unknown += coerce_embedded(obj, schema, drops=drops)
    apply_defaults(obj, schema)
    return unknown


def write_as_go(value: Any) -> Any:
    """Return a value with numbers as they come back from the store: 1.0 and 1e2 are written as 1 and 100."""
    if isinstance(value, dict):
        return {name: write_as_go(item) for name, item in value.items()}
    if isinstance(value, list):
        return [write_as_go(item) for item in value]
    if isinstance(value, float):
        is_plain = value.is_integer() and abs(value) < _PLAIN_FLOATS
        return int(Decimal(repr(value))) if is_plain else value
    if isinstance(value, int) and not fits_int64(value):
        return write_as_go(float(value))
    return value


_META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


def prune(obj: dict[str, Any], schema: Structural | None) -> list[str]:
    """Remove unknown fields in place and return their paths, sorted. apiVersion, kind and metadata of the root stay."""
    pruner = _Pruner()
    pruner.prune_object(obj, schema, "", is_resource=True)
    return sorted(pruner.paths)


def prune_value(value: Any, schema: Structural) -> list[str]:
    """Remove unknown fields of a part of an object in place and return their paths, sorted."""
    pruner = _Pruner()
    pruner.prune(value, schema, "")
    return sorted(pruner.paths)


class _Pruner:
    def __init__(self) -> None:
        self.paths: list[str] = []

    def prune(self, value: Any, schema: Structural | None, path: str) -> None:
        if isinstance(value, dict):
            self.prune_object(value, schema, path, is_resource=schema is not None and schema.embeddedResource)
        elif isinstance(value, list):
            items = None if schema is None else schema.items
            keeps = schema is not None and schema.preserveUnknownFields
            for number, item in enumerate(value):
                if keeps:
                    self._prune_kept(item, items, f"{path}[{number}]")
                else:
                    self.prune(item, items, f"{path}[{number}]")

    def _prune_kept(self, value: Any, schema: Structural | None, path: str) -> None:
        """Prune inside what preserveUnknownFields keeps: only fields that the schema names have rules of their own."""
        if schema is None:
            return
        if isinstance(value, dict):
            self.prune_object(value, schema, path, is_resource=schema.embeddedResource, keeps=True)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self._prune_kept(item, schema.items, f"{path}[{number}]")

    def prune_object(
        self, obj: dict[str, Any], schema: Structural | None, path: str, *, is_resource: bool, keeps: bool = False
    ) -> None:
        properties = {} if schema is None else schema.properties
        has_additional = schema is not None and schema.additionalProperties is not None
        keeps = keeps or (schema is not None and schema.preserveUnknownFields)
        unknown = []
        for name, value in obj.items():
            if is_resource and name in _META_FIELDS:
                continue
            below = properties.get(name)
            if below is None and not has_additional:
                if not keeps:
                    unknown.append(name)
                continue
            if below is None and schema is not None:
                below = schema.additional
            self.prune(value, below, f"{path}.{name}" if path else name)
        for name in unknown:
            del obj[name]
            self.paths.append(f"{path}.{name}" if path else name)


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
