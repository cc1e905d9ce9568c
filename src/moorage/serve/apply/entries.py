"""Read, update, order and write the entries of managedFields.

A writer that updates has an entry for each version and subresource it writes; one that applies has one for each
subresource. Writes to a resource leave its status alone, and writes to its status leave all else alone: neither owns,
or conflicts about, what it cannot change. Kubernetes: apimachinery's managedfields/internal (managedfields,
buildmanagerinfo, capmanagers, managedfieldsupdater, stripmeta), structured-merge-diff's merge/update (Update),
GetResetFields of the strategies in pkg/registry. Differs: entries of another version than the object's are dropped, as
upstream drops those of versions it does not know.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

from moorage.admit.apply.field_set import (
    NOTHING,
    Fields,
    decode,
    difference,
    in_order,
    includes,
    intersects,
    of_paths,
    union,
)
from moorage.model.api_error import Raw
from moorage.model.kinds import Kind
from moorage.serve.apply.ownership import Comparison
from moorage.serve.custom.served_kind import ServedKind

#: What identifies an object or is kept by the API server.
UNOWNED_METADATA: Final = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
NEVER_OWNED: Final = of_paths(
    ("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in sorted(UNOWNED_METADATA))
)

_STATUS = of_paths(("status",))


@lru_cache(maxsize=4096)
def reset_fields(kind: Kind, subresource: str) -> Fields:
    if not kind.has_status:
        return NOTHING
    return of_paths(*kind.status_resets) if subresource == "status" else _STATUS


def ownable_part(document: Raw, kind: Kind) -> Raw:
    unset = ("apiVersion", "kind", "status") if kind.has_status else ("apiVersion", "kind")
    part = {name: value for name, value in document.items() if name not in unset}
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        part["metadata"] = {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}
    return part


APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"


class Writer(NamedTuple):
    """Whose entry it is. `api_version` is empty for those who apply."""

    manager: str
    operation: str
    api_version: str
    subresource: str


class Entry(NamedTuple):
    """What a writer owns. `time` is RFC 3339 or empty."""

    fields: Fields
    api_version: str
    time: str


Managed = dict[Writer, Entry]


def writer_of(manager: str, operation: str, api_version: str, subresource: str) -> Writer:
    return Writer(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


def read_own(entries: Any) -> Managed:
    """Entries that were stored: they are as `write` made them, so their sets are taken as they are."""
    managed: Managed = {}
    for entry in entries or ():
        operation, version = entry["operation"], entry["apiVersion"]
        writer = Writer(
            entry.get("manager", ""), operation, "" if operation == APPLY else version, entry.get("subresource", "")
        )
        managed[writer] = Entry(entry.get("fieldsV1") or {}, version, entry.get("time") or "")
    return managed


def read_sent(entries: Any) -> Managed:
    """Entries that a client sent. Raises ValueError for what cannot be read."""
    managed: Managed = {}
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise ValueError(f"managed fields entry {index} is no object")
        texts = {name: entry.get(name) or "" for name in ("manager", "operation", "apiVersion", "subresource", "time")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise ValueError(f"managed fields entry {index} has a field that is no text")
        if texts["operation"] not in (APPLY, UPDATE):
            raise ValueError("operation must be `Apply` or `Update`")
        if not texts["apiVersion"]:
            raise ValueError("apiVersion must not be empty")
        fields_type = entry.get("fieldsType") or ""
        if fields_type != "FieldsV1":
            what = f'invalid fieldsType "{fields_type}"' if fields_type else "missing fieldsType"
            raise ValueError(f"{what} in managed fields entry {index}")
        sent = entry.get("fieldsV1")
        fields = decode({} if sent is None else sent)
        version = "" if texts["operation"] == APPLY else texts["apiVersion"]
        writer = Writer(texts["manager"], texts["operation"], version, texts["subresource"])
        managed[writer] = Entry(fields, texts["apiVersion"], texts["time"])
    return managed


def of_kind(managed: Managed, kind: Kind) -> Managed:
    """Return the entries of the kind's version; those of a custom kind's other versions name the same fields."""
    versions = kind.api_versions if type(kind) is ServedKind else (kind.api_version,)
    if all(entry.api_version in versions for entry in managed.values()):
        return managed
    return {writer: entry for writer, entry in managed.items() if entry.api_version in versions}


def write(managed: Managed, stored: Any = ()) -> list[Raw]:
    """The entries as objects carry them: appliers first, then by time and name. Sets of `stored` are in order."""
    ordered = {id(entry.get("fieldsV1")) for entry in stored or ()}
    written: list[Raw] = []
    for writer in sorted(managed, key=lambda writer: _order(writer, managed[writer])):
        entry = managed[writer]
        known = id(entry.fields) in ordered
        written.append(write_entry(writer, entry if known else entry._replace(fields=in_order(entry.fields))))
    return written


def _order(writer: Writer, entry: Entry) -> tuple[str, ...]:
    return (writer.operation, entry.time, writer.manager, entry.api_version, writer.subresource)


def write_entry(writer: Writer, entry: Entry) -> Raw:
    written: Raw = {"manager": writer.manager, "operation": writer.operation, "apiVersion": entry.api_version}
    if entry.time:
        written["time"] = entry.time
    written["fieldsType"] = "FieldsV1"
    written["fieldsV1"] = entry.fields
    if writer.subresource:
        written["subresource"] = writer.subresource
    return written


def cap_updaters(managed: Managed) -> Managed:
    """At most ten entries of writers that update: the oldest are merged into one of their version."""
    updaters = [writer for writer in managed if writer.operation == UPDATE]
    if len(updaters) <= MAX_UPDATERS:
        return managed
    capped = dict(managed)
    updaters.sort(key=lambda writer: (managed[writer].time, writer))
    excess = len(updaters) - MAX_UPDATERS
    first_of_version: dict[str, Writer] = {}
    for writer in updaters:
        if not excess:
            break
        entry = managed[writer]
        first = first_of_version.setdefault(entry.api_version, writer)
        if first is writer:
            continue
        bucket = Writer(_ANCIENT, UPDATE, entry.api_version, "")
        if bucket not in capped:
            capped[bucket] = capped.pop(first)
        fields = union(entry.fields, capped[bucket].fields)
        capped.pop(writer, None)
        capped[bucket] = Entry(fields, entry.api_version, entry.time)
        excess -= 1
    return capped


def update_managers(managed: Managed, comparison: Comparison, writer: Writer, api_version: str, time: str) -> Managed:
    """Return the entries after a write that changed what `comparison` says; the very same table if that is nothing."""
    removed, changed = comparison.removed, comparison.changed
    if not removed and not changed:
        return managed
    after = without_fields(managed, changed, removed, taker=writer)
    owned = difference(changed, NEVER_OWNED)
    if owned:
        if after is managed:
            after = dict(managed)
        previous = after.get(writer)
        if previous is None:
            fields = owned
        else:
            fields = previous.fields if includes(previous.fields, owned) else union(previous.fields, owned)
        after[writer] = Entry(fields, api_version, time)
    return cap_updaters(after)


def without_fields(managed: Managed, changed: Fields, removed: Fields, taker: Writer) -> Managed:
    """The entries without the fields that `taker` took and those that are gone; without those that own nothing then."""
    after = managed
    for writer, entry in managed.items():
        fields = entry.fields
        if writer != taker and intersects(changed, fields):
            fields = difference(fields, changed)
        if intersects(removed, fields):
            fields = difference(fields, removed)
        if fields is entry.fields and fields:
            continue
        if after is managed:
            after = dict(managed)
        if fields:
            after[writer] = entry._replace(fields=fields)
        else:
            del after[writer]
    return after
