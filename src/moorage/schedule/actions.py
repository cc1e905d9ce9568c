"""What the scheduler decided: instructions for whoever can carry them out.

Offline that is `moorage plan`, which simply believes them; live it is whoever talks to the API server. Nothing here has
happened yet, except that the scheduler already counts a pod to be bound as being on its node.
"""

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.model.types.pod_status import PodCondition
from moorage.schedule.diagnosis import event_note
from moorage.schedule.queue.waiting_pods import QueuedPod

FAILED_SCHEDULING = "FailedScheduling"
POD_SCHEDULED = "PodScheduled"
UNSCHEDULABLE = "Unschedulable"


class Bind(msgspec.Struct, frozen=True):
    """Put the pod on the node."""

    pod: QueuedPod
    slot: int
    node: str

    @property
    def record(self) -> PodRecord:
        return self.pod.record


class NoNode(msgspec.Struct, frozen=True):
    """There is no node for the pod now. With `victims`, evict them: then there is room on `nominated`.

    `nominated` is what `status.nominatedNodeName` should say from now on. `demoted` are pods whose nomination for the
    same node is void now.
    """

    pod: QueuedPod
    message: str
    rejected_by: frozenset[str]
    nominated: str = ""
    victims: tuple[PodRecord, ...] = ()
    demoted: tuple[PodRecord, ...] = ()

    @property
    def record(self) -> PodRecord:
        return self.pod.record

    @property
    def note(self) -> str:
        """The text of the FailedScheduling event."""
        return event_note(self.message)

    @property
    def condition(self) -> PodCondition:
        return PodCondition(type=POD_SCHEDULED, status="False", reason=UNSCHEDULABLE, message=self.message)


Action = Bind | NoNode
