"""Count pods by the few facts that controllers ask for, kept up to date as pods change.

Fifty thousand pods of one ReplicaSet have the same labels and some hundred different moments at which they became
ready: a controller that asks how many are ready looks at these, not at each pod.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.model.types.pod import FINISHED_PHASES, Pod

Labels = tuple[tuple[str, str], ...]


class PodFacts(NamedTuple):
    """What pods are counted by. `owner` is the UID of their controller; `ready_since` is None if they are not ready."""

    labels: Labels
    owner: str = ""
    is_finished: bool = False
    is_leaving: bool = False
    ready_since: str | None = None

    @property
    def is_active(self) -> bool:
        return not self.is_finished and not self.is_leaving

    @property
    def is_terminating(self) -> bool:
        return self.is_leaving and not self.is_finished


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    for owner in metadata.ownerReferences:
        if owner.controller:
            return owner
    return None


def facts_for_owner(pod: Pod) -> PodFacts:
    """Return what counts for the owner of a pod, who knows whose it is."""
    metadata, status = pod.metadata, pod.status
    return PodFacts(
        tuple(metadata.labels.items()),
        "",
        status.phase in FINISHED_PHASES,
        metadata.deletionTimestamp is not None,
        _ready_since(pod),
    )


def facts_for_budgets(pod: Pod) -> PodFacts:
    """Return what counts for the budgets of a namespace: since when a pod is ready does not matter."""
    metadata = pod.metadata
    owner = controller_of(metadata)
    ready = None if _ready_since(pod) is None else ""
    uid = owner.uid if owner is not None else ""
    return PodFacts(tuple(metadata.labels.items()), uid, False, metadata.deletionTimestamp is not None, ready)


def _ready_since(pod: Pod) -> str | None:
    for condition in pod.status.conditions:
        if condition.type == "Ready":
            return (condition.lastTransitionTime or "") if condition.status == "True" else None
    return None


def is_counted_alike(pod: Pod, other: Pod) -> bool:
    """Return whether two pods surely have the same facts: those of one template share parts."""
    metadata, others, status, other_status = pod.metadata, other.metadata, pod.status, other.status
    return (
        metadata.labels is others.labels
        and metadata.ownerReferences is others.ownerReferences
        and (metadata.deletionTimestamp is None) is (others.deletionTimestamp is None)
        and status.conditions is other_status.conditions
        and status.phase == other_status.phase
    )


class Tally(dict[PodFacts, int]):
    """How many pods have which facts."""

    def __init__(self, facts_of: Callable[[Pod], PodFacts], pods: Iterable[Pod]) -> None:
        self._facts_of = facts_of
        #: The last pod that was added and the last one that was taken away, with their facts.
        self._last: dict[int, tuple[Pod, PodFacts]] = {}
        for pod in pods:
            self.count(pod, 1)

    def count(self, pod: Pod, by: int) -> None:
        """Add a pod, or with -1 take it away as it was when it was added."""
        last = self._last.get(by)
        facts = last[1] if last is not None and is_counted_alike(last[0], pod) else self._facts_of(pod)
        self._last[by] = pod, facts
        number = self.get(facts, 0) + by
        if number:
            self[facts] = number
        else:
            del self[facts]
