"""Order in which surplus pods are deleted. Kubernetes: ActivePodsWithRanks and getPodsToDelete.

Differs: of two ready pods the one that is not available yet goes first, so that scaling down costs no more availability
than it must and a rolling update stays within its bounds; pods of a ReplicaSet without an owner are ranked by how many
of its own pods share their node.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cmp_to_key, partial
from heapq import heappush, heapreplace
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.steps import Steps, in_parts
from moorage.control.framework.workloads import available_in, is_active, ready_condition
from moorage.model.go.times import seconds_of
from moorage.model.text.patterns import whole
from moorage.model.types.pod import Pod
from moorage.model.well_known.annotations import POD_DELETION_COST

_is_cost = whole(r"(?:0|[1-9][0-9]*|-[0-9]+)")
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_INT32 = range(-(2**31), 2**31)


class _Merits(NamedTuple):
    """Sort key of a pod. `first` is compared before the times: the smaller is deleted first."""

    first: tuple[bool, int, bool, bool, int, int]
    ready_since: float | None
    restarts: tuple[int, int]
    created: float | None
    uid: str


def deletion_cost(pod: Pod) -> int:
    """Return the pod-deletion-cost annotation; 0 if absent or malformed."""
    text = pod.metadata.annotations.get(POD_DELETION_COST, "")
    if not text or not _is_cost(text) or len(text) > 11:
        return 0
    cost = int(text)
    return cost if cost in _INT32 else 0


def pods_to_delete(
    pods: Sequence[Object], related: Iterable[Object], count: int, min_ready_seconds: int, now: float
) -> Steps[list[Object]]:
    """Return `count` of the pods, cheapest first. `related`: all pods of the same application, these included."""
    if count >= len(pods):
        return list(pods)
    on_node: Counter[str] = Counter()
    for part in in_parts(related):
        on_node.update(found.view.spec.nodeName for found in part if is_active(found.view))
        yield

    def merits(pod: Pod) -> _Merits:
        node, condition = pod.spec.nodeName, ready_condition(pod)
        is_available = available_in(pod, min_ready_seconds, now) == 0
        first = (
            bool(node),
            _PHASES.get(pod.status.phase, 0),
            condition is not None,
            is_available,
            deletion_cost(pod),
            -on_node[node],
        )
        since = seconds_of(condition.lastTransitionTime) if condition is not None else None
        return _Merits(first, since, _restarts(pod), seconds_of(pod.metadata.creationTimestamp), pod.metadata.uid)

    cheapest = _Cheapest(count, now)
    place = 0
    for part in in_parts(pods):
        for found in part:
            cheapest.offer(merits(found.view), place, found)
            place += 1
        yield
    return cheapest.ranked()


class _Cheapest:
    """The cheapest of the pods that were offered, at most `count`, in a heap with the most expensive on top."""

    def __init__(self, count: int, now: float) -> None:
        self._count = count
        self._heap: list[_Dear] = []
        self._order: Callable[[_Ranked], Any] = cmp_to_key(partial(_compare_ranked, now))
        self._dear: Callable[[_Ranked], _Dear] = cmp_to_key(lambda one, other: _compare_ranked(now, other, one))

    def offer(self, merits: _Merits, place: int, found: Object) -> None:
        dear = self._dear((merits, place, found))
        if len(self._heap) < self._count:
            heappush(self._heap, dear)
        elif self._heap and self._heap[0] < dear:
            heapreplace(self._heap, dear)

    def ranked(self) -> list[Object]:
        return [found for _, _, found in sorted((dear.obj for dear in self._heap), key=self._order)]


#: A pod's merits, its place among the others, which decides between equal ones, and the pod.
_Ranked = tuple[_Merits, int, Object]
_Dear = Any  # compares the other way round


def _compare_ranked(now: float, one: _Ranked, other: _Ranked) -> int:
    return _compare(one[0], other[0], now) or one[1] - other[1]


def _compare(one: _Merits, other: _Merits, now: float) -> int:
    if one.first != other.first:
        return -1 if one.first < other.first else 1
    is_ready = one.first[2]
    if is_ready and one.ready_since != other.ready_since:
        return _younger_first(one.ready_since, other.ready_since, one, other, now)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _younger_first(one.created, other.created, one, other, now)
    return 0


def _younger_first(since: float | None, other_since: float | None, one: _Merits, other: _Merits, now: float) -> int:
    """Compare by age on a logarithmic scale, and by UID for about the same age."""
    if since is None or other_since is None:
        return -1 if since is None else 1
    difference = _rank(since, now) - _rank(other_since, now)
    if difference:
        return difference
    return -1 if one.uid < other.uid else 1


def _rank(since: float, now: float) -> int:
    age = int((now - since) * 1_000_000_000)
    return int(math.log2(age)) if age > 0 else -1


def _restarts(pod: Pod) -> tuple[int, int]:
    """Return the highest restart counts of containers and of sidecars."""
    status = pod.status
    containers = max((container.restartCount for container in status.containerStatuses), default=0)
    if not status.initContainerStatuses:
        return containers, 0
    sidecars = {container.name for container in pod.spec.initContainers if container.restartPolicy == "Always"}
    restarts = (
        container_status.restartCount
        for container_status in status.initContainerStatuses
        if container_status.name in sidecars
    )
    return containers, max(restarts, default=0)
