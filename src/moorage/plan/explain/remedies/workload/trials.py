"""Try changes on a workload as a whole, each in a copy of the simulated cluster that then comes to rest.

A change helps if fewer pods of the workload wait, are refused or are missing afterwards than without it. Pods of others
that are worse off then are named. A copy is a fork of this process, which costs milliseconds and can be spoiled.
"""

import time
from collections.abc import Sequence

import msgspec

from moorage.client.protocol import Object
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.plan.explain.remedies.change import Change
from moorage.plan.explain.remedies.differences import CannotCarry
from moorage.plan.explain.remedies.workload.carrying_out import (
    carry_out,
    delete_waiting,
    keeps_waiting_pods,
    kind_named,
    template_owner,
    workload_of,
)
from moorage.plan.input.inventory import Key
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import wanted_pods
from moorage.plan.pod_lines import PlannedPod, not_created
from moorage.plan.simulation.forked import CopyFailed, in_fork
from moorage.plan.simulation.simulation import Simulation

MAX_TRIALS = 60
MAX_SECONDS = 5.0
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
        self._until = time.monotonic() + MAX_SECONDS
        self._left = MAX_TRIALS
        self.ran_out = False
        self._now: Effect | None = None

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
        seconds = self._until - time.monotonic()
        if seconds <= 0 or not self._left:
            self.ran_out = True
            return None
        self._left -= 1
        try:
            answer = in_fork(lambda: self._effect(changes), seconds + 0.1)
        except CopyFailed:
            self.ran_out = True
            return None
        return None if answer is None else msgspec.convert(answer, Effect)

    def _effect(self, changes: Sequence[Change]) -> Effect | None:
        """Play the changes: this is a copy of the process."""
        simulation = self.simulation
        simulation.api.actor = ""
        simulation.scheduling.follow = lambda action: None
        if self._at_turn:
            simulation.scheduler.queue.activate(self.pod.key)
        else:
            self._scale(-1)
            simulation.settle()
        watch = _PodWatch(simulation, self.key)
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
                    if not lacking(simulation, self.key) or not delete_waiting(simulation, self.key):
                        break
                    deleted = True
                    simulation.settle(awaits_eviction)
        except (ApiError, ChangeError, CannotCarry):
            return None
        if simulation.stopped and changes:
            return None
        used = _used(simulation, self.key.namespace)
        worse = watch.worse()
        return Effect(lacking(simulation, self.key), worse, deleted, used, watch.nodes(), len(worse))

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


def lacking(simulation: Simulation, key: Key) -> int:
    """Return how many pods of a workload wait for a node, are about to be evicted, were refused, or are missing."""
    mine = [pod for pod in simulation.world.in_namespace(KINDS.POD, key.namespace) if is_of(simulation, pod, key)]
    leaving = {timer.pod.uid for timer in simulation.evictions.timers()}
    running = sum(bool(pod.view.spec.nodeName) and pod.uid not in leaving for pod in mine)
    if key.kind == "Pod":
        return int(not running)
    pending = sum(not pod.view.spec.nodeName for pod in mine)
    pending += sum(pod.owner == key for pod in not_created(simulation))
    return max(pending, _wanted(simulation, key) - running)


def _wanted(simulation: Simulation, key: Key) -> int:
    kind = kind_named(key.kind)
    owner = simulation.world.get(kind, f"{key.namespace}/{key.name}") if kind is not None else None
    return wanted_pods(owner) if owner is not None else 0


def is_of(simulation: Simulation, pod: Object, key: Key) -> bool:
    """Return whether a pod that is there to stay belongs to a workload, or is the bare pod that is meant."""
    if not _is_there(pod):
        return False
    owner = simulation.owner_of(pod)
    return Key(*owner) == key if owner is not None else Key("Pod", pod.namespace, pod.name) == key


def _is_there(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is None and pod.view.status.phase not in FINISHED_PHASES


def _used(simulation: Simulation, namespace: str) -> dict[str, dict[str, str]]:
    quotas = simulation.world.in_namespace(KINDS.RESOURCE_QUOTA, namespace)
    return {quota.name: {name: str(amount) for name, amount in quota.view.status.used.items()} for quota in quotas}


class _PodWatch:
    """Watches what becomes of the workload's new pods, and of the pods of others."""

    def __init__(self, simulation: Simulation, key: Key) -> None:
        self._simulation, self._key = simulation, key
        self._on_node: dict[str, Object] = {}  # by uid, as they were when they changed first
        self._created: dict[str, Object] = {}
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.POD:
            return
        if old is None:
            if new is not None:
                self._created[new.uid] = new
        elif old.view.spec.nodeName and old.uid not in self._created and _is_there(old):
            self._on_node.setdefault(old.uid, old)

    def worse(self) -> dict[str, str]:
        """Return who is worse off, by uid, each with a sentence."""
        self._simulation.api.listeners.remove(self._changed)
        lost = [pod for pod in self._on_node.values() if not self._is_mine(pod) and self._current(pod) is None]
        successors: dict[Key, list[str]] = {}
        for pod in self._created.values():
            current = self._current(pod)
            if current is not None and current.view.spec.nodeName and not self._is_mine(pod):
                successors.setdefault(self._workload(pod), []).append(current.view.spec.nodeName)
        texts = {}
        for pod in lost:
            key = self._workload(pod)
            nodes = successors.get(key, [])
            if nodes:
                texts[pod.uid] = f"{pod.key} would be evicted, and go to {nodes.pop(0)}"
            elif key.kind == "Pod" and not any(self._workload(new) == key for new in self._created.values()):
                texts[pod.uid] = f"{pod.key} would be evicted, and nothing recreates it"
            else:
                texts[pod.uid] = f"{pod.key} would become Pending"
        return texts

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of the workload's pods that were made meanwhile."""
        current = (self._current(pod) for pod in self._created.values() if self._is_mine(pod))
        return tuple(
            dict.fromkeys(pod.view.spec.nodeName for pod in current if pod is not None and pod.view.spec.nodeName)
        )

    def _current(self, pod: Object) -> Object | None:
        found = self._simulation.world.get(KINDS.POD, pod.key)
        return found if found is not None and found.uid == pod.uid and _is_there(found) else None

    def _workload(self, pod: Object) -> Key:
        return Key(*self._simulation.workload_of(pod))

    def _is_mine(self, pod: Object) -> bool:
        return self._workload(pod) == self._key


def shown_worse(effect: Effect) -> tuple[str, ...]:
    """Return who is worse off: up to a few by name, then how many more."""
    texts = sorted(effect.worse.values())
    if len(texts) <= _MAX_NAMED + 1:
        return tuple(texts)
    left = texts[_MAX_NAMED:]
    pending = sum("would become Pending" in text for text in left)
    more = f"{len(left):,} more pods would be evicted"
    return (*texts[:_MAX_NAMED], f"{more} ({pending:,} become Pending)" if pending else more)
