"""Decide what an object in an admission request has to become: lowered, or mirrored; the same if nothing is to change.

What is stored is lowered when its pod or template changes, not when something else does: a rollout is never a side
effect. The API server does not change node affinity of a pod, which is what compares, so a comparison that is added to
a pod is refused here, in words that say so. Before attach is uninstalled, new comparisons are refused, and what is
lowered already is lowered on.
Kubernetes: mutating admission; ValidatePodUpdate. Differs: pods with scheduling gates are left to the API server, which
lets their affinity become narrower.
"""

from collections.abc import Collection
from typing import Any, Final, TypeVar

from moorage.attach.formats import Raw
from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered, pod_of, pod_path, raised
from moorage.attach.pods import has_traces, node_affinity_of, tolerations_of
from moorage.attach.refusals import Refused, Unreadable
from moorage.attach.tolerations import is_comparing, is_left, native_keys, without_empty
from moorage.model.field_error import FieldError, child_path, forbidden
from moorage.model.kinds import KINDS, kind_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.view import View

ViewType = TypeVar("ViewType", bound=View)

NOT_OF_A_POD: Final = (
    "may not be added to a pod that exists: its node affinity would have to compare, and that of a pod cannot be "
    "changed; delete the pod and create it with this toleration"
)
NOTHING_NEW: Final = (
    "may not compare any more: moorage attach is going to be uninstalled from this cluster, and only what is lowered "
    "already is lowered on; tolerate values with Equal, or all with Exists"
)


def to_be_lowered(document: Raw, old: Raw | None, native: Collection[str] = (), *, refuses_new: bool = False) -> Raw:
    """Return an object as it is to be stored. `old` is what is stored now. Raises Refused and Unreadable.

    If it `refuses_new`, only what was lowered before is lowered.
    """
    if old is not None and _placement(document) == _placement(old):
        return document
    changed = lowered(document, native)
    if refuses_new and changed is not document and not _was_lowered(old) and _was_lowered(changed):
        raise Refused(_new_comparisons(document, native))
    if old is not None and kind_of(document) is KINDS.POD and (errors := _added_comparisons(document, old, changed)):
        raise Refused(errors)
    return changed


def _was_lowered(document: Raw | None) -> bool:
    pod = pod_of(document) if document is not None else None
    return pod is not None and has_traces(pod)


def _new_comparisons(document: Raw, native: Collection[str]) -> list[FieldError]:
    """Return an error for each toleration that would be lowered, or one for node affinity."""
    pod, path = pod_of(document), child_path(pod_path(document), "spec")
    assert pod is not None
    tolerations = tolerations_of(pod)
    left = native_keys(tolerations, native)
    errors = [
        forbidden(f"{path}.tolerations[{index}]", NOTHING_NEW)
        for index, toleration in enumerate(tolerations)
        if is_comparing(toleration) and not is_left(toleration, left)
    ]
    return errors or [forbidden(f"{path}.affinity.nodeAffinity", NOTHING_NEW)]


def _placement(document: Raw) -> Any:
    """Return what has to change for an object to be lowered again."""
    pod = pod_of(document)
    return pod.get("spec") if pod is document else pod


def _added_comparisons(document: Raw, old: Raw, changed: Raw) -> list[FieldError]:
    """Return an error for each comparison that an update adds to a pod, if its affinity would have to change."""
    view = _read(old, Pod)
    if view.spec.schedulingGates or node_affinity_of(changed) == node_affinity_of(old):
        return []
    before = [without_empty(each) for each in tolerations_of(raised(old))]
    return [
        forbidden(f"spec.tolerations[{index}]", NOT_OF_A_POD)
        for index, toleration in enumerate(tolerations_of(document))
        if is_comparing(toleration) and without_empty(toleration) not in before
    ]


def to_be_mirrored(document: Raw, old: Raw | None, subresource: str = "", groups: Collection[str] = ()) -> Raw:
    """Return a node with its mirror, as the admission policy has it. Raises Unreadable."""
    if kind_of(document) is not KINDS.NODE:
        return document
    _read(document, Node)
    if old is not None:
        _read(old, Node)
    labels = mirrored(document, old, subresource, groups)
    metadata: Raw = document.get("metadata") or {}
    if labels == (metadata.get("labels") or {}):
        return document
    return {**document, "metadata": {**metadata, "labels": labels}}


def _read(document: Raw, view: type[ViewType]) -> ViewType:
    """Return the view of an object. The API server has read it: others who call us may send anything."""
    try:
        return convert_view(document, view)
    except ConversionError as error:
        raise Unreadable(error.problems) from None
