"""The next step of a rolling update: which old pods go, and which nodes get a second pod meanwhile.

In: how far the update has come on each node, the DaemonSet's limits. Out: pods to delete, nodes to make pods for; the
loop that keeps one pod on each node does the rest. Kubernetes: rollingUpdate, updatedDesiredNodeCounts. Differs: nodes
are taken in the order in which they came to their stage, and not at random.
"""

from itertools import islice
from typing import NamedTuple

from moorage.control.daemon_set.tracker import DaemonPod, Stage, Tracker
from moorage.control.framework.workloads import ROLLING_UPDATE, scaled
from moorage.model.types.workload import DaemonSetUpdateStrategy


class Step(NamedTuple):
    """What a rolling update does next."""

    delete: list[DaemonPod]
    create_on: list[str]


class Limits(NamedTuple):
    """How many pods may be missing, and how many nodes may have two."""

    unavailable: int
    surge: int


def surges(strategy: DaemonSetUpdateStrategy) -> bool:
    """Whether a node may have two pods."""
    update = strategy.rollingUpdate
    return strategy.type == ROLLING_UPDATE and update is not None and scaled(update.maxSurge, 1, up=True) > 0


def limits_of(strategy: DaemonSetUpdateStrategy, desired: int) -> Limits:
    update = strategy.rollingUpdate
    unavailable = scaled(update.maxUnavailable, desired, up=True) if update is not None else 0
    surge = scaled(update.maxSurge, desired, up=True) if update is not None else 0
    if desired > 0 and unavailable == 0 and surge == 0:
        unavailable = 1
    return Limits(unavailable, surge)


def next_step(tracker: Tracker, limits: Limits) -> Step:
    return _surging(tracker, limits.surge) if limits.surge else _replacing(tracker, limits.unavailable)


def _replacing(tracker: Tracker, most: int) -> Step:
    """Old pods that do not work go at once, others as far as the limit allows."""
    missing = tracker.count_at(
        Stage.EXCESS, Stage.MISSING, Stage.BOTH, Stage.BOTH_WAIT, Stage.NEW_WAITS, Stage.OLD_WAITS
    )
    delete = [verdict.old for verdict in tracker.at(Stage.OLD_WAITS).values()]
    delete += [verdict.old for verdict in islice(tracker.at(Stage.OLD).values(), max(0, most - missing))]
    return Step([pod for pod in delete if pod is not None], [])


def _surging(tracker: Tracker, most: int) -> Step:
    """A new pod comes first, and the old one goes when it is available; or when others are, where none may stay."""
    delete = [verdict.old for verdict in tracker.at(Stage.BOTH).values()]
    create_on: list[str] = []
    for node, verdict in tracker.at(Stage.OLD_WAITS).items():
        if verdict.should_run:
            create_on.append(node)
        else:
            delete.append(verdict.old)
    spare = tracker.available_nodes - tracker.counts.desired
    free = most - tracker.count_at(Stage.EXCESS, Stage.BOTH_WAIT)
    for node, verdict in tracker.at(Stage.OLD).items():
        if not verdict.should_run:
            if spare > 0:
                delete.append(verdict.old)
                spare -= 1
        elif free > 0:
            create_on.append(node)
            free -= 1
    return Step([pod for pod in delete if pod is not None], create_on)
