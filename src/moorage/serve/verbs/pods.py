"""What only pods have: they are bound to a node, and evicted from it if that is allowed.

In: a namespace, a pod's name, a Binding or an Eviction. Out: nothing, or ApiError. Kubernetes: BindingREST and EvictionREST.
Next: `moorage.admit.binding` and `moorage.admit.eviction`, which decide.
"""

from typing import Any

from moorage.admit.binding import bind_pod, bound_view, read_binding
from moorage.model.api_error import not_found, stale
from moorage.model.conversion import convert_view
from moorage.model.kinds import KINDS
from moorage.model.pod import Pod
from moorage.model.subresource import Binding
from moorage.serve.api import Api
from moorage.serve.objects import decode, encode, key_of
from moorage.store.protocol import KeyMissing, RevisionMismatch, Stored

Raw = dict[str, Any]

POD = KINDS["v1", "Pod"]
_TRIES = 100


async def bind(api: Api, namespace: str, name: str, document: Raw, *, dry_run: bool = False) -> None:
    """Put a pod on a node, as a Binding document says."""
    await bind_to(api, namespace, name, read_binding({"metadata": {"name": name}, **document}, name), dry_run=dry_run)


async def bind_to(api: Api, namespace: str, name: str, binding: Binding, *, dry_run: bool = False) -> None:
    """Put a pod on a node. No owner is noted for what this sets: it belongs to whoever runs the cluster."""
    key = key_of(POD, namespace, name)
    stored = await api.store.get(key)
    for _ in range(_TRIES):
        if stored is None:
            raise not_found(POD, name)
        bound = bind_pod(decode(POD, stored), binding, api.now_text(), str(stored.revision))
        if dry_run:
            return
        try:
            await api.store.update(key, encode(POD, bound), stored.revision, _view(stored, bound))
        except RevisionMismatch as mismatch:
            stored = mismatch.found
        except KeyMissing:
            raise not_found(POD, name) from None
        else:
            return
    raise stale(POD, name)


def _view(stored: Stored, bound: Raw) -> Pod:
    if isinstance(stored.meaning, Pod):
        return bound_view(stored.meaning, bound)
    return convert_view(bound, Pod)


