"""Encode objects for the store, and render stored values for clients.

A value is the object's JSON without its resourceVersion. It begins with its metadata and ends with its apiVersion and
kind, so that rendering needs no decoding: the revision is spliced in, and items of a list of a built-in kind are cut
before the last two, which Kubernetes leaves out there. Events of both groups are stored in the core form, with the
fields that Go writes even when they are not set, so that clients can sort by them. ControllerRevisions have the escapes
that Go writes, because controller managers compare their text. Kubernetes: the codec and the versioner in front of
etcd, the conversion functions of the events group.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from moorage.client.protocol import Object, Raw
from moorage.model.go.quoting import escape_html
from moorage.model.kinds import KINDS, Kind
from moorage.serve.custom.served_kind import ServedKind
from moorage.store.protocol import Stored

_EVENTS = frozenset([KINDS.EVENT, KINDS.REPORTED_EVENT])

#: The core group's name of a field, and that of events.k8s.io.
_NAMES = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
)
#: What a core Event has always: times are null, because they are no pointers in Go.
_ALWAYS_WRITTEN: Raw = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
#: What an Event of events.k8s.io has only if it is not empty.
_WRITTEN_IF_SET = frozenset(["reportingController", "reportingInstance"])
_TO_CORE = {new: core for core, new in _NAMES}
_FROM_CORE = dict(_NAMES)


def to_core(raw: Raw) -> Raw:
    return {_TO_CORE.get(name, name): value for name, value in raw.items()} | {"apiVersion": KINDS.EVENT.api_version}


def from_core(raw: Raw) -> Raw:
    renamed = {_FROM_CORE.get(name, name): value for name, value in raw.items()}
    for name in _WRITTEN_IF_SET:
        if not renamed.get(name):
            renamed.pop(name, None)
    return renamed | {"apiVersion": KINDS.REPORTED_EVENT.api_version}


def is_renamed(kind: Kind) -> bool:
    return kind is KINDS.REPORTED_EVENT


_BEFORE = b'{"metadata":'
_HEAD = _BEFORE + b"{"
#: What a value ends with.
_TYPE_META = ("apiVersion", "kind")
_NOT_BETWEEN = frozenset(["metadata", *_TYPE_META])
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def prefix_of(kind: Kind, namespace: str = "") -> str:
    """Return the prefix of the keys of a kind, or of its objects in one namespace. Both APIs of events share it."""
    plural = kind.plural
    root = f"/{kind.group}/{plural}/" if kind.group and kind is not KINDS.REPORTED_EVENT else f"/{plural}/"
    return f"{root}{namespace}/" if namespace else root


def key_of(kind: Kind, namespace: str, name: str) -> str:
    return f"{prefix_of(kind, namespace if kind.namespaced else '')}{name}"


def name_in(key: str) -> str:
    return key.rpartition("/")[2]


def namespace_in(kind: Kind, key: str) -> str:
    """Return the namespace in a key; empty for objects that are in none."""
    return key[len(prefix_of(kind)) :].rpartition("/")[0]


def encode(kind: Kind, raw: Raw) -> bytes:
    """Return the value to store. The resourceVersion is left out: the store assigns it."""
    if is_renamed(kind):
        raw = to_core(raw)
    elif type(kind) is ServedKind:
        raw = kind.stores(raw)
    metadata = raw["metadata"]
    if "resourceVersion" in metadata:
        metadata = {name: value for name, value in metadata.items() if name != "resourceVersion"}
    rest = after_metadata(raw)
    if kind in _EVENTS:
        rest = {**_ALWAYS_WRITTEN, **rest}
    value = _encode({"metadata": metadata, **rest})
    return escape_html(value) if kind is KINDS.CONTROLLER_REVISION else value


def after_metadata(raw: Raw) -> Raw:
    """Return the fields that follow the metadata in a value, in the order in which they are stored."""
    rest = {name: value for name, value in raw.items() if name not in _NOT_BETWEEN}
    for name in _TYPE_META:
        if name in raw:
            rest[name] = raw[name]
    return rest


class _MetadataOnly(msgspec.Struct):
    metadata: msgspec.Raw


_decode_metadata_only = msgspec.json.Decoder(_MetadataOnly).decode


def split_value(stored: Stored) -> tuple[Raw, bytes]:
    """Return the metadata of an object, and what follows them in its value, which is not decoded."""
    text = bytes(_decode_metadata_only(stored.value).metadata)
    metadata: Raw = _decode(text)
    if stored.revision:
        metadata["resourceVersion"] = str(stored.revision)
    return metadata, stored.value[len(_BEFORE) + len(text) :]


def join_value(metadata: Raw, rest: bytes) -> bytes:
    """Return the value with these metadata before the rest of another one."""
    return _BEFORE + _encode({name: value for name, value in metadata.items() if name != "resourceVersion"}) + rest


def cached_view(kind: Kind, view: Any) -> Any:
    """Return the part of a view that is kept in memory. The view is modified.

    Events have no readers in this process, schemas of definitions and managedFields neither: all are in the value.
    """
    if kind in _EVENTS or kind is KINDS.CUSTOM_RESOURCE_DEFINITION:
        return None
    if view.metadata.managedFields:
        msgspec.structs.force_setattr(view.metadata, "managedFields", ())
    return view


def decode(kind: Kind, stored: Stored) -> Raw:
    raw: Raw = _decode(stored.value)
    if stored.revision:
        raw["metadata"]["resourceVersion"] = str(stored.revision)
    if type(kind) is ServedKind and _is_other_form(kind, stored):
        return kind.reads(raw)
    return from_core(raw) if is_renamed(kind) else raw


def decode_as_stored(kind: Kind, stored: Stored) -> Raw:
    """Return a document in the version in which it is stored, if a webhook would have to convert it."""
    if not kind.is_converted:
        return decode(kind, stored)
    raw: Raw = _decode(stored.value)
    raw["metadata"]["resourceVersion"] = str(stored.revision)
    return raw


def _is_other_form(kind: ServedKind, stored: Stored) -> bool:
    """Return whether an object is stored in another version, or by another schema, than it is served in."""
    return not kind.is_stored or stored.revision < kind.since


def is_sent_as_stored(kind: Kind, stored: Stored) -> bool:
    """Return whether clients get the value without its being decoded."""
    return not is_renamed(kind) and not (type(kind) is ServedKind and _is_other_form(kind, stored))


def render(kind: Kind, stored: Stored) -> bytes:
    """JSON for clients. A value at revision 0 was not stored, and gets no resourceVersion."""
    if not is_sent_as_stored(kind, stored):
        return _encode(decode(kind, stored))
    if not stored.revision:
        return stored.value
    return b'{"metadata":{"resourceVersion":"%d",' % stored.revision + stored.value[len(_HEAD) :]


def item_renderer(kind: Kind) -> Callable[[Stored], bytes]:
    """Return the function that renders an item of a list: built-in kinds have no apiVersion and no kind there."""
    if type(kind) is ServedKind:
        return lambda stored: render(kind, stored)
    tail = b"," + _encode({"apiVersion": kind.api_version, "kind": kind.name})[1:]
    start, end = len(_HEAD), -len(tail)

    def render_item(stored: Stored) -> bytes:
        value = stored.value
        if value.endswith(tail) and stored.revision:
            return b'{"metadata":{"resourceVersion":"%d",%b}' % (stored.revision, value[start:end])
        # Stored in another form: by an earlier version, or under the other name of events.
        raw = decode(kind, stored)
        return _encode({name: field for name, field in raw.items() if name not in _TYPE_META})

    return render_item


def render_list(kind: Kind, items: list[bytes], metadata: Raw) -> bytes:
    head = _encode({"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": metadata})
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"


def object_of(kind: Kind, stored: Stored, revision: int) -> Object:
    """Return an object that shares the store's bytes, and the view and the template that admission made.

    `revision` differs from the stored one if it is that of the deletion.
    """
    view = stored.view
    # Both APIs of events share what is stored, so the view may be the other one's.
    shared = view if type(view) is kind.view else None
    return Object(kind, stored.key[len(prefix_of(kind)) :], revision, stored, None, shared, stored.template, _read)


def _read(stored: Stored, kind: Kind, revision: int) -> Raw:
    return decode(kind, stored if stored.revision == revision else stored._replace(revision=revision))
