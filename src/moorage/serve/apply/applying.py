"""Server-side apply: the object becomes what the applier says, where it says something, and nobody else loses anything.

In: the object, its entries, what is applied, by whom. Out: the object and its entries after, or `ApplyConflict`. First
the two are merged. Then what the applier owned and no longer says is taken out, unless somebody else owns it too. Then
whoever owned what has changed is in conflict with the applier, or loses it if the applier insists. Kubernetes:
structured-merge-diff, merge/update (Apply).
"""

from typing import Any, NamedTuple

from moorage.serve.apply.comparison import compare_documents
from moorage.serve.apply.conflicts import ApplyConflict
from moorage.serve.apply.entries import Entry, Managed, Writer
from moorage.serve.apply.field_set import (
    NOTHING,
    Fields,
    difference,
    intersection,
    recursive_difference,
    union,
)
from moorage.serve.apply.merging import merge
from moorage.serve.apply.ownership import fields_of
from moorage.serve.apply.ownership_schema import FieldOwnershipSchema
from moorage.serve.apply.removal import remove_fields, with_structs
from moorage.serve.apply.reset_fields import NEVER_OWNED

Raw = dict[str, Any]


class Applied(NamedTuple):
    """What came of it. `changed` is false if the object is what it was; its entries may differ even so."""

    document: Raw
    managed: Managed
    changed: bool


class Applier(NamedTuple):
    """Who applies, what and how. `ignored` are fields that this resource does not let anybody set."""

    writer: Writer
    api_version: str
    ignored: Fields
    time: str
    force: bool


def apply(live: Raw, patch: Raw, managed: Managed, applier: Applier, grain: FieldOwnershipSchema) -> Applied:
    """Apply `patch`, which fits the schema. Neither document has managedFields in it. Raises ApplyConflict."""
    merged = merge(live, patch, grain)
    owned = recursive_difference(fields_of(patch, grain), applier.ignored)
    previous = managed.get(applier.writer)
    time = previous.time if previous is not None else ""
    after = {**managed, applier.writer: Entry(owned, applier.api_version, time)}
    if previous is not None and previous.fields:
        merged = _prune(merged, after, previous.fields, grain)
    after = _take(live, merged, after, applier, grain)
    changed = merged != live
    entry = after.get(applier.writer)
    if entry is not None:
        fields = difference(entry.fields, NEVER_OWNED)
        if fields:
            after[applier.writer] = Entry(fields, entry.api_version, applier.time if changed else entry.time)
        else:
            del after[applier.writer]
    return Applied(merged, after, changed)


def _take(live: Raw, merged: Raw, managed: Managed, applier: Applier, grain: FieldOwnershipSchema) -> Managed:
    """The entries once the applier has its fields. Raises ApplyConflict if others had them and it does not insist."""
    removed, modified, added = compare_documents(live, merged, grain).without(applier.ignored)
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


def _prune(merged: Raw, managed: Managed, last: Fields, grain: FieldOwnershipSchema) -> Raw:
    """The document without what the applier had set before, does not set any more, and nobody else owns."""
    last = with_structs(last, grain)
    all_fields = with_structs(fields_of(merged, grain), grain)
    pruned = remove_fields(merged, last, grain) or {}
    owned: Fields = NOTHING
    for entry in managed.values():
        owned = union(owned, entry.fields)
    kept = union(with_structs(fields_of(pruned, grain), grain), with_structs(owned, grain))
    pruned = remove_fields(merged, difference(all_fields, kept), grain) or {}
    left = with_structs(fields_of(pruned, grain), grain)
    dropped = intersection(difference(all_fields, left), last)
    return remove_fields(merged, dropped, grain) or {}
