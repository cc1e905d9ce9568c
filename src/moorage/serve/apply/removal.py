"""Fields taken out of an object, and the sets that say which.

In: an object and a set of fields. Out: the object without them. What loses all its parts is null afterwards. Nothing
that was handed in is changed.
Kubernetes: structured-merge-diff, typed/remove, fieldpath's EnsureNamedFieldsAreMembers.
"""

from typing import Any

from moorage.serve.apply.field_set import MEMBER, SELF, Fields, is_member
from moorage.serve.apply.ownership_schema import UNKNOWN, FieldOwnershipSchema

Raw = dict[str, Any]


def remove_fields(value: Any, fields: Fields, grain: FieldOwnershipSchema) -> Any:
    """The value without these fields; null if nothing is left of it."""
    if not fields:
        return value
    if isinstance(value, dict):
        return (_remove_members(value, fields, grain) if grain.divides_maps else None) or None
    if isinstance(value, list):
        return (_remove_elements(value, fields, grain) if grain.divides_lists else None) or None
    return value


def _remove_members(document: Raw, fields: Fields, grain: FieldOwnershipSchema) -> Raw:
    left: Raw = {}
    for name, value in document.items():
        node = fields.get(f"f:{name}")
        if node is None:
            left[name] = value
        elif not is_member(node):
            left[name] = remove_fields(value, node, grain.child(name))
    return left


def _remove_elements(items: list[Any], fields: Fields, grain: FieldOwnershipSchema) -> list[Any]:
    left: list[Any] = []
    for item in items:
        node = fields.get(grain.item_element(item))
        if node is None:
            left.append(item)
        elif not is_member(node):
            left.append(remove_fields(item, node, grain.element))
    return left


def with_structs(fields: Fields, grain: FieldOwnershipSchema) -> Fields:
    """The set, in which every named field that has something below it is a member, too."""
    complete: Fields = {}
    for element, node in fields.items():
        if not node:
            complete[element] = node
            continue
        name = element[2:]
        named = element.startswith("f:") and name in grain.fields
        if element.startswith("f:"):
            below = with_structs(node, grain.child(name))
        else:
            below = with_structs(node, grain.element if element.startswith("k:") and grain.is_list else UNKNOWN)
        complete[element] = {SELF: MEMBER, **below} if named and SELF not in below else below
    return complete
