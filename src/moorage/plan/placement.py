"""Pods that wait → nodes, as the scheduler would place them if it had all the time in the world.

In: a `World`. Out: the same with every pod on a node or with its FailedScheduling message. What preemption evicts is
gone at once; its controller makes it anew, and that waits, too. A StatefulSet's pods come one after the other.
Kubernetes: the scheduling queue and cycle, without waiting.
"""

from collections.abc import Callable

from moorage.columns.cluster import PodRecord
from moorage.columns.shape import Shape
from moorage.plan.input.inventory import Key
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.world import World
from moorage.schedule.actions import UNSCHEDULABLE, Action, Bind, NoNode
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON

NOT_CREATED = "NotCreated"
NO_SCHEDULER = "NoScheduler"
TERMINATING = "Terminating"
_LATER = "~"  # sorts after every timestamp
_MAX_ROUNDS = 100


class Placement:
    """Finds nodes for the pods of a world. `frozen` are workloads whose pods somebody else looks after."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.frozen: set[Key] = set()
        self._evicted: list[PlannedPod] = []
        self._trying = ""
        # Hears of every action before anything comes of it.
        self.follow: Callable[[Action], None] = lambda action: None

    def run(self, tick: Callable[[], None] = lambda: None) -> None:
        """Place whatever can be placed and say of the rest why not."""
        world = self.world
        for _ in range(_MAX_ROUNDS):
            for pod in self._queue():
                if pod.record is not None and world.scheduler.queue.get(pod.key) is None:
                    world.scheduler.add(pod.record, world.now)
            moved = self._play(tick)
            evicted, self._evicted = self._evicted, []
            owners = {pod.owner for pod in evicted if pod.owner is not None} - self.frozen
            made = world.reconcile([pod for pod in evicted if pod.owner not in self.frozen], only=owners)
            if not moved and not made:
                break
            world.now += 1
        said: dict[tuple[str, Shape], str] = {}
        for pod in self._queue():
            self._diagnose(pod, said)

    def _play(self, tick: Callable[[], None]) -> bool:
        """Let the scheduler work until it can do nothing more; whether anything happened."""
        world, moved = self.world, False
        for action in world.scheduler.play(world.now, self._evict):
            self._trying = action.record.key
            self.follow(action)
            if isinstance(action, Bind):
                pod = world.pods[action.record.key]
                world.landed(pod, action.node)
                moved = True
                tick()
                self._let_follow(pod)
            elif isinstance(action, NoNode) and action.victims:
                moved = True
        return moved

    def _evict(self, record: PodRecord) -> None:
        """Preemption has taken the pod off its node."""
        world = self.world
        pod = world.pods[record.key]
        world.preempted.append((pod, pod.node, self._trying))
        world.forget(pod)
        self._evicted.append(pod)

    def _let_follow(self, pod: PlannedPod) -> None:
        """A StatefulSet's next pod may come once this one is there."""
        if pod.owner is None or pod.owner.kind != "StatefulSet":
            return
        for other in self.world.pods_of(pod.owner):
            if not other.node and other.record is not None and self._waits_for(other) is None:
                if self._may_enter(other) and self.world.scheduler.queue.get(other.key) is None:
                    self.world.scheduler.add(other.record, self.world.now)
                return

    def _queue(self) -> list[PlannedPod]:
        """The pods without a node that somebody may schedule, in the order in which they come to the queue.

        Pods that wait in a cluster already come first, the oldest before the others; the rest arrive together, so those
        of one shape may follow one another, which is far quicker than to alternate. The queue sees to priorities.
        """
        waiting = [pod for pod in self.world.waiting.values() if self._may_enter(pod)]
        first_of_shape: dict[Shape, int] = {}
        positions = {}
        for pod in waiting:
            shape = pod.record.shape if pod.record is not None else None
            together = pod.order if shape is None else first_of_shape.setdefault(shape, pod.order)
            since = pod.pod.metadata.creationTimestamp or _LATER
            positions[pod.key] = (-pod.priority, since, together, pod.order)
        return sorted(waiting, key=lambda pod: positions[pod.key])

    def _may_enter(self, pod: PlannedPod) -> bool:
        """Whether the scheduler would look at the pod; if not, why not is noted."""
        spec = pod.pod.spec
        if pod.pod.metadata.deletionTimestamp is not None:
            pod.reason, pod.message = TERMINATING, "is being deleted"
        elif not self.world.scheduler.knows(spec.schedulerName):
            known = ", ".join(self.world.scheduler.engines)
            pod.reason, pod.message = NO_SCHEDULER, f"waits for scheduler {spec.schedulerName}; this plan has {known}"
        elif (verdict := self.world.scheduler.queue.why_gated(spec, spec.schedulerName)) is not None:
            pod.reason, pod.message = CONDITION_REASON, "; ".join(verdict.reasons)
        elif (before := self._waits_for(pod)) is not None:
            name = before.pod.metadata.name
            text = f"is created once {name} runs: the StatefulSet makes its pods in order (OrderedReady)"
            pod.reason, pod.message = NOT_CREATED, text
        else:
            return True
        return False

    def _waits_for(self, pod: PlannedPod) -> PlannedPod | None:
        """The first pod of the same StatefulSet that must be there before this one is made."""
        owner, items = pod.owner, self.world.inventory.items
        if owner is None or owner.kind != "StatefulSet" or owner not in items or pod.existing:
            return None
        if items[owner].view.spec.podManagementPolicy == "Parallel":
            return None
        prefix, _, ordinal = pod.key.rpartition("-")
        before = self.world.pods.get(f"{prefix}-{int(ordinal) - 1}") if ordinal.isdecimal() else None
        if before is None or before.node:
            return None
        return self._waits_for(before) or before

    def _diagnose(self, pod: PlannedPod, said: dict[tuple[str, Shape], str]) -> None:
        """Say why there is no node; pods of one shape are told the same, unless room was made for one of them."""
        if pod.record is None:
            return
        scheduler, key = self.world.scheduler, (pod.pod.spec.schedulerName, pod.record.shape)
        if scheduler.nominations.slot_of(pod.key) is not None:
            message = scheduler.why_not(pod.record)
        elif key in said:
            message = said[key]
        else:
            message = said[key] = scheduler.why_not(pod.record)
        pod.reason, pod.message = UNSCHEDULABLE, message
