"""Keep every pod that a simulation has ever had, in the order in which they came, and how each of them ended.

A pod ends once: it finishes, or its deletion is asked for, whichever is first. A pod that its controller replaces after
an eviction belongs to the next generation of the controller's pods. If pods of two generations are evicted for the same
reason, that goes on for ever.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.plan.simulation.controllers import EVICTIONS
from moorage.plan.simulation.evictions import Timer

if TYPE_CHECKING:
    from moorage.plan.simulation.simulation import Simulation

#: Evictions of a controller's pods are followed for no more generations than these.
_MAX_GENERATIONS = 8


class Ending(NamedTuple):
    """When a pod finished or was deleted, by which component, and because of which taint if that evicted it."""

    seconds: int  # since `PodHistory.start`
    actor: str = ""
    because: str = ""
    is_finished: bool = False
    #: How many pods there had ever been by then: later ones may replace it.
    pods_before: int = 0
    #: Whether its node had been removed from the cluster.
    is_node_gone: bool = False
    #: It had ended, or was being deleted, when it came into the simulation.
    from_start: bool = False


class PodHistory:
    """The pods of a simulation in the order in which they came. `order` has the place of each UID."""

    def __init__(self, simulation: "Simulation") -> None:
        self._simulation = simulation
        #: From when on seconds are counted: the beginning of the plan, or of changes.
        self.start = simulation.clock.start
        self.order: dict[str, int] = {}
        self._pods: list[Object] = []  # as they came, or as they ended
        self.endings: dict[str, Ending] = {}
        self._generations: dict[str, list[int]] = {}  # by the controller's UID: the first pod after each eviction
        self._reasons: dict[str, dict[str, int]] = {}  # by the controller's UID: reasons, and the generation of each
        #: How many pods were evicted for the same reason as those that they replaced.
        self.repetitions = 0
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.POD:
            return
        if new is None:
            if old is not None and old.uid not in self.endings:
                self._end(old)
            return
        view = new.view
        if old is None:
            self.order[view.metadata.uid] = len(self._pods)
            self._pods.append(new)
        is_deleted = view.metadata.deletionTimestamp is not None
        if not is_deleted and view.status.phase not in FINISHED_PHASES:
            return  # the path of nearly all changes
        uid = view.metadata.uid
        if uid in self.endings:
            return
        if old is None:
            self.endings[uid] = Ending(0, is_finished=view.status.phase in FINISHED_PHASES, from_start=True)
        else:
            self._end(new, is_finished=not is_deleted)

    def current(self, place: int) -> Object:
        """Return a pod as it is, or as it was when it ended."""
        pod = self._pods[place]
        if pod.uid in self.endings:
            return pod
        return self._simulation.world.get(KINDS.POD, pod.key) or pod

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[Object]:
        """Return all pods in the order in which they came."""
        return (self.current(place) for place in range(len(self._pods)))

    def _end(self, pod: Object, *, is_finished: bool = False) -> None:
        actor, seconds = self._simulation.api.actor, self.seconds_until(self._simulation.clock.now)
        because = "" if is_finished else self._simulation.evictions.because(pod, actor)
        is_node_gone = not because and self._simulation.is_removed(pod.view.spec.nodeName)
        self.endings[pod.uid] = Ending(seconds, actor, because, is_finished, len(self._pods), is_node_gone)
        self._pods[self.order[pod.uid]] = pod
        owner = controller_of(pod.view.metadata)
        if actor in EVICTIONS and not is_finished and owner is not None:
            self._note_eviction(pod, owner.uid, because)

    def seconds_until(self, time: float) -> int:
        return max(0, round(time - self.start))

    def _note_eviction(self, pod: Object, owner: str, because: str) -> None:
        begun = self._generations.setdefault(owner, [])
        generation = self._generation(pod, owner)
        if generation == len(begun):
            begun.append(len(self._pods))
        if self._reasons.setdefault(owner, {}).setdefault(because, generation) < generation:
            self.repetitions += 1

    def _generation(self, pod: Object, owner: str) -> int:
        number = self.order[pod.uid]
        return sum(first <= number for first in self._generations.get(owner, ()))

    def is_repetition(self, timer: Timer) -> bool:
        """Return whether the pods that this one replaces were evicted for the same reason, or very often."""
        owner = controller_of(timer.pod.view.metadata)
        if owner is None:
            return False
        generation = self._generation(timer.pod, owner.uid)
        known = self._reasons.get(owner.uid, {}).get(timer.because, generation)
        return known < generation or generation >= _MAX_GENERATIONS
