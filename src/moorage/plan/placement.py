"""Pods that wait → nodes, in the order of the scheduler's queue, or the reason why not.

In: a `World`. Out: the same with every pod on a node or with its FailedScheduling message. Pods that found no node are
asked again as long as others find one, because affinity may wait for them. What preemption evicts, its controller
makes anew, and that waits, too. Kubernetes: the scheduling queue and cycle, with all time in the world.
Next: `outcome`, which tells what came of it.
"""

from collections.abc import Callable, Mapping

from moorage.columns.shape import Shape
from moorage.model.gates import GateSet
from moorage.plan.planned_pod import PlannedPod
from moorage.plan.world import World
from moorage.schedule.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.diagnosis import Diagnoses
from moorage.schedule.engine import Engine
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON, SchedulingGates
from moorage.schedule.profile import Profile

UNSCHEDULABLE = "Unschedulable"
NOT_CREATED = "NotCreated"
NO_SCHEDULER = "NoScheduler"
TERMINATING = "Terminating"
_LATER = "~"  # sorts after every timestamp


class Placement:
    """Finds nodes for the pods of a world."""

    def __init__(self, world: World, profiles: Mapping[str, Profile] | None = None) -> None:
        self.world = world
        profiles = default_profiles(world.gates) if profiles is None else profiles
        self._engines = {name: Engine(profile, world.cluster) for name, profile in profiles.items()}
        self._gates = SchedulingGates()
        self._diagnoses = Diagnoses()

    def run(self, tick: Callable[[], None] = lambda: None) -> None:
        """Place whatever can be placed and say of the rest why not."""
        waiting = self._queue()
        while waiting:
            left = [pod for pod in waiting if not self._attempt(pod, tick)]
            if len(left) == len(waiting):
                break
            waiting = left
        for pod in waiting:
            self._diagnose(pod)

    def _queue(self) -> list[PlannedPod]:
        """The pods without a node that somebody may schedule, highest priority first; the others are told why.

        Of equal priority, pods that wait in a cluster already come first, the oldest before the others; the rest arrive
        together, so those of one shape may follow one another, which is far quicker than to alternate.
        """
        waiting = [pod for pod in self.world.pods.values() if not pod.node and self._may_enter(pod)]
        first_of_shape: dict[Shape, int] = {}
        positions = {}
        for pod in waiting:
            shape = pod.record.shape if pod.record is not None else None
            together = pod.order if shape is None else first_of_shape.setdefault(shape, pod.order)
            since = pod.pod.metadata.creationTimestamp or _LATER
            positions[pod.key] = (-pod.priority, since, together, pod.order)
        return sorted(waiting, key=lambda pod: positions[pod.key])

    def _may_enter(self, pod: PlannedPod) -> bool:
        spec = pod.pod.spec
        if pod.pod.metadata.deletionTimestamp is not None:
            pod.reason, pod.message = TERMINATING, "is being deleted"
        elif spec.schedulerName not in self._engines:
            known = ", ".join(self._engines)
            text = f"waits for scheduler {spec.schedulerName}; this plan knows {known}"
            pod.reason, pod.message = NO_SCHEDULER, text
        elif (verdict := self._gates.pre_enqueue(spec)) is not None:
            pod.reason, pod.message = CONDITION_REASON, "; ".join(verdict.reasons)
        else:
            return True
        return False

    def _attempt(self, pod: PlannedPod, tick: Callable[[], None]) -> bool:
        if pod.record is None or self._waits_for(pod) is not None:
            return False
        slot = self._engines[pod.pod.spec.schedulerName].place(pod.record)
        if slot < 0:
            return False
        self.world.bound_by_engine(pod, slot)
        tick()
        return True

    def _waits_for(self, pod: PlannedPod) -> PlannedPod | None:
        """The pod of the same StatefulSet that must be there first."""
        owner = pod.owner
        if owner is None or owner.kind != "StatefulSet" or owner not in self.world.inventory.items or pod.existing:
            return None
        if self.world.inventory.items[owner].view.spec.podManagementPolicy == "Parallel":
            return None
        prefix, _, ordinal = pod.key.rpartition("-")
        before = self.world.pods.get(f"{prefix}-{int(ordinal) - 1}") if ordinal.isdecimal() else None
        if before is None or before.node:
            return None
        return self._waits_for(before) or before

    def _diagnose(self, pod: PlannedPod) -> None:
        before = self._waits_for(pod)
        if before is not None:
            name = before.pod.metadata.name
            text = f"is created once {name} runs: the StatefulSet makes its pods in order (OrderedReady)"
            pod.reason, pod.message = NOT_CREATED, text
        elif pod.record is not None:
            engine = self._engines[pod.pod.spec.schedulerName]
            pod.reason = UNSCHEDULABLE
            pod.message = self._diagnoses.of(engine.candidates(pod.record.shape)).text()


def default_profiles(gates: GateSet) -> dict[str, Profile]:
    return {DEFAULT_SCHEDULER: default_profile(gates)}
