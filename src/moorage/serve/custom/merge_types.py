"""The types of a custom kind's fields for field ownership and server-side apply, from its schema.

Lists are atomic and objects granular unless the schema says otherwise. Kubernetes: the OpenAPI models that
apiextensions-apiserver builds for apply, read by kube-openapi's schemaconv.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from moorage.custom.schema.structural import Structural
from moorage.model.kind_rows.custom import CustomObject
from moorage.model.schema.merge_schema import (
    UNTYPED,
    Field,
    ListType,
    MapType,
    Scalar,
    SchemaType,
    StructType,
    Topology,
    struct_type,
)
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.view import View

_TOPOLOGIES: dict[str | None, Topology] = {"map": "map", "set": "set"}
_SCALARS = ("string", "integer", "number", "boolean")
_TEXT = Scalar("string")
_OF_RESOURCES: dict[str, SchemaType] = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": struct_type(ObjectMeta)}


class DeclaredStruct(StructType):
    """An object whose fields a schema declares. Other fields are of the type `rest`, if allowed."""

    def __init__(
        self, name: str, make: Callable[[], dict[str, SchemaType]], atomic: bool, rest: SchemaType | None
    ) -> None:
        super().__init__(View, atomic)
        self.name, self.rest = name, rest
        self._make = make

    @cached_property
    def fields(self) -> dict[str, Field]:
        return {name: Field(found) for name, found in self._make().items()}


class DeclaredObject(DeclaredStruct):
    """A whole object, whose metadata the API server always writes."""

    def __init__(self, name: str, make: Callable[[], dict[str, SchemaType]], rest: SchemaType | None) -> None:
        super().__init__(name, make, False, rest)
        self.view = CustomObject


def object_type(name: str, schema: Structural | None) -> DeclaredObject:
    """Return the type of a kind's objects."""
    if schema is None:
        return DeclaredObject(name, lambda: dict(_OF_RESOURCES), UNTYPED)
    return DeclaredObject(name, lambda: {**_declared(schema), **_OF_RESOURCES}, _rest(schema))


def _declared(schema: Structural) -> dict[str, SchemaType]:
    return {name: type_of(below) for name, below in schema.properties.items()}


def type_of(schema: Structural) -> SchemaType:
    if schema.intOrString:
        return UNTYPED
    if schema.type == "object":
        return _object_type(schema)
    if schema.type == "array":
        return _list_type(schema)
    if schema.type not in _SCALARS:
        return UNTYPED
    if schema.format in ("date-time", "int-or-string"):
        return Scalar("string", schema.format, "Time" if schema.format == "date-time" else "IntOrString")
    return Scalar(schema.type)


def _object_type(schema: Structural) -> SchemaType:
    atomic = schema.mapType == "atomic"
    rest = _rest(schema)
    if schema.embeddedResource:
        return DeclaredStruct("", lambda: {**_declared(schema), **_OF_RESOURCES}, atomic, rest)
    if schema.properties:
        return DeclaredStruct("", lambda: _declared(schema), atomic, rest)
    if rest is None or (rest is UNTYPED and not atomic):
        return UNTYPED
    return MapType(rest, atomic)


def _rest(schema: Structural) -> SchemaType | None:
    """Return the type of fields that the schema does not name; None if there can be none."""
    if isinstance(schema.additionalProperties, Structural):
        return type_of(schema.additionalProperties)
    if schema.preserveUnknownFields or schema.additionalProperties is True:
        return UNTYPED
    return UNTYPED if not schema.properties and schema.additionalProperties is None else None


def _list_type(schema: Structural) -> ListType:
    items = schema.items
    element = type_of(items) if items is not None else UNTYPED
    keys = schema.listMapKeys
    defaults: dict[str, Any] = {}
    for key in keys:
        below = items.properties.get(key) if items is not None else None
        if below is not None and below.default is not None:
            defaults[key] = below.default
    return ListType(element, _TOPOLOGIES.get(schema.listType, "atomic"), keys, defaults)
