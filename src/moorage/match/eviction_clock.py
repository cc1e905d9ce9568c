"""Tell when a pod has to leave its node because of NoExecute taints, and because of which: the one eviction clock.

A pod's time begins with the taint or with the pod's binding, whichever is later; the earliest deadline of all taints
counts, so the taint that decides need not be the one that is tolerated for the shortest time. The controller evicts
at these deadlines; plan, explain, watch and the page show them with the texts of `Deadline`. Kubernetes:
pkg/controller/tainteviction. Differs: deadlines follow from objects alone; each taint has its own deadline by the
current tolerations.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from moorage.match.evaluation.accounts import Undecided
from moorage.match.taint_eviction import Eviction, When, decide_eviction, no_execute, tolerated_for
from moorage.match.tolerations import ProgramCache, TolerationSet, compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.go.times import seconds_of, time_text
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod

#: Clocks of two machines may differ by as much, and times are whole seconds.
TOLERATED_SKEW = 5.0
_LONGEST = (2**63 - 1) // 10**9
STAYS = "stays: every NoExecute taint of its node is tolerated without limit"
AT_ONCE, LEAVES_NOW, LEAVES_IN = (
    "evicted at once: {because}",
    "leaves now: {because}",
    "leaves in {seconds} s: {because}",
)


class Deadline(msgspec.Struct, frozen=True):
    """When a pod has to leave its node: never, now, or at the time `due`, because of which taint.

    `seconds` are those that remained when this was computed. `is_tainted`: the node has a NoExecute taint at all.
    """

    when: When
    due: float = math.inf
    seconds: int = 0
    because: str = ""
    is_tainted: bool = True

    @property
    def leaves(self) -> bool:
        """Whether the pod has to leave its node, now or later."""
        return self.when is not When.NEVER

    @property
    def text(self) -> str:
        """`leaves in 23 s: …`, `evicted at once: …` or `stays: …`; empty if no taint concerns the pod."""
        if self.when is When.NEVER:
            return STAYS if self.is_tainted else ""
        form = AT_ONCE if self.when is When.NOW else LEAVES_IN if self.seconds > 0 else LEAVES_NOW
        return form.format(seconds=f"{self.seconds:,}", because=self.because)


#: The deadline of a pod whose node has no NoExecute taint, or which has no node.
NO_DEADLINE = Deadline(When.NEVER, is_tainted=False)


def deadline_on(
    node: Node | None, pod: Pod, gates: GateSet, now: float, programs: ProgramCache | None = None
) -> Deadline:
    """Return the deadline of a pod on its node; gates are those of the controller manager.

    A pod that is being deleted has none, nor has one whose expensive expressions are being evaluated. One that has
    succeeded or failed is deleted like all others.
    """
    taints = no_execute(node) if node is not None else ()
    if not taints or pod.metadata.deletionTimestamp is not None:
        return NO_DEADLINE
    try:
        eviction = decide_eviction(taints, compile_tolerations(pod.spec.tolerations, gates, programs))
    except Undecided:
        return NO_DEADLINE
    return deadline(taints, eviction, pod, now)


def deadline_if_placed(taints: Iterable[Taint], tolerations: TolerationSet, now: float) -> Deadline:
    """Return the deadline of a pod that is put on a node with these taints now: the shortest time counts."""
    eviction = decide_eviction(taints, tolerations)
    if eviction.when is not When.AFTER:
        return Deadline(eviction.when, math.inf if eviction.when is When.NEVER else now, 0, eviction.because)
    return Deadline(When.AFTER, now + eviction.seconds, eviction.seconds, eviction.because)


def deadline(
    taints: Iterable[Taint],
    eviction: Eviction,
    pod: Pod,
    now: float,
    *,
    begun: Mapping[str, float] | None = None,
    changed: Collection[str] = (),
) -> Deadline:
    """Return when a pod has to leave, if its node has these taints and a missing `timeAdded` is written down now.

    `taints` are the node's NoExecute taints; `begun` and `changed` are those of `countdown`.
    """
    taints = tuple(taints)
    if eviction.when is When.NOW:
        return Deadline(When.NOW, now, 0, eviction.because)
    if eviction.when is When.NEVER:
        return Deadline(When.NEVER, is_tainted=bool(taints))
    written = [
        msgspec.structs.replace(taint, timeAdded=noticed_text(now))
        if taint.key in changed or added_at(taint, now) is None
        else taint
        for taint in taints
    ]
    due, _, because = countdown(written, eviction, pod, now, begun=begun or {}, changed=())
    if due is None or due == math.inf:
        return Deadline(When.NEVER)
    return Deadline(When.AFTER, due, max(0, round(due - now)), because)


class Countdown(NamedTuple):
    """The deadline, None while a timeAdded is missing; when the timer of each taint began; and which taint decides."""

    due: float | None
    begun: dict[str, float]
    because: str = ""


def countdown(
    taints: Iterable[Taint],
    eviction: Eviction,
    pod: Pod,
    now: float,
    *,
    begun: Mapping[str, float],
    changed: Collection[str],
) -> Countdown:
    """Return when the time that the pod tolerates these taints is over.

    `eviction.used`: the toleration for each taint; `begun`: earlier timers of this pod by taint key; `changed`: keys
    whose `timeAdded` belongs to an earlier value.
    """
    placed = placed_at(pod, now)
    begins: dict[str, float] = {}
    first: float | None = math.inf
    decides: tuple[Taint, int] | None = None
    for taint, toleration in zip(taints, eviction.used, strict=True):
        seconds = toleration.tolerationSeconds
        if seconds is None or seconds > _LONGEST:
            continue
        known = [begun.get(taint.key), added_at(taint, now) if taint.key not in changed else None]
        since = min((time for time in known if time is not None and time <= now + TOLERATED_SKEW), default=None)
        if since is None:
            first = None
            continue
        begins[taint.key] = since
        if first is not None and (due := max(since, placed) + seconds) < first:
            first, decides = due, (taint, seconds)
    return Countdown(first, begins, tolerated_for(*decides) if decides is not None else "")


def added_at(taint: Taint, now: float) -> float | None:
    """Return when the taint was added, if known."""
    added = seconds_of(taint.timeAdded)
    return added if added is not None and added <= now + TOLERATED_SKEW else None


def placed_at(pod: Pod, now: float) -> float:
    """Return when the pod was bound; minus infinity if unknown."""
    placed = None
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            placed = seconds_of(condition.lastTransitionTime)
    if placed is None:
        placed = seconds_of(pod.metadata.creationTimestamp)
    return placed if placed is not None and placed <= now + TOLERATED_SKEW else -math.inf


def noticed_text(now: float) -> str:
    """Format a time, rounded up, so that no pod is evicted too early."""
    return time_text(math.ceil(now))
