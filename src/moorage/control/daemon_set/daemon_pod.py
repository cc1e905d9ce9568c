"""What the DaemonSet controller wants to know of a pod, and of several on one node.

In: pods. Out: `DaemonPod`s, which are equal if nothing changed that matters here. Kubernetes: GetTargetNodeName,
IsPodUpdated, podByCreationTimestampAndPhase.
"""

from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.pods_of import ready_condition, seconds_of
from moorage.match.daemon_pods import pinned_to
from moorage.model.types.pod import Pod

REVISION_HASH = "controller-revision-hash"
TEMPLATE_GENERATION_LABEL = "pod-template-generation"


class DaemonPod(NamedTuple):
    """A pod of a DaemonSet. `node` is where it is or is meant to be; `is_bound` tells which."""

    name: str
    uid: str
    node: str
    is_bound: bool
    is_leaving: bool
    phase: str
    is_ready: bool
    ready_since: float | None
    created: str
    hash: str
    generation: str

    @property
    def is_over(self) -> bool:
        """Whether it has ended and is being deleted: nothing is left to do about it."""
        return self.is_leaving and self.phase in ("Failed", "Succeeded")

    @property
    def age_key(self) -> tuple[bool, str, str]:
        """Those that have a node come first, then the oldest."""
        return not self.is_bound, self.created, self.name

    def is_updated(self, hash_: str, generation: str) -> bool:
        """Whether it was made from this revision of the template."""
        return (self.hash == hash_ and bool(hash_)) or (self.generation == generation and bool(generation))

    def available_at(self, min_ready_seconds: int) -> float | None:
        """From when on it is available if it stays ready; None if it is not ready."""
        if not self.is_ready:
            return None
        if min_ready_seconds <= 0:
            return 0.0
        return None if self.ready_since is None else self.ready_since + min_ready_seconds


def daemon_pod(found: Object) -> DaemonPod:
    pod: Pod = found.view
    metadata, condition = pod.metadata, ready_condition(pod)
    labels = metadata.labels
    return DaemonPod(
        name=found.name,
        uid=found.uid,
        node=pod.spec.nodeName or pinned_to(pod.spec),
        is_bound=bool(pod.spec.nodeName),
        is_leaving=metadata.deletionTimestamp is not None,
        phase=pod.status.phase,
        is_ready=condition is not None,
        ready_since=seconds_of(condition.lastTransitionTime) if condition is not None else None,
        created=metadata.creationTimestamp or "",
        hash=labels.get(REVISION_HASH, ""),
        generation=labels.get(TEMPLATE_GENERATION_LABEL, ""),
    )
