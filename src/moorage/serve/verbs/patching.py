"""Patch an object with one of four patch types; server-side apply also creates it.

Kubernetes: the patch handler.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.admit.attributes import UPDATE, Write
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Steps
from moorage.admit.kinds.devices.claim_rights import may_write_all, status_check
from moorage.admit.messages.rejections import invalid_status
from moorage.admit.raw import copy_document
from moorage.client.protocol import PatchType, Raw
from moorage.custom.objects.decoding import decode_request
from moorage.custom.objects.embedded import MalformedError
from moorage.model.api_error import ApiError, bad_request, failure, unsupported_media_type
from moorage.model.field_error import invalid
from moorage.model.go.quoting import go_quote
from moorage.model.go.type_meta import type_meta_complaint
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.patch.json_patch import apply_json_patch, apply_merge_patch, copies_values, unknown_operation_fields
from moorage.model.patch.patch_error import PatchError, go_value, not_decoded, refusal
from moorage.model.patch.strategic_merge import apply_strategic_merge
from moorage.model.schema.known_fields import MAX_STRICT_ERRORS, kept_part, unknown_fields
from moorage.model.schema.merge_schema import StructType, schema_of
from moorage.model.text.documents import DuplicateField
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.apply.managed_fields import apply_patch, check_to_apply
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.decoding import (
    check_custom_type,
    check_kind,
    decode_json,
    media_type,
    read_yaml,
    repeated_fields,
)
from moorage.serve.requests.long_work import is_large
from moorage.serve.requests.options import IGNORE, STRICT, TRUST, WriteOptions
from moorage.serve.resources.objects import cached_view, encode, key_of
from moorage.serve.templates.claim_names import ClaimNames, learn_names, read_claim_names, with_names
from moorage.serve.templates.claim_writes import claim_write, with_reservation
from moorage.serve.templates.repeated_writes import may_repeat, repeatable
from moorage.serve.verbs.changing import Admitting, Change, Changed, admit_change, change, extended_change
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.registry import Registry, WriteResult
from moorage.serve.verbs.weight import has_much_cel
from moorage.serve.verbs.written_metadata import (
    check_name,
    check_namespace,
    expected_revision,
    name_owners_once,
    refuse_unknown_uid,
    revision_required,
)
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

PATCHES = JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE, APPLY = tuple(patch_type.value for patch_type in PatchType)


_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class Patch(NamedTuple):
    """A patch as it was sent: its type, its document, what strict validation says of duplicate keys, if it is large."""

    patch_type: str
    document: Any
    duplicates: Sequence[str] = ()
    is_large: bool = False


def read_patch(body: bytes, content_type: str) -> Patch:
    patch_type = media_type(content_type)
    if patch_type not in PATCHES:
        raise unsupported_media_type(patch_type, ", ".join(PATCHES))
    if patch_type == APPLY:
        value = read_yaml(body)
        if not isinstance(value.raw, dict):
            raise bad_request(f"error decoding YAML: {not_decoded(value.raw)}")
        return Patch(patch_type, value.raw, [_set_already(found) for found in value.duplicates], is_large(body))
    document = decode_json(body)
    prefix = "json patch " if patch_type == JSON_PATCH else ""
    duplicates = [f"{prefix}{duplicate}" for duplicate in repeated_fields(body, document)]
    return Patch(patch_type, document, duplicates, is_large(body) or copies_values(document))


def _set_already(found: DuplicateField) -> str:
    return f"line {found.location.line}: key {go_quote(found.path.rpartition('.')[2])} already set in map"


async def patch_object(
    api: Registry, ref: Ref, patch: Patch, options: WriteOptions, subresource: str = ""
) -> WriteResult:
    """Patch an object. `patch` is not changed."""
    kind = ref.kind
    if type(kind) is ServedKind and patch.patch_type == STRATEGIC_MERGE:
        raise unsupported_media_type(patch.patch_type, ", ".join((JSON_PATCH, MERGE_PATCH, APPLY)))
    if patch.patch_type == APPLY:
        warnings = duplicate_warnings(patch.duplicates, options.validation)
        return await _apply(api, ref, patch, options, subresource, warnings)

    extended = extended_request(api.admission, UPDATE, kind, ref.namespace, ref.name, subresource, options)

    def make(old: Raw, old_view: Any) -> Steps[Changed]:
        new = patched(old, patch, schema_of(kind))
        new, warnings = check_patched(new, patch, kind, options.validation)
        if extended is not None:
            extended.warn(warnings)
            warnings = []
        try:
            changed = yield from _admit(api, ref, new, old, options, subresource, old_view, extended)
        except ApiError as error:
            raise error.warned(warnings) from None
        return changed._replace(warnings=[*warnings, *changed.warnings])

    if extended is not None:
        takes_long = patch.is_large or (api.is_busy and has_much_cel(kind, patch.document))
        return await extended_change(api, ref, make, extended, dry_run=options.dry_run, takes_long=takes_long)
    is_plain = api.values.are_json and not options.dry_run and not patch.duplicates and not patch.is_large
    if kind is KINDS.POD and subresource == "status" and patch.patch_type == STRATEGIC_MERGE and is_plain:
        claims = read_claim_names(patch.document)
        if claims is not None:
            return await _name_claims(api, ref, claims, options.manager, make)
    if kind is KINDS.RESOURCE_CLAIM and patch.patch_type == MERGE_PATCH and is_plain and _may_skip(ref, patch, options):
        return await _patch_claim(api, ref, patch.document, options.manager, subresource, make)
    if is_plain and may_repeat(kind, subresource, patch.patch_type) and _is_unchecked(api, ref, options):
        return await _repeat(api, ref, patch.document, options.manager, make)
    takes_long = patch.is_large or (api.is_busy and has_much_cel(kind, patch.document))
    return await change(api, ref, make, dry_run=options.dry_run, takes_long=takes_long)


def _is_unchecked(api: Registry, ref: Ref, options: WriteOptions) -> bool:
    """Return whether a write depends on nothing but the object: neither on who writes, nor on quotas."""
    is_trusted = options.validation == TRUST and options.restricted is None and options.guard is None
    return is_trusted and ref.namespace not in api.quotas.accounts


async def _repeat(api: Registry, ref: Ref, patch: Any, manager: str, make: Change) -> WriteResult:
    """Patch an object: at once if patches that differ by names, addresses and times only were written before."""
    stored = await api.store.get(key_of(ref.kind, ref.namespace, ref.name))
    write = repeatable(stored, ref.kind, patch, manager, api.now_text())
    if stored is None or write is None:
        return await change(api, ref, make)
    at_once = api.repeated_writes.at_once(write)
    if at_once is not None:
        try:
            return WriteResult(await api.store.update(stored.key, at_once[0], stored.revision, at_once[1]), ())
        except (RevisionMismatch, KeyMissing):
            return await change(api, ref, make)

    def learn(written: Stored, document: Raw) -> None:
        api.repeated_writes.learn(write, written.value, written.view, document)

    return await change(api, ref, _learning(ref.kind, make, stored, learn))


def _may_skip(ref: Ref, patch: Patch, options: WriteOptions) -> bool:
    """Return whether a writer may make any such change of a claim, so that its rights need not be looked at again."""
    changes = patch.document.get("status") if isinstance(patch.document, dict) else None
    return may_write_all(options.claim_writer, "patch", ref.namespace, changes)


async def _patch_claim(
    api: Registry, ref: Ref, patch: Any, manager: str, subresource: str, make: Change
) -> WriteResult:
    """Patch a claim: at once if the same was written into another claim of its template."""
    key, now = key_of(ref.kind, ref.namespace, ref.name), api.now_text()
    stored = await api.store.get(key)
    write = claim_write(stored, patch, manager, subresource, now)
    at_once = write.at_once() if write is not None else None
    if write is None and subresource == "status":
        at_once = with_reservation(stored, patch, manager, now)
    if stored is not None and at_once is not None:
        template = stored.template if not subresource else None
        try:
            return WriteResult(await api.store.update(key, at_once[0], stored.revision, at_once[1], template), ())
        except (RevisionMismatch, KeyMissing):
            pass
    if write is not None and stored is not None:
        make = _learning(ref.kind, make, stored, lambda written, _: write.learn(written))
    return await change(api, ref, make, takes_long=has_much_cel(ref.kind, patch))


async def _name_claims(api: Registry, ref: Ref, claims: ClaimNames, manager: str, make: Change) -> WriteResult:
    """Name generated claims in the status of a pod: at once if another pod of its template had it done."""
    key, now = key_of(ref.kind, ref.namespace, ref.name), api.now_text()
    stored = await api.store.get(key)
    template = stored.template if stored is not None else None
    if stored is None or template is None:
        return await change(api, ref, make)
    at_once = with_names(template, stored, claims, manager, now)
    if at_once is not None:
        try:
            written = await api.store.update(key, at_once[0], stored.revision, at_once[1])
        except (RevisionMismatch, KeyMissing):
            return await change(api, ref, make)
        return WriteResult(written, ())

    def learn(written: Stored, document: Raw) -> None:
        learn_names(template, stored, written, document, claims, manager, now)

    return await change(api, ref, _learning(ref.kind, make, stored, learn))


def _learning(kind: Kind, make: Change, stored: Stored, learn: Callable[[Stored, Raw], None]) -> Change:
    """Return a change that is remembered before it is written: others like it are on their way already."""

    def make_and_learn(old: Raw, old_view: Any) -> Steps[Changed]:
        changed = yield from make(old, old_view)
        document, view = changed.admitted.object, changed.admitted.view
        is_of_stored = old["metadata"]["resourceVersion"] == str(stored.revision)
        if is_of_stored and view is not None and not changed.warnings and not changed.admitted.warnings:
            learn(stored._replace(value=encode(kind, document), view=cached_view(kind, view)), document)
        return changed

    return make_and_learn


async def _apply(
    api: Registry, ref: Ref, sent: Patch, options: WriteOptions, subresource: str, warnings: Sequence[str]
) -> WriteResult:
    kind, namespace, name = ref
    takes_long = sent.is_large or (api.is_busy and has_much_cel(kind, sent.document))
    if type(kind) is ServedKind:
        if takes_long:
            await api.long_work.run(check_to_apply, sent.document, kind)
        else:
            check_to_apply(sent.document, kind)
        patch = {**sent.document, "metadata": dict(sent.document.get("metadata") or {})}
    else:
        patch = checked_to_apply(sent.document, kind, namespace, name)
    force = bool(options.force)
    if await api.store.get(key_of(kind, namespace, name)) is None and not subresource:
        refuse_unknown_uid(kind, name, patch["metadata"])

        def first() -> Raw:
            made = apply_patch(None, patch, kind, options.manager, force, subresource, api.now_text())
            if type(kind) is not ServedKind:
                return _kept(made, kind)
            made = {**made, "metadata": dict(made["metadata"])}
            check_namespace(kind, namespace, made["metadata"])
            check_name(made["metadata"], name)
            return made

        made = await api.long_work.run(first) if takes_long else first()
        try:
            return await create(api, kind, namespace, made, options, warnings, is_owned=True, takes_long=takes_long)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise  # else another client was faster, and this is a change of its object

    extended = extended_request(api.admission, UPDATE, kind, namespace, name, subresource, options)
    if extended is not None:
        extended.warn(warnings)
        warnings = ()

    def make(old: Raw, old_view: Any) -> Steps[Changed]:
        new = apply_patch(old, patch, kind, options.manager, force, subresource, api.now_text())
        changed = yield from _admit(api, ref, new, old, options, subresource, old_view, extended, is_owned=True)
        return changed._replace(warnings=[*warnings, *changed.warnings])

    return await extended_change(api, ref, make, extended, dry_run=options.dry_run, takes_long=takes_long)


def duplicate_warnings(duplicates: Sequence[str], validation: str) -> Sequence[str]:
    """Warnings about duplicate keys of an apply patch. Raises ApiError 400 for them if the validation is strict."""
    if duplicates and validation == STRICT:
        lines = "\n  ".join(duplicates)
        why = f"error converting YAML to JSON: yaml: unmarshal errors:\n  {lines}"
        raise bad_request(f"error strict decoding YAML: {why}")
    return () if validation == IGNORE else duplicates


def checked_to_apply(patch: Raw, kind: Kind, namespace: str, name: str) -> Raw:
    """Check apiVersion, kind and name of a document to be applied; return a copy with its metadata completed."""
    metadata = patch.get("metadata")
    patch = {**patch, "metadata": dict(metadata) if isinstance(metadata, dict) else metadata}
    if not patch.get("apiVersion") or not patch.get("kind"):
        raise bad_request(f"apply needs the apiVersion and the kind of {kind.plural} {name!r} in the patch")
    check_kind(patch, kind)
    metadata = patch["metadata"]
    given = metadata.setdefault("name", name)
    if given != name:
        raise bad_request(f"metadata.name ({given}) must match the name of the request ({name})")
    check_namespace(kind, namespace, metadata)
    return patch


def patched(old: Raw, patch: Patch, schema: StructType) -> Raw:
    """Apply a patch other than server-side apply; unchanged parts are shared. Raises ApiError."""
    try:
        if patch.patch_type == JSON_PATCH:
            new = apply_json_patch(old, patch.document)
        elif patch.patch_type == MERGE_PATCH:
            new = apply_merge_patch(old, patch.document)
        else:
            new = apply_strategic_merge(old, patch.document, schema)
    except PatchError as error:
        raise refusal(error) from None
    if not isinstance(new, dict):
        raise bad_request("the patched document is not an object")
    return new


def _kept(new: Raw, kind: Kind) -> Raw:
    """Return a document without what the kind does not have."""
    if type(kind) is not ServedKind:
        kept: Raw = kept_part(new, kind.view)
        return kept
    made: Raw = copy_document(new)
    _coerce(made, kind)
    return made


def _coerce(raw: Raw, kind: ServedKind) -> list[str]:
    before = _encode_sorted(raw)
    try:
        return decode_request(raw, kind.schema)
    except MalformedError as error:
        raise wrong_patch(before.decode(), str(error)) from None


def _check_has_kind(raw: Raw) -> None:
    """Raise ApiError 422 for a patched document whose kind cannot be told."""
    why = type_meta_complaint(raw)
    if not why and not raw.get("kind"):
        why = f"Object 'Kind' is missing in '{_encode_sorted(raw).decode()}'"
    if why:
        raise wrong_patch(_encode_sorted(raw).decode(), why)


def wrong_patch(patched_document: str, why: str) -> ApiError:
    """Return the refusal of a patch that makes what cannot be decoded."""
    text = f"Invalid value: {go_quote(patched_document)}: {why}"
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "patch"}
    return failure(422, "Invalid", f' "" is invalid: patch: {text}', {"causes": [cause]})


def _check_identity(new: Raw, old: Raw, kind: ServedKind) -> None:
    """Raise ApiError for a patch of a custom object's uid, or a resourceVersion that is no number."""
    revision, uid = new["resourceVersion"], new.get("uid")
    if not revision.isascii() or not revision.isdigit():
        raise bad_request(f"strconv.ParseUint: parsing {go_quote(revision)}: invalid syntax")
    if uid and uid != old.get("uid") and revision == old["resourceVersion"]:
        # Kubernetes finds it twice: with the object and with its metadata.
        error = invalid("metadata.uid", uid, "field is immutable")
        raise ApiError(invalid_status(kind, new["name"], [error, error]))


def check_patched(new: Raw, patch: Patch, kind: Kind, validation: str) -> tuple[Raw, list[str]]:
    """Return the document and warnings about unknown and duplicate fields. Raises ApiError 422 if strict."""
    if validation in (IGNORE, TRUST):
        return new, []
    patch_type, document, duplicates, _ = patch
    found = [*duplicates, *(unknown_operation_fields(document) if patch_type == JSON_PATCH else ())]
    before = new
    if type(kind) is ServedKind:
        _check_has_kind(new)
        new = copy_document(new)
        found += (f"unknown field {go_quote(path)}" for path in _coerce(new, kind))
    else:
        found += map(str, unknown_fields(new, kind.view, MAX_STRICT_ERRORS))
    found = found[:MAX_STRICT_ERRORS]
    if found and validation == STRICT:
        encode_document = _encode_sorted if type(kind) is ServedKind else msgspec.json.encode
        value = go_value(document) if patch_type == STRATEGIC_MERGE else encode_document(before).decode()
        raise wrong_patch(value, f"strict decoding error: {', '.join(found)}")
    return new, found


def _admit(
    api: Registry,
    ref: Ref,
    new: Raw,
    old: Raw,
    options: WriteOptions,
    subresource: str,
    old_view: Any,
    extended: ExtendedRequest | None,
    is_owned: bool = False,
) -> Steps[Changed]:
    kind, namespace, name = ref
    if type(kind) is ServedKind:
        _check_has_kind(new)
        new = {**new, "metadata": new.get("metadata") or {}}
    else:
        check_kind(new, kind)
    if (options.validation != TRUST or type(kind) is ServedKind) and not (is_owned and type(kind) is ServedKind):
        new = _kept(new, kind)
    new = {**new, "metadata": dict(new["metadata"])}
    check_namespace(kind, namespace, new["metadata"])
    check_name(new["metadata"], name)
    if type(kind) is ServedKind:
        if not new.get("apiVersion"):
            raise bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
        if not new["metadata"].get("resourceVersion"):
            raise revision_required(kind, name)
        check_custom_type(new, kind)
        _check_identity(new["metadata"], old["metadata"], kind)
    # A patch that says nothing of the revision leaves the old one: it is meant for whichever is there.
    is_same = new["metadata"].get("resourceVersion") == old["metadata"]["resourceVersion"]
    expected = None if is_same else expected_revision(kind, name, new)
    if options.guard is not None and extended is None:
        options.guard.check_change(ref, new, old)
    api.admission.restrict(options.restricted, Write(UPDATE, kind, namespace, name, subresource, new, old))
    manager = None if is_owned else options.manager
    repeated = name_owners_once(new["metadata"], is_patch=True)
    check = status_check(kind, subresource, options.claim_writer, "patch", api.gates)
    if extended is not None:
        extended.warn(repeated)
        repeated = []
    how = Admitting(manager, subresource, check, options.guard, extended)
    changed = yield from admit_change(api, ref, new, old, expected, old_view, how)
    return changed._replace(warnings=repeated)
