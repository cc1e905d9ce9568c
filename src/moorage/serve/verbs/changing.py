"""Create, change or replace an object.

A generated name that is taken is generated again. An object that another client changed meanwhile is read and changed
again, unless the caller expects one revision. A change that changes nothing is not written. An object whose last
finalizer is removed while it is being deleted is deleted. Kubernetes: the create handler, GuaranteedUpdate and the
generic registry's Create and Update.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.admission import Admitted
from moorage.admit.attributes import CREATE, UPDATE, Write
from moorage.admit.kinds.devices.claim_rights import AuthorizeChange, status_check
from moorage.admit.raw import Raw, copy_document
from moorage.admit.subresources.deletion import is_finalized
from moorage.custom.objects.correlation import same_values
from moorage.model.api_error import (
    ApiError,
    already_exists,
    bad_request,
    conflict,
    failure,
    internal,
    not_found,
    stale,
)
from moorage.model.kinds import KINDS, CustomKind, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.serve.access.certificates import check_subject, with_requester
from moorage.serve.admission.service_claims import claims_held, claims_of
from moorage.serve.apply.managed_fields import keep_times
from moorage.serve.requests.long_work import next_turn
from moorage.serve.requests.options import WriteOptions, revision_complaint
from moorage.serve.resources.objects import cached_view, key_of
from moorage.serve.templates.pods import Likeness
from moorage.serve.verbs.registry import Registry, WriteResult
from moorage.serve.verbs.weight import MADE_TOGETHER, change_takes_long, document_takes_long, pod_takes_long
from moorage.store.protocol import ClaimTaken, KeyExists, KeyMissing, RevisionMismatch, Stored

_WARNING = (
    ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may "
    "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
)


_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def name_owners_once(metadata: Raw, *, is_patch: bool = False) -> list[str]:
    """Deduplicate in `metadata`, which is modified, though not its lists; return the warnings."""
    owners = metadata.get("ownerReferences")
    if not isinstance(owners, list) or len(owners) < 2:
        return []
    once: list[Any] = []
    repeated: list[str] = []
    seen: set[bytes] = set()
    for owner in owners:
        text = _encode_sorted(owner)
        if text in seen and isinstance(owner, dict):
            repeated.append(str(owner.get("uid") or ""))
        else:
            seen.add(text)
            once.append(owner)
    if not repeated:
        return []
    metadata["ownerReferences"] = once
    when = " after mutating admission happens" if is_patch else ""
    return [_WARNING.format(when=when, uids=", ".join(repeated))]


_NAMES_TRIED = 8
_TRIES = 100


async def create(
    api: Registry,
    kind: Kind,
    namespace: str,
    raw: Raw,
    options: WriteOptions,
    warnings: Sequence[str] = (),
    *,
    is_owned: bool = False,
    like: Likeness | None = None,
    takes_long: bool = False,
) -> WriteResult:
    """Create an object from `raw`, which is modified. With `is_owned` it has its managedFields. Raises ApiError.

    If it takes long, the server answers other clients meanwhile.
    """
    if api.is_busy and kind.name in MADE_TOGETHER:
        await next_turn()
    metadata = raw["metadata"]
    check_namespace(kind, namespace, metadata)
    if metadata.get("resourceVersion"):
        name = metadata.get("name") or ""
        api.admission.restrict(options.restricted, Write(CREATE, kind, namespace, name, new=raw))
        raise bad_request("resourceVersion should not be set on objects to be created")
    if options.requester is not None:
        raw["spec"] = with_requester(raw.get("spec"), options.requester)
    if options.guard is not None:
        if takes_long:
            await api.long_work.run(options.guard.check_new, kind, namespace, raw)
        else:
            options.guard.check_new(kind, namespace, raw)
    if kind is KINDS.POD and like is None and not is_owned:
        like = api.templates.likeness(raw, namespace or "default", options.manager)
    if api.is_busy:
        is_known = like is not None and api.templates.knows(like)
        if not is_known and not takes_long:
            takes_long = document_takes_long(kind, raw) if like is None else pod_takes_long(kind, raw, like)
        takes_long = takes_long and not is_known
    owners = await api.long_work.run(name_owners_once, metadata) if takes_long else name_owners_once(metadata)
    warnings = (*warnings, *owners)
    is_generated = not metadata.get("name") and metadata.get("generateName")
    is_charged = namespace not in api.quotas.accounts
    names_left, tries_left = _NAMES_TRIED if is_generated else 1, _TRIES
    while names_left:
        manager = None if is_owned else options.manager
        if takes_long:
            generation = api.directory.generation
            admitted = await api.long_work.run(api.admit_alone, kind, raw, namespace, manager, options.restricted)
            template = None
            if like is not None and generation == api.directory.generation and options.restricted is None:
                api.templates.learn(like, admitted)
        else:
            admitted, template = api.admit_new(kind, raw, namespace, manager, like, options.restricted)
        name = admitted.object["metadata"]["name"]
        if kind.records_requester:
            check_subject(kind, name, admitted.view)
        key = key_of(kind, namespace, name)
        all_warnings = (*warnings, *admitted.warnings)
        if not is_charged:
            await api.quotas.charge(kind, namespace, name, admitted.view, dry_run=options.dry_run)
            is_charged = True
        if takes_long:
            value = await api.long_work.run(api.values.encode, kind, admitted.object)
        else:
            value = api.values.encode(kind, admitted.object, template)
        if options.dry_run:
            await api.catch_up()
            if api.store.peek(key) is None:
                return WriteResult(Stored(key, value, 0, 0, admitted.view), all_warnings, created=True)
            names_left -= 1
            continue
        claims = claims_of(kind, admitted.view)
        try:
            stored = await api.store.create(key, value, cached_view(kind, admitted.view), template, claims=claims)
        except KeyExists:
            names_left -= 1
            continue
        except ClaimTaken as taken:
            tries_left -= 1
            await wait_for_holder(api, taken, tries_left)
            continue
        await api.wrote(kind)
        return WriteResult(stored, all_warnings, created=True)
    if is_generated:
        why = "the server was not able to generate a unique name for the object"
        raise failure(409, "AlreadyExists", f'{kind.plural} "{name}" already exists, {why}')
    raise already_exists(kind, name)


async def wait_for_holder(api: Registry, taken: ClaimTaken, tries_left: int) -> None:
    """Wait until admission knows of the Service that has an address or port, to choose another or to refuse it."""
    if not tries_left:
        raise internal(f"{taken}, though no Service has it")
    await api.store.catch_up()


def check_namespace(kind: Kind, namespace: str, metadata: Raw) -> None:
    """Set the namespace of the path, or drop it if the kind has none. Raises ApiError if the document names another."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.get("namespace")
    if not namespace:
        raise bad_request("namespace is required for this request")
    if given and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    metadata["namespace"] = namespace


class Changed(NamedTuple):
    """The changed object, admitted. `expected` is the only revision that it may replace, or None."""

    admitted: Admitted
    expected: int | None = None
    warnings: Sequence[str] = ()
    subresource: str = ""


#: From the old document and its view, if there is one in memory, to the new document.
Change = Callable[[Raw, Any], Changed]


class _Made(NamedTuple):
    """What is left of a change: the value to store, and no documents, which take long to forget if they are large."""

    value: Any
    view: Any
    old_view: Any
    warnings: tuple[str, ...]
    expected: int | None
    subresource: str
    is_over: bool


def _made(api: Registry, ref: Ref, stored: Stored, make: Change, is_charged: bool) -> _Made:
    """Make a change of a stored object. Raises ApiError."""
    kind, old = ref.kind, api.values.decode(ref.kind, stored)
    changed = make(old, stored.view)
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
        if takes_long or (api.is_busy and change_takes_long(kind, stored)):
            made = await api.long_work.run(_made, api, ref, stored, make, not is_charged)
        else:
            made = _made(api, ref, stored, make, not is_charged)
        value, view, warnings = made.value, made.view, made.warnings
        if api.values.is_same(value, stored):
            newest = await api.newest(stored)
            if newest is not None and newest.revision == stored.revision:
                return WriteResult(stored, warnings)
            stored = newest
            continue
        if not is_charged:
            await api.quotas.charge(kind, namespace, name, view, made.old_view, made.subresource, dry_run=dry_run)
            is_charged = True
        if dry_run:
            return WriteResult(stored._replace(value=value, view=view), warnings)
        had, has = claims_held(kind, stored), claims_of(kind, view)
        try:
            if made.is_over:
                gone = await api.store.delete(key, stored.revision, released=had)
                last = Stored(key, value, gone.revision, stored.created, view)
                await api.wrote(kind)
                return WriteResult(last, warnings, deleted=True)
            written = await api.store.update(
                key,
                value,
                stored.revision,
                cached_view(kind, view),
                claims=[claim for claim in has if claim not in had],
                released=[claim for claim in had if claim not in has],
            )
        except ClaimTaken as taken:
            await wait_for_holder(api, taken, tries_left)
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
        return WriteResult(written, warnings)
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

    def make(old: Raw, old_view: Any) -> Changed:
        if expected is None and not kind.unconditional_update:
            raise revision_required(kind, name)
        if options.guard is not None:
            options.guard.check_change(ref, raw, old)
        api.admission.restrict(options.restricted, Write(UPDATE, kind, namespace, name, subresource, raw, old))
        check = status_check(kind, subresource, options.claim_writer, "update", api.gates)
        changed = admit_change(api, ref, raw, old, expected, options.manager, subresource, old_view, check)
        return changed._replace(warnings=warnings)

    takes_long = takes_long or (api.is_busy and not subresource and document_takes_long(kind, raw))
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
    api: Registry,
    ref: Ref,
    new: Raw,
    old: Raw,
    expected: int | None,
    manager: str | None,
    subresource: str,
    old_view: Any,
    authorize: AuthorizeChange | None = None,
) -> Changed:
    """Admit the new document in place of the old one; without a manager it has its managedFields. Raises ApiError."""
    kind, _, name = ref
    if str(expected or "") not in ("", old["metadata"]["resourceVersion"]):
        raise stale(kind, name)  # before the document is checked, which may be wrong for another reason
    uid, old_uid = new["metadata"].get("uid"), old["metadata"].get("uid")
    if uid and uid != old_uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old_uid}"
        raise conflict(kind, name, _storage_error(ref, why) if isinstance(kind, CustomKind) else why)
    # Admission completes the document in place, but of a report only the metadata.
    new = {**new, "metadata": dict(new["metadata"])} if subresource == "status" else copy_document(new)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    admitted = api.admit_changed(kind, new, old, manager, subresource, old_view, authorize)
    admitted = msgspec.structs.replace(admitted, object=keep_times(admitted.object, old))
    if admitted.object == old and (not isinstance(kind, CustomKind) or same_values(admitted.object, old)):
        # Equal, though perhaps in another order: what is stored stays as it is, byte for byte.
        return Changed(Admitted(old, admitted.view, admitted.warnings), expected)
    return Changed(admitted, expected, subresource=subresource)


def _storage_error(ref: Ref, why: str) -> str:
    """Return the refusal of Kubernetes' storage, which names the key of an object."""
    key = "/".join(part for part in (ref.kind.group, ref.kind.plural, ref.namespace, ref.name) if part)
    return f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"


def expected_revision(kind: Kind, name: str, raw: Raw) -> int | None:
    given = raw["metadata"].get("resourceVersion")
    if given in (None, "", "0"):
        return None
    if complaint := revision_complaint(given):
        raise bad_request(complaint)
    return int(given)


def revision_required(kind: Kind, name: str) -> ApiError:
    """Return the refusal of an update without resourceVersion; Kubernetes names the resource there, not the kind."""
    text = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    causes = [{"reason": "FieldValueInvalid", "message": text.partition(": ")[2], "field": "metadata.resourceVersion"}]
    resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
    details = {"name": name, "group": kind.group, "kind": kind.plural, "causes": causes}
    return failure(422, "Invalid", f'{resource} "{name}" is invalid: {text}', details)
