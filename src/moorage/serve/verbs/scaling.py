"""Scale: read and write the replicas of a workload, without knowing what kind it is.

In: the kind, a name, a Scale or a patch of one. Out: the Scale as it is now. Kubernetes: ScaleREST. Next: `changing`,
by way of `moorage.admit.scaling`.
"""

from collections.abc import Callable
from typing import Any

from moorage.admit.scaling import apply_scale, render_scale
from moorage.model.api_error import bad_request
from moorage.model.kinds import KindFacts
from moorage.model.schema import schema_of
from moorage.model.subresource import Scale
from moorage.serve.api import Api
from moorage.serve.objects import decode
from moorage.serve.options import WriteOptions
from moorage.serve.verbs.changing import Changed, admit_change, change, expected_revision
from moorage.serve.verbs.patching import APPLY, patched
from moorage.serve.verbs.reading import get

Raw = dict[str, Any]

_SCALE = KindFacts("autoscaling/v1", "Scale", "scales", True, Scale)


async def get_scale(api: Api, facts: KindFacts, namespace: str, name: str) -> Raw:
    return render_scale(decode(facts, await get(api, facts, namespace, name)))


async def put_scale(api: Api, facts: KindFacts, namespace: str, name: str, document: Raw, options: WriteOptions) -> Raw:
    return await _write(api, facts, namespace, name, lambda old: document, options)


async def patch_scale(
    api: Api, facts: KindFacts, namespace: str, name: str, language: str, patch: Any, options: WriteOptions
) -> Raw:
    if language == APPLY:
        raise bad_request("the scale subresource takes patches, but not server-side apply")

    def make(old: Raw) -> Raw:
        return patched(old, language, patch, schema_of(_SCALE))

    return await _write(api, facts, namespace, name, make, options)


async def _write(
    api: Api, facts: KindFacts, namespace: str, name: str, make: Callable[[Raw], Raw], options: WriteOptions
) -> Raw:
    def change_replicas(old: Raw, old_view: Any) -> Changed:
        new = apply_scale(facts, old, make(render_scale(old)))
        expected = expected_revision(facts, name, new)
        return admit_change(api, facts, name, new, old, expected, options.manager, "scale")

    outcome = await change(api, facts, namespace, name, change_replicas, dry_run=options.dry_run)
    return render_scale(decode(facts, outcome.stored))
