"""A pod in a plan: who it is, who made it, where it is or why it is nowhere."""

from enum import StrEnum

from moorage.columns.cluster import PodRecord
from moorage.model.types.pod import Pod
from moorage.plan.input.inventory import Key
from moorage.plan.input.notes import NOWHERE, Place

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"


class State(StrEnum):
    """What becomes of a pod."""

    BOUND = "Bound"  # it had its node when the plan began
    PLACED = "Placed"
    PENDING = "Pending"


class PlannedPod:
    """One pod. `order` is its place in the queue among pods of equal priority."""

    __slots__ = ("existing", "key", "message", "node", "order", "owner", "place", "pod", "reason", "record", "replaces")

    def __init__(self, pod: Pod, owner: Key | None, *, existing: bool = False, place: Place = NOWHERE) -> None:
        self.key = f"{pod.metadata.namespace}/{pod.metadata.name}"
        self.pod = pod
        self.owner = owner
        self.existing = existing
        self.place = place
        self.node = ""
        self.order = 0
        self.record: PodRecord | None = None
        # Why it is Pending: a word as in the PodScheduled condition, and the message a cluster would print.
        self.reason = ""
        self.message = ""
        # The pod that went, if this one was made in its stead.
        self.replaces = ""

    @property
    def state(self) -> State:
        if not self.node:
            return State.PENDING
        return State.BOUND if self.existing else State.PLACED

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0

    @property
    def is_mirror(self) -> bool:
        """Made by a kubelet from a file on its node: nobody evicts it, and it comes back."""
        return MIRROR_ANNOTATION in self.pod.metadata.annotations
