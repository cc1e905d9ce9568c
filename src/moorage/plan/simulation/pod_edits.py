"""Edit simulated objects without their documents: bindings, statuses, conditions and deletions of pods.

A simulation of ten thousand pods changes each of them half a dozen times, and documents are hardly ever read. So what a
component writes into a pod is put into its typed view, and the document is made when it is asked for, by the functions
of `admit` and `serve` that the API server calls. A law compares the two. What components of the simulation write
needs no validation; whatever else comes, and whatever is not plain, takes the long way through admission.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from moorage.admit.plugins.topology import NO_TOPOLOGY
from moorage.admit.subresources.deletion import Deletion, decide_deletion
from moorage.admit.subresources.pods import bind_pod, binding_with_labels
from moorage.client.http.wire import render_delete_options
from moorage.client.protocol import DeletionDemands, Object, Raw, Template
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.schema.merge_schema import schema_of
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.pod_status import PodCondition
from moorage.model.types.request import Binding, DeleteOptions, Preconditions
from moorage.serve.options import delete_options
from moorage.serve.patch.strategic_merge import apply_strategic_merge

_POD = KINDS["v1", "Pod"]
_replace = msgspec.structs.replace
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(dict[str, Any]).decode


class Bound(NamedTuple):
    """A binding that was written into a pod: all that its document needs."""

    node: str
    time: str
    labels: Mapping[str, str] = NO_TOPOLOGY


class Marked(NamedTuple):
    """The metadata that says when a pod has to be gone."""

    metadata: Raw


#: Bytes are a status, or a part of it, as JSON, which takes a third of a dict's room.
Edit = Bound | Marked | bytes


class SimulatedObject(Object):
    """An object whose document is made when it is asked for: the admitted document with `edits`."""

    __slots__ = ("_document", "_edits", "_template")
    view = Object.__dict__["_view"]  # it is always there: read without a call

    def __init__(
        self,
        kind: Kind,
        key: str,
        revision: int,
        view: Any,
        template: Template | None,
        document: Raw,
        edits: tuple[Edit, ...] = (),
    ) -> None:
        self.kind, self.key, self.revision = kind, key, revision
        self._body, self._raw, self._view = b"", None, view
        self._document, self._template, self._edits = document, template, edits

    @property
    def template(self) -> Template | None:
        return self._template

    @property
    def uid(self) -> str:
        uid: str = self._view.metadata.uid
        return uid

    def edited(self, revision: int, view: Any, edit: Edit) -> "SimulatedObject":
        edits = (*self._edits, edit)
        return SimulatedObject(self.kind, self.key, revision, view, self._template, self._document, edits)

    def _decode(self) -> Raw:
        raw = self._document
        for edit in self._edits:
            if isinstance(edit, bytes):
                raw = apply_strategic_merge(raw, {"status": _decode(edit)}, schema_of(_POD))
            elif isinstance(edit, Marked):
                raw = {**raw, "metadata": {**raw["metadata"], **edit.metadata}}
            else:
                binding = binding_with_labels(binding_to(self.name, self.uid, edit.node), edit.labels)
                raw = bind_pod(raw, binding, edit.time)
        return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(self.revision)}}


def binding_to(name: str, uid: str, node: str) -> Binding:
    return Binding(metadata=ObjectMeta(name=name, uid=uid), target=ObjectReference(kind="Node", name=node))


class NewConditions:
    """Adds conditions to pods. Pods share what was read from one condition, and their lists where these were shared."""

    def __init__(self) -> None:
        self._read: tuple[Raw, PodCondition, bytes] | None = None
        self._lists: tuple[tuple[PodCondition, ...], PodCondition, tuple[PodCondition, ...]] | None = None

    def added(self, pod: Object, patch: Raw | list[Raw]) -> tuple[Pod, bytes] | None:
        """Return a pod with the condition that a patch of its status adds, and the edit; None if it does more."""
        if not isinstance(patch, dict) or not _is_of(pod, patch):
            return None
        status = patch.get("status")
        told = status.get("conditions") if isinstance(status, dict) and len(status) == 1 else None
        if not isinstance(told, list) or len(told) != 1 or "$patch" in told[0]:
            return None
        view: Pod = pod.view
        if self._read is None or self._read[0] != told[0]:
            self._read = told[0], convert_view(told[0], PodCondition), _encode(status)
        _, condition, edit = self._read
        before = view.status.conditions
        if any(one.type == condition.type for one in before):
            return None
        if self._lists is None or self._lists[0] is not before or self._lists[1] is not condition:
            self._lists = before, condition, (condition, *before)  # where a strategic merge puts it
        return _replace(view, status=_replace(view.status, conditions=self._lists[2])), edit


def _is_of(pod: Object, patch: Raw) -> bool:
    """Return whether a patch has nothing but a status, and the UID of this pod."""
    metadata = patch.get("metadata")
    is_plain = len(patch) == 1 or (len(patch) == 2 and metadata == {"uid": pod.uid})
    return is_plain and pod.view.metadata.deletionTimestamp is None


def read_demands(demands: DeletionDemands) -> DeleteOptions:
    """Return the options of a deletion as the server reads them; those that components mostly have are put together."""
    if demands.keys() <= {"uid", "grace_seconds"} and demands.get("uid"):
        return DeleteOptions(
            kind="DeleteOptions",
            apiVersion="v1",
            preconditions=Preconditions(uid=demands["uid"]),
            gracePeriodSeconds=demands.get("grace_seconds"),
        )
    return delete_options({}, render_delete_options(**demands) or None)


def decide_pod_deletion(pod: Object, options: DeleteOptions, now: datetime) -> Deletion | None:
    """Return what a deletion makes of a pod's metadata; None for a pod whose finalizers have a say.

    The object in it has only those parts of the pod that the decision reads.
    """
    view: Pod = pod.view
    metadata, spec = view.metadata, view.spec
    if metadata.finalizers:
        return None
    known: Raw = {"name": metadata.name, "uid": metadata.uid, "generation": metadata.generation}
    if metadata.deletionTimestamp is not None:
        known["deletionTimestamp"] = metadata.deletionTimestamp
    if metadata.deletionGracePeriodSeconds is not None:
        known["deletionGracePeriodSeconds"] = metadata.deletionGracePeriodSeconds
    grace = {"nodeName": spec.nodeName, "terminationGracePeriodSeconds": spec.terminationGracePeriodSeconds}
    document = {"metadata": known, "spec": grace, "status": {"phase": view.status.phase}}
    return decide_deletion(_POD, document, options, now, str(pod.revision))


def marked(pod: Pod, deletion: Deletion) -> tuple[Pod, Marked]:
    """Return a pod that is being deleted, and the edit."""
    new = deletion.object["metadata"]
    names = ("deletionTimestamp", "deletionGracePeriodSeconds", "generation")
    changes = {
        name: new[name] for name in names if new.get(name) is not None and new[name] != getattr(pod.metadata, name)
    }
    return _replace(pod, metadata=_replace(pod.metadata, **changes)), Marked(changes)
