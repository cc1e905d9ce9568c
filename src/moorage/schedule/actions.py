"""What the scheduler decided: pods to bind, and pods without a node.

`moorage plan` carries actions out at once, the live scheduler sends them to the API server.
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
    """Bind the pod to the node, where the scheduler counts it already."""

    pod: QueuedPod
    slot: int
    node: str

    @property
    def record(self) -> PodRecord:
        return self.pod.record


class NoNode(msgspec.Struct, frozen=True):
    """No node for the pod now. `victims` are to be evicted, which makes room on `nominated`.

    `nominated` is the new `status.nominatedNodeName`; `demoted` are pods whose nomination for that node is void now.
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
        return event_note(self.message)

    @property
    def condition(self) -> PodCondition:
        return PodCondition(type=POD_SCHEDULED, status="False", reason=UNSCHEDULABLE, message=self.message)


Action = Bind | NoNode
