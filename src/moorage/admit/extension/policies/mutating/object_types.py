"""Declare the types that mutations construct: Object and its parts, named by the path of their field, and JSONPatch.

`Object.spec{replicas: 3}` has fields of any name and type; whether the path is that of the field it stands in is known
only once it is evaluated. Kubernetes: apiserver/pkg/cel/mutation, library/jsonpatch.go.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from moorage.match.cel import types
from moorage.match.cel.constructed import ConstructedType, ConstructedValue, FieldedValue
from moorage.match.cel.functions import READS_TEXT, row
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import CelError, CelMap, Duration, Timestamp, UInt
from moorage.model.go.quoting import go_quote

OBJECT = types.struct("Object")
JSON_PATCH = types.struct("JSONPatch")
JSON_PATCHES = types.list_of(JSON_PATCH)

_OBJECT_PART = f"{OBJECT.name}."
_TEXTS = ("op", "path", "from")
_VALUE = "value"
#: What cel-go is told of the fields that JSONPatch has not: that they are there, without a type.
_NO_TYPE = Type(TypeKind.UNSPECIFIED, "")


class _ObjectType:
    """Object or a part of it."""

    __slots__ = ("type",)

    def __init__(self, name: str) -> None:
        self.type = types.struct(name)

    def field(self, name: str) -> Type | None:
        return types.DYN

    def construct(self, fields: dict[str, Any]) -> ConstructedValue:
        return ConstructedValue(self.type, fields)


class _JsonPatchType:
    """An operation of a JSON patch."""

    __slots__ = ()
    type = JSON_PATCH

    def field(self, name: str) -> Type | None:
        if name in _TEXTS:
            return types.STRING
        return types.DYN if name == _VALUE else _NO_TYPE

    def construct(self, fields: dict[str, Any]) -> ConstructedValue:
        for name, value in fields.items():
            if name in _TEXTS and not isinstance(value, str):
                raise CelError(f"unexpected type {go_type_of(value)} for JSONPatchType '{name}' field")
            if name not in _TEXTS and name != _VALUE:
                raise CelError(f"unexpected JSONPatchType field: {name}")
        return JsonPatchOperation(JSON_PATCH, fields)


class JsonPatchOperation(FieldedValue):
    """An operation of a JSON patch; texts that were not given are empty."""

    __slots__ = ()

    def has_field(self, name: Any) -> bool:
        if name == _VALUE:
            return _VALUE in self.fields
        if name not in _TEXTS:
            raise CelError(f"unsupported field: {name}")
        return bool(self.fields.get(name))

    def get_field(self, name: Any) -> Any:
        if name == _VALUE and _VALUE in self.fields:
            return self.fields[_VALUE]
        if name not in _TEXTS:
            raise CelError(f"unsupported indexer: {name}")
        return self.fields.get(name, "")

    def is_zero(self) -> bool:
        return False


_JSON_PATCH_TYPE = _JsonPatchType()


@lru_cache(maxsize=2048)
def find_mutation_type(name: str) -> ConstructedType | None:
    """Return the type of a name, if it is one that mutations construct."""
    if name == JSON_PATCH.name:
        return _JSON_PATCH_TYPE
    return _ObjectType(name) if name == OBJECT.name or name.startswith(_OBJECT_PART) else None


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


MUTATION_FUNCTIONS = (
    row("jsonpatch.escapeKey(string) -> string", "string_jsonpatch_escapeKey_string", _escape_key, *READS_TEXT),
)


def misnamed_parts(value: ConstructedValue) -> list[str]:
    """Return what is wrong with the names of the parts of an object: each must be the path of its field."""
    return list(_misnamed(value, value.cel_type.name))


def _misnamed(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, ConstructedValue):
        name = value.cel_type.name
        if name != path:
            expected = f"expected {go_quote(path)}, which matches field name path from root Object type"
            yield f"unexpected type name {go_quote(name)}, {expected}"
        for field, inner in value.fields.items():
            yield from _misnamed(inner, f"{path}.{field}")
    elif isinstance(value, list):
        for item in value:
            yield from _misnamed(item, path)
    elif isinstance(value, CelMap):
        for _, item in value.items():
            yield from _misnamed(item, path)


_GO_TYPES = {
    int: "int64",
    UInt: "uint64",
    float: "float64",
    bool: "bool",
    str: "string",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
}


def go_type_of(value: Any) -> str:
    """Return the type that Go has for the value of an expression."""
    if isinstance(value, JsonPatchOperation):
        return "*mutation.JSONPatchVal"
    if isinstance(value, ConstructedValue):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]ref.Val"
    if isinstance(value, CelMap):
        return "map[ref.Val]ref.Val"
    return _GO_TYPES.get(type(value), "string")
