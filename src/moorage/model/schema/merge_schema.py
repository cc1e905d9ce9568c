"""The merge schema of a kind: what each field is, and how two writers' values of it come together.

In: the facts of a kind, whose view is reflected upon. Out: a `StructType`, field by field the tree of the view, with
the topology of every list. Levels are made when first asked for and shared between kinds, so that a server's start
pays nothing and recursive types are no trouble. What a view does not know has no type: `StructType.field` answers
`UNTYPED`, under which lists are atomic and maps granular.
Kubernetes: the OpenAPI models that server-side apply and strategic merge patch read.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, NamedTuple

from moorage.model.kinds import Kind
from moorage.model.schema.merge_rules import (
    ATOMIC_FIELDS,
    ATOMIC_STRUCTS,
    KEY_DEFAULTS,
    MERGED_FIELDS,
    NO_DEFAULT,
    MergeRow,
    Topology,
)
from moorage.model.schema.shapes import (
    BytesShape,
    IntOrStringShape,
    ListShape,
    MapShape,
    QuantityShape,
    ScalarShape,
    Shape,
    StructShape,
    TimeShape,
    struct_shape,
)
from moorage.model.types.view import View

__all__ = ["UNTYPED", "Field", "ListType", "MapType", "Scalar", "SchemaType", "StructType", "Untyped", "schema_of"]


class Scalar(NamedTuple):
    """A value without parts. `definition` names the API's own type for it, such as Quantity."""

    json_type: str
    format: str = ""
    definition: str = ""


class Untyped:
    """Nothing is known: the value tells what it is. Lists are atomic, maps are granular."""


class StructType:
    """An object with known fields. `atomic` ones belong to one writer as a whole."""

    def __init__(self, view: type[View], atomic: bool) -> None:
        self.view = view
        self.name = view.__name__
        self.atomic = atomic

    @cached_property
    def fields(self) -> dict[str, "Field"]:
        """The fields, in the order of the view."""
        shape = struct_shape(self.view)
        owners = [owner.__name__ for owner in self.view.__mro__]
        return {name: _field(owners, name, shape.field(name)) for name in self.view.__struct_fields__}

    def field(self, name: str) -> "Field":
        """The field of that name; what the view does not know is untyped."""
        return self.fields.get(name, UNTYPED_FIELD)

    def __repr__(self) -> str:
        return f"StructType({self.name}{', atomic' if self.atomic else ''})"


class MapType(NamedTuple):
    """An object whose members are not known beforehand, but are all of one type."""

    element: "SchemaType"
    atomic: bool = False


class ListType(NamedTuple):
    """A list. `key_defaults` are the values of keys that elements may leave out; other keys must be there."""

    element: "SchemaType"
    topology: Topology = "atomic"
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = {}
    patch_strategy: str = ""
    patch_merge_key: str = ""
    retain_keys: bool = False


SchemaType = Scalar | Untyped | StructType | MapType | ListType


class Field(NamedTuple):
    """A field: its type and what strategic merge patches do with it."""

    type: SchemaType
    patch_strategy: str = ""
    patch_merge_key: str = ""
    retain_keys: bool = False


UNTYPED = Untyped()
UNTYPED_FIELD = Field(UNTYPED)
_NO_ROW = MergeRow()
_INTEGERS = {"int32": "int32", "int64": "int64"}
_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def schema_of(kind: Kind) -> StructType:
    """The merge schema of a kind."""
    return struct_type(kind.view)


@cache
def struct_type(view: type[View]) -> StructType:
    """The merge schema of a view, the same object every time."""
    return StructType(view, view.__name__ in ATOMIC_STRUCTS)


@cache
def _with_atomicity(view: type[View], atomic: bool) -> StructType:
    return StructType(view, atomic)


def _field(owners: list[str], name: str, shape: Shape) -> Field:
    """The field `name` of a struct; `owners` are its type and those it embeds, whose rows hold as well."""
    row = next((MERGED_FIELDS[owner, name] for owner in owners if (owner, name) in MERGED_FIELDS), _NO_ROW)
    atomic = next((ATOMIC_FIELDS[owner, name] for owner in owners if (owner, name) in ATOMIC_FIELDS), None)
    strategy, _, retain = row.patch_strategy.partition(",")
    if strategy == "retainKeys":
        strategy, retain = "", strategy
    found = _type_of(shape)
    if isinstance(found, ListType):
        found = found._replace(
            topology=row.topology,
            keys=row.keys,
            key_defaults=_key_defaults(row.keys, found.element),
            patch_strategy=strategy,
            patch_merge_key=row.patch_merge_key,
            retain_keys=bool(retain),
        )
    elif atomic is not None and isinstance(found, MapType):
        found = MapType(found.element, atomic)
    elif atomic is not None and isinstance(found, StructType):
        found = _with_atomicity(found.view, atomic)
    return Field(found, strategy, row.patch_merge_key, bool(retain))


def _key_defaults(keys: tuple[str, ...], element: SchemaType) -> dict[str, Any]:
    if not isinstance(element, StructType):
        return {}
    shape = struct_shape(element.view)
    values = {key: KEY_DEFAULTS.get((element.name, key), shape.field(key).zero) for key in keys}
    return {key: value for key, value in values.items() if value is not NO_DEFAULT}


def _type_of(shape: Shape) -> SchemaType:
    if isinstance(shape, StructShape):
        return struct_type(shape.view)
    if isinstance(shape, ListShape):
        return ListType(_type_of(shape.item))
    if isinstance(shape, MapShape):
        return MapType(_type_of(shape.value))
    if isinstance(shape, QuantityShape):
        return Scalar("string", "", "Quantity")
    if isinstance(shape, IntOrStringShape):
        return Scalar("string", "int-or-string", "IntOrString")
    if isinstance(shape, TimeShape):
        return Scalar("string", "date-time", "MicroTime" if shape.micro else "Time")
    if isinstance(shape, BytesShape):
        return Scalar("string", "byte")
    if isinstance(shape, ScalarShape):
        return Scalar(_JSON_TYPES[shape.python_type], _INTEGERS.get(shape.go_type, ""))
    return UNTYPED
