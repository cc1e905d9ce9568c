"""Next step of a DaemonSet's rolling update. Kubernetes: rollingUpdate, updatedDesiredNodeCounts.

Differs: nodes are taken in the order in which they reached their stage, not at random.
"""

from itertools import islice
from typing import NamedTuple

from moorage.control.daemon_set.tracker import DaemonPod, Stage, Tracker
from moorage.control.framework.workloads import ROLLING_UPDATE, scaled
from moorage.model.types.workload import DaemonSetUpdateStrategy


class UpdateStep(NamedTuple):
    """Pods to delete and nodes to create pods on."""

    delete: list[DaemonPod]
    create_on: list[str]


class UpdateLimits(NamedTuple):
    """How many pods may be unavailable, and how many nodes may have two pods."""

    unavailable: int
    surge: int


def surges(strategy: DaemonSetUpdateStrategy) -> bool:
    """Return whether a node may have two pods."""
    update = strategy.rollingUpdate
    return strategy.type == ROLLING_UPDATE and update is not None and scaled(update.maxSurge, 1, up=True) > 0


def limits_of(strategy: DaemonSetUpdateStrategy, desired: int) -> UpdateLimits:
    update = strategy.rollingUpdate
    unavailable = scaled(update.maxUnavailable, desired, up=True) if update is not None else 0
    surge = scaled(update.maxSurge, desired, up=True) if update is not None else 0
    if desired > 0 and unavailable == 0 and surge == 0:
        unavailable = 1
    return UpdateLimits(unavailable, surge)


def next_step(tracker: Tracker, limits: UpdateLimits) -> UpdateStep:
    return _surging(tracker, limits.surge) if limits.surge else _replacing(tracker, limits.unavailable)


def _replacing(tracker: Tracker, max_unavailable: int) -> UpdateStep:
    """Delete old pods that are unavailable, and others as far as maxUnavailable allows."""
    missing = tracker.count_at(
        Stage.EXCESS, Stage.MISSING, Stage.BOTH, Stage.BOTH_WAIT, Stage.NEW_WAITS, Stage.OLD_WAITS
    )
    delete = [verdict.old for verdict in tracker.at(Stage.OLD_WAITS).values()]
    delete += [verdict.old for verdict in islice(tracker.at(Stage.OLD).values(), max(0, max_unavailable - missing))]
    return UpdateStep([pod for pod in delete if pod is not None], [])


def _surging(tracker: Tracker, max_surge: int) -> UpdateStep:
    """Create new pods first and delete an old one when its successor, or enough others, are available."""
    delete = [verdict.old for verdict in tracker.at(Stage.BOTH).values()]
    create_on: list[str] = []
    for node, verdict in tracker.at(Stage.OLD_WAITS).items():
        if verdict.should_run:
            create_on.append(node)
        else:
            delete.append(verdict.old)
    spare = tracker.available_nodes - tracker.counts.desired
    free = max_surge - tracker.count_at(Stage.EXCESS, Stage.BOTH_WAIT)
    for node, verdict in tracker.at(Stage.OLD).items():
        if not verdict.should_run:
            if spare > 0:
                delete.append(verdict.old)
                spare -= 1
        elif free > 0:
            create_on.append(node)
            free -= 1
    return UpdateStep([pod for pod in delete if pod is not None], create_on)
