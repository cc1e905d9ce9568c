"""Apply a document on the server: merge it into the object, prune what its owner no longer sets, take over fields.

The object is merged with what is applied. Then fields that the applier owned and no longer sets are removed, unless
another writer owns them too. Then every writer whose fields have changed is in conflict with the applier, or loses them
if it forces. Documents that are handed in are not changed; results share parts with them.
Kubernetes: structured-merge-diff (merge/update's Apply, typed/merge, typed/remove), managedfields/internal/conflict.
"""

import json
from typing import Any, NamedTuple

from moorage.admit.apply.field_set import (
    MEMBER,
    NOTHING,
    SELF,
    Fields,
    difference,
    intersection,
    is_member,
    paths,
    recursive_difference,
    render_path,
    union,
)
from moorage.admit.apply.merging import merge
from moorage.admit.apply.ownership_schema import UNKNOWN, FieldOwnershipSchema
from moorage.model.api_error import ApiError, Raw, failure
from moorage.serve.apply.entries import NEVER_OWNED, UPDATE, Entry, Managed, Writer
from moorage.serve.apply.ownership import compare_documents, fields_of


class ApplyConflict(ApiError):
    """409: applying would take fields from others. `conflicts` says which from whom."""

    def __init__(self, conflicts: dict[Writer, Fields]) -> None:
        self.conflicts = conflicts
        contested = [(writer, path) for writer in sorted(conflicts) for path in paths(conflicts[writer])]
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(writer)}",
                "field": render_path(path),
            }
            for writer, path in contested
        ]
        status = failure(409, "Conflict", _message(contested), {"causes": causes}).status
        super().__init__(status)


def _message(contested: list[tuple[Writer, tuple[str, ...]]]) -> str:
    if len(contested) == 1:
        writer, path = contested[0]
        return f"Apply failed with 1 conflict: conflict with {_shown(writer)}: {render_path(path)}"
    lines: list[str] = []
    named: Writer | None = None
    for writer, path in contested:
        if writer != named:
            named = writer
            lines.append(f"conflicts with {_shown(writer)}:")
        lines.append(f"- {render_path(path)}")
    return f"Apply failed with {len(contested)} conflicts: " + "\n".join(lines)


def _shown(writer: Writer) -> str:
    shown = json.dumps(writer.manager, ensure_ascii=False)
    if writer.subresource:
        shown = f"{shown} with subresource {json.dumps(writer.subresource)}"
    return f"{shown} using {writer.api_version}" if writer.operation == UPDATE else shown


class Applied(NamedTuple):
    """The result. `changed` is false if the object is what it was; its entries may differ even so."""

    document: Raw
    managed: Managed
    changed: bool


class Applier(NamedTuple):
    """The writer that applies, and how. `ignored` are fields that writes to this resource cannot set."""

    writer: Writer
    api_version: str
    ignored: Fields
    time: str
    force: bool


def apply(live: Raw, patch: Raw, managed: Managed, applier: Applier, schema: FieldOwnershipSchema) -> Applied:
    """Apply `patch`, which fits the schema. Neither document has managedFields in it. Raises ApplyConflict."""
    merged = merge(live, patch, schema)
    owned = recursive_difference(fields_of(patch, schema), applier.ignored)
    previous = managed.get(applier.writer)
    time = previous.time if previous is not None else ""
    after = {**managed, applier.writer: Entry(owned, applier.api_version, time)}
    if previous is not None and previous.fields:
        merged = _prune(merged, after, previous.fields, schema)
    after = _take(live, merged, after, applier, schema)
    changed = merged != live
    entry = after.get(applier.writer)
    if entry is not None:
        fields = difference(entry.fields, NEVER_OWNED)
        if fields:
            after[applier.writer] = Entry(fields, entry.api_version, applier.time if changed else entry.time)
        else:
            del after[applier.writer]
    return Applied(merged, after, changed)


def _take(live: Raw, merged: Raw, managed: Managed, applier: Applier, schema: FieldOwnershipSchema) -> Managed:
    """The entries once the applier has its fields. Raises ApplyConflict if others had them and it does not insist."""
    removed, modified, added = compare_documents(live, merged, schema).without(applier.ignored)
    changed = union(modified, added)
    taken: dict[Writer, Fields] = {}
    for writer, entry in managed.items():
        if writer != applier.writer:
            lost = intersection(entry.fields, changed)
            if lost:
                taken[writer] = lost
    if taken and not applier.force:
        raise ApplyConflict(taken)
    after: Managed = {}
    for writer, entry in managed.items():
        fields = entry.fields
        if writer != applier.writer:
            fields = difference(difference(fields, taken.get(writer, NOTHING)), removed)
        if fields:
            after[writer] = entry if fields is entry.fields else entry._replace(fields=fields)
    return after


def _prune(merged: Raw, managed: Managed, last: Fields, schema: FieldOwnershipSchema) -> Raw:
    """Return the document without what the applier set before and no longer sets, and no other writer owns."""
    last = with_structs(last, schema)
    all_fields = with_structs(fields_of(merged, schema), schema)
    pruned = remove_fields(merged, last, schema) or {}
    owned: Fields = NOTHING
    for entry in managed.values():
        owned = union(owned, entry.fields)
    kept = union(with_structs(fields_of(pruned, schema), schema), with_structs(owned, schema))
    pruned = remove_fields(merged, difference(all_fields, kept), schema) or {}
    left = with_structs(fields_of(pruned, schema), schema)
    dropped = intersection(difference(all_fields, left), last)
    return remove_fields(merged, dropped, schema) or {}


def remove_fields(value: Any, fields: Fields, schema: FieldOwnershipSchema) -> Any:
    """Return the value without these fields; null if nothing is left of it."""
    if not fields:
        return value
    if isinstance(value, dict):
        return (_remove_members(value, fields, schema) if schema.divides_maps else None) or None
    if isinstance(value, list):
        return (_remove_elements(value, fields, schema) if schema.divides_lists else None) or None
    return value


def _remove_members(document: Raw, fields: Fields, schema: FieldOwnershipSchema) -> Raw:
    left: Raw = {}
    for name, value in document.items():
        node = fields.get(f"f:{name}")
        if node is None:
            left[name] = value
        elif not is_member(node):
            left[name] = remove_fields(value, node, schema.child(name))
    return left


def _remove_elements(items: list[Any], fields: Fields, schema: FieldOwnershipSchema) -> list[Any]:
    left: list[Any] = []
    for item in items:
        node = fields.get(schema.item_element(item))
        if node is None:
            left.append(item)
        elif not is_member(node):
            left.append(remove_fields(item, node, schema.element))
    return left


def with_structs(fields: Fields, schema: FieldOwnershipSchema) -> Fields:
    """Return the set, in which every named field that has something below it is a member, too."""
    complete: Fields = {}
    for element, node in fields.items():
        if not node:
            complete[element] = node
            continue
        name = element[2:]
        named = element.startswith("f:") and name in schema.fields
        if element.startswith("f:"):
            below = with_structs(node, schema.child(name))
        else:
            below = with_structs(node, schema.element if element.startswith("k:") and schema.is_list else UNKNOWN)
        complete[element] = {SELF: MEMBER, **below} if named and SELF not in below else below
    return complete
