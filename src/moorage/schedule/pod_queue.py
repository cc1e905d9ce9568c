"""Decide which pod is scheduled next, and keep those that wait, each with what it waits for.

Time is an argument: `next_time` says when to ask again. A pod is

- *active*: tried by priority, then by how long it has waited;
- in *backoff*: worth trying, but failed a moment ago; tried early if no other pod is active;
- *unschedulable*: waiting for an event that a plugin which rejected it says may help, or for five minutes;
- *gated*: waiting until its scheduling gates are removed, or for a moment for its ResourceClaims to be created or
  for its expensive expressions to be evaluated;
- *in flight*: being tried. Events are kept meanwhile, and considered if the attempt fails.

Kubernetes: backend/queue/scheduling_queue.go. Differs: hints are asked once for all pods of a shape, one of which is
tried for all (see `turns`); a pod that finds no nodes at all waits for the first one instead of being tried again and
again; a pod whose ResourceClaims are not there gets an event after a second, by an attempt that fails.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from math import inf

from moorage.columns.cluster import PodRecord
from moorage.columns.shape import Shape
from moorage.match.devices.claims import ClaimKey, claim_keys
from moorage.model.types.pod import Pod, PodSpec
from moorage.schedule.framework.events import ABOUT_RESOURCE_CLAIMS, Event, EventKind, claim_of, concerns, own_events
from moorage.schedule.framework.plugin import Verdict
from moorage.schedule.plugins.priority_sort import PrioritySort, QueuePosition
from moorage.schedule.plugins.scheduling_gates import SchedulingGates
from moorage.schedule.queue_timers import Backoff, Timers
from moorage.schedule.turns import Surroundings, Turns
from moorage.schedule.waiting_pods import (
    QueuedPod,
    QueueMove,
    QueueState,
    RequeueTable,
    WaitingGroup,
    WaitingGroups,
)

MAX_WAIT_SECONDS = 300.0
EVALUATION_WAIT_SECONDS = 1.0  # before an event says that expressions are being evaluated
CLAIMS_WAIT_SECONDS = 1.0  # before an event says that its ResourceClaims are missing or being allocated
Cause = QueueMove | EventKind


class SchedulingQueue:
    """All pods without a node.

    `tables` has the plugins' hints by scheduler name; `ungated` names schedulers that ignore scheduling gates;
    `why_claims_wait` says why a pod's ResourceClaims are not there, if they are not; `has_promised_claims`, whether
    any of them is about to be allocated for another pod; `refresh` returns the shape that a pod has now.
    """

    def __init__(
        self,
        tables: Mapping[str, RequeueTable],
        backoff: Backoff | None = None,
        ungated: frozenset[str] = frozenset(),
        why_claims_wait: Callable[[Pod], str] = lambda pod: "",
        has_promised_claims: Callable[[Pod], bool] = lambda pod: False,
        refresh: Callable[[PodRecord], Shape] = lambda record: record.shape,
    ) -> None:
        self._tables = tables
        self._backoff = backoff or Backoff()
        self._position = PrioritySort().position
        self._gate = SchedulingGates().pre_enqueue
        self._ungated = ungated
        self._why_claims_wait = why_claims_wait
        self._has_promised_claims = has_promised_claims
        self._pods: dict[str, QueuedPod] = {}
        self._number = 0
        # Heaps hold entries of pods that have moved on; such an entry's number is not the pod's any more.
        self._active: list[tuple[QueuePosition, QueuedPod]] = []
        self._in_backoff = Timers(QueueState.BACKOFF)
        self._after_error = Timers(QueueState.BACKOFF)
        self._longest_waiting = Timers(QueueState.UNSCHEDULABLE)
        self._without_claims = Timers(QueueState.GATED)
        self._by_claim: dict[ClaimKey, dict[str, QueuedPod]] = {}  # pods by the ResourceClaims that they use
        self._unschedulable = WaitingGroups(tables)
        self._turns = Turns(
            self._unschedulable,
            Surroundings(
                requeue=self._requeue,
                withdraw=self._withdraw,
                reserve=self._reserve,
                is_concerned=self._is_concerned,
                refresh=lambda pod: refresh(pod.record),
                backoff=self._backoff.seconds,
            ),
        )
        #: Whether pods that wait are tried again to be told of new reasons, though there is no node for them.
        self.tells_reasons = True
        self._in_flight: dict[str, int] = {}  # the number of events before each
        self._events: list[Event] = []
        self._events_dropped = 0
        # How many pods came to each place, and by what.
        self.incoming: Counter[tuple[QueueState, Cause]] = Counter()

    # -- pods come, change and go ---------------------------------------------------------------------------------

    def add(self, record: PodRecord, now: float) -> None:
        self.remove(record.key)
        pod = self._pods[record.key] = QueuedPod(record, now)
        self._index(pod)
        self._enter(pod, QueueMove.POD_ADDED, now)

    def update(self, record: PodRecord, now: float) -> None:
        pod = self._pods.get(record.key)
        if pod is None:
            self.add(record, now)
            return
        old = pod.record
        self._unindex(pod)
        pod.record = record
        self._index(pod)
        pod.record = old
        changed = old.shape is not record.shape
        events = own_events(record.key, old.pod, record.pod) if changed else ()
        if pod.place is QueueState.UNSCHEDULABLE:
            pod.record = record
            if not changed:
                return
            cause = pod.group.woken_by if pod.group is not None and pod.group.is_awake else None
            self._set_apart(pod)
            cause = next((event.kind for event in events if self._may_help(pod, event)), cause)
            if cause is not None:
                self._wake(pod, now, cause)
            return
        pod.record = record
        if changed:
            self._turns.over(pod)
        if pod.place is QueueState.IN_FLIGHT:
            self._events.extend(events)
        elif pod.place is QueueState.GATED or (pod.place is QueueState.ACTIVE and changed):
            self._enter(pod, QueueMove.POD_UPDATED, now)

    def remove(self, key: str) -> None:
        pod = self._pods.pop(key, None)
        if pod is None:
            return
        self._unindex(pod)
        if pod.place is QueueState.UNSCHEDULABLE:
            self._unschedulable.remove(pod)
        self._turns.over(pod)
        self._land(key)
        pod.place = QueueState.NOWHERE

    def _index(self, pod: QueuedPod) -> None:
        if pod.record.pod.spec.resourceClaims:
            for key in claim_keys(pod.record.pod):
                self._by_claim.setdefault(key, {})[pod.key] = pod

    def _unindex(self, pod: QueuedPod) -> None:
        if pod.record.pod.spec.resourceClaims:
            for key in claim_keys(pod.record.pod):
                pods = self._by_claim.get(key, {})
                pods.pop(pod.key, None)
                if not pods:
                    self._by_claim.pop(key, None)

    def why_gated(self, spec: PodSpec, scheduler: str) -> Verdict | None:
        """Return why a pod may not be tried yet; None if it may."""
        return None if scheduler in self._ungated else self._gate(spec)

    def _enter(self, pod: QueuedPod, cause: Cause, now: float, number: int = 0) -> None:
        """Make a pod active, unless it is gated, or waits for its claims and has not waited long."""
        if self.why_gated(pod.record.pod.spec, pod.scheduler) is not None:
            self._turns.over(pod)
            pod.place = QueueState.GATED
            self.incoming[QueueState.GATED, cause] += 1
            return
        until = pod.entered + CLAIMS_WAIT_SECONDS
        if now < until and not pod.attempts and self._waits_for_claims(pod):
            pod.place = QueueState.GATED
            self.incoming[QueueState.GATED, cause] += 1
            self._without_claims.push(until, self._place(pod), pod)
            return
        pod.place = QueueState.ACTIVE
        self.incoming[QueueState.ACTIVE, cause] += 1
        heappush(self._active, (self._place(pod, number), pod))

    def _waits_for_claims(self, pod: QueuedPod) -> bool:
        """Return whether a pod's ResourceClaims are not there."""
        return bool(pod.record.pod.spec.resourceClaims) and bool(self._why_claims_wait(pod.record.pod))

    def _reserve(self, pods: int) -> range:
        self._number += pods
        return range(self._number - pods + 1, self._number + 1)

    def _place(self, pod: QueuedPod, number: int = 0) -> QueuePosition:
        if not number:
            number = self._number = self._number + 1
        pod.number = number
        return self._position(pod.record.pod.spec, pod.since, number)

    # -- attempts ---------------------------------------------------------------------------------------------------

    def pop(self, now: float) -> QueuedPod | None:
        """Return the next pod to try, which is in flight from now on; None if there is none now."""
        if self._in_backoff or self._after_error or self._longest_waiting or self._without_claims:
            self._pass_time(now)
        if self.tells_reasons:  # also if those that were to be told are gone, or its time would never pass
            self._turns.tell(now)
        self._turns.pass_on(now)
        pod = self._pop_active() or self._in_backoff.pop_early()
        while pod is not None and pod.record.pod.spec.resourceClaims and self._hold(pod, now):
            pod = self._pop_active() or self._in_backoff.pop_early()
        if pod is None:
            return None
        pod.place = QueueState.IN_FLIGHT
        pod.attempts += 1
        self._in_flight[pod.key] = self._events_dropped + len(self._events)
        return pod

    def _hold(self, pod: QueuedPod, now: float) -> bool:
        """Hold a pod that shares a ResourceClaim which is being allocated, until it is, but not for long."""
        if not self._has_promised_claims(pod.record.pod):
            return False
        pod.held_until = pod.held_until or now + CLAIMS_WAIT_SECONDS
        if now >= pod.held_until:
            return False
        pod.place = QueueState.GATED
        self._without_claims.push(pod.held_until, self._place(pod), pod)
        return True

    def hold(self, pod: QueuedPod, now: float) -> bool:
        """Hold a pod whose expressions are being evaluated, for a moment; return False if that moment is over."""
        pod.evaluated_until = pod.evaluated_until or now + EVALUATION_WAIT_SECONDS
        if now >= pod.evaluated_until or self._pods.get(pod.key) is not pod:
            return False
        self._land(pod.key)
        self._turns.over(pod)
        pod.attempts -= 1
        pod.place = QueueState.GATED
        self._without_claims.push(pod.evaluated_until, self._place(pod), pod)
        return True

    def evaluated(self, pod: QueuedPod) -> None:
        """Try a pod again, because its expressions have been evaluated."""
        if self._pods.get(pod.key) is not pod:
            return
        if pod.place is QueueState.GATED:
            self._enter(pod, QueueMove.ACTIVATED, inf)
        else:
            self.activate(pod.key)

    def done(self, pod: QueuedPod) -> None:
        """Drop a pod that has a node."""
        key = pod.key
        if self._pods.get(key) is pod:
            del self._pods[key]
            self._unindex(pod)
            self._land(key)
            self._turns.over(pod)
            pod.place = QueueState.NOWHERE

    def failed(self, pod: QueuedPod, rejected_by: frozenset[str], now: float, answer: str = "") -> None:
        """Requeue a pod without a node. `rejected_by` names the plugins that refused; empty after an error.

        `answer` is what every pod of this shape would be told now; empty if that is not known.
        """
        events = self._events_since(pod.key)
        self._land(pod.key)
        self._turns.over(pod)
        if self._pods.get(pod.key) is not pod:
            return  # it went away meanwhile
        pod.rejected_by = rejected_by
        if rejected_by:
            pod.unschedulable += 1
            pod.errors = 0
        else:
            pod.errors += 1
        pod.since = now
        pod.backoff_until = now + self._backoff.seconds(pod.errors or pod.unschedulable)
        if not rejected_by or any(self._may_help(pod, event) for event in events):
            self._requeue(pod, now, QueueMove.ATTEMPT_FAILED)
            return
        pod.place = QueueState.UNSCHEDULABLE
        self.incoming[QueueState.UNSCHEDULABLE, QueueMove.ATTEMPT_FAILED] += 1
        if answer:
            self._turns.answered(pod, answer, now)
        else:
            self._unschedulable.add(pod)
        self._wait_long(pod, now)
        self._longest_waiting.trim(len(self._pods))

    def give_back(self, now: float) -> list[QueuedPod]:
        """Requeue the pods in flight after an unexpected error, with backoff."""
        returned = [pod for key in list(self._in_flight) if (pod := self._pods.get(key)) is not None]
        for pod in returned:
            self.failed(pod, frozenset(), now)
        return returned

    def add_again(self, pod: QueuedPod, now: float) -> None:
        """Requeue a pod that could not be bound."""
        if pod.key not in self._pods:
            self._pods[pod.key] = pod
            self._index(pod)
            self.failed(pod, frozenset(), now)

    def set_apart(self, key: str, now: float) -> None:
        """Try a waiting pod for itself from now on: another answer than to those of its shape is possible."""
        pod = self._pods.get(key)
        if pod is not None and pod.place is QueueState.UNSCHEDULABLE and pod.group is not None:
            woken_by = pod.group.woken_by if pod.group.is_awake else None
            self._set_apart(pod)
            if woken_by is not None:
                self._wake(pod, now, woken_by)

    def _set_apart(self, pod: QueuedPod) -> None:
        self._turns.catch_up(pod)
        self._unschedulable.remove(pod)
        self._unschedulable.add(pod)

    def activate(self, key: str) -> None:
        """Try this pod as soon as it is its turn."""
        pod = self._pods.get(key)
        if pod is None:
            return
        if pod.place is QueueState.UNSCHEDULABLE:
            self._turns.catch_up(pod)
            self._unschedulable.remove(pod)
        if pod.place in (QueueState.UNSCHEDULABLE, QueueState.BACKOFF):
            self._enter(pod, QueueMove.ACTIVATED, inf)
        elif pod.place is QueueState.IN_FLIGHT:
            self._events.append(Event(EventKind.OWN_OTHER, of=key))

    # -- events -----------------------------------------------------------------------------------------------------

    @property
    def is_listening(self) -> bool:
        return bool(self._in_flight) or bool(self._unschedulable)

    def happened(self, event: Event, now: float) -> None:
        """Wake the pods that an event may help, and keep it for those in flight."""
        if self._in_flight:
            self._events.append(event)
        if event.kind in ABOUT_RESOURCE_CLAIMS:
            self._claim_happened(event, now)
            return
        if not self._unschedulable:
            return
        for scheduler, table in self._tables.items():
            for group in self._unschedulable.concerned(scheduler, table, event):
                if table.may_help(group.shape, group.rejected_by, event):
                    self._turns.wake(group, event, now)

    def _claim_happened(self, event: Event, now: float) -> None:
        """Wake the pods that use a ResourceClaim; ten thousand may wait, each for its own."""
        for pod in list(self._by_claim.get(claim_of(event), {}).values()):
            waits = pod.place in (QueueState.GATED, QueueState.UNSCHEDULABLE)
            if not waits or self._waits_for_claims(pod):
                continue
            if pod.place is QueueState.GATED:
                self._enter(pod, event.kind, now)
            elif self._may_help(pod, event):
                self._wake(pod, now, event.kind)

    def _may_help(self, pod: QueuedPod, event: Event) -> bool:
        if not concerns(event, pod.key, pod.record.pod):
            return False
        table = self._tables.get(pod.scheduler)
        return table is None or table.may_help(pod.record.shape, pod.rejected_by, event)

    def _is_concerned(self, pod: QueuedPod, event: Event) -> bool:
        return concerns(event, pod.key, pod.record.pod) and not self._waits_for_claims(pod)

    def _wake(self, pod: QueuedPod, now: float, cause: Cause) -> None:
        self._turns.catch_up(pod)
        self._unschedulable.remove(pod)
        self._requeue(pod, now, cause)

    def _requeue(self, pod: QueuedPod, now: float, cause: Cause, number: int = 0) -> None:
        """Put a pod into backoff for as long as it lasts, then make it active."""
        if now >= pod.backoff_until or self.why_gated(pod.record.pod.spec, pod.scheduler) is not None:
            self._enter(pod, cause, now, number)
            return
        pod.place = QueueState.BACKOFF
        self.incoming[QueueState.BACKOFF, cause] += 1
        timers = self._in_backoff if pod.rejected_by else self._after_error
        timers.push(pod.backoff_until, self._place(pod, number), pod)

    def _withdraw(self, pod: QueuedPod, now: float) -> None:
        """Let a pod wait again that has not been tried."""
        pod.place = QueueState.UNSCHEDULABLE
        self.incoming[QueueState.UNSCHEDULABLE, QueueMove.ATTEMPT_FAILED] += 1
        self._wait_long(pod, now)

    def _events_since(self, key: str) -> list[Event]:
        return self._events[self._in_flight.get(key, 0) - self._events_dropped :] if key in self._in_flight else []

    def _land(self, key: str) -> None:
        """Take a pod out of flight, and drop events that no pod in flight needs."""
        if self._in_flight.pop(key, None) is None or not self._events:
            return
        first = min(self._in_flight.values(), default=self._events_dropped + len(self._events))
        del self._events[: first - self._events_dropped]
        self._events_dropped = first

    # -- time -------------------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        """Return when the next timer ends; infinity if there is none."""
        timers = (self._in_backoff, self._after_error, self._longest_waiting, self._without_claims)
        told = self._turns.next_time() if self.tells_reasons else inf
        return min(told, *(timer.next_time() for timer in timers))

    def _pass_time(self, now: float) -> None:
        for timers in (self._in_backoff, self._after_error):
            while (pod := timers.pop(now)) is not None:
                self._enter(pod, QueueMove.BACKED_OFF, now)
        while (pod := self._without_claims.pop(now)) is not None:
            self._enter(pod, QueueMove.WAITED_LONG, now)
        while (pod := self._longest_waiting.pop(now)) is not None:
            self._turns.catch_up(pod)
            if pod.group is not None and (pod.group.is_awake or now < pod.since + MAX_WAIT_SECONDS):
                self._wait_long(pod, now)
            else:
                self._wake(pod, now, QueueMove.WAITED_LONG)

    def _wait_long(self, pod: QueuedPod, now: float) -> None:
        since = pod.since if now < pod.since + MAX_WAIT_SECONDS else now
        self._longest_waiting.push(since + MAX_WAIT_SECONDS, self._place(pod), pod)

    def _pop_active(self) -> QueuedPod | None:
        active = self._active
        while active:
            position, pod = heappop(active)
            if position[2] == pod.number and pod.place is QueueState.ACTIVE:
                return pod
        return None

    # -- looking in ---------------------------------------------------------------------------------------------------

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def groups(self) -> Iterator[WaitingGroup]:
        """Return the unschedulable pods, grouped by shape and by the plugins that rejected them."""
        return iter(self._unschedulable)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)
