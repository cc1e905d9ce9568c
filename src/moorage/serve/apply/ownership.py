"""Which fields a document sets.

In: a document and the grain of its kind. Out: a set of fields. There are two answers. `fields_of` is for what somebody
applies: exactly what the document says, named structs only by what is in them. `written_fields` is for what somebody
creates: the document is read as the API server's own object, and whatever was not there before is listed with all its
levels. Kubernetes: structured-merge-diff, typed (tofieldset, and compare with an empty object).
"""

from typing import Any

from moorage.serve.apply.field_set import MEMBER, SELF, Fields
from moorage.serve.apply.ownership_schema import FieldOwnershipSchema
from moorage.serve.apply.path_elements import element_order

Raw = dict[str, Any]


def fields_of(document: Raw, grain: FieldOwnershipSchema) -> Fields:
    """Every leaf, every member of a map and every element of a list that the document names."""
    found: Fields = {}
    for name, value in document.items():
        if isinstance(value, dict) and value:
            child = grain.child(name)
            if child.divides_maps:
                below = fields_of(value, child)
                if not grain.is_struct or name not in grain.fields:
                    found[f"f:{name}"] = {SELF: MEMBER, **below} if below else MEMBER
                elif below:
                    found[f"f:{name}"] = below
                continue
        elif isinstance(value, list):
            child = grain.child(name)
            if child.divides_lists:
                below = _elements_of(value, child)
                if below:
                    found[f"f:{name}"] = below
                continue
        found[f"f:{name}"] = MEMBER
    return found


def _elements_of(items: list[Any], grain: FieldOwnershipSchema) -> Fields:
    found: Fields = {}
    for item in items:
        element = grain.item_element(item)
        if element in found:
            found[element] = MEMBER  # two elements of one name are owned as a whole
        elif isinstance(item, dict) and grain.element.divides_maps:
            below = fields_of(item, grain.element)
            found[element] = {SELF: MEMBER, **below} if below else MEMBER
        else:
            found[element] = MEMBER
    return found


def written_fields(document: Raw, grain: FieldOwnershipSchema, *, new: bool = True) -> Fields:
    """The fields of an object or a part of one, as they are owned by who wrote it, in order.

    `new` objects were not there at all, so that whatever Go always writes is theirs. What existed as a struct of an
    empty object before (`new=False`, the root and its structs) is not: only what is in it is.
    """
    found: Fields = {}
    always = grain.always_written
    unset = grain.never_empty if new else grain.empty_by_default
    for name in sorted(document if not new or always <= document.keys() else {*document, *always}):
        value = document.get(name)
        if not value:
            if value is None and new and name in always:
                found[f"f:{name}"] = _always_written(grain.child(name))
                continue
            if value is None or name in unset:
                continue
        kind = type(value)
        if kind is dict or kind is list:
            child = grain.child(name)
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


def written_value(value: Any, grain: FieldOwnershipSchema) -> Fields:
    """A value that was not there before, itself and all that is in it."""
    below = _parts(value, grain)
    return {SELF: MEMBER, **below} if below else MEMBER


def _parts(value: Any, grain: FieldOwnershipSchema) -> Fields:
    """What is in a value; nothing in one that is owned as a whole."""
    kind = type(value)
    if kind is dict and grain.divides_maps:
        return written_fields(value, grain) if grain.is_struct else _members(value, grain)
    return _elements(value, grain) if kind is list and grain.divides_lists else {}


def _members(document: Raw, grain: FieldOwnershipSchema) -> Fields:
    """The members of a map, all of which are owned, empty or not."""
    element = grain.element
    return {f"f:{name}": written_value(document[name], element) for name in sorted(document)}


def _elements(items: list[Any], grain: FieldOwnershipSchema) -> Fields:
    """The elements of a list that is owned in parts."""
    found: Fields = {}
    for item in items:
        name = grain.item_element(item)
        found[name] = MEMBER if name in found else written_value(item, grain.element)
    return found if len(found) < 2 else {name: found[name] for name in sorted(found, key=element_order)}


def _always_written(grain: FieldOwnershipSchema) -> Fields:
    """What there is of a struct that nobody set."""
    if not grain.is_struct or not grain.divides_maps:
        return MEMBER
    below = written_fields({}, grain)
    return {SELF: MEMBER, **below} if below else MEMBER


def regrained(fields: Fields, grain: FieldOwnershipSchema) -> Fields:
    """A set in which what is owned as a whole is so: the parts of such a value are the value itself."""
    fitting: Fields = {}
    for element, node in fields.items():
        child = grain.child(element[2:]) if element.startswith("f:") else grain.element
        if not node or child.is_untyped:
            fitting[element] = node
        else:
            fitting[element] = regrained(node, child) if child.divides_maps or child.divides_lists else MEMBER
    return fitting
