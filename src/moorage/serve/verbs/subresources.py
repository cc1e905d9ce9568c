"""Bind and evict pods; read and write the replicas of any workload as a Scale.

Kubernetes: BindingREST, EvictionREST, ScaleREST.
"""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from moorage.admit.messages.rejections import read_request
from moorage.admit.plugins.topology import NO_TOPOLOGY
from moorage.admit.subresources import scaling
from moorage.admit.subresources.deletion import check_preconditions
from moorage.admit.subresources.pods import (
    bind_pod,
    binding_with_labels,
    bound_view,
    decide_eviction,
    marked_for_eviction,
    read_binding,
    read_eviction,
    still_processed,
)
from moorage.model.api_error import ApiError, bad_request, not_found, stale
from moorage.model.gates import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING
from moorage.model.kinds import KINDS, SCALE, Kind, Ref
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.merge_schema import schema_of
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.request import Binding, DeleteOptions, Scale
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
from moorage.serve.resources.objects import cached_view, key_of, prefix_of
from moorage.serve.templates.pods import PodTemplate
from moorage.serve.verbs.changing import Changed, admit_change, change, check_name, check_namespace, expected_revision
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.patching import APPLY, Patch, check_patched, checked_to_apply, patched, wrong_patch
from moorage.serve.verbs.reading import get
from moorage.serve.verbs.registry import Raw, Registry
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_TRIES = 100


async def bind(api: Registry, namespace: str, name: str, document: Raw, *, dry_run: bool = False) -> None:
    await bind_to(api, namespace, name, read_binding({"metadata": {"name": name}, **document}, name), dry_run=dry_run)


async def bind_to(api: Registry, namespace: str, name: str, binding: Binding, *, dry_run: bool = False) -> None:
    """Bind a pod to a node. The fields that this sets get no owner."""
    key = key_of(KINDS.POD, namespace, name)
    if dry_run:
        await api.catch_up()
    stored = await api.store.get(key)
    topology = api.directory.topology_of(binding.target.name) if binding.target.kind == "Node" else NO_TOPOLOGY
    changes_metadata = binding.metadata.labels or binding.metadata.annotations
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(KINDS.POD, name)
        template = stored.template if api.values.are_json and not changes_metadata else None
        at_once = template.bind(stored, binding, api.now_text(), topology) if template is not None else None
        value, view = at_once or _bound(api, stored, binding_with_labels(binding, topology), template)
        if dry_run:
            return
        try:
            await api.store.update(key, value, stored.revision, view, template)
        except RevisionMismatch as mismatch:
            stored = mismatch.found
        except KeyMissing:
            raise not_found(KINDS.POD, name) from None
        else:
            return
    raise stale(KINDS.POD, name)


def _bound(api: Registry, stored: Stored, binding: Binding, template: PodTemplate | None) -> tuple[Any, Any]:
    now = api.now_text()
    pod = api.values.decode(KINDS.POD, stored)
    clears = api.admission.gates.enabled(CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING)
    bound = bind_pod(pod, binding, now, str(stored.revision), clears_nomination=clears)
    if not isinstance(stored.view, Pod):
        return api.values.encode(KINDS.POD, bound), cached_view(KINDS.POD, convert_view(bound, Pod))
    view = bound_view(stored.view, bound)
    if template is not None and not bound["status"].get("nominatedNodeName"):
        template.learn_binding(pod, view, now)
    return api.values.encode(KINDS.POD, bound), view


async def evict(api: Registry, namespace: str, name: str, document: Raw, *, dry_run: bool = False) -> None:
    """Delete a pod if its PodDisruptionBudgets allow. Raises ApiError 429 if not."""
    options = read_eviction({"metadata": {"name": name}, **document}, name)
    dry_run = dry_run or bool(options.dryRun)
    for _ in range(_TRIES):
        stored = await get(api, Ref(KINDS.POD, namespace, name))
        pod = api.values.decode(KINDS.POD, stored)
        check_preconditions(KINDS.POD, pod, options.preconditions, str(stored.revision))
        verdict = decide_eviction(convert_view(pod, Pod), await _budgets(api, namespace), api.now_text())
        if dry_run:
            return
        try:
            if verdict.budget is not None:
                await _store_budget(api, namespace, verdict.budget)
            marked = marked_for_eviction(pod, api.now_text())
            view = cached_view(KINDS.POD, convert_view(marked, Pod))
            written = await api.store.update(stored.key, api.values.encode(KINDS.POD, marked), stored.revision, view)
        except RevisionMismatch:
            continue  # the pod or its budget is not what it was: decide again
        except KeyMissing:
            raise not_found(KINDS.POD, name) from None
        await delete(api, Ref(KINDS.POD, namespace, name), _on_from(options, written.revision))
        return
    raise still_processed(name)


def _on_from(options: DeleteOptions, revision: int) -> DeleteOptions:
    preconditions = options.preconditions
    if preconditions is not None and preconditions.resourceVersion:
        preconditions = msgspec.structs.replace(preconditions, resourceVersion=str(revision))
    return msgspec.structs.replace(options, preconditions=preconditions, dryRun=())


async def _budgets(api: Registry, namespace: str) -> list[tuple[Raw, PodDisruptionBudget]]:
    listing = await api.store.list(prefix_of(KINDS.POD_DISRUPTION_BUDGET, namespace))
    budgets = [api.values.decode(KINDS.POD_DISRUPTION_BUDGET, item) for item in listing.items]
    return [(raw, convert_view(raw, PodDisruptionBudget)) for raw in budgets]


async def _store_budget(api: Registry, namespace: str, raw: Raw) -> None:
    key, revision = (
        key_of(KINDS.POD_DISRUPTION_BUDGET, namespace, raw["metadata"]["name"]),
        int(raw["metadata"]["resourceVersion"]),
    )
    await api.store.update(
        key,
        api.values.encode(KINDS.POD_DISRUPTION_BUDGET, raw),
        revision,
        cached_view(KINDS.POD_DISRUPTION_BUDGET, convert_view(raw, KINDS.POD_DISRUPTION_BUDGET.view)),
    )


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
        return await _apply(api, ref, patch.document, options), ()

    def make(old: Raw) -> tuple[Raw, Sequence[str]]:
        new = dict(sorted(patched(old, patch, schema_of(SCALE)).items()))
        try:
            scale: Scale = convert_view(new, Scale)
        except ConversionError as error:
            raise wrong_patch(msgspec.json.encode(new).decode(), error.problems[0].reason) from None
        new, warnings = check_patched(new, patch, SCALE, options.validation)
        if type(ref.kind) is ServedKind:
            try:
                check_replicas_set(ref.kind, scale.spec.replicas)
            except ApiError as error:
                raise error.warned(warnings) from None
        return new, warnings

    return await _write(api, ref, make, options, is_patch=True)


async def _apply(api: Registry, ref: Ref, patch: Raw, options: WriteOptions) -> Raw:
    kind, namespace, name = ref
    patch = checked_to_apply(patch, SCALE, namespace, name)
    spec = patch.get("spec")
    applied: Raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": patch["metadata"]}
    if isinstance(spec, dict) and "replicas" in spec:
        applied = with_replicas(kind, applied, spec["replicas"])

    def make(old: Raw, old_view: Any) -> Changed:
        new = apply_patch(old, applied, kind, options.manager, bool(options.force), "scale", api.now_text())
        apply_scale(kind, old, render_scale(kind, new))  # which complains about what is no Scale
        expected = expected_revision(kind, name, patch)
        return admit_change(api, ref, new, old, expected, None, "scale", None)

    outcome = await change(api, ref, make, dry_run=options.dry_run)
    return render_scale(kind, api.values.decode(kind, outcome.stored))


async def _write(
    api: Registry,
    ref: Ref,
    make: Callable[[Raw], tuple[Raw, Sequence[str]]],
    options: WriteOptions,
    *,
    is_patch: bool,
) -> tuple[Raw, Sequence[str]]:
    kind, namespace, name = ref

    def change_replicas(old: Raw, old_view: Any) -> Changed:
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
        new = apply_scale(kind, old, scale)
        # A patch without a revision has that of the Scale it was applied to: it is meant for whichever is there.
        is_same = new["metadata"].get("resourceVersion") == old["metadata"]["resourceVersion"]
        expected = None if is_patch and is_same else expected_revision(kind, name, new)
        # Replicas without an owner get none, as Kubernetes does not begin to track those of a Scale.
        manager = options.manager if owners else None
        try:
            changed = admit_change(api, ref, new, old, expected, manager, "scale", None)
        except ApiError as error:
            raise error.warned(warnings) from None
        return changed._replace(warnings=[*warnings, *changed.warnings])

    outcome = await change(api, ref, change_replicas, dry_run=options.dry_run)
    return render_scale(kind, api.values.decode(kind, outcome.stored)), outcome.warnings
