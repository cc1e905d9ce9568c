"""Read a mutated object as the API server does: what does not decode is an error, then defaults are set again.

A JSON patch is decoded strictly, and its errors are the API server's own (500), whatever the failure policy; a merge is
converted, and its errors are those of the policy. Kubernetes: dispatchOne of plugin/policy/mutating, Patch of
patch/json_patch.go, FromUnstructured of apimachinery.
"""

from moorage.admit.extension.attributes import ObjectKind, ObjectResource
from moorage.admit.extension.policies.mutating.patches import RefusedMutation
from moorage.admit.extension.world import ExtensionWorld
from moorage.admit.raw import Raw, copy_document
from moorage.model.api_error import ApiError, failure
from moorage.model.go.type_meta import unregistered
from moorage.model.kinds import KINDS, kind_of
from moorage.model.patch.json_patch import in_written_order
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import MAX_STRICT_ERRORS, kept_part, unknown_fields, write_as_go
from moorage.model.text.patterns import Pattern
from moorage.model.types.meta import ObjectMeta

_INTERNAL = "Internal error occurred: "
_NUMBER = Pattern(r"json: cannot unmarshal number (\S+) into Go .* of type (\S+)")
#: Fields that read themselves, such as times: their errors do not say where.
_TEXT = Pattern(r"json: cannot unmarshal (\w+) into Go struct field .* of type string")
_BASE64 = "illegal base64 data"
_TYPE_AND_METADATA = frozenset(("apiVersion", "kind", "metadata"))


def complete_patched(
    before: Raw, patched: Raw, resource: ObjectResource, subresource: str, world: ExtensionWorld
) -> Raw:
    """Return an object that a JSON patch has made of another, complete. Raises ApiError 500 if it does not decode."""
    patched = _with_type(patched, before)
    kind = kind_of(patched)
    if patched["apiVersion"] != before["apiVersion"] or patched["kind"] != before["kind"]:
        raise _undecoded(_changed_type(patched, before))
    if kind is not None:
        unknown = unknown_fields(in_written_order(patched), kind.view, MAX_STRICT_ERRORS)
        if unknown:
            text = f"strict decoding error: {', '.join(map(str, unknown))}"
            raise _undecoded(_undecodable(in_written_order(patched)) or text)
    try:
        return _with_new_metadata(before, patched) or world.complete(patched, resource, subresource)
    except ApiError as error:
        raise _undecoded(_undecodable(in_written_order(patched)) or error.message.removeprefix(_INTERNAL)) from None


def complete_merged(
    before: Raw, merged: Raw, kind: ObjectKind, resource: ObjectResource, subresource: str, world: ExtensionWorld
) -> Raw:
    """Return an object that another was merged into, complete. Raises RefusedMutation if it does not decode."""
    try:
        return _with_new_metadata(before, merged) or world.complete(merged, resource, subresource)
    except ApiError as error:
        reason = _undecodable(merged)
        if not reason:
            raise RefusedMutation(error.message.removeprefix(_INTERNAL)) from None
        name = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        raise RefusedMutation(f"unable to convert unstructured object to {name}: {_as_converter(reason)}") from None


def _undecoded(why: str) -> ApiError:
    return failure(500, "InternalError", _INTERNAL + why, {"causes": [{"message": why}]})


def _with_new_metadata(before: Raw, changed: Raw) -> Raw | None:
    """Return an object of which nothing but metadata was changed, complete: the rest is already.

    None if more was changed, if metadata do not decode, and for namespaces, which have a default there.
    """
    kind = kind_of(changed)
    metadata = changed.get("metadata")
    if kind is None or kind is KINDS.NAMESPACE or not isinstance(metadata, dict) or before.keys() != changed.keys():
        return None
    if any(value is not before[name] for name, value in changed.items() if name not in _TYPE_AND_METADATA):
        return None
    try:
        convert_view(metadata, ObjectMeta)
    except ConversionError:
        return None
    completed = {**changed, "metadata": copy_document(kept_part(metadata, ObjectMeta))}
    write_as_go(completed["metadata"], ObjectMeta)
    return completed


def _with_type(patched: Raw, before: Raw) -> Raw:
    """Return the document with apiVersion and kind, for which those of the object before stand in."""
    absent = {name: before[name] for name in ("apiVersion", "kind") if not patched.get(name)}
    return {**patched, **absent} if absent else patched


def _changed_type(patched: Raw, before: Raw) -> str:
    """Return why a document of another kind or version is not accepted."""
    version, kind = patched["apiVersion"], patched["kind"]
    if kind_of(patched) is None and kind_of(before) is not None:
        return unregistered(str(version), str(kind))
    return _undecodable(patched) or f"failed to convert object: {version}, Kind={kind} is of another type"


def _undecodable(document: Raw) -> str:
    """Return the complaint of Go's decoder about a document; empty if it accepts the document, and for custom kinds."""
    kind = kind_of(document)
    if kind is None:
        return ""
    try:
        convert_view(document, kind.view)
    except ConversionError as error:
        return error.problems[0].reason
    return ""


def _as_converter(reason: str) -> str:
    """Return what the converter of unstructured objects says where the decoder has this complaint."""
    if reason.startswith(_BASE64):
        return f"error decoding from json: {reason}"
    text = _TEXT.fullmatch(reason)
    if text is not None:
        return f"json: cannot unmarshal {text[1]} into Go value of type string"
    number = _NUMBER.fullmatch(reason)
    if number is None:
        return reason
    given = "int64" if number[1].lstrip("-").isdigit() else "float64"
    return f"cannot convert {given} to {number[2]}"
