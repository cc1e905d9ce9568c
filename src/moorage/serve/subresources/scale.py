"""Read and write the replicas of any workload as a Scale.

Policies and webhooks see the Scale, and what they make of it is written. Kubernetes: ScaleREST.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.extension.attributes import UPDATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.steps import Steps
from moorage.admit.messages.rejections import read_request
from moorage.admit.subresources import scaling
from moorage.model.api_error import ApiError, bad_request
from moorage.model.kinds import SCALE, Kind, Ref
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.merge_schema import schema_of
from moorage.model.types.request import Scale
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.apply.managed_fields import apply_patch
from moorage.serve.custom.scale import (
    check_has_replicas,
    check_replicas_set,
    render_custom_scale,
    scale_owners,
    with_replicas,
    with_unset_replicas,
)
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.decoding import check_kind, decode_object
from moorage.serve.requests.options import WriteOptions
from moorage.serve.verbs.changing import Admitting, Changed, admit_change, extended_change
from moorage.serve.verbs.patching import APPLY, Patch, check_patched, checked_to_apply, patched, wrong_patch
from moorage.serve.verbs.reading import get
from moorage.serve.verbs.registry import Raw, Registry
from moorage.serve.verbs.written_metadata import check_name, check_namespace, expected_revision


async def get_scale(api: Registry, ref: Ref) -> Raw:
    raw = api.values.decode(ref.kind, await get(api, ref))
    scale = render_scale(ref.kind, raw)
    if type(ref.kind) is ServedKind:
        check_has_replicas(ref.kind, raw)
    return scale


def render_scale(kind: Kind, raw: Raw) -> Raw:
    return render_custom_scale(kind, raw) if type(kind) is ServedKind else scaling.render_scale(raw)


def apply_scale(kind: Kind, raw: Raw, document: Raw) -> Raw:
    if type(kind) is not ServedKind:
        return scaling.apply_scale(kind, raw, document)
    scale, metadata = scaling.read_scale(kind, raw, document, validates=False)
    return with_replicas(kind, {**raw, "metadata": metadata}, scale.spec.replicas)


#: What Kubernetes says of any body that is no Scale, where it is the Scale of a custom object.
_NO_SCALE = (
    "no kind is registered for the type v1.Scale in scheme "
    '"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781"'
)


async def put_scale_body(
    api: Registry, ref: Ref, body: bytes, content_type: str, options: WriteOptions
) -> tuple[Raw, Sequence[str]]:
    """Replace a Scale by that of a request's body; return it with warnings about unknown fields."""
    try:
        document, warnings = await api.long_work.read(decode_object, body, content_type, SCALE, options.validation)
    except ApiError as error:
        raise _scale_refusal(error, ref.kind) from None
    try:
        return await put_scale(api, ref, document, options), warnings
    except ApiError as error:
        raise error.warned(warnings) from None


def _scale_refusal(error: ApiError, kind: Kind) -> ApiError:
    return bad_request(_NO_SCALE) if type(kind) is ServedKind and error.code == 400 else error


async def put_scale(api: Registry, ref: Ref, document: Raw, options: WriteOptions) -> Raw:
    try:
        read_request(SCALE, document)
    except ApiError as error:
        raise _scale_refusal(error, ref.kind) from None
    metadata = dict(document["metadata"])
    check_namespace(ref.kind, ref.namespace, metadata)
    check_name(metadata, ref.name)
    return (await _write(api, ref, lambda old: (document, ()), options, is_patch=False))[0]


async def patch_scale(api: Registry, ref: Ref, patch: Patch, options: WriteOptions) -> Raw:
    return (await patch_scale_and_warn(api, ref, patch, options))[0]


async def patch_scale_and_warn(
    api: Registry, ref: Ref, patch: Patch, options: WriteOptions
) -> tuple[Raw, Sequence[str]]:
    """Patch a Scale; return it with warnings about unknown fields of the patch."""
    if patch.patch_type == APPLY:
        return await _apply(api, ref, patch.document, options)

    def make(old: Raw) -> tuple[Raw, Sequence[str]]:
        new = dict(sorted(patched(old, patch, schema_of(SCALE)).items()))
        try:
            convert_view(new, Scale)
        except ConversionError as error:
            raise wrong_patch(msgspec.json.encode(new).decode(), error.problems[0].reason) from None
        new, warnings = check_patched(new, patch, SCALE, options.validation)
        return new, warnings

    return await _write(api, ref, make, options, is_patch=True)


async def _apply(api: Registry, ref: Ref, patch: Raw, options: WriteOptions) -> tuple[Raw, Sequence[str]]:
    kind, namespace, name = ref
    extended = extended_request(api.admission, UPDATE, kind, namespace, name, "scale", options)
    patch = checked_to_apply(patch, SCALE, namespace, name)
    spec = patch.get("spec")
    applied: Raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": patch["metadata"]}
    if isinstance(spec, dict) and "replicas" in spec:
        applied = with_replicas(kind, applied, spec["replicas"])

    def make(old: Raw, old_view: Any) -> Steps[Changed]:
        new = apply_patch(old, applied, kind, options.manager, bool(options.force), "scale", api.now_text())
        shown = render_scale(kind, new)
        apply_scale(kind, old, shown)  # which complains about what is no Scale
        if extended is not None:
            shown = yield from extended.change(shown, render_scale(kind, old))
            new = with_replicas(kind, new, shown["spec"]["replicas"])
        expected = expected_revision(kind, name, patch)
        changed = yield from admit_change(api, ref, new, old, expected, None, Admitting(None, "scale"))
        return (yield from _checked(kind, changed, old, extended))

    outcome = await extended_change(api, ref, make, extended, dry_run=options.dry_run)
    return render_scale(kind, api.values.decode(kind, outcome.stored)), outcome.warnings


def _checked(kind: Kind, changed: Changed, old: Raw, extended: ExtendedRequest | None) -> Steps[Changed]:
    """Let policies and webhooks look at the Scale of a changed object."""
    if extended is None:
        return changed
    extended.warn((*changed.warnings, *changed.admitted.warnings))
    yield from extended.check(render_scale(kind, changed.admitted.object), render_scale(kind, old))
    admitted = msgspec.structs.replace(changed.admitted, warnings=())
    return changed._replace(admitted=admitted, warnings=extended.warnings)


async def _write(
    api: Registry,
    ref: Ref,
    make: Callable[[Raw], tuple[Raw, Sequence[str]]],
    options: WriteOptions,
    *,
    is_patch: bool,
) -> tuple[Raw, Sequence[str]]:
    kind, namespace, name = ref
    extended = extended_request(api.admission, UPDATE, kind, namespace, name, "scale", options)

    def change_replicas(old: Raw, old_view: Any) -> Steps[Changed]:
        shown = with_unset_replicas(kind, old, render_scale(kind, old))
        owners = scale_owners(kind, old)
        if owners:
            shown = {**shown, "metadata": {**shown["metadata"], "managedFields": owners}}
        made, warnings = make(shown)
        scale = dict(made)
        check_kind(scale, SCALE)
        scale["metadata"] = dict(scale["metadata"])
        check_namespace(kind, namespace, scale["metadata"])
        check_name(scale["metadata"], name)
        if extended is not None:
            extended.warn(warnings)
            warnings = ()
            scale = yield from extended.change(scale, shown)
        if type(kind) is ServedKind:
            try:
                check_replicas_set(kind, scale)
            except ApiError as error:
                raise error.warned(warnings) from None
        new = apply_scale(kind, old, scale)
        # A patch without a revision has that of the Scale it was applied to: it is meant for whichever is there.
        is_same = new["metadata"].get("resourceVersion") == old["metadata"]["resourceVersion"]
        expected = None if is_patch and is_same else expected_revision(kind, name, new)
        # Replicas without an owner get none, as Kubernetes does not begin to track those of a Scale.
        manager = options.manager if owners else None
        try:
            changed = yield from admit_change(api, ref, new, old, expected, None, Admitting(manager, "scale"))
        except ApiError as error:
            raise error.warned(warnings) from None
        changed = changed._replace(warnings=[*warnings, *changed.warnings])
        return (yield from _checked(kind, changed, old, extended))

    outcome = await extended_change(api, ref, change_replicas, extended, dry_run=options.dry_run)
    return render_scale(kind, api.values.decode(kind, outcome.stored)), outcome.warnings
