"""Wake groups of waiting pods: one pod is tried for all that are alike, then the next one if that pod got a node.

If there is no node for it, there is none for the others either: they go on waiting as if each had been tried, with the
order and the backoff that they would have then, but without an attempt. If the reasons are not those that they know,
they are told later, each by an attempt. Kubernetes: tries every pod of the group at each event.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from math import inf

import msgspec

from moorage.columns.shape import Shape
from moorage.schedule.framework.events import ABOUT_STORAGE_CLAIMS, Event, EventKind
from moorage.schedule.waiting_pods import QueuedPod, WaitingGroup, WaitingGroups

TELLING_SECONDS = 10.0  # from new reasons until pods are told of them that were not tried: the longest backoff


class Surroundings(msgspec.Struct, frozen=True):
    """What the queue does with pods, and knows of them.

    `requeue` tries a pod once its backoff is over, with a number for its place, or 0; `withdraw` takes one back that
    was to be tried; `reserve` keeps numbers for the places of so many pods; `refresh` returns a pod's shape of now.
    """

    requeue: Callable[[QueuedPod, float, EventKind, int], None]
    withdraw: Callable[[QueuedPod, float], None]
    reserve: Callable[[int], range]
    is_concerned: Callable[[QueuedPod, Event], bool]
    refresh: Callable[[QueuedPod], Shape]
    backoff: Callable[[int], float]


class Turns:
    """Whose turn it is in each group that an event woke."""

    def __init__(self, groups: WaitingGroups, queue: Surroundings) -> None:
        self._groups = groups
        self._queue = queue
        self._due: list[WaitingGroup] = []  # the pod that was tried for the group got a node, or went away
        self._untold: list[tuple[float, int, WaitingGroup]] = []

    def wake(self, group: WaitingGroup, event: Event, now: float) -> None:
        """Try the pods of a group that an event may help."""
        about_some = event.kind in ABOUT_STORAGE_CLAIMS or event.by in group.pods
        if group.is_awake and not about_some:
            return
        if about_some or not group.shares or len(group.pods) == 1:
            for pod in list(group.pods.values()):
                if self._queue.is_concerned(pod, event):
                    self.leave(pod, now, event.kind)
            return
        group.is_awake, group.woken_by, group.numbers = True, event.kind, self._queue.reserve(len(group.pods))
        self._next(group, now)

    def leave(self, pod: QueuedPod, now: float, cause: EventKind, number: int = 0) -> None:
        """Try one pod of a group."""
        self.catch_up(pod)
        self._groups.remove(pod)
        self._queue.requeue(pod, now, cause, number)

    def _next(self, group: WaitingGroup, now: float) -> None:
        """Try the first pod of a group for all of them."""
        if not group.is_awake or not group.pods:
            return
        pod = self._first(group, now)
        group.tried, pod.tried_for = pod, group
        number = 0
        if group.numbers:
            number, group.numbers = group.numbers[0], group.numbers[1:]
        self.leave(pod, now, group.woken_by, number)

    def _first(self, group: WaitingGroup, now: float) -> QueuedPod:
        """Return the first pod whose backoff is over, or the one whose backoff ends first."""
        first = next(iter(group.pods.values()))
        self.catch_up(first)
        if first.backoff_until <= now or len(group.ages) == 1:  # all back off as long, from when they joined
            return first
        for pod in group.pods.values():
            self.catch_up(pod)
            if pod.backoff_until <= now:
                return pod
            if pod.backoff_until < first.backoff_until:
                first = pod
        return first

    def catch_up(self, pod: QueuedPod) -> None:
        """Count the failures of a pod's group since it joined as its own."""
        group = pod.group
        if group is not None and pod.failures_seen != group.failures:
            pod.unschedulable += group.failures - pod.failures_seen
            pod.failures_seen = group.failures
            pod.since = group.failed_at
            pod.backoff_until = group.failed_at + self._queue.backoff(pod.unschedulable)

    def over(self, pod: QueuedPod) -> None:
        """Let the others of its group go on: the pod has a node, or went away, or is tried no more for them."""
        group, pod.tried_for = pod.tried_for, None
        if group is not None:
            group.tried = None
            if group.is_awake and group.pods:
                self._due.append(group)

    def pass_on(self, now: float) -> None:
        """Try the next pod of the groups that go on."""
        while self._due:
            group = self._due.pop()
            if group.tried is None:
                self._next(group, now)

    # -- answers ------------------------------------------------------------------------------------------------------

    def answered(self, pod: QueuedPod, answer: str, now: float) -> None:
        """Let a pod wait again, and with it all that would be told the same now: no node fits their shape."""
        shape, others = pod.record.shape, []
        for group in self._groups.of_shape(pod.scheduler, shape):
            if group.is_awake:
                group.is_awake = False
                group.numbers = range(0)
                if (tried := group.tried) is not None:  # for the others; it would fail as well
                    group.tried = tried.tried_for = None
                    if not shape.claims or self._queue.refresh(tried) is shape:
                        self._queue.withdraw(tried, now)
                        self._groups.add(tried, shares=True, in_front=True)
                if shape.claims:
                    self._leave_unlike(group, shape, now)
                others.append(group)
        for group in others:
            if group.pods and group.rejected_by == pod.rejected_by:
                self._fail(group, now)
        group = self._groups.add(pod, shares=True, in_front=any(g.rejected_by == pod.rejected_by for g in others))
        if group.answer != answer:
            group.answer = answer
            if len(group.pods) > 1:
                self._tell_later(group, now)
        pod.told = group.answer
        for other in others:
            if other is not group:
                self._merge(other, pod.rejected_by, now)

    def _leave_unlike(self, group: WaitingGroup, shape: Shape, now: float) -> None:
        """Try the pods whose claims are not like the others' any more."""
        for pod in list(group.pods.values()):
            if self._queue.refresh(pod) is not shape:
                self.leave(pod, now, group.woken_by)

    def _fail(self, group: WaitingGroup, now: float) -> None:
        group.failures += 1
        group.failed_at = now
        self._groups.renew(group)

    def _merge(self, group: WaitingGroup, rejected_by: frozenset[str], now: float) -> None:
        """Let the pods of a group wait for what keeps their shape from a node now."""
        if group.pods:
            self._fail(group, now)
        for pod in list(group.pods.values()):
            self.catch_up(pod)
            self._groups.remove(pod)
            pod.rejected_by = rejected_by
            self._tell_later(self._groups.add(pod, shares=True), now)

    def _tell_later(self, group: WaitingGroup, now: float) -> None:
        if not group.is_untold:
            group.is_untold = True
            heappush(self._untold, (now + TELLING_SECONDS, id(group), group))

    def next_time(self) -> float:
        """Return when pods are to be told of new reasons; infinity if none is."""
        return self._untold[0][0] if self._untold else inf

    def tell(self, now: float) -> None:
        """Try the pods that were told other reasons than those of now."""
        while self._untold and self._untold[0][0] <= now:
            _, _, group = heappop(self._untold)
            group.is_untold = False
            for pod in list(group.pods.values()):
                if pod.told != group.answer:
                    self.leave(pod, now, group.woken_by)
