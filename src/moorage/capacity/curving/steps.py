"""Define a step of a curve: a value to try, the range that it stands for, and the change that makes it so."""

from collections.abc import Sequence

import msgspec

from moorage.admit.raw import Raw
from moorage.lint.sources import Source
from moorage.plan.node_changes import TaintChange

#: A curve has no more steps than this; of more, these are spread over all of them.
MAX_STEPS = 200
#: The kind of an axis whose steps are values of a taint; the steps of the others are manifests.
TAINT = "taint"


class CurveStep(msgspec.Struct, frozen=True):
    """One value of a curve. All values in `range` have the same answer; `is_now` says that the cluster has it.

    The change is a list of taints, which the nodes of a cluster get, or manifests that its input has instead of its
    own.
    """

    value: str
    range: str
    is_now: bool = False
    taints: tuple[TaintChange, ...] = ()
    manifests: tuple[Raw, ...] = ()

    @property
    def sources(self) -> list[Source]:
        """Return what a plan reads after its input."""
        return [Source(self.value, content=msgspec.json.encode(one)) for one in self.manifests]


class Axis(msgspec.Struct, frozen=True):
    """What is varied (`what`, in words; `unit` heads its column), its steps, and how many were left out."""

    kind: str
    key: str
    what: str
    now: str
    unit: str
    steps: tuple[CurveStep, ...]
    left_out: int = 0


def bounded(steps: Sequence[CurveStep]) -> tuple[tuple[CurveStep, ...], int]:
    """Return the first, the last and evenly spread steps, with what the cluster has now, and how many are left out."""
    if len(steps) <= MAX_STEPS:
        return tuple(steps), 0
    wanted = {round(at * (len(steps) - 1) / (MAX_STEPS - 1)) for at in range(MAX_STEPS)}
    wanted |= {index for index, step in enumerate(steps) if step.is_now}
    return tuple(steps[index] for index in sorted(wanted)), len(steps) - len(wanted)
