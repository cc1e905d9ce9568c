"""Create an object; a generated name that is taken is generated again.

Policies and webhooks change an object once, and look at it again under each name. Kubernetes: the create handler and
the generic registry's Create.
"""

from collections.abc import Sequence
from typing import NamedTuple

from moorage.admit.attributes import CREATE, Write
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.raw import Raw
from moorage.model.api_error import already_exists, bad_request, failure
from moorage.model.kinds import KINDS, Kind
from moorage.serve.access.certificates import check_subject, with_requester
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.admission.service_claims import claims_of
from moorage.serve.requests.long_work import next_turn
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import cached_view, key_of
from moorage.serve.templates.pods import Likeness
from moorage.serve.verbs.extended_writes import Begun, carried_out, changing_new, checking_new, remarked
from moorage.serve.verbs.registry import Registry, WriteResult, as_read
from moorage.serve.verbs.weight import MADE_TOGETHER, document_takes_long, pod_takes_long
from moorage.serve.verbs.written_metadata import check_namespace, name_owners_once
from moorage.store.protocol import ClaimTaken, KeyExists, Stored

_NAMES_TRIED = 8
_HAS_REVISION = "resourceVersion should not be set on objects to be created"
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
    check_namespace(kind, namespace, raw["metadata"])
    if kind is KINDS.POD and like is None and not is_owned:
        like = api.templates.likeness(raw, namespace or "default", options.manager)
    new = _New(kind, namespace, raw, options, is_owned, like)
    if options.is_internal or not api.admission.is_extended(CREATE, kind, "", options.version):
        return await _create(api, new, warnings, takes_long=takes_long)
    if like is not None and options.restricted is None and api.knows_answer(like):
        return await _create(api, new, warnings, takes_long=takes_long, is_known=True)
    return await _create_asking(api, new, warnings, takes_long=takes_long)


class _New(NamedTuple):
    """An object to be created, whose namespace is that of the path. `like` is what its template is recognised by."""

    kind: Kind
    namespace: str
    raw: Raw
    options: WriteOptions
    is_owned: bool
    like: Likeness | None


async def _create_asking(api: Registry, new: _New, warnings: Sequence[str], *, takes_long: bool) -> WriteResult:
    """Create an object that policies or webhooks may be about."""
    name = new.raw["metadata"].get("name") or ""
    extended = extended_request(api.admission, CREATE, new.kind, new.namespace, name, "", new.options)
    if extended is None:
        return await _create(api, new, warnings, takes_long=takes_long)
    extended.warn(warnings)
    return await remarked(api, extended, _create(api, new, (), takes_long=takes_long, extended=extended))


async def _create(
    api: Registry,
    new: _New,
    warnings: Sequence[str],
    *,
    takes_long: bool,
    is_known: bool = False,
    extended: ExtendedRequest | None = None,
) -> WriteResult:
    """Create an object; `is_known`: policies have answered for all of its template."""
    kind, namespace, raw, options, is_owned, like = new
    metadata = raw["metadata"]
    if metadata.get("resourceVersion"):
        name = metadata.get("name") or ""
        api.admission.restrict(options.restricted, Write(CREATE, kind, namespace, name, new=raw))
        raise bad_request(_HAS_REVISION)
    if options.requester is not None:
        raw["spec"] = with_requester(raw.get("spec"), options.requester)
    if options.guard is not None and extended is None:
        if takes_long:
            await api.long_work.run(options.guard.check_new, kind, namespace, raw)
        else:
            options.guard.check_new(kind, namespace, raw)
    if api.is_busy:
        has_template = like is not None and api.templates.knows(like)
        if not has_template and not takes_long:
            takes_long = document_takes_long(kind, raw) if like is None else pod_takes_long(kind, raw, like)
        takes_long = takes_long and not has_template
    owners = await api.long_work.run(name_owners_once, metadata) if takes_long else name_owners_once(metadata)
    manager = None if is_owned else options.manager
    changed: Begun | None = None
    generation = api.templates.generation if takes_long or extended is not None else None
    if extended is not None:
        extended.warn(owners)
        steps = changing_new(api, kind, raw, namespace, manager, options, extended)
        changed = await carried_out(api, steps, takes_long=takes_long)
        metadata = changed.object["metadata"]
    else:
        warnings = (*warnings, *owners)
    is_generated = not metadata.get("name") and metadata.get("generateName")
    is_charged = namespace not in api.quotas.accounts
    names_left, tries_left = _NAMES_TRIED if is_generated else 1, _TRIES
    while names_left:
        template = None
        if extended is not None and changed is not None:
            is_plain = not extended.warnings
            last = checking_new(api, changed, namespace, options, extended)
            admitted = await carried_out(api, last, takes_long=takes_long)
            if changed.object["metadata"].get("resourceVersion"):
                raise failure(500, "", _HAS_REVISION)
            if like is not None and is_plain and api.templates.generation == generation:
                api.learn_answer(like, raw, changed.object, admitted, extended.remarks)
        elif is_known and like is not None:
            known = api.admit_known(raw, namespace, like)
            if known is None:  # not under this name, or not any more
                return await _create_asking(api, new, warnings, takes_long=takes_long)
            admitted, template = known
        elif takes_long:
            admitted = await api.long_work.run(api.admit_alone, kind, raw, namespace, manager, options.restricted)
            if like is not None and generation == api.templates.generation and options.restricted is None:
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
        if kind.is_converted:
            value = await api.in_stored_version(kind, value)
        if options.dry_run:
            await api.catch_up()
            if api.store.peek(key) is None:
                tried = Stored(key, value, 0, 0, admitted.view)
                return WriteResult(await as_read(api, kind, tried), all_warnings, created=True)
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
            await api.wait_for_holder(taken, tries_left)
            continue
        await api.wrote(kind)
        if kind.is_converted:
            stored = await as_read(api, kind, stored)
        return WriteResult(stored, all_warnings, created=True)
    if is_generated:
        why = "the server was not able to generate a unique name for the object"
        raise failure(409, "AlreadyExists", f'{kind.plural} "{name}" already exists, {why}')
    raise already_exists(kind, name)
