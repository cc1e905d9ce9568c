"""Bind and evict pods.

Kubernetes: BindingREST, EvictionREST.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.admit.extension.attributes import CREATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.plugins.topology import NO_TOPOLOGY
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
from moorage.model.api_error import not_found, stale
from moorage.model.gates import CLEARING_NOMINATED_NODE_NAME_AFTER_BINDING
from moorage.model.kinds import BINDING, EVICTION, KINDS, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.model.types.request import Binding, DeleteOptions
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import cached_view, key_of, prefix_of
from moorage.serve.templates.pods import PodTemplate
from moorage.serve.verbs.deleting import delete_unasked
from moorage.serve.verbs.extended_writes import carried_out, remarked
from moorage.serve.verbs.reading import get
from moorage.serve.verbs.registry import Raw, Registry
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

_TRIES = 100
_PLAIN = WriteOptions()


async def bind(
    api: Registry,
    namespace: str,
    name: str,
    document: Raw,
    options: WriteOptions = _PLAIN,
    *,
    resource: Kind = KINDS.POD,
) -> Sequence[str]:
    """Bind a pod to a node, and return warnings. Raises ApiError.

    `resource` is the kind of binding itself where it is created on its own, in the old form.
    """
    document = {"metadata": {"name": name}, **document}
    subresource = "binding" if resource is KINDS.POD else ""
    extended = extended_request(api.admission, CREATE, resource, namespace, name, subresource, options)
    if extended is None:
        await _bind(api, namespace, name, read_binding(document, name), dry_run=options.dry_run)
        return ()
    await remarked(api, extended, _bind_extended(api, namespace, name, document, extended, dry_run=options.dry_run))
    return extended.warnings


async def bind_to(api: Registry, namespace: str, name: str, binding: Binding, options: WriteOptions = _PLAIN) -> None:
    """Bind a pod to a node, as `bind` does with a document."""
    if api.admission.is_extended(CREATE, KINDS.POD, "binding"):
        target = {"kind": binding.target.kind, "name": binding.target.name}
        metadata = {"name": name, "uid": binding.metadata.uid}
        await bind(api, namespace, name, {"metadata": metadata, "target": target}, options)
        return
    await _bind(api, namespace, name, binding, dry_run=options.dry_run)


async def _bind_extended(
    api: Registry, namespace: str, name: str, document: Raw, extended: ExtendedRequest, *, dry_run: bool
) -> None:
    document = await carried_out(api, extended.change(sent_document(document, BINDING, namespace), None))
    binding = read_binding(document, name)
    await carried_out(api, extended.check(document, None))
    await _bind(api, namespace, name, binding, dry_run=dry_run)


def sent_document(document: Raw, kind: Kind, namespace: str) -> Raw:
    """Return a document of a subresource as policies and webhooks see it: with its kind and the namespace."""
    metadata = {**document["metadata"], "namespace": namespace}
    return {"apiVersion": kind.api_version, "kind": kind.name, **document, "metadata": metadata}


async def _bind(api: Registry, namespace: str, name: str, binding: Binding, *, dry_run: bool) -> None:
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


async def evict(
    api: Registry, namespace: str, name: str, document: Raw, options: WriteOptions = _PLAIN
) -> Sequence[str]:
    """Delete a pod if its PodDisruptionBudgets allow, and return warnings. Raises ApiError 429 if not."""
    document = {"metadata": {"name": name}, **document}
    extended = extended_request(api.admission, CREATE, KINDS.POD, namespace, name, "eviction", options)
    if extended is None:
        await _evict(api, namespace, name, read_eviction(document, name), dry_run=options.dry_run)
        return ()
    await remarked(api, extended, _evict_extended(api, namespace, name, document, extended, dry_run=options.dry_run))
    return extended.warnings


async def _evict_extended(
    api: Registry, namespace: str, name: str, document: Raw, extended: ExtendedRequest, *, dry_run: bool
) -> None:
    document = await carried_out(api, extended.change(sent_document(document, EVICTION, namespace), None))
    options = read_eviction(document, name)
    await get(api, Ref(KINDS.POD, namespace, name))
    await carried_out(api, extended.check(document, None))
    await _evict(api, namespace, name, options, dry_run=dry_run)


async def _evict(api: Registry, namespace: str, name: str, options: DeleteOptions, *, dry_run: bool) -> None:
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
        await delete_unasked(api, Ref(KINDS.POD, namespace, name), _on_from(options, written.revision))
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
