"""Delete objects, at once or when their grace period, finalizers and dependents allow; finalize an empty namespace.

The rules of each kind are in `moorage.admit.subresources.deletion`. Kubernetes: the generic registry's Delete and
DeleteCollection, the finalize subresource of namespaces.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from moorage.admit.attributes import DELETE, Write
from moorage.admit.not_admitted import check_types
from moorage.admit.plugins.priority import check_priority_class_deletion
from moorage.admit.plugins.standard import check_namespace_deletion
from moorage.admit.raw import Raw, copy_document
from moorage.admit.requester import Requester
from moorage.admit.subresources.deletion import Deletion, check_preconditions, decide_deletion
from moorage.admit.subresources.status_update import finalize_namespace
from moorage.model.api_error import ApiError, not_found, stale
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.request import DeleteOptions
from moorage.serve.admission.service_claims import claims_held
from moorage.serve.requests.long_work import in_slices, is_large
from moorage.serve.requests.options import ListOptions
from moorage.serve.resources.objects import cached_view, decode, key_of, name_in, namespace_in
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import Changed, change, check_name, expected_revision
from moorage.serve.verbs.reading import Page, list_page
from moorage.serve.verbs.registry import Registry, WriteResult, admitted
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_TRIES = 100

#: Looks at an object before it is deleted, and raises ApiError if it must not be.
Check = Callable[[Raw], None]


async def delete(api: Registry, ref: Ref, options: DeleteOptions, restricted: Requester | None = None) -> WriteResult:
    """Delete an object. Raises ApiError: 404, 409 for failed preconditions, 403 for objects that may not be deleted."""
    if ref.kind is KINDS.NAMESPACE:
        check_namespace_deletion(ref.name)
    elif ref.kind is KINDS.PRIORITY_CLASS:
        check_priority_class_deletion(ref.name)
    return await _delete(api, ref, options, _restriction(api, restricted, ref))


def _restriction(api: Registry, restricted: Requester | None, ref: Ref) -> Check | None:
    """Return what looks at an object before a requester deletes it, if plugins decide by the requester."""
    if restricted is None:
        return None
    kind, namespace, name = ref
    return lambda old: api.admission.restrict(restricted, Write(DELETE, kind, namespace, name, old=old))


async def _delete(api: Registry, ref: Ref, options: DeleteOptions, check: Check | None) -> WriteResult:
    kind, namespace, name = ref
    key = key_of(kind, namespace, name)
    if options.dryRun:
        await api.catch_up()
    stored = await api.store.get(key)
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(kind, name)
        if api.is_busy and is_large(stored.value):
            deletion, value = await api.long_work.run(_decided, api, kind, stored, options, check)
        else:
            deletion, value = _decided(api, kind, stored, options, check)
        try:
            return await _carry_out(api, kind, stored, deletion, value, bool(options.dryRun))
        except RevisionMismatch as mismatch:
            stored = mismatch.found
        except KeyMissing:
            raise not_found(kind, name) from None
    raise stale(kind, name)


def _decided(
    api: Registry, kind: Kind, stored: Stored, options: DeleteOptions, check: Check | None
) -> tuple[Deletion, Any]:
    """Return what the deletion of an object means, and the value to store if it is changed first."""
    document = api.values.decode(kind, stored)
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
        view = cached_view(kind, convert_view(deletion.object, kind.view))
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


async def delete_collection(
    api: Api,
    kind: Kind,
    namespace: str,
    which: ListOptions,
    options: DeleteOptions,
    restricted: Requester | None = None,
) -> Page:
    """Delete all selected objects, and return them; those that are gone meanwhile are skipped.

    Plugins that decide by the requester see no names, as in Kubernetes, so that they do not find the pods of a node.
    """
    page = await list_page(api, kind, namespace, which)
    check = _restriction(api, restricted, Ref(kind, namespace, ""))
    async for _, item in in_slices(page.items):
        where = namespace_in(kind, item.key)
        try:
            await _delete(api, Ref(kind, where, name_in(item.key)), options, check)
        except ApiError as error:
            if error.code != 404:
                raise
    return page


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


async def finalize(api: Registry, name: str, raw: Raw, *, dry_run: bool = False) -> Raw:
    check_types(raw, KINDS.NAMESPACE)
    check_name(raw["metadata"], name)
    expected = expected_revision(KINDS.NAMESPACE, name, raw)

    def make(old: Raw, old_view: Any) -> Changed:
        return Changed(admitted(finalize_namespace(copy_document(raw), old, api.gates)), expected)

    outcome = await change(api, Ref(KINDS.NAMESPACE, "", name), make, dry_run=dry_run)
    return api.values.decode(KINDS.NAMESPACE, outcome.stored)
