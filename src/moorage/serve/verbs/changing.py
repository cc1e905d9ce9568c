"""Change or replace an object, with retries on conflicts.

An object that another client changed meanwhile is read and changed again, unless the caller expects one revision. A
change that changes nothing is not written. An object whose last finalizer is removed while it is being deleted is
deleted. Kubernetes: GuaranteedUpdate and the generic registry's Update.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.raw import Raw, copy_document
from moorage.admit.subresources.deletion import is_finalized
from moorage.model.api_error import ApiError, bad_request, conflict, failure, not_found, stale
from moorage.model.go.quoting import go_json
from moorage.model.kinds import Kind, Ref
from moorage.serve.api import Api, WriteResult
from moorage.serve.apply.managed_fields import keep_times
from moorage.serve.options import WriteOptions
from moorage.serve.resources.objects import cached_view, decode, encode, key_of
from moorage.serve.verbs.creating import check_namespace, create, has_much_cel, name_owners_once
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_TRIES = 100


class Changed(NamedTuple):
    """The changed object, admitted. `expected` is the only revision that it may replace, or None."""

    admitted: Admitted
    expected: int | None = None
    warnings: Sequence[str] = ()


#: From the old document and its view, if there is one in memory, to the new document.
Change = Callable[[Raw, Any], Changed]


async def change(api: Api, ref: Ref, make: Change, *, dry_run: bool = False, takes_long: bool = False) -> WriteResult:
    """Change an object. `make` gets a copy with the resourceVersion in it, and may be called several times.

    If it takes long, the server answers other clients meanwhile.
    """
    kind, namespace, name = ref
    key = key_of(kind, namespace, name)
    stored = await api.store.get(key)
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(kind, name)
        old = decode(kind, stored)
        changed = await asyncio.to_thread(make, old, stored.view) if takes_long else make(old, stored.view)
        if changed.expected not in (None, stored.revision):
            raise stale(kind, name)
        value = encode(kind, changed.admitted.object)
        warnings = (*changed.warnings, *changed.admitted.warnings)
        if value == stored.value:
            return WriteResult(stored, warnings)
        is_over = is_finalized(kind, changed.admitted.object, old)
        if dry_run:
            return WriteResult(stored._replace(value=value, view=changed.admitted.view), warnings)
        try:
            if is_over:
                gone = await api.store.delete(key, stored.revision)
                last = Stored(key, value, gone.revision, stored.created, changed.admitted.view)
                api.directory.forget(kind, stored)
                return WriteResult(last, warnings, deleted=True)
            written = await api.store.update(key, value, stored.revision, cached_view(kind, changed.admitted.view))
        except RevisionMismatch as mismatch:
            if changed.expected is not None:
                raise stale(kind, name) from None
            stored = mismatch.found
            continue
        except KeyMissing:
            raise not_found(kind, name) from None
        api.directory.learn(kind, written)
        return WriteResult(written, warnings)
    raise stale(kind, name)


async def replace(
    api: Api, ref: Ref, raw: Raw, options: WriteOptions, subresource: str = "", warnings: Sequence[str] = ()
) -> WriteResult:
    """PUT a whole document. Without a resourceVersion it replaces any."""
    kind, namespace, name = ref
    metadata = raw["metadata"]
    check_namespace(kind, namespace, metadata)
    check_name(metadata, name)
    is_there = subresource or await api.store.get(key_of(kind, namespace, name)) is not None
    if not is_there and kind.creates_on_update:
        refuse_unknown_uid(kind, name, metadata)
        metadata.pop("resourceVersion", None)
        return await create(api, kind, namespace, raw, options, warnings)
    warnings = (*warnings, *name_owners_once(metadata))
    expected = expected_revision(kind, name, raw)
    if expected is None and not subresource and not kind.unconditional_update:
        raise _revision_required(kind, name)

    def make(old: Raw, old_view: Any) -> Changed:
        changed = admit_change(api, ref, raw, old, expected, options.manager, subresource, old_view)
        return changed._replace(warnings=warnings)

    takes_long = not subresource and has_much_cel(kind, raw)
    return await change(api, ref, make, dry_run=options.dry_run, takes_long=takes_long)


def check_name(metadata: Raw, name: str) -> None:
    """Raise ApiError 400 unless the document has the name of the URL."""
    given = metadata.get("name")
    if not given:
        raise bad_request(f"the name of the object ({name} based on URL) was undeterminable: name must be provided")
    if given != name:
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({name})")


def refuse_unknown_uid(kind: Kind, name: str, metadata: Raw) -> None:
    """Raise ApiError 409 for a document with a UID, which must not create another object."""
    uid = metadata.get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(kind, name, why)


def admit_change(
    api: Api, ref: Ref, new: Raw, old: Raw, expected: int | None, manager: str | None, subresource: str, old_view: Any
) -> Changed:
    """Admit the new document in the place of the old one. Raises ApiError.

    Without a manager the document has its managedFields already.
    """
    kind, _, name = ref
    if str(expected or "") not in ("", old["metadata"]["resourceVersion"]):
        raise stale(kind, name)  # before the document is checked, which may be wrong for another reason
    uid, old_uid = new["metadata"].get("uid"), old["metadata"].get("uid")
    if uid and uid != old_uid:
        raise conflict(kind, name, f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old_uid}")
    # Admission completes the document in place, but of a report only the metadata.
    new = {**new, "metadata": dict(new["metadata"])} if subresource == "status" else copy_document(new)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    admitted = api.admit_changed(kind, new, old, manager, subresource, old_view)
    admitted = msgspec.structs.replace(admitted, object=keep_times(admitted.object, old))
    if admitted.object == old:
        # Equal, though perhaps in another order: what is stored stays as it is, byte for byte.
        return Changed(Admitted(old, admitted.view, admitted.warnings), expected)
    return Changed(admitted, expected)


def expected_revision(kind: Kind, name: str, raw: Raw) -> int | None:
    given = raw["metadata"].get("resourceVersion")
    if given in (None, "", "0"):
        return None
    if not isinstance(given, str) or not given.isascii() or not given.isdigit() or len(given) > 20:
        raise bad_request(f"metadata.resourceVersion: Invalid value: {go_json(given)}: must be a decimal number")
    return int(given)


def _revision_required(kind: Kind, name: str) -> ApiError:
    text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    causes = [{"reason": "FieldValueInvalid", "message": text.partition(": ")[2], "field": "metadata.resourceVersion"}]
    resource = f"{kind.name}.{kind.group}" if kind.group else kind.name
    details = {"name": name, "group": kind.group, "kind": kind.name, "causes": causes}
    return failure(422, "Invalid", f'{resource} "{name}" is invalid: {text}', details)
