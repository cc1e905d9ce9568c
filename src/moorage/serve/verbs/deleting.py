"""Delete objects, at once or when their grace period, finalizers and dependents allow; finalize an empty namespace.

The rules of each kind are in `moorage.admit.subresources.deletion`. Kubernetes: the generic registry's Delete and
DeleteCollection, the finalize subresource of namespaces.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from moorage.admit.attributes import DELETE, UPDATE, Write
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Steps
from moorage.admit.not_admitted import check_types
from moorage.admit.plugins.priority import check_priority_class_deletion
from moorage.admit.plugins.standard import check_namespace_deletion
from moorage.admit.raw import Raw, copy_document
from moorage.admit.requester import Requester
from moorage.admit.subresources.deletion import Deletion, check_preconditions, decide_deletion
from moorage.admit.subresources.status_update import finalize_namespace
from moorage.model.api_error import ApiError, not_found, stale
from moorage.model.kinds import KINDS, CustomKind, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.request import DeleteOptions
from moorage.serve.admission.extended_requests import complete_options, extended_deletion, extended_request
from moorage.serve.admission.service_claims import claims_held
from moorage.serve.requests.long_work import in_slices, is_large
from moorage.serve.requests.options import ListOptions, WriteOptions
from moorage.serve.resources.objects import (
    cached_view,
    decode,
    decode_as_stored,
    join_value,
    key_of,
    name_in,
    namespace_in,
    split_value,
)
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import Changed, extended_change
from moorage.serve.verbs.extended_writes import carried_out, remarked
from moorage.serve.verbs.reading import Page, list_page
from moorage.serve.verbs.registry import Registry, WriteResult, admitted, as_read
from moorage.serve.verbs.written_metadata import check_name, expected_revision
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_TRIES = 100
_PLAIN = WriteOptions()
#: Kinds whose deletion depends on more than their metadata, or which are not stored as they are read.
_READ_WHOLE = frozenset(
    (KINDS.NAMESPACE, KINDS.CUSTOM_RESOURCE_DEFINITION, KINDS.EVENT, KINDS.REPORTED_EVENT, KINDS.CONTROLLER_REVISION)
)

#: Looks at an object before it is deleted, and raises ApiError if it must not be.
Check = Callable[[Raw], None]


async def delete(api: Registry, ref: Ref, options: DeleteOptions, asking: WriteOptions = _PLAIN) -> WriteResult:
    """Delete an object. Raises ApiError: 404, 409 for failed preconditions, 403 for objects that may not be deleted.

    `asking` says who deletes it.
    """
    if ref.kind is KINDS.NAMESPACE:
        check_namespace_deletion(ref.name)
    elif ref.kind is KINDS.PRIORITY_CLASS:
        check_priority_class_deletion(ref.name)
    extended = extended_deletion(api.admission, ref, options, asking)
    deletion = _delete(api, ref, options, _restriction(api, asking.restricted, ref), extended)
    if extended is None:
        return await deletion
    return (await remarked(api, extended, deletion))._replace(warnings=extended.warnings)


async def delete_unasked(api: Registry, ref: Ref, options: DeleteOptions) -> WriteResult:
    """Delete an object about which admission was asked already, or is not asked."""
    return await _delete(api, ref, options, None, None)


def _restriction(api: Registry, restricted: Requester | None, ref: Ref) -> Check | None:
    """Return what looks at an object before a requester deletes it, if plugins decide by the requester."""
    if restricted is None:
        return None
    kind, namespace, name = ref
    return lambda old: api.admission.restrict(restricted, Write(DELETE, kind, namespace, name, old=old))


async def _delete(
    api: Registry, ref: Ref, options: DeleteOptions, check: Check | None, extended: ExtendedRequest | None
) -> WriteResult:
    kind, namespace, name = ref
    key = key_of(kind, namespace, name)
    if options.dryRun:
        await api.catch_up()
    stored = await api.store.get(key)
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(kind, name)
        if check is None and extended is None and api.values.are_json and _is_plain(kind, stored):
            deletion, value = _decided_by_metadata(api, kind, stored, options)
        else:
            takes_long = api.is_busy and is_large(stored.value)
            read = stored if extended is None else await as_read(api, kind, stored)
            steps = _decided(api, kind, stored, read, options, check, extended)
            deletion, value = await carried_out(api, steps, takes_long=takes_long)
        try:
            result = await _carry_out(api, kind, stored, deletion, value, bool(options.dryRun))
            return result if result.deleted else result._replace(stored=await as_read(api, kind, result.stored))
        except RevisionMismatch as mismatch:
            stored = mismatch.found
        except KeyMissing:
            raise not_found(kind, name) from None
    raise stale(kind, name)


def _is_plain(kind: Kind, stored: Stored) -> bool:
    """Return whether a deletion reads nothing of an object but its metadata and, of a pod, its view."""
    return type(stored.view) is kind.view and kind not in _READ_WHOLE and not isinstance(kind, CustomKind)


def _decided_by_metadata(
    api: Registry, kind: Kind, stored: Stored, options: DeleteOptions
) -> tuple[Deletion, bytes | None]:
    """Decide as `_decided` does, and decode nothing but the metadata: pods are deleted by the thousand."""
    metadata, rest = split_value(stored)
    document: Raw = {"metadata": metadata}
    if kind is KINDS.POD:
        spec = stored.view.spec
        document["spec"] = {
            "nodeName": spec.nodeName,
            "terminationGracePeriodSeconds": spec.terminationGracePeriodSeconds,
        }
        document["status"] = {"phase": stored.view.status.phase}
    now, revision = datetime.fromtimestamp(int(api.clock()), UTC), str(stored.revision)
    deletion = decide_deletion(kind, document, options, now, revision, collects_garbage=api.collects_garbage)
    is_written = deletion.changed and not deletion.removes
    return deletion, join_value(deletion.object["metadata"], rest) if is_written else None


def _decided(
    api: Registry,
    kind: Kind,
    stored: Stored,
    read: Stored,
    options: DeleteOptions,
    check: Check | None,
    extended: ExtendedRequest | None,
) -> Steps[tuple[Deletion, Any]]:
    """Return what the deletion of an object means, and the value to store if it is changed first.

    `read` is the object in the version in which policies and webhooks see it.
    """
    # What a webhook would have to convert can be deleted without it.
    document = decode_as_stored(kind, stored) if kind.is_converted else api.values.decode(kind, stored)
    if check is not None:
        check_preconditions(kind, document, options.preconditions, str(stored.revision))
        check(document)
    deletion = decide_deletion(
        kind,
        api.marked_for_deletion(kind, document),
        options,
        datetime.fromtimestamp(int(api.clock()), UTC),
        str(stored.revision),
        collects_garbage=api.collects_garbage,
    )
    if extended is not None and (deletion.changed or deletion.removes):
        if extended.attributes.name:  # not those of a collection, which are the same for all of its objects
            complete_options(extended.attributes, kind, document, deletion)
        yield from extended.deletion(api.values.decode(kind, read) if kind.is_converted else document)
    is_written = deletion.changed and not deletion.removes
    return deletion, api.values.encode(kind, deletion.object) if is_written else None


async def _carry_out(
    api: Registry, kind: Kind, stored: Stored, deletion: Deletion, value: Any, dry_run: bool
) -> WriteResult:
    if not deletion.removes:
        if not deletion.changed:  # it is being deleted already, and this does not hasten it
            newest = await api.newest(stored)
            if newest is None:
                raise KeyMissing(stored.key)
            if newest.revision != stored.revision:
                raise RevisionMismatch(newest)
            return WriteResult(stored)
        view = cached_view(kind, _view_of(kind, stored, deletion))
        if dry_run:
            return WriteResult(stored._replace(value=value, view=view))
        written = await api.store.update(stored.key, value, stored.revision, view)
        await api.wrote(kind)
        return WriteResult(written)
    if not dry_run:
        gone = await api.store.delete(stored.key, stored.revision, released=claims_held(kind, stored))
        await api.wrote(kind)
        stored = stored._replace(revision=gone.revision)
    return WriteResult(stored, deleted=True)


def _view_of(kind: Kind, stored: Stored, deletion: Deletion) -> Any:
    """Return the view of an object that is marked for deletion, which changes nothing but its metadata."""
    if kind is KINDS.NAMESPACE or type(stored.view) is not kind.view:
        return convert_view(deletion.object, kind.view)
    metadata = {name: value for name, value in deletion.object["metadata"].items() if name != "managedFields"}
    return msgspec.structs.replace(stored.view, metadata=convert_view(metadata, ObjectMeta))


async def delete_collection(
    api: Api, kind: Kind, namespace: str, which: ListOptions, options: DeleteOptions, asking: WriteOptions | None = None
) -> tuple[Page, Sequence[str]]:
    """Delete all selected objects, and return them, and warnings; those that are gone meanwhile are skipped.

    Plugins, policies and webhooks see no names, as in Kubernetes, so that plugins do not find the pods of a node.
    Without anyone who asks, the server cleans up, which it is not refused.
    """
    page = await list_page(api, kind, namespace, which)
    if asking is None:
        await _delete_all(api, kind, page, options, None, None)
        return page, ()
    ref = Ref(kind, namespace, "")
    check = _restriction(api, asking.restricted, ref)
    extended = extended_deletion(api.admission, ref, options, asking)
    if extended is None:
        await _delete_all(api, kind, page, options, check, None)
        return page, ()
    await remarked(api, extended, _delete_all(api, kind, page, options, check, extended))
    return page, extended.warnings


async def _delete_all(
    api: Api, kind: Kind, page: Page, options: DeleteOptions, check: Check | None, extended: ExtendedRequest | None
) -> None:
    async for _, item in in_slices(page.items):
        ref = Ref(kind, namespace_in(kind, item.key), name_in(item.key))
        try:
            await _delete(api, ref, options, check, extended)
        except ApiError as error:
            if error.code != 404:
                raise


def deleted_status(kind: Kind, stored: Stored) -> Raw | None:
    """The Status that answers a deletion; None if the object itself does."""
    if kind.returns_deleted:
        return None
    uid = decode(kind, stored)["metadata"].get("uid", "")
    details = {"name": name_in(stored.key), "group": kind.group, "kind": kind.plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {name: value for name, value in details.items() if value},
    }


async def finalize(api: Registry, name: str, raw: Raw, options: WriteOptions = _PLAIN) -> tuple[Raw, Sequence[str]]:
    """Replace the finalizers of a namespace; return it, and warnings. Raises ApiError."""
    kind = KINDS.NAMESPACE
    check_types(raw, kind)
    check_name(raw["metadata"], name)
    expected = expected_revision(kind, name, raw)
    extended = extended_request(api.admission, UPDATE, kind, "", name, "finalize", options)

    def make(old: Raw, old_view: Any) -> Steps[Changed]:
        new = copy_document(raw)
        if extended is None:
            return Changed(admitted(finalize_namespace(new, old, api.gates)), expected)
        new = yield from extended.change(new, old)
        result = finalize_namespace(new, old, api.gates)
        return Changed(admitted((yield from extended.checked(result, old))), expected)

    outcome = await extended_change(api, Ref(kind, "", name), make, extended, dry_run=options.dry_run)
    return api.values.decode(kind, outcome.stored), outcome.warnings
