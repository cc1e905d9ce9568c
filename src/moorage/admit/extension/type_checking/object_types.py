"""Declare to CEL the objects of one kind: those of a built-in kind from its view, custom ones from their schema.

Kept for the kinds that were asked for last: a kind such as Deployment has a thousand types in it.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from moorage.admit.raw import Raw
from moorage.custom.expressions.built_in_types import Declaring, declare_view
from moorage.custom.expressions.declared_types import DeclaredType, add_object_types, declare
from moorage.custom.structural import Structural
from moorage.match.cel import types
from moorage.match.cel.environment import ObjectField
from moorage.match.cel.types import Type
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.view import View

_KEPT = 128
_KEPT_TYPES = ("boolean", "integer", "string")
_TEXT = DeclaredType(types.STRING)


class ObjectTypes(NamedTuple):
    """The type of a kind's objects, and the fields of all object types in it."""

    type: Type = types.DYN
    objects: Mapping[str, dict[str, ObjectField]] = {}


UNKNOWN = ObjectTypes()


@lru_cache(_KEPT)
def types_of_view(view: type[View], name: str, declaring: Declaring) -> ObjectTypes:
    return _types_of(declare_view(view, declaring), name)


@lru_cache(_KEPT)
def types_of_schema(schema: Structural, name: str, declaring: Declaring) -> ObjectTypes:
    """Return the types of custom objects, as their definition is published: with all of the metadata."""
    declared = declare(schema, is_resource_root=True)
    if declared is None:
        return UNKNOWN
    if declared.fields is None:
        return _types_of(declared, name)
    always = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": declare_view(ObjectMeta, declaring)}
    return _types_of(DeclaredType(fields={**declared.fields, **always}), name)


def _types_of(declared: DeclaredType, name: str) -> ObjectTypes:
    objects: dict[str, dict[str, ObjectField]] = {}
    return ObjectTypes(add_object_types(declared, name, objects).type, objects)


def as_documents(schema: Any) -> Raw:
    """Return a schema as expressions meet its values: texts have no format, and what has no type may be anything.

    `x-kubernetes-int-or-string` is of unknown type in expressions.
    """
    node: Raw = schema if isinstance(schema, dict) else {}
    type_ = node.get("type")
    if type_ == "array":
        return {"type": type_, "items": as_documents(node.get("items"))}
    if type_ in _KEPT_TYPES:
        return {"type": type_}
    loose = node.get("x-kubernetes-preserve-unknown-fields") or node.get("x-kubernetes-embedded-resource")
    if type_ != "object" or loose or node.get("additionalProperties") is True:
        return {"x-kubernetes-int-or-string": True}
    values = node.get("additionalProperties")
    if isinstance(values, dict):
        return {"type": type_, "additionalProperties": as_documents(values)}
    properties = node.get("properties") or {}
    return {"type": type_, "properties": {name: as_documents(one) for name, one in properties.items()}}
