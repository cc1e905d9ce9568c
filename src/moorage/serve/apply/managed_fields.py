"""Maintain `metadata.managedFields` for each verb, and apply patches on the server.

`on_create` and `on_update` set managedFields of the new object in place; `apply_patch` returns a new object that shares
parts with the old one. They are called where the API server does: after defaulting, before admission plugins. After
admission, `keep_times` undoes changes that are of times only. `manager` is the fieldManager parameter, or else the
first part of the User-Agent. For the manager "kubectl", fields that its client-side apply set do not conflict, and the
annotation in which it remembers them is kept up to date. Kubernetes: apimachinery's managedfields/internal
(fieldmanager, lastappliedmanager, lastappliedupdater, lastapplied) and the handlers of create, update and patch.
Differs: what does not fit the schema is the client's fault (400), not the server's (500).
"""

import json
from collections.abc import Callable
from typing import Any, Final

from moorage.admit.apply.field_set import NOTHING, Fields, as_json, difference, recursive_difference
from moorage.admit.apply.ownership_schema import FieldOwnershipSchema, check, fits, render_problems
from moorage.model.api_error import Raw, bad_request
from moorage.model.kinds import Kind
from moorage.model.well_known.annotations import LAST_APPLIED
from moorage.serve.apply.applying import Applied, Applier, ApplyConflict, apply
from moorage.serve.apply.entries import (
    APPLY,
    UPDATE,
    Entry,
    Managed,
    Writer,
    of_kind,
    ownable_part,
    read_own,
    read_sent,
    reset_fields,
    update_managers,
    write,
    write_entry,
    writer_of,
)
from moorage.serve.apply.kind_schema import ownership_schema
from moorage.serve.apply.ownership import (
    Comparison,
    compare_documents,
    compare_objects,
    fields_of,
    with_schema,
    written_fields,
)

__all__ = [
    "ApplyConflict",
    "apply_patch",
    "check_to_apply",
    "created_fields",
    "entry_for",
    "keep_times",
    "on_create",
    "on_update",
]

_BEFORE_FIRST_APPLY = "before-first-apply"


def created_fields(new: Raw, kind: Kind) -> Fields:
    """What the creator of this object owns; the same for all objects made from one template. Raises ValueError."""
    return written_fields(ownable_part(new, kind), ownership_schema(kind), new=False)


def entry_for(fields: Fields, kind: Kind, manager: str, time: str) -> list[Raw]:
    """Return the managedFields of an object that was just created, given `created_fields`."""
    if not fields:
        return []
    return [write_entry(writer_of(manager, UPDATE, kind.api_version, ""), Entry(fields, kind.api_version, time))]


def on_create(new: Raw, kind: Kind, manager: str, time: str) -> Raw:
    """POST: make the writer the owner of all that it set. Entries that it sent are kept, as for a restored backup."""
    metadata = new.setdefault("metadata", {})
    sent = metadata.pop("managedFields", None)
    try:
        _check_ignored(new, {}, kind, "")
        if sent:
            managed = _sent_or_stored(sent, None, kind)
            changes = Comparison(NOTHING, NOTHING, created_fields(new, kind))
            writer = writer_of(manager, UPDATE, kind.api_version, "")
            managed = update_managers(of_kind(managed, kind), changes, writer, kind.api_version, time)
            entries = write(managed)
        else:
            entries = entry_for(created_fields(new, kind), kind, manager, time)
    except (ValueError, RecursionError):
        return new  # what cannot be owned in parts (a list with elements that have no name) has no owner
    if entries:
        metadata["managedFields"] = entries
    return new


def on_update(new: Raw, old: Raw, kind: Kind, manager: str, subresource: str, time: str) -> Raw:
    """PUT, and PATCH other than apply: make the writer the only owner of what it changed."""
    metadata = new.setdefault("metadata", {})
    stored = old["metadata"].get("managedFields")
    sent = metadata.pop("managedFields", None)
    own = sent == stored or bool(subresource)
    if own and not stored:
        return new
    try:
        managed = read_own(stored) if own else _sent_or_stored(sent, stored, kind)
        if not managed:
            return new
        _check_ignored(new, old, kind, subresource)
        before = {
            **old,
            "metadata": {name: value for name, value in old["metadata"].items() if name != "managedFields"},
        }
        changes = compare_objects(before, new, ownership_schema(kind)).without(reset_fields(kind, subresource))
        writer = writer_of(manager, UPDATE, kind.api_version, subresource)
        after = update_managers(of_kind(managed, kind), changes, writer, kind.api_version, time)
    except (ValueError, RecursionError):
        return new
    entries = stored if own and after is managed else write(after, stored)
    if entries:
        metadata["managedFields"] = entries
    return new


def _check_ignored(new: Raw, old: Raw, kind: Kind, subresource: str) -> None:
    """Raise ValueError if what a write to a custom object cannot change is of other types: then it has no owners."""
    schema = ownership_schema(kind)
    if not schema.is_custom or not kind.has_status:
        return
    for name in new:
        is_ignored = name not in ("metadata", "status") if subresource else name == "status"
        if is_ignored and new[name] != old.get(name) and not fits(new[name], schema.child(name)):
            raise ValueError(f"{name} does not fit the schema")


def _sent_or_stored(sent: Any, stored: Any, kind: Kind) -> Managed:
    """Return the entries that the client sent, if it edits or resets them; else those that are stored."""
    if sent in ([], [{}]):
        return {}
    try:
        managed = read_sent(sent or ())
    except (ValueError, TypeError, RecursionError):
        managed = {}
    if not managed:
        return read_own(stored)
    schema = ownership_schema(kind)
    return {writer: entry._replace(fields=with_schema(entry.fields, schema)) for writer, entry in managed.items()}


def apply_patch(
    live: Raw | None, patch: Raw, kind: Kind, manager: str, force: bool, subresource: str, time: str
) -> Raw:
    """PATCH with application/apply-patch+yaml. `live` is None if the object does not exist yet.

    Raises ApplyConflict, or ApiError for what cannot be applied. An apply that changes nothing gives what was there.
    """
    check_to_apply(patch, kind)
    schema = ownership_schema(kind)
    metadata = (live or {}).get("metadata") or {}
    stored = metadata.get("managedFields")
    current: Raw = {"apiVersion": kind.api_version, "kind": kind.name}
    if live is not None:
        current = {**live, "metadata": {name: value for name, value in metadata.items() if name != "managedFields"}}
    managed = of_kind(read_own(stored), kind)
    ignored = reset_fields(kind, subresource)
    writer = writer_of(manager, APPLY, kind.api_version, subresource)
    applier = Applier(writer, kind.api_version, ignored, time, force)
    try:
        if not managed and live is not None:
            fields = recursive_difference(written_fields(current, schema, new=False), ignored)
            earlier = writer_of(_BEFORE_FIRST_APPLY, UPDATE, kind.api_version, subresource)
            managed = update_managers({}, Comparison(NOTHING, NOTHING, fields), earlier, kind.api_version, time)
        applied = _apply_as_kubectl(filled(current, schema), patch, managed, applier, kind)
    except ValueError as error:
        raise bad_request(f"failed to create typed live object ({_named(current)}): {error}") from None
    entries = write(applied.managed, stored)
    if not applied.changed and live is not None and manager != KUBECTL:
        return _with_entries(live, entries)
    document = emptied(applied.document, schema) if applied.changed or live is None else live
    if manager == KUBECTL:
        document = with_annotation(document, patch)
    return _with_entries(document, entries)


def _apply_as_kubectl(live: Raw, patch: Raw, managed: Managed, applier: Applier, kind: Kind) -> Applied:
    """Apply, without conflicts about values that the same kubectl applied on the client."""
    schema = ownership_schema(kind)
    try:
        return apply(live, patch, managed, applier, schema)
    except ApplyConflict as conflict:
        if applier.writer.manager != KUBECTL:
            raise
        left = remaining_conflicts(conflict.conflicts, live, schema)
        if left:
            raise ApplyConflict(left) from None
    return apply(live, patch, managed, applier._replace(force=True), schema)


def check_to_apply(patch: Raw, kind: Kind) -> None:
    """Raise ApiError for a document of another kind or version, with owners, or that does not fit the schema."""
    if (patch.get("apiVersion"), patch.get("kind")) != (kind.api_version, kind.name):
        raise bad_request(f"invalid object type: {_kind_of(patch)}")
    metadata = patch.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    _check_typed(patch, kind)


def _check_typed(patch: Raw, kind: Kind) -> None:
    problems = check(patch, ownership_schema(kind))
    if problems:
        raise bad_request(f"failed to create typed patch object ({_named(patch)}): {render_problems(problems)}")


def _named(document: Raw) -> str:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind_of(document)}"


def _kind_of(document: Raw) -> str:
    api_version, kind = (text if isinstance(text := document.get(name), str) else "" for name in ("apiVersion", "kind"))
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _with_entries(document: Raw, entries: list[Raw]) -> Raw:
    metadata = document.get("metadata") or {}
    if (metadata.get("managedFields") or []) == entries:
        return document
    metadata = {name: value for name, value in metadata.items() if name != "managedFields"}
    return {**document, "metadata": {**metadata, "managedFields": entries} if entries else metadata}


def keep_times(new: Raw, old: Raw) -> Raw:
    """Return the object as it will be stored, with the times of old entries if nothing but times has changed."""
    entries, stored = new["metadata"].get("managedFields"), old["metadata"].get("managedFields")
    if not entries or not stored or len(entries) != len(stored) or entries == stored:
        return new
    if [_timeless(entry) for entry in entries] != [_timeless(entry) for entry in stored]:
        return new
    candidate = {**new, "metadata": {**new["metadata"], "managedFields": stored}}
    return candidate if candidate == old else new


def _timeless(entry: Raw) -> Raw:
    return {name: value for name, value in entry.items() if name != "time"}


class _FilledObject(dict[str, Any]):
    """An object that was filled in."""


class _FilledText(str):
    """A text that was filled in."""


class _FilledNumber(int):
    """A number that was filled in, or false."""


_FILLED = (_FilledObject, _FilledText, _FilledNumber)
_ZEROS = {"string": _FilledText(), "integer": _FilledNumber(), "number": _FilledNumber(), "boolean": _FilledNumber()}


def filled(value: Any, schema: FieldOwnershipSchema) -> Any:
    """The value with all that Go always writes, without what it leaves out. No map of the API has structs in it."""
    if schema.is_custom:
        return value if schema.is_document else _with_metadata(value, schema, filled)
    if isinstance(value, dict) and schema.is_struct and schema.divides_maps:
        unset = schema.never_empty
        present = {
            name: filled(item, schema.child(name))
            for name, item in value.items()
            if item or (item is not None and name not in unset)
        }
        for name in schema.always_written:
            if name not in present:
                present[name] = _zero(name, schema)
        return present
    if isinstance(value, list) and schema.element.is_struct:
        return [filled(item, schema.element) for item in value]
    return value


def _with_metadata(value: Raw, schema: FieldOwnershipSchema, change: Callable[[Any, FieldOwnershipSchema], Any]) -> Raw:
    """Return a custom object, of which only the metadata is a struct."""
    child = schema.child("metadata")
    metadata = value.get("metadata")
    return {**value, "metadata": _FilledObject(filled({}, child)) if metadata is None else change(metadata, child)}


def _zero(name: str, schema: FieldOwnershipSchema) -> Any:
    child = schema.child(name)
    if child.is_struct:
        return _FilledObject(filled({}, child)) if name in schema.empty_by_default else None
    return _ZEROS.get(child.json_type) if name in schema.empty_by_default else None


def emptied(value: Any, schema: FieldOwnershipSchema) -> Any:
    """Return the value without what was filled in, without nulls and what Go leaves out."""
    if schema.is_custom:
        return value if schema.is_document else _with_metadata(value, schema, emptied)
    if isinstance(value, dict) and schema.is_struct and schema.divides_maps:
        unset = schema.never_empty
        return {
            name: emptied(item, schema.child(name))
            for name, item in value.items()
            if not isinstance(item, _FILLED) and (item or (item is not None and name not in unset))
        }
    if isinstance(value, list) and schema.element.is_struct:
        return [emptied(item, schema.element) for item in value]
    return value


KUBECTL: Final = "kubectl"
_MAX_ANNOTATIONS_SIZE = 256 * 1024


def remaining_conflicts(
    conflicts: dict[Writer, Fields], live: Raw, schema: FieldOwnershipSchema
) -> dict[Writer, Fields]:
    allowed = _still_as_applied(live, schema)
    left = {writer: difference(fields, allowed) for writer, fields in conflicts.items()}
    return {writer: fields for writer, fields in left.items() if fields}


def _still_as_applied(live: Raw, schema: FieldOwnershipSchema) -> Fields:
    text = _annotations(live).get(LAST_APPLIED)
    if not text:
        return NOTHING
    try:
        last = json.loads(text)
        if not isinstance(last, dict) or last.get("apiVersion") != live.get("apiVersion") or check(last, schema):
            return NOTHING
        differing = compare_documents(last, live, schema)
    except (ValueError, RecursionError):
        return NOTHING
    fields = fields_of(last, schema)
    for changed in differing:
        fields = difference(fields, changed)
    return fields


def with_annotation(document: Raw, patch: Raw) -> Raw:
    annotations = _annotations(document)
    if not annotations.get(LAST_APPLIED):
        return document
    annotations = {**annotations, LAST_APPLIED: _remembered(patch)}
    if sum(_size(name) + _size(value) for name, value in annotations.items()) > _MAX_ANNOTATIONS_SIZE:
        del annotations[LAST_APPLIED]
    return {**document, "metadata": {**document["metadata"], "annotations": annotations}}


def _size(text: Any) -> int:
    return len(str(text).encode("utf-8", "surrogatepass"))


def _remembered(patch: Raw) -> str:
    metadata = patch.get("metadata") or {}
    annotations = metadata.get("annotations")
    if annotations is not None:
        others = {name: value for name, value in annotations.items() if name != LAST_APPLIED}
        patch = {**patch, "metadata": {**metadata, "annotations": others}}
    return as_json(_sorted(patch)) + "\n"


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _annotations(document: Raw) -> Raw:
    annotations = (document.get("metadata") or {}).get("annotations")
    return annotations if isinstance(annotations, dict) else {}
