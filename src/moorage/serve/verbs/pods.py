"""Bind and evict pods.

Kubernetes: BindingREST and EvictionREST.
"""

from typing import Any

import msgspec

from moorage.admit.subresources.deletion import check_preconditions
from moorage.admit.subresources.pods import (
    bind_pod,
    bound_view,
    decide_eviction,
    marked_for_eviction,
    read_binding,
    read_eviction,
    still_processed,
)
from moorage.model.api_error import not_found, stale
from moorage.model.kinds import KINDS, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.request import Binding, DeleteOptions
from moorage.serve.api import Api, Raw
from moorage.serve.resources.objects import cached_view, decode, encode, key_of, prefix_of
from moorage.serve.templates import POD, PodTemplate
from moorage.serve.verbs.deleting import delete
from moorage.serve.verbs.reading import get
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_BUDGET = KINDS["policy/v1", "PodDisruptionBudget"]
_TRIES = 100


async def bind(api: Api, namespace: str, name: str, document: Raw, *, dry_run: bool = False) -> None:
    await bind_to(api, namespace, name, read_binding({"metadata": {"name": name}, **document}, name), dry_run=dry_run)


async def bind_to(api: Api, namespace: str, name: str, binding: Binding, *, dry_run: bool = False) -> None:
    """Bind a pod to a node. The fields that this sets get no owner."""
    key = key_of(POD, namespace, name)
    stored = await api.store.get(key)
    changes_metadata = binding.metadata.labels or binding.metadata.annotations
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(POD, name)
        template = stored.template if not changes_metadata else None
        at_once = template.bind(stored, binding, api.now_text()) if template is not None else None
        value, view = at_once or _bound(api, stored, binding, template)
        if dry_run:
            return
        try:
            await api.store.update(key, value, stored.revision, view, template)
        except RevisionMismatch as mismatch:
            stored = mismatch.found
        except KeyMissing:
            raise not_found(POD, name) from None
        else:
            return
    raise stale(POD, name)


def _bound(api: Api, stored: Stored, binding: Binding, template: PodTemplate | None) -> tuple[bytes, Any]:
    now = api.now_text()
    pod = decode(POD, stored)
    bound = bind_pod(pod, binding, now, str(stored.revision))
    if not isinstance(stored.view, Pod):
        return encode(POD, bound), cached_view(POD, convert_view(bound, Pod))
    view = bound_view(stored.view, bound)
    if template is not None:
        template.learn_binding(pod, view, now)
    return encode(POD, bound), view


async def evict(api: Api, namespace: str, name: str, document: Raw, *, dry_run: bool = False) -> None:
    """Delete a pod if its PodDisruptionBudgets allow. Raises ApiError 429 if not."""
    options = read_eviction({"metadata": {"name": name}, **document}, name)
    dry_run = dry_run or bool(options.dryRun)
    for _ in range(_TRIES):
        stored = await get(api, Ref(POD, namespace, name))
        pod = decode(POD, stored)
        check_preconditions(POD, pod, options.preconditions, str(stored.revision))
        verdict = decide_eviction(convert_view(pod, Pod), await _budgets(api, namespace), api.now_text())
        if dry_run:
            return
        try:
            if verdict.budget is not None:
                await _store(api, _BUDGET, namespace, verdict.budget)
            marked = marked_for_eviction(pod, api.now_text())
            view = cached_view(POD, convert_view(marked, Pod))
            written = await api.store.update(stored.key, encode(POD, marked), stored.revision, view)
        except RevisionMismatch:
            continue  # the pod or its budget is not what it was: decide again
        except KeyMissing:
            raise not_found(POD, name) from None
        await delete(api, Ref(POD, namespace, name), _on_from(options, written.revision))
        return
    raise still_processed(name)


def _on_from(options: DeleteOptions, revision: int) -> DeleteOptions:
    """The delete options for a pod that was marked after its preconditions had been checked."""
    preconditions = options.preconditions
    if preconditions is not None and preconditions.resourceVersion:
        preconditions = msgspec.structs.replace(preconditions, resourceVersion=str(revision))
    return msgspec.structs.replace(options, preconditions=preconditions, dryRun=())


async def _budgets(api: Api, namespace: str) -> list[tuple[Raw, PodDisruptionBudget]]:
    listing = await api.store.list(prefix_of(_BUDGET, namespace))
    budgets = [decode(_BUDGET, item) for item in listing.items]
    return [(raw, convert_view(raw, PodDisruptionBudget)) for raw in budgets]


async def _store(api: Api, kind: Kind, namespace: str, raw: Raw) -> None:
    metadata = raw["metadata"]
    key, revision = key_of(kind, namespace, metadata["name"]), int(metadata["resourceVersion"])
    await api.store.update(key, encode(kind, raw), revision, cached_view(kind, convert_view(raw, kind.view)))
