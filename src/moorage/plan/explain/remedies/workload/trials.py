"""Try changes on a workload as a whole, each in a copy of the simulated cluster that then comes to rest.

A change helps if fewer pods of the workload wait, are refused or are missing afterwards than without it. Pods of others
that are worse off then are named. A copy is a fork of this process, which costs milliseconds and can be spoiled.
"""

from collections.abc import Sequence

import msgspec

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.change import Change
from moorage.plan.explain.remedies.differences import CannotCarry
from moorage.plan.explain.remedies.workload.carrying_out import (
    carry_out,
    delete_waiting,
    keeps_waiting_pods,
    template_owner,
    workload_of,
)
from moorage.plan.explain.remedies.workload.pod_watch import PodWatch, is_of
from moorage.plan.input.inventory import Key
from moorage.plan.node_changes import ChangeError
from moorage.plan.pod_lines import PlannedPod
from moorage.plan.simulation.forked import CopyFailed, in_fork, processor_seconds
from moorage.plan.simulation.simulation import Simulation

MAX_TRIALS = 60
MAX_SECONDS = 5.0  # of processor time
_MAX_STUCK = 20
_MAX_NAMED = 4


class Effect(msgspec.Struct, frozen=True):
    """What becomes of the workload: `lacking` pods still wait or are missing, and who else is worse off, by uid.

    `deleted`: pods that wait had to be deleted, since their workload does not replace them by itself.
    """

    lacking: int
    worse: dict[str, str] = {}
    deleted: bool = False
    used: dict[str, dict[str, str]] = {}  # of the quotas of its namespace, by name
    nodes: tuple[str, ...] = ()  # where its new pods are
    landed: tuple[str, ...] = ()  # where those of its pods are that had no node, or were not there
    harmed: int = 0  # pods of others that are worse off, also those that are without any change


class WorkloadTrials:
    """Tries changes of one workload on copies of a simulation; `pod` is one of its pods, `before` its view.

    All pods are placed before a change is made, unless it is the pod's turn (`at_turn`), which makes others leave. A
    pod that `is_next` was asked for only to explain it: the change is made first, then one more replica is asked for.
    """

    def __init__(
        self, simulation: Simulation, pod: PlannedPod, before: Pod, *, at_turn: bool = False, is_next: bool = False
    ) -> None:
        self.simulation, self.pod, self.before = simulation, pod, before
        self.key = workload_of(pod)
        self._at_turn, self._is_next = at_turn and not is_next, is_next
        self._until = processor_seconds() + MAX_SECONDS
        self._left = MAX_TRIALS
        self.ran_out = False
        self._now: Effect | None = None
        there = simulation.world.in_namespace(KINDS.POD, self.key.namespace)
        mine = [one for one in there if is_of(simulation, one, self.key)]
        self._pods = [one.key for one in mine]
        self.are_some_running = any(one.view.spec.nodeName for one in mine)

    @property
    def now(self) -> Effect:
        """What becomes of the workload without any change."""
        if self._now is None:
            self._now = self._tried(()) or Effect(0)
        return self._now

    def try_changes(self, *changes: Change) -> Effect | None:
        """Return what becomes of the workload with these changes; None if they cannot be made, or time is up."""
        effect = self._tried(changes)
        if effect is None:
            return None
        worse = {uid: text for uid, text in effect.worse.items() if uid not in self.now.worse}
        return msgspec.structs.replace(effect, worse=worse)

    @property
    def lacks(self) -> bool:
        """Whether there is anything to help: pods of the workload wait, or others have to leave for them."""
        return bool(self.now.lacking or self.now.harmed)

    def is_better(self, effect: Effect) -> bool:
        """Return whether fewer pods of the workload wait than without the changes, or fewer have to leave for them."""
        return effect.lacking < self.now.lacking or (not self.now.lacking and self._spares(effect))

    def is_solved(self, effect: Effect) -> bool:
        """Return whether no pod of the workload waits any more, and none has to leave where that is the matter."""
        return not effect.lacking and (bool(self.now.lacking) or not effect.harmed)

    def _spares(self, effect: Effect) -> bool:
        return not effect.lacking and effect.harmed < self.now.harmed

    def _tried(self, changes: Sequence[Change]) -> Effect | None:
        seconds = self._until - processor_seconds()
        if seconds <= 0 or not self._left:
            self.ran_out = True
            return None
        self._left -= 1
        try:
            answer = in_fork(lambda: self._effect(changes), seconds + 0.1)
        except (CopyFailed, OSError):  # it took too long, or there was no room for a copy
            self.ran_out = True
            return None
        return None if answer is None else msgspec.convert(answer, Effect)

    def _effect(self, changes: Sequence[Change]) -> Effect | None:
        """Play the changes: this is a copy of the process."""
        simulation = self.simulation
        simulation.api.actor = ""
        simulation.scheduling.follow = lambda action: None
        watch = PodWatch(simulation, self.key, self._pods)
        if self._at_turn:
            simulation.scheduler.queue.activate(self.pod.key)
        else:
            self._scale(-1)
            simulation.settle()
        watch.begin()
        known = len(simulation.order)
        deleted = False

        def awaits_eviction() -> bool:
            return any(simulation.order[timer.pod.uid] < known for timer in simulation.evictions.timers())

        try:
            if changes:
                carry_out(simulation, changes, self.pod, self.before)
                simulation.work()
                simulation.controllers.retry_refused()
            simulation.settle(awaits_eviction)
            if self._is_next:
                self._scale(1)
                simulation.settle(awaits_eviction)
            if changes and changes[-1].pod is not None and self._keeps_waiting_pods():
                for _ in range(_MAX_STUCK):  # a StatefulSet makes one pod after the other
                    if not watch.lacking() or not delete_waiting(simulation, self.key):
                        break
                    deleted = True
                    simulation.settle(awaits_eviction)
        except (ApiError, ChangeError, CannotCarry):
            return None
        if simulation.stopped and changes:
            return None
        used = _used(simulation, self.key.namespace)
        worse = watch.worse()
        return Effect(watch.lacking(), worse, deleted, used, watch.nodes(), watch.landed(), len(worse))

    def _scale(self, difference: int) -> None:
        """Take the replica back that was asked for, or ask for it again."""
        owner = template_owner(self.simulation, self.pod) if self._is_next else None
        if owner is not None:
            field = "parallelism" if owner.kind is KINDS.JOB else "replicas"
            number = max((getattr(owner.view.spec, field) or 0) + difference, 0)
            self.simulation.api.patch(owner.kind, owner.name, owner.namespace, {"spec": {field: number}})

    def _keeps_waiting_pods(self) -> bool:
        owner = template_owner(self.simulation, self.pod)
        return owner is not None and keeps_waiting_pods(Key(owner.kind.name, owner.namespace, owner.name))


def _used(simulation: Simulation, namespace: str) -> dict[str, dict[str, str]]:
    quotas = simulation.world.in_namespace(KINDS.RESOURCE_QUOTA, namespace)
    return {quota.name: {name: str(amount) for name, amount in quota.view.status.used.items()} for quota in quotas}


def shown_worse(effect: Effect) -> tuple[str, ...]:
    """Return who is worse off: up to a few by name, then how many more."""
    texts = sorted(effect.worse.values())
    if len(texts) <= _MAX_NAMED + 1:
        return tuple(texts)
    left = texts[_MAX_NAMED:]
    pending = sum("would become Pending" in text for text in left)
    more = f"{len(left):,} more pods would be evicted"
    return (*texts[:_MAX_NAMED], f"{more} ({pending:,} become Pending)" if pending else more)
