"""Edit simulated objects without their documents: bindings, statuses, conditions and deletions of pods.

A simulation of ten thousand pods changes each of them half a dozen times, and documents are hardly ever read. So what a
component writes into a pod is put into its typed view, and the document is made when it is asked for, by the functions
of `admit` and `serve` that the API server calls (`read`). A law compares the two. What components of the simulation
write needs no validation; whatever else comes, and whatever is not plain, takes the long way through admission.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.admit.plugins.topology import NO_TOPOLOGY
from moorage.admit.subresources.pods import bind_pod, binding_with_labels
from moorage.client.protocol import Object, Raw
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.strategic_merge import apply_strategic_merge
from moorage.model.schema.conversion import convert_view
from moorage.model.schema.merge_schema import schema_of
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod, PodCondition
from moorage.model.types.request import Binding

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


class Edited(NamedTuple):
    """What the document of a simulated object is made of: the admitted one, and what was written into it since."""

    document: Raw
    edits: tuple[Edit, ...]


def edited(found: Object, revision: int, view: Any, *edits: Edit) -> Object:
    """Return an object as it is after these edits, with the view that they make."""
    document, before = found.source
    new = Object.__new__(Object)  # half of the time of a call: a plan makes some for each pod
    new.kind, new.key, new.revision, new.source = found.kind, found.key, revision, Edited(document, before + edits)
    new.view, new.uid, new.template, new._read = view, found.uid, found.template, read
    return new


def read(source: Edited, kind: Kind, revision: int) -> Raw:
    """Make the document of a simulated object, with its revision."""
    raw = source.document
    for edit in source.edits:
        if isinstance(edit, bytes):
            raw = apply_strategic_merge(raw, {"status": _decode(edit)}, schema_of(KINDS.POD))
        elif isinstance(edit, Marked):
            raw = {**raw, "metadata": {**raw["metadata"], **edit.metadata}}
        else:
            metadata = raw["metadata"]
            binding = binding_with_labels(binding_to(metadata["name"], metadata["uid"], edit.node), edit.labels)
            raw = bind_pod(raw, binding, edit.time)
    return {**raw, "metadata": {**raw["metadata"], "resourceVersion": str(revision)}}


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
        if self._read is None or (self._read[0] is not told[0] and self._read[0] != told[0]):
            self._read = told[0], convert_view(told[0], PodCondition), _encode(status)
        _, condition, edit = self._read
        before = view.status.conditions
        if self._lists is None or self._lists[0] is not before or self._lists[1] is not condition:
            if any(one.type == condition.type for one in before):
                return None
            self._lists = before, condition, (condition, *before)  # where a strategic merge puts it
        return _replace(view, status=_replace(view.status, conditions=self._lists[2])), edit


def _is_of(pod: Object, patch: Raw) -> bool:
    """Return whether a patch has nothing but a status, and the UID of this pod."""
    metadata = patch.get("metadata")
    is_plain = len(patch) == 1 or (len(patch) == 2 and metadata == {"uid": pod.uid})
    return is_plain and pod.view.metadata.deletionTimestamp is None
