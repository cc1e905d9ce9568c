"""Read and write the replicas of any workload as a Scale.

Kubernetes: ScaleREST.
"""

from collections.abc import Callable
from typing import Any

from moorage.admit.subresources.scaling import apply_scale, render_scale
from moorage.model.kinds import SCALE, Ref
from moorage.model.schema.merge_schema import schema_of
from moorage.serve.api import Api, Raw
from moorage.serve.apply.managed_fields import apply_patch
from moorage.serve.decoding import check_kind
from moorage.serve.options import WriteOptions
from moorage.serve.resources.objects import decode
from moorage.serve.verbs.changing import Changed, admit_change, change, check_name, expected_revision
from moorage.serve.verbs.creating import check_namespace
from moorage.serve.verbs.patching import APPLY, Patch, checked_to_apply, patched
from moorage.serve.verbs.reading import get


async def get_scale(api: Api, ref: Ref) -> Raw:
    return render_scale(decode(ref.kind, await get(api, ref)))


async def put_scale(api: Api, ref: Ref, document: Raw, options: WriteOptions) -> Raw:
    return await _write(api, ref, lambda old: document, options)


async def patch_scale(api: Api, ref: Ref, patch: Patch, options: WriteOptions) -> Raw:
    if patch.patch_type == APPLY:
        return await _apply(api, ref, patch.document, options)

    def make(old: Raw) -> Raw:
        return patched(old, patch, schema_of(SCALE))

    return await _write(api, ref, make, options)


async def _apply(api: Api, ref: Ref, patch: Raw, options: WriteOptions) -> Raw:
    kind, namespace, name = ref
    patch = checked_to_apply(patch, SCALE, namespace, name)
    spec = patch.get("spec")
    scaled = {"replicas": spec["replicas"]} if isinstance(spec, dict) and "replicas" in spec else {}
    applied: Raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": patch["metadata"], "spec": scaled}

    def make(old: Raw, old_view: Any) -> Changed:
        new = apply_patch(old, applied, kind, options.manager, bool(options.force), "scale", api.now_text())
        apply_scale(kind, old, render_scale(new))  # which complains about what is no Scale
        expected = expected_revision(kind, name, patch)
        return admit_change(api, ref, new, old, expected, None, "scale", None)

    outcome = await change(api, ref, make, dry_run=options.dry_run)
    return render_scale(decode(kind, outcome.stored))


async def _write(api: Api, ref: Ref, make: Callable[[Raw], Raw], options: WriteOptions) -> Raw:
    kind, namespace, name = ref

    def change_replicas(old: Raw, old_view: Any) -> Changed:
        scale = dict(make(render_scale(old)))
        check_kind(scale, SCALE)
        scale["metadata"] = dict(scale["metadata"])
        check_namespace(kind, namespace, scale["metadata"])
        check_name(scale["metadata"], name)
        new = apply_scale(kind, old, scale)
        expected = expected_revision(kind, name, new)
        return admit_change(api, ref, new, old, expected, options.manager, "scale", None)

    outcome = await change(api, ref, change_replicas, dry_run=options.dry_run)
    return render_scale(decode(kind, outcome.stored))
