"""Since when a pod's time runs, derived from objects alone, so that a controller that starts over knows it.

In: a taint, a pod, the time. Out: the moment at which the pod's tolerated time is over; the taints whose time nobody
has written down. A pod's time begins when the taint was added (`timeAdded`) or when the pod was put on the node,
whichever is later. Each taint has its own deadline, and the first one counts. A taint that gets another value is
noticed anew, but the time of a pod that runs because of its key goes on: else a value that changes often would keep
everybody for ever.
Kubernetes: pkg/controller/tainteviction begins when it notices a taint, keeps that in memory, and begins again when it
is restarted; `kubectl taint` writes no `timeAdded`. Differs: the controller writes down when it noticed, as
`timeAdded`, rounded up to a whole second, if a pod's time depends on it. A time in the future (a clock has gone back)
is no time: the taint is noticed anew.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from moorage.control.framework.pods_of import seconds_of, time_text
from moorage.match.taint_eviction import Eviction
from moorage.model.types.node import Taint
from moorage.model.types.pod import Pod

#: Clocks of two machines may differ by as much, and times are whole seconds.
TOLERATED_SKEW = 5.0
_LONGEST = (2**63 - 1) // 10**9


def added_at(taint: Taint, now: float) -> float | None:
    """When the taint was added, as far as anybody knows."""
    added = seconds_of(taint.timeAdded)
    return added if added is not None and added <= now + TOLERATED_SKEW else None


def placed_at(pod: Pod, now: float) -> float:
    """When the pod was put on its node; minus infinity if there is no believing what it says."""
    placed = None
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            placed = seconds_of(condition.lastTransitionTime)
    if placed is None:
        placed = seconds_of(pod.metadata.creationTimestamp)
    return placed if placed is not None and placed <= now + TOLERATED_SKEW else -math.inf


class Countdown(NamedTuple):
    """When a pod's time is over, None while a time that counts is not written down; since when each taint counts."""

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
    """When the time that the pod tolerates these taints is over.

    `eviction.used` has the toleration for each of the taints; `begun` is what was said before of this pod, by key;
    `changed` are keys whose `timeAdded` is that of an earlier value.
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
    """The time to write down: rounded up, so that nobody has to leave before time."""
    return time_text(math.ceil(now))
