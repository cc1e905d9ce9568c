"""Lower and raise API objects: pods, and the pod templates of the workload kinds.

Kubernetes: the nine kinds that have a pod template or are a pod.
Differs: a ReplicaSet that a controller owns is left alone, because its template is the controller's: a Deployment does
not find its ReplicaSet again if that is changed, and makes another one, and another.
"""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from moorage.admit.raw import copy_document
from moorage.attach.formats import Raw
from moorage.attach.lowering import lower_pod, raise_pod
from moorage.attach.pods import concerns_pod
from moorage.model.kinds import KINDS, Kind, kind_of

#: Each kind, and the fields that lead to its pod.
POD_PATHS: dict[Kind, tuple[str, ...]] = {
    kind: kind.template or () for kind in KINDS.values() if kind is KINDS.POD or kind.template is not None
}


def lowered(document: Raw, native: Collection[str] = ()) -> Raw:
    """Return an object as it is to be stored; the very same if nothing changes. Raises Refused and Unreadable.

    `native` are the operators that the cluster itself knows.
    """
    return _changed(document, partial(lower_pod, native=native))


def raised(document: Raw) -> Raw:
    """Return an object in its original form; the very same if it was not lowered. Raises Refused and Unreadable."""
    return _changed(document, raise_pod)


def _changed(document: Raw, change: Callable[[Raw, str], object]) -> Raw:
    pod = pod_of(document)
    if pod is None or not concerns_pod(pod):
        return document
    copied = copy_document(document)
    within = pod_of(copied)
    assert within is not None
    change(within, pod_path(document))
    return document if copied == document else copied


def pod_of(document: Raw) -> Raw | None:
    """Return the pod or template of an object; None if it has none that may be changed."""
    kind = kind_of(document)
    if kind not in POD_PATHS or is_controllers_replica_set(document):
        return None
    pod: Any = document
    for name in POD_PATHS[kind]:
        pod = pod.get(name) if isinstance(pod, dict) else None
    return pod if isinstance(pod, dict) else None


def pod_path(document: Raw) -> str:
    kind = kind_of(document)
    return "" if kind is None else ".".join(POD_PATHS[kind])


def is_controllers_replica_set(document: Raw) -> bool:
    return document.get("kind") == "ReplicaSet" and any(_controllers(document))


def is_daemon_pod(document: Raw) -> bool:
    """Whether a DaemonSet has made a pod, of any value at all: its required node affinity is the controller's."""
    return any(owner.get("kind") == "DaemonSet" for owner in _controllers(document))


def _controllers(document: Raw) -> list[Raw]:
    metadata = document.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    if not isinstance(owners, list):
        return []
    return [owner for owner in owners if isinstance(owner, dict) and owner.get("controller")]
