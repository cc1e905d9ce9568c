"""When a pod's tolerated time is over, derived from objects alone, so that a restarted controller knows it.

The time begins with the taint (`timeAdded`) or with the pod's binding, whichever is later; the earliest deadline of all
taints counts. A taint with a new value is new, but a pod's timer for its key goes on, else a value that changes often
would keep the pod forever. Kubernetes: the controller starts timers when it sees a taint and again after a restart;
`kubectl taint` writes no `timeAdded`. Differs: the controller writes `timeAdded`, rounded up to a second, where a
deadline depends on it. A time in the future is ignored.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from moorage.match.taint_eviction import Eviction
from moorage.model.go.times import seconds_of, time_text
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod

#: Clocks of two machines may differ by as much, and times are whole seconds.
TOLERATED_SKEW = 5.0
_LONGEST = (2**63 - 1) // 10**9


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


class Countdown(NamedTuple):
    """The deadline, None while a timeAdded is missing; and when the timer of each taint began."""

    due: float | None
    begun: dict[str, float]


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
        first = min(first, max(since, placed) + seconds) if first is not None else None
    return Countdown(first, begins)


def noticed_text(now: float) -> str:
    """Format a time, rounded up, so that no pod is evicted too early."""
    return time_text(math.ceil(now))
