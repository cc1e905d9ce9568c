"""List the fields that a document sets.

`fields_of` is for documents that are applied: exactly the fields in the document, named structs only by what is in
them. `written_fields` is for objects that are created: the document is read as the API server's own object, and new
values are listed with all their levels. Kubernetes: structured-merge-diff, typed (tofieldset, and compare with an empty
object).
"""

from typing import Any

from moorage.serve.apply.field_set import MEMBER, SELF, Fields
from moorage.serve.apply.ownership_schema import FieldOwnershipSchema
from moorage.serve.apply.path_elements import element_order

Raw = dict[str, Any]


def fields_of(document: Raw, schema: FieldOwnershipSchema) -> Fields:
    """Every leaf, every member of a map and every element of a list that the document names."""
    found: Fields = {}
    for name, value in document.items():
        if isinstance(value, dict) and value:
            child = schema.child(name)
            if child.divides_maps:
                below = fields_of(value, child)
                if not schema.is_struct or name not in schema.fields:
                    found[f"f:{name}"] = {SELF: MEMBER, **below} if below else MEMBER
                elif below:
                    found[f"f:{name}"] = below
                continue
        elif isinstance(value, list):
            child = schema.child(name)
            if child.divides_lists:
                below = _elements_of(value, child)
                if below:
                    found[f"f:{name}"] = below
                continue
        found[f"f:{name}"] = MEMBER
    return found


def _elements_of(items: list[Any], schema: FieldOwnershipSchema) -> Fields:
    found: Fields = {}
    for item in items:
        element = schema.item_element(item)
        if element in found:
            found[element] = MEMBER  # two elements of one name are owned as a whole
        elif isinstance(item, dict) and schema.element.divides_maps:
            below = fields_of(item, schema.element)
            found[element] = {SELF: MEMBER, **below} if below else MEMBER
        else:
            found[element] = MEMBER
    return found


def written_fields(document: Raw, schema: FieldOwnershipSchema, *, new: bool = True) -> Fields:
    """The fields of an object, or a part of one, that its writer owns, in order.

    `new` objects were not there at all, so that whatever Go always writes is theirs. What existed as a struct of an
    empty object before (`new=False`, the root and its structs) is not: only what is in it is.
    """
    found: Fields = {}
    always = schema.always_written
    unset = schema.never_empty if new else schema.empty_by_default
    for name in sorted(document if not new or always <= document.keys() else {*document, *always}):
        value = document.get(name)
        if not value:
            if value is None and new and name in always:
                found[f"f:{name}"] = _always_written(schema.child(name))
                continue
            if value is None or name in unset:
                continue
        kind = type(value)
        if kind is dict or kind is list:
            child = schema.child(name)
            if new or name not in always:
                found[f"f:{name}"] = written_value(value, child)
                continue
            if kind is dict and child.is_struct and child.divides_maps:
                below = written_fields(value, child, new=False)
            else:
                below = _parts(value, child)
            if below:
                found[f"f:{name}"] = below
                continue
            if child.divides_maps or child.divides_lists:
                continue
        found[f"f:{name}"] = MEMBER
    return found


def written_value(value: Any, schema: FieldOwnershipSchema) -> Fields:
    """A value that was not there before, itself and all that is in it."""
    below = _parts(value, schema)
    return {SELF: MEMBER, **below} if below else MEMBER


def _parts(value: Any, schema: FieldOwnershipSchema) -> Fields:
    """What is in a value; nothing in one that is owned as a whole."""
    kind = type(value)
    if kind is dict and schema.divides_maps:
        return written_fields(value, schema) if schema.is_struct else _members(value, schema)
    return _elements(value, schema) if kind is list and schema.divides_lists else {}


def _members(document: Raw, schema: FieldOwnershipSchema) -> Fields:
    """The members of a map, all of which are owned, empty or not."""
    element = schema.element
    return {f"f:{name}": written_value(document[name], element) for name in sorted(document)}


def _elements(items: list[Any], schema: FieldOwnershipSchema) -> Fields:
    """The elements of a list that is owned in parts."""
    found: Fields = {}
    for item in items:
        name = schema.item_element(item)
        found[name] = MEMBER if name in found else written_value(item, schema.element)
    return found if len(found) < 2 else {name: found[name] for name in sorted(found, key=element_order)}


def _always_written(schema: FieldOwnershipSchema) -> Fields:
    """The fields of a struct that was not set."""
    if not schema.is_struct or not schema.divides_maps:
        return MEMBER
    below = written_fields({}, schema)
    return {SELF: MEMBER, **below} if below else MEMBER


def with_schema(fields: Fields, schema: FieldOwnershipSchema) -> Fields:
    """The set, with values that the schema does not divide owned as a whole."""
    fitting: Fields = {}
    for element, node in fields.items():
        child = schema.child(element[2:]) if element.startswith("f:") else schema.element
        if not node or child.is_untyped:
            fitting[element] = node
        else:
            fitting[element] = with_schema(node, child) if child.divides_maps or child.divides_lists else MEMBER
    return fitting
