"""Decide what deletions make of simulated pods: pods that are alike in all that the decision reads share it."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from moorage.admit.subresources.deletion import decide_deletion
from moorage.client.http_wire import render_delete_options
from moorage.client.protocol import DeletionDemands, Object, Raw
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.types.request import DeleteOptions, Preconditions
from moorage.plan.simulation.pod_edits import Marked
from moorage.serve.requests.options import delete_options

_REMEMBERED = 256
_replace = msgspec.structs.replace


class PodDeletion(NamedTuple):
    """Whether a pod is removed at once, else the edit that marks it; neither if nothing changes."""

    removes: bool
    edit: Marked | None = None

    def marked(self, pod: Pod) -> Pod:
        """Return a pod that is being deleted."""
        assert self.edit is not None
        return _replace(pod, metadata=_replace(pod.metadata, **self.edit.metadata))


def read_demands(demands: DeletionDemands) -> DeleteOptions:
    """Return the options of a deletion as the server reads them; those that components mostly have are put together."""
    if demands.get("uid") and not demands.get("propagation") and not demands.get("revision"):
        return DeleteOptions(
            kind="DeleteOptions",
            apiVersion="v1",
            preconditions=Preconditions(uid=demands["uid"]),
            gracePeriodSeconds=demands.get("grace_seconds"),
        )
    return delete_options({}, render_delete_options(**demands) or None)


class PodDeletions:
    """The decisions that were made last."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], PodDeletion] = {}

    def decide(self, pod: Object, demands: DeletionDemands, now: int) -> PodDeletion | None:
        """Return what a deletion makes of a pod; None if finalizers have a say, or more than its UID is demanded."""
        view: Pod = pod.view
        metadata, spec = view.metadata, view.spec
        if (
            metadata.finalizers
            or (demands.get("uid") or metadata.uid) != metadata.uid
            or demands.get("propagation")
            or demands.get("revision")
        ):
            return None
        grace, is_bound, phase = demands.get("grace_seconds"), bool(spec.nodeName), view.status.phase
        marked = metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds, metadata.generation
        key = grace, is_bound, spec.terminationGracePeriodSeconds, phase, marked, now
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            known = self._known[key] = _decide(pod, demands, now)
        return known


def _decide(pod: Object, demands: DeletionDemands, now: int) -> PodDeletion:
    """Ask the function that the server asks. The document has only those parts of the pod that it reads."""
    view: Pod = pod.view
    metadata, spec = view.metadata, view.spec
    known: Raw = {"name": metadata.name, "uid": metadata.uid, "generation": metadata.generation}
    if metadata.deletionTimestamp is not None:
        known["deletionTimestamp"] = metadata.deletionTimestamp
    if metadata.deletionGracePeriodSeconds is not None:
        known["deletionGracePeriodSeconds"] = metadata.deletionGracePeriodSeconds
    grace = {"nodeName": spec.nodeName, "terminationGracePeriodSeconds": spec.terminationGracePeriodSeconds}
    document = {"metadata": known, "spec": grace, "status": {"phase": view.status.phase}}
    time = datetime.fromtimestamp(now, UTC)
    deletion = decide_deletion(KINDS.POD, document, read_demands(demands), time, str(pod.revision))
    if deletion.removes or not deletion.changed:
        return PodDeletion(deletion.removes)
    new = deletion.object["metadata"]
    names = ("deletionTimestamp", "deletionGracePeriodSeconds", "generation")
    changes = {name: new[name] for name in names if new.get(name) is not None and new[name] != getattr(metadata, name)}
    return PodDeletion(removes=False, edit=Marked(changes))
