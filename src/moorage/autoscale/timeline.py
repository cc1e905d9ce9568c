"""Note what an autoscaler does, step by step: nodes that are asked for, come, leave, and why."""

from enum import StrEnum

import msgspec

#: An autoscaler that runs for months keeps the latest of its steps.
MAX_STEPS = 50_000


class Did(StrEnum):
    """What happened to a node."""

    REQUESTED = "requested"
    ADDED = "added"
    LEAVES = "leaves"
    KEPT = "kept"
    REMOVED = "removed"


class ScalingStep(msgspec.Struct, frozen=True, rename="camel"):
    """One step: when (in seconds of the day), of which node, and for or of which pods."""

    time: float
    did: Did
    pool: str
    kind: str
    node: str
    reason: str
    pods: tuple[str, ...] = ()
    price: float | None = None


class Refused(msgspec.Struct, frozen=True, rename="camel"):
    """A pod that no node is started for, and why in the autoscaler's words; `pools` has each pool's reason."""

    pod: str
    message: str
    pools: dict[str, str]


class Timeline:
    """All steps, and the pods that no node is started for now."""

    def __init__(self) -> None:
        self.steps: list[ScalingStep] = []
        self.refused: dict[str, Refused] = {}

    def note(self, step: ScalingStep) -> None:
        self.steps.append(step)
        if len(self.steps) > MAX_STEPS:
            del self.steps[: MAX_STEPS // 10]
