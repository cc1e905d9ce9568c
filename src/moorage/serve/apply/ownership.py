"""List the fields that a document sets, and those that a write removed, modified and added.

`fields_of` and `compare_documents` take documents as they are, for server-side apply; named structs are listed only by
what is in them. `written_fields` and `compare_objects` read them as the API server's own objects (see
`ownership_schema`), for create, update and patch; new values are listed with all their levels. Kubernetes:
structured-merge-diff, typed (tofieldset, compare). Differs: a value of another type than before is modified, and its
parts are not listed.
"""

from typing import Any, NamedTuple

from moorage.admit.apply.field_set import MEMBER, NOTHING, SELF, Fields, element_order, recursive_difference, union
from moorage.admit.apply.ownership_schema import FieldOwnershipSchema
from moorage.model.api_error import Raw


def fields_of(document: Raw, schema: FieldOwnershipSchema) -> Fields:
    """Return every leaf, every member of a map and every element of a list that the document names."""
    fields: Fields = {}
    for name, value in document.items():
        if isinstance(value, dict) and value:
            child = schema.child(name)
            if child.divides_maps:
                below = fields_of(value, child)
                if not schema.is_struct or name not in schema.fields:
                    fields[f"f:{name}"] = {SELF: MEMBER, **below} if below else MEMBER
                elif below:
                    fields[f"f:{name}"] = below
                continue
        elif isinstance(value, list):
            child = schema.child(name)
            if child.divides_lists:
                below = _elements_of(value, child)
                if below:
                    fields[f"f:{name}"] = below
                continue
        fields[f"f:{name}"] = MEMBER
    return fields


def _elements_of(items: list[Any], schema: FieldOwnershipSchema) -> Fields:
    fields: Fields = {}
    for item in items:
        element = schema.item_element(item)
        if element in fields:
            fields[element] = MEMBER  # two elements of one name are owned as a whole
        elif isinstance(item, dict) and schema.element.divides_maps:
            below = fields_of(item, schema.element)
            fields[element] = {SELF: MEMBER, **below} if below else MEMBER
        else:
            fields[element] = MEMBER
    return fields


def written_fields(document: Raw, schema: FieldOwnershipSchema, *, new: bool = True) -> Fields:
    """Return the fields of an object, or a part of one, that its writer owns, in order.

    `new` objects were not there at all, so that whatever Go always writes is theirs. What existed as a struct of an
    empty object before (`new=False`, the root and its structs) is not: only what is in it is.
    """
    fields: Fields = {}
    always = schema.always_written
    unset = schema.never_empty if new else schema.empty_by_default
    for name in sorted(document if not new or always <= document.keys() else {*document, *always}):
        value: Any = document.get(name)
        if not value and not schema.is_document:
            if value is None and new and name in always:
                fields[f"f:{name}"] = _always_written(schema.child(name))
                continue
            if value is None or name in unset:
                continue
        kind = type(value)
        if kind is dict or kind is list:
            child = schema.child(name)
            if new or name not in always:
                fields[f"f:{name}"] = written_value(value, child)
                continue
            if kind is dict and child.is_struct and child.divides_maps:
                below = written_fields(value, child, new=False)
            else:
                below = _parts(value, child)
            if below:
                fields[f"f:{name}"] = below
                continue
            if child.divides_maps or child.divides_lists:
                continue
        fields[f"f:{name}"] = MEMBER
    return fields


def written_value(value: Any, schema: FieldOwnershipSchema) -> Fields:
    """Return a value that was not there before, itself and all that is in it."""
    below = _parts(value, schema)
    return {SELF: MEMBER, **below} if below else MEMBER


def _parts(value: Any, schema: FieldOwnershipSchema) -> Fields:
    kind = type(value)
    if kind is dict and schema.divides_maps:
        return written_fields(value, schema) if schema.is_struct else _members(value, schema)
    return _elements(value, schema) if kind is list and schema.divides_lists else {}


def _members(document: Raw, schema: FieldOwnershipSchema) -> Fields:
    element = schema.element
    return {f"f:{name}": written_value(document[name], element) for name in sorted(document)}


def _elements(items: list[Any], schema: FieldOwnershipSchema) -> Fields:
    fields: Fields = {}
    for item in items:
        name = schema.item_element(item)
        fields[name] = MEMBER if name in fields else written_value(item, schema.element)
    return fields if len(fields) < 2 else {name: fields[name] for name in sorted(fields, key=element_order)}


def _always_written(schema: FieldOwnershipSchema) -> Fields:
    if not schema.is_struct or not schema.divides_maps:
        return MEMBER
    below = written_fields({}, schema)
    return {SELF: MEMBER, **below} if below else MEMBER


def with_schema(fields: Fields, schema: FieldOwnershipSchema) -> Fields:
    """Return the set, with values that the schema does not divide owned as a whole."""
    fitting: Fields = {}
    for element, node in fields.items():
        child = schema.child(element[2:]) if element.startswith("f:") else schema.element
        if not node or child.is_untyped:
            fitting[element] = node
        else:
            fitting[element] = with_schema(node, child) if child.divides_maps or child.divides_lists else MEMBER
    return fitting


class Comparison(NamedTuple):
    """No field is in two of these. All empty: nothing changed."""

    removed: Fields
    modified: Fields
    added: Fields

    @property
    def changed(self) -> Fields:
        return union(self.modified, self.added)

    def without(self, ignored: Fields) -> "Comparison":
        if not ignored:
            return self
        return Comparison(*(recursive_difference(fields, ignored) for fields in self))


NO_CHANGE = Comparison(NOTHING, NOTHING, NOTHING)


def compare_objects(old: Raw, new: Raw, schema: FieldOwnershipSchema) -> Comparison:
    if old == new:
        return NO_CHANGE
    return _Walk(as_objects=True).compare(old, new, schema)


def compare_documents(old: Raw, new: Raw, schema: FieldOwnershipSchema) -> Comparison:
    """Return what has changed between two documents, in which null is a value and empty is not absent."""
    return NO_CHANGE if old == new else _Walk(as_objects=False).compare(old, new, schema)


class _Walk:
    """One comparison. Nodes of the three trees are made on the way back, so that none is empty."""

    def __init__(self, *, as_objects: bool) -> None:
        self.as_objects = as_objects

    def compare(self, old: Raw, new: Raw, schema: FieldOwnershipSchema) -> Comparison:
        comparison = Comparison({}, {}, {})
        if self.as_objects and schema.is_struct and not schema.is_document:
            self._structs(old, new, schema, comparison)
        else:
            self._maps(old, new, schema, comparison)
        return comparison

    def _structs(self, old: Raw, new: Raw, schema: FieldOwnershipSchema, comparison: Comparison) -> None:
        always, never_empty = schema.always_written, schema.never_empty
        for name, value in new.items():
            before = old.get(name)
            if value == before or (not value and (value is None or name in never_empty)):
                continue
            if before or (before is not None and name not in never_empty):
                self._both(f"f:{name}", before, value, schema.child(name), comparison)
            elif name not in always:
                comparison.added[f"f:{name}"] = self._whole(value, schema.child(name))
            elif value or name not in schema.empty_by_default:
                self._both(f"f:{name}", None, value, schema.child(name), comparison)
        for name, before in old.items():
            if before is None or (not before and name in never_empty):
                continue
            value = new.get(name)
            if value is None or (not value and name in never_empty):
                if name not in always:
                    comparison.removed[f"f:{name}"] = self._whole(before, schema.child(name))
                elif before or name not in schema.empty_by_default:
                    self._both(f"f:{name}", before, None, schema.child(name), comparison)

    def _maps(self, old: Raw, new: Raw, schema: FieldOwnershipSchema, comparison: Comparison) -> None:
        for name, value in new.items():
            if name not in old:
                comparison.added[f"f:{name}"] = self._whole(value, schema.child(name))
            elif old[name] != value:
                self._both(f"f:{name}", old[name], value, schema.child(name), comparison)
        for name, before in old.items():
            if name not in new:
                comparison.removed[f"f:{name}"] = self._whole(before, schema.child(name))

    def _whole(self, value: Any, schema: FieldOwnershipSchema) -> Fields:
        return written_value(value, schema) if self.as_objects else _document_value(value, schema)

    def _both(self, element: str, old: Any, new: Any, schema: FieldOwnershipSchema, comparison: Comparison) -> None:
        maps = schema.divides_maps and isinstance(old, dict | None) and isinstance(new, dict | None) and (old or new)
        lists = schema.divides_lists and isinstance(old, list | None) and isinstance(new, list | None) and (old or new)
        if not maps and not lists:
            comparison.modified[element] = MEMBER
            return
        below = self.compare(old or {}, new or {}, schema) if maps else self._lists(old or [], new or [], schema)
        for fields, into in zip(below, comparison, strict=True):
            if fields:
                into[element] = fields

    def _lists(self, old: list[Any], new: list[Any], schema: FieldOwnershipSchema) -> Comparison:
        before, after = _by_element(old, schema), _by_element(new, schema)
        found = removed, modified, added = Comparison({}, {}, {})
        for element in {**before, **after}:
            mine, theirs = before.get(element, []), after.get(element, [])
            if len(mine) > 1 and len(theirs) > 1:
                if mine != theirs:
                    modified[element] = MEMBER
            elif len(mine) > 1:
                removed[element] = MEMBER
                if theirs:
                    added[element] = self._whole(theirs[0], schema.element)
            elif len(theirs) > 1:
                added[element] = MEMBER
                if mine:
                    removed[element] = self._whole(mine[0], schema.element)
            elif not mine:
                added[element] = self._whole(theirs[0], schema.element)
            elif not theirs:
                removed[element] = self._whole(mine[0], schema.element)
            elif mine[0] != theirs[0]:
                self._both(element, mine[0], theirs[0], schema.element, found)
        return found


def _by_element(items: list[Any], schema: FieldOwnershipSchema) -> dict[str, list[Any]]:
    elements: dict[str, list[Any]] = {}
    for item in items:
        elements.setdefault(schema.item_element(item), []).append(item)
    return elements


def _document_value(value: Any, schema: FieldOwnershipSchema) -> Fields:
    """Return a part of a document that has no counterpart: itself and all that is in it."""
    below: Fields = {}
    if isinstance(value, dict) and schema.divides_maps:
        below = {f"f:{name}": _document_value(item, schema.child(name)) for name, item in value.items()}
    elif isinstance(value, list) and schema.divides_lists:
        for item in value:
            element = schema.item_element(item)
            below[element] = MEMBER if element in below else _document_value(item, schema.element)
    return {SELF: MEMBER, **below} if below else MEMBER
