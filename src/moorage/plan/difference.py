"""Tell what a change does to a plan: which pods go and when, where their successors run, which pods have to wait."""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from moorage.plan.outcome import Outcome, PodLine
from moorage.plan.planned_pod import State


class Cause(StrEnum):
    """Why a pod went."""

    TAINT = "taint"
    DEVICE_TAINT = "device taint"
    DRAIN = "drain"
    NODE_REMOVED = "node removed"
    PREEMPTED = "preempted"
    NEW_TEMPLATE = "new template"
    CONTROLLER = "removed by its controller"
    DELETED = "deleted"


class Departure(msgspec.Struct, rename="camel"):
    """A pod that went, when (in seconds after the change), why, and what became of its successor."""

    pod: str
    workload: str
    node: str
    cause: Cause
    seconds: int = msgspec.field(default=0, name="afterSeconds")
    because: str = ""
    replaced_by: str = ""
    new_node: str = ""
    message: str = ""


class Difference(msgspec.Struct):
    """Before and after. `placed` and `pending` are pods that nothing above explains."""

    changes: tuple[str, ...]
    before: Outcome
    departures: list[Departure]
    blocked: list[tuple[str, str]]
    placed: list[PodLine]
    pending: list[PodLine]

    @property
    def evicted(self) -> list[Departure]:
        """The departures that no rolling update explains."""
        return [one for one in self.departures if one.cause is not Cause.NEW_TEMPLATE]

    @property
    def rolled(self) -> list[Departure]:
        """The pods that a rolling update replaces, as its strategy allows."""
        return [one for one in self.departures if one.cause is Cause.NEW_TEMPLATE]

    @property
    def is_empty(self) -> bool:
        return not (self.departures or self.blocked or self.placed or self.pending)


def difference_of(
    changes: Sequence[str],
    before: Outcome,
    after: Outcome,
    departures: list[Departure],
    blocked: Iterable[tuple[str, str]],
) -> Difference:
    """Complete the departures with their successors, and collect the other pods that are new."""
    then = {pod.key: pod for pod in before.pods}
    now = {pod.key: pod for pod in after.pods}
    explained = set()
    for departure in departures:
        successor = now.get(departure.replaced_by)
        if successor is not None:
            explained.add(successor.key)
            departure.new_node, departure.message = successor.node, successor.message
    placed, pending = [], []
    for pod in after.pods:
        old = then.get(pod.key)
        if pod.key in explained:
            continue
        if pod.state is State.PENDING:
            if old is None or old.state is not State.PENDING:
                pending.append(pod)
        elif old is None or old.state is State.PENDING:
            placed.append(pod)
    return Difference(tuple(changes), before, departures, list(blocked), placed, pending)
