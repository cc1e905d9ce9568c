"""Declare to CEL the types of built-in kinds, from their views: as they are published, or as expressions meet them.

As their OpenAPI schemas are published, amounts such as `500m` have no type, so that expressions cannot refer to them,
nor to a map of them; times are timestamps; a type inside of itself is an object without fields. Where a policy runs, an
object is a document: times and bytes are texts, numbers may be whole, and what has no type may be anything. Kubernetes:
common.SchemaDeclType of apiserver/pkg/cel over the generated OpenAPI definitions, with PopulateRefs; published alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from moorage.custom.expressions.declared_types import DeclaredType, escape_name
from moorage.match.cel import types
from moorage.match.cel.types import Type
from moorage.model.schema.merge_schema import MapType, Scalar, SchemaType, StructType, Untyped, struct_type
from moorage.model.types.view import View

_AMOUNT = "Quantity"
_ANYTHING, _NO_FIELDS = DeclaredType(types.DYN), DeclaredType(fields={})


@dataclass(frozen=True, eq=False)
class Declaring:
    """How types are declared: by their format, or else by their JSON type. `untyped` are values that have none."""

    formats: Mapping[str, Type]
    number: Type
    untyped: DeclaredType | None
    any_object: DeclaredType


PUBLISHED = Declaring(
    {"byte": types.BYTES, "date-time": types.TIMESTAMP, "int-or-string": types.DYN}, types.DOUBLE, None, _NO_FIELDS
)
AS_DOCUMENTS = Declaring({"int-or-string": types.DYN}, types.DYN, _ANYTHING, _ANYTHING)
_PLAIN = {"boolean": types.BOOL, "integer": types.INT, "string": types.STRING}
_declared: dict[tuple[type[View], Declaring], DeclaredType] = {}


def declare_view(view: type[View], declaring: Declaring = PUBLISHED) -> DeclaredType:
    """Return the type of the documents that a view reads."""
    return _struct(struct_type(view), declaring, frozenset())


def _struct(schema: StructType, declaring: Declaring, outer: frozenset[type[View]]) -> DeclaredType:
    view = schema.view
    if view in outer:
        return declaring.any_object
    key = (view, declaring)
    declared = _declared.get(key)
    if declared is None:
        fields = {}
        for name, field in schema.fields.items():
            escaped, type_ = escape_name(name), _type(field.type, declaring, outer | {view})
            if escaped is not None and type_ is not None:
                fields[escaped] = type_
        declared = _declared[key] = DeclaredType(fields=fields)
    return declared


def _type(schema: SchemaType, declaring: Declaring, outer: frozenset[type[View]]) -> DeclaredType | None:
    if isinstance(schema, Scalar):
        if schema.definition == _AMOUNT:
            return declaring.untyped
        declared = declaring.formats.get(schema.format) or _PLAIN.get(schema.json_type, declaring.number)
        return DeclaredType(declared)
    if isinstance(schema, Untyped):
        return declaring.untyped if schema.definition else declaring.any_object
    if isinstance(schema, StructType):
        return _struct(schema, declaring, outer)
    element = _type(schema.element, declaring, outer)
    return None if element is None else DeclaredType(element=element, is_map=isinstance(schema, MapType))
