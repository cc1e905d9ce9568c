"""Apply the JSON patch of a webhook to the object of a request.

Kubernetes: callAttrMutatingHook of plugin/webhook/mutating. Differs: a patch has at most ten thousand operations, and
neither it nor what it makes is deeper than 200 levels.
"""

from typing import Any, NamedTuple

import msgspec

from moorage.admit.extension.attributes import ObjectResource
from moorage.admit.extension.matching.matcher import Matched
from moorage.admit.extension.webhooks.failures import CallFailed, internal_error, with_cause
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw, copy_document
from moorage.model.api_error import ApiError, failure
from moorage.model.go.json_syntax import json_complaint
from moorage.model.go.quoting import escape_html
from moorage.model.go.type_meta import type_meta_complaint, unregistered
from moorage.model.kinds import kind_of
from moorage.model.patch.json_patch import MAX_OPERATIONS, apply_operations, in_written_order
from moorage.model.patch.patch_error import PatchError, check_depth, not_decoded
from moorage.model.schema import shapes

_decode = msgspec.json.Decoder().decode
_decode_raw = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None]).decode
_encode = msgspec.json.Encoder().encode


class Patched(NamedTuple):
    """An object that was changed, as the API server reads it, and whether anything is different."""

    object: Raw
    is_changed: bool


def read_patch(patch: bytes) -> list[Raw]:
    """Return the operations of a patch. Raises CallFailed."""
    try:
        operations = _decode(patch)
        check_depth(operations)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _undecodable(json_complaint(patch) or str(error)) from None
    except RecursionError:
        raise _undecodable("exceeded max depth") from None
    except PatchError as error:
        raise _undecodable(str(error)) from None
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(not_decoded(operations, "value of type jsonpatch.Patch"))
    if len(operations) > MAX_OPERATIONS:
        raise _undecodable(f"a patch has at most {MAX_OPERATIONS} operations, not {len(operations)}")
    for operation in operations:
        if not isinstance(operation, dict | None):
            raise _undecodable(not_decoded(operation, "value of type jsonpatch.Operation"))
    return [operation or {} for operation in operations]


def _undecodable(why: str) -> CallFailed:
    return CallFailed(f"received undecodable patch in webhook response: {why}")


def patch_text(patch: bytes) -> str:
    """Return a patch that was read as Go writes it: operations with their fields in order, values as they were sent."""
    operations = [_sorted_fields(operation) for operation in _decode_raw(patch)]
    text: bytes = msgspec.json.format(_encode(operations), indent=-1)
    return escape_html(text).decode()


def _sorted_fields(operation: dict[str, msgspec.Raw] | None) -> dict[str, msgspec.Raw] | None:
    return operation and {name: operation[name] for name in sorted(operation)}


def patched(document: Raw, operations: list[Raw], matched: Matched, subresource: str, world: ExtensionWorld) -> Patched:
    """Return a document with operations applied to it. Raises ApiError, also for a patch that does not fit."""
    try:
        raw = apply_operations(document, operations)
    except PatchError as error:
        raise internal_error(str(error)) from None
    raw = _with_kind(raw, document)
    completed = _completed(copy_document(raw), document, matched.resource, subresource, world)
    kind = kind_of(document)
    if kind is None:
        return Patched(completed, raw != document)
    shape = shapes.struct_shape(kind.view)
    return Patched(completed, not _is_same(document, completed, shape) or _is_lost(document, raw))


def _with_kind(raw: Raw, before: Raw) -> Raw:
    """Return a document with the apiVersion and kind that Go takes for granted where they are absent."""
    if complaint := type_meta_complaint(raw):
        raise internal_error(complaint)
    return {**raw, **{name: before[name] for name in ("apiVersion", "kind") if not raw.get(name)}}


def _completed(raw: Raw, before: Raw, resource: ObjectResource, subresource: str, world: ExtensionWorld) -> Raw:
    """Return a document as the API server reads it. Raises ApiError, also if it has become one of another kind."""
    if kind_of(before) is not None and kind_of(raw) is None:
        raise internal_error(unregistered(str(raw["apiVersion"]), str(raw["kind"])))
    try:
        completed = world.complete(raw, resource, subresource)
    except ApiError as error:
        raise with_cause(_first_complaint(raw, resource, subresource, world) or error) from None
    given, own = _go_type(completed), _go_type(before)
    if given != own:
        group = before["apiVersion"].rpartition("/")[0].partition(".")[0] or "core"
        why = f"converting ({given}) to ({group}.{before['kind']}): unknown conversion"
        raise failure(500, "", why)
    return completed


def _first_complaint(raw: Raw, resource: ObjectResource, subresource: str, world: ExtensionWorld) -> ApiError | None:
    """Return what the decoder says of a document that it cannot read, in the order in which a patch has written it."""
    try:
        world.complete(in_written_order(raw), resource, subresource)
    except ApiError as error:
        return error
    return None


def _go_type(document: Raw) -> str:
    return f"{document['apiVersion'].rpartition('/')[2]}.{document['kind']}"


def _is_same(one: Any, other: Any, shape: Any) -> bool:
    """Return whether Go sees no difference: lists and maps that are empty are like none."""
    if isinstance(shape, shapes.EitherShape):
        shape = shape.chosen(one)
    if isinstance(one, dict) and isinstance(other, dict):
        names = one.keys() | other.keys()
        return all(_is_same(one.get(name), other.get(name), _member(shape, name)) for name in names)
    if isinstance(one, list) and isinstance(other, list) and isinstance(shape, shapes.ListShape):
        return len(one) == len(other) and all(_is_same(*pair, shape.item) for pair in zip(one, other, strict=True))
    if isinstance(shape, shapes.ListShape | shapes.MapShape):
        return (one or None) == (other or None)
    return bool(one == other)


def _member(shape: Any, name: str) -> Any:
    if isinstance(shape, shapes.StructShape):
        return shape.field(name) if name in shape.known else None
    return shape.value if isinstance(shape, shapes.MapShape) else None


def _is_lost(before: Any, after: Any) -> bool:
    """Return whether a patch takes something away, which defaults may have put back since."""
    if isinstance(before, dict) and isinstance(after, dict):
        return any(_is_lost(value, after.get(name)) for name, value in before.items())
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return any(map(_is_lost, before, after))
    return bool(before) and not after
