"""Change or replace an object.

An object that another client changed meanwhile is read and changed again, unless the caller expects one revision;
policies and webhooks are asked each time. A change that changes nothing is not written. An object whose last finalizer
is removed while it is being deleted is deleted. Kubernetes: GuaranteedUpdate and the generic registry's Update.
Differs: webhooks are not called for an object that is not the one that the caller expects.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.attributes import UPDATE, Write
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Steps
from moorage.admit.kinds.devices.claim_rights import AuthorizeChange, status_check
from moorage.admit.raw import Raw, copy_document
from moorage.admit.subresources.deletion import is_finalized
from moorage.custom.objects.correlation import same_values
from moorage.model.api_error import (
    conflict,
    not_found,
    stale,
)
from moorage.model.kinds import CustomKind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.serve.access.guard import WriteGuard
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.admission.service_claims import claims_held, claims_of
from moorage.serve.apply.managed_fields import keep_times
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import cached_view, key_of
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.extended_writes import carried_out, changing_part, remarked
from moorage.serve.verbs.registry import Registry, WriteResult, as_read
from moorage.serve.verbs.weight import change_takes_long, document_takes_long
from moorage.serve.verbs.written_metadata import (
    check_name,
    check_namespace,
    expected_revision,
    name_owners_once,
    refuse_unknown_uid,
    revision_required,
)
from moorage.store.protocol import ClaimTaken, KeyMissing, RevisionMismatch, Stored

_NAMES_TRIED = 8
_TRIES = 100


class Changed(NamedTuple):
    """The changed object, admitted. `expected` is the only revision that it may replace, or None."""

    admitted: Admitted
    expected: int | None = None
    warnings: Sequence[str] = ()
    subresource: str = ""


#: From the old document and its view, if there is one in memory, to the new document, in steps.
Change = Callable[[Raw, Any], Steps[Changed]]


class _Made(NamedTuple):
    """What is left of a change: the value to store, and no documents, which take long to forget if they are large."""

    value: Any
    view: Any
    old_view: Any
    warnings: tuple[str, ...]
    expected: int | None
    subresource: str
    is_over: bool


def _made(api: Registry, ref: Ref, stored: Stored, make: Change, is_charged: bool) -> Steps[_Made]:
    """Make a change of a stored object. Raises ApiError."""
    kind, old = ref.kind, api.values.decode(ref.kind, stored)
    changed = yield from make(old, stored.view)
    if changed.expected not in (None, stored.revision):
        raise stale(kind, ref.name)
    admitted = changed.admitted
    value, old_view = api.values.encode(kind, admitted.object), stored.view
    if old_view is None and is_charged:
        old_view = convert_view(old, kind.view)
    warnings = (*changed.warnings, *admitted.warnings)
    is_over = is_finalized(kind, admitted.object, old)
    return _Made(value, admitted.view, old_view, warnings, changed.expected, changed.subresource, is_over)


async def change(
    api: Registry, ref: Ref, make: Change, *, dry_run: bool = False, takes_long: bool = False
) -> WriteResult:
    """Change an object. `make` gets a copy with the resourceVersion in it, and may be called several times.

    If it takes long, the server answers other clients meanwhile.
    """
    kind, namespace, name = ref
    key = key_of(kind, namespace, name)
    if dry_run:
        await api.catch_up()  # no write will tell whether what is known is out of date
    stored = await api.store.get(key)
    is_charged = namespace not in api.quotas.accounts
    for tries_left in reversed(range(_TRIES)):
        if stored is None:
            raise not_found(kind, name)
        takes_long = takes_long or (api.is_busy and change_takes_long(kind, stored))
        read = await as_read(api, kind, stored) if kind.is_converted else stored
        made = await carried_out(api, _made(api, ref, read, make, not is_charged), takes_long=takes_long)
        value, view, warnings = made.value, made.view, made.warnings
        if kind.is_converted:
            value = await api.in_stored_version(kind, value)
        if api.values.is_same(value, stored):
            newest = await api.newest(stored)
            if newest is not None and newest.revision == stored.revision:
                return WriteResult(read, warnings)
            stored = newest
            continue
        if not is_charged:
            await api.quotas.charge(kind, namespace, name, view, made.old_view, made.subresource, dry_run=dry_run)
            is_charged = True
        if dry_run:
            tried = stored._replace(value=value, view=view, revision=0 if kind.is_converted else stored.revision)
            return WriteResult((await as_read(api, kind, tried))._replace(revision=stored.revision), warnings)
        had, has = claims_held(kind, stored), claims_of(kind, view)
        try:
            if made.is_over:
                gone = await api.store.delete(key, stored.revision, released=had)
                last = Stored(key, value, gone.revision, stored.created, view)
                await api.wrote(kind)
                return WriteResult(await as_read(api, kind, last), warnings, deleted=True)
            written = await api.store.update(
                key,
                value,
                stored.revision,
                cached_view(kind, view),
                claims=[claim for claim in has if claim not in had],
                released=[claim for claim in had if claim not in has],
            )
        except ClaimTaken as taken:
            await api.wait_for_holder(taken, tries_left)
            stored = api.store.peek(key)
            continue
        except RevisionMismatch as mismatch:
            if made.expected is not None:
                raise stale(kind, name) from None
            stored = mismatch.found
            continue
        except KeyMissing:
            raise not_found(kind, name) from None
        await api.wrote(kind)
        return WriteResult(await as_read(api, kind, written) if kind.is_converted else written, warnings)
    raise stale(kind, name)


async def replace(
    api: Registry,
    ref: Ref,
    raw: Raw,
    options: WriteOptions,
    subresource: str = "",
    warnings: Sequence[str] = (),
    *,
    takes_long: bool = False,
) -> WriteResult:
    """PUT a whole document. Without a resourceVersion it replaces any."""
    kind, namespace, name = ref
    metadata = raw["metadata"]
    check_namespace(kind, namespace, metadata)
    check_name(metadata, name)
    is_there = subresource or await api.store.get(key_of(kind, namespace, name)) is not None
    if not is_there:
        if not kind.creates_on_update:
            raise not_found(kind, name)
        refuse_unknown_uid(kind, name, metadata)
        metadata.pop("resourceVersion", None)
        return await create(api, kind, namespace, raw, options, warnings, takes_long=takes_long)
    owners = await api.long_work.run(name_owners_once, metadata) if takes_long else name_owners_once(metadata)
    warnings = (*warnings, *owners)
    expected = expected_revision(kind, name, raw)
    extended = extended_request(api.admission, UPDATE, kind, namespace, name, subresource, options)
    if extended is not None:
        extended.warn(warnings)
        warnings = ()

    def make(old: Raw, old_view: Any) -> Steps[Changed]:
        if expected is None and not kind.unconditional_update:
            raise revision_required(kind, name)
        if options.guard is not None and extended is None:
            options.guard.check_change(ref, raw, old)
        api.admission.restrict(options.restricted, Write(UPDATE, kind, namespace, name, subresource, raw, old))
        check = status_check(kind, subresource, options.claim_writer, "update", api.gates)
        how = Admitting(options.manager, subresource, check, options.guard, extended)
        changed = yield from admit_change(api, ref, raw, old, expected, old_view, how)
        return changed._replace(warnings=warnings)

    takes_long = takes_long or (api.is_busy and not subresource and document_takes_long(kind, raw))
    return await extended_change(api, ref, make, extended, dry_run=options.dry_run, takes_long=takes_long)


async def extended_change(
    api: Registry,
    ref: Ref,
    make: Change,
    extended: ExtendedRequest | None,
    *,
    dry_run: bool = False,
    takes_long: bool = False,
) -> WriteResult:
    """Change an object, of which policies and webhooks may have something to remark."""
    if extended is None:
        return await change(api, ref, make, dry_run=dry_run, takes_long=takes_long)
    return await remarked(api, extended, change(api, ref, make, dry_run=dry_run, takes_long=takes_long))


class Admitting(NamedTuple):
    """How a change is admitted: without a manager the new document has its managedFields already."""

    manager: str | None
    subresource: str = ""
    authorize: AuthorizeChange | None = None
    guard: WriteGuard | None = None
    extended: ExtendedRequest | None = None


def admit_change(
    api: Registry, ref: Ref, new: Raw, old: Raw, expected: int | None, old_view: Any, how: Admitting
) -> Steps[Changed]:
    """Admit the new document in place of the old one. Raises ApiError."""
    kind, _, name = ref
    manager, subresource, authorize, guard, extended = how
    if str(expected or "") not in ("", old["metadata"]["resourceVersion"]):
        raise stale(kind, name)  # before the document is checked, which may be wrong for another reason
    uid, old_uid = new["metadata"].get("uid"), old["metadata"].get("uid")
    if uid and uid != old_uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old_uid}"
        raise conflict(kind, name, _storage_error(ref, why) if isinstance(kind, CustomKind) else why)
    # Admission completes the document in place, but of a report only the metadata.
    new = {**new, "metadata": dict(new["metadata"])} if subresource == "status" else copy_document(new)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if extended is None:
        admitted = api.admit_changed(kind, new, old, manager, subresource, old_view, authorize)
    else:
        # Rights are looked at when policies and webhooks have changed the object.
        look = (lambda document: None) if guard is None else partial(_check_rights, guard, ref, old)
        admitted = yield from changing_part(
            api, kind, new, old, manager, subresource, old_view, authorize, extended, look
        )
    admitted = msgspec.structs.replace(admitted, object=keep_times(admitted.object, old))
    if admitted.object == old and (not isinstance(kind, CustomKind) or same_values(admitted.object, old)):
        # Equal, though perhaps in another order: what is stored stays as it is, byte for byte.
        return Changed(Admitted(old, admitted.view, admitted.warnings), expected)
    return Changed(admitted, expected, subresource=subresource)


def _check_rights(guard: WriteGuard, ref: Ref, old: Raw, new: Raw) -> None:
    guard.check_change(ref, new, old)


def _storage_error(ref: Ref, why: str) -> str:
    """Return the refusal of Kubernetes' storage, which names the key of an object."""
    key = "/".join(part for part in (ref.kind.group, ref.kind.plural, ref.namespace, ref.name) if part)
    return f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
