"""List the pods that left a simulated cluster: when, why, and which pods their workloads made instead.

Pods leave because of taints, drains, removed nodes, pods of higher priority, or because their controller or a user
deletes them. What is read here is the API's log of deletions, from a given moment on.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.workloads import is_finished
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.api import Deletion
from moorage.plan.simulation.controllers import EVICTIONS, POD_GARBAGE, TAINT_EVICTION
from moorage.plan.simulation.drain import DRAIN, EVICTION
from moorage.plan.simulation.evictions import Timer
from moorage.plan.simulation.pod_history import Ending
from moorage.plan.simulation.scheduling import SCHEDULER
from moorage.plan.simulation.simulation import Simulation

USER = "user"
WAS_DELETED = "was deleted"


class Cause(StrEnum):
    """Why a pod left."""

    TAINT = "taint"
    DEVICE_TAINT = "device-taint"
    DRAIN = "drain"
    EVICTION = "eviction"
    NODE_REMOVED = "node removed"
    PREEMPTED = "preempted"
    NEW_TEMPLATE = "new template"
    CONTROLLER = "removed by its controller"
    DELETED = "deleted"


class Departure(msgspec.Struct, rename="camel"):
    """A pod that left, when (in seconds after the change), why, and what became of its successor.

    `without` says when and why it leaves without the changes, if it does so at another time or for another reason.
    """

    pod: str
    workload: str
    node: str
    cause: Cause
    after_seconds: int = 0
    because: str = ""
    replaced_by: str = ""
    new_node: str = ""
    message: str = ""
    without: str = ""


class EvictionLoop(msgspec.Struct, frozen=True, rename="camel"):
    """A workload whose pods are evicted again and again for the same reason, and how often."""

    workload: str
    every_seconds: int
    because: str
    evictions: int  # that were seen

    @property
    def text(self) -> str:
        """`evicted again every 30 s`."""
        return f"evicted again {f'every {self.every_seconds:,} s' if self.every_seconds else 'at once'}"


class OwnerNames:
    """What the workloads of pods are called, at one moment: once for all pods that share their references."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._known: dict[tuple[str, str], str] = {}

    def of(self, pod: Object) -> str:
        """Return the kind, namespace and name of a pod's workload; empty if it has none."""
        metadata = pod.view.metadata
        reference = controller_of(metadata)
        if reference is None:
            return ""
        key = metadata.namespace, reference.uid
        if (name := self._known.get(key)) is None:
            owner = self._simulation.owner_of(pod)
            name = self._known[key] = str(Key(*owner)) if owner is not None else ""
        return name


def cause_of(ending: Ending | None, actor: str, preemptor: str = "") -> tuple[Cause, str]:
    """Return why a component deleted a pod."""
    if actor in EVICTIONS:
        cause = Cause.TAINT if actor == TAINT_EVICTION else Cause.DEVICE_TAINT
        return cause, ending.because if ending is not None else ""
    if actor == DRAIN:
        return Cause.DRAIN, "node is drained"
    if actor == EVICTION:
        return Cause.EVICTION, "is evicted"
    if actor == SCHEDULER:
        return Cause.PREEMPTED, f"made room for {preemptor}"
    if actor == POD_GARBAGE or (ending is not None and ending.is_node_gone):
        return Cause.NODE_REMOVED, "its node is gone"
    if actor == USER:
        return Cause.DELETED, WAS_DELETED
    return Cause.CONTROLLER, "is no longer wanted"


class DepartureLog:
    """The pods that leave from now on, or have left since the simulation began. Seconds are counted from `start`."""

    def __init__(self, simulation: Simulation, *, from_beginning: bool = False) -> None:
        self._simulation = simulation
        self.start = simulation.clock.start if from_beginning else simulation.clock.now
        self._first_deletion = self._first_created = self._first_preempted = self.first_new = 0
        self._ended: frozenset[str] = frozenset()
        if not from_beginning:
            self._first_deletion = len(simulation.api.deletions)
            self._first_created = len(simulation.api.created_pods)
            self._first_preempted = len(simulation.scheduling.preempted)
            self.first_new, self._ended = len(simulation.order), frozenset(simulation.history.endings)

    def is_old(self, pod: Object) -> bool:
        """Return whether a pod was there at the beginning, and had not ended."""
        return self._simulation.order[pod.uid] < self.first_new and pod.uid not in self._ended

    def departures(self) -> Iterator[tuple[Deletion, Departure]]:
        """Return the pods that have left, in their order."""
        simulation, names = self._simulation, OwnerNames(self._simulation)
        endings = simulation.history.endings
        preemptors = {victim.uid: by for victim, by in simulation.scheduling.preempted[self._first_preempted :]}
        for deletion in simulation.api.deletions[self._first_deletion :]:
            pod = deletion.pod
            if not self.is_old(pod) and not pod.view.spec.nodeName:
                continue
            cause, because = cause_of(endings.get(pod.uid), deletion.actor, preemptors.get(pod.uid, ""))
            seconds = round(deletion.time - self.start)
            yield deletion, Departure(pod.key, names.of(pod), pod.view.spec.nodeName, cause, seconds, because)

    def pair(self, departures: Iterable[tuple[Deletion, Departure]], *, only_later: bool = False) -> None:
        """Name for each pod that left the one that its workload made instead.

        With `only_later`, that is one that was made after the pod had left: a rolling update makes them before.
        """
        simulation, names = self._simulation, OwnerNames(self._simulation)
        order, history = simulation.order, simulation.history
        created: dict[tuple[str, str], deque[Object]] = {}
        for pod, _ in simulation.api.created_pods[self._first_created :]:
            if name := names.of(pod):
                place = _place(name, pod.key, history.current(order[pod.uid]).view.spec.nodeName)
                created.setdefault(place, deque()).append(pod)
        for deletion, departure in departures:
            candidates = created.get(_place(departure.workload, departure.pod, departure.node))
            if departure.cause is Cause.CONTROLLER or not candidates:
                continue
            if only_later:
                first = history.endings[deletion.pod.uid].pods_before
                while candidates and order[candidates[0].uid] < first:
                    candidates.popleft()
            if candidates:
                departure.replaced_by = candidates.popleft().key


def _place(workload: str, pod: str, node: str) -> tuple[str, str]:
    """Return what a pod and its successor have in common, besides the workload: a DaemonSet's their node."""
    kind = workload.partition(" ")[0]
    return workload, node if kind == "DaemonSet" else pod if kind == "StatefulSet" else ""


def evictions_of(simulation: Simulation) -> tuple[list[Departure], list[EvictionLoop]]:
    """Return the pods that taints have evicted since the simulation began, and the workloads of which it never ends.

    Pods that had ended before are deleted with the others, but are not evicted.
    """
    log = DepartureLog(simulation, from_beginning=True)
    evicted = [
        (deletion, departure)
        for deletion, departure in log.departures()
        if departure.cause in (Cause.TAINT, Cause.DEVICE_TAINT) and not is_finished(deletion.pod.view)
    ]
    log.pair(evicted, only_later=True)
    for _, departure in evicted:
        successor = simulation.world.view(KINDS.POD, departure.replaced_by)
        departure.new_node = successor.spec.nodeName if successor is not None else ""
    left: dict[str, str] = {}
    for _, departure in reversed(evicted):  # a successor may have left its node in its turn
        departure.new_node = left.get(departure.replaced_by) or departure.new_node
        left[departure.pod] = departure.node
    departures = [departure for _, departure in evicted]
    return departures, list(_loops(simulation, evicted))


def loops_of(simulation: Simulation) -> list[EvictionLoop]:
    """Return the workloads whose evictions never end, as `evictions_of` does.

    Departures are listed and paired only if an eviction is repeated, which nearly no change leads to.
    """
    return evictions_of(simulation)[1] if _repeats(simulation) else []


def _repeats(simulation: Simulation) -> bool:
    """Return whether a pod was evicted, or is going to be, for the reason for which those that it replaces were."""
    history = simulation.history
    for deletion in simulation.api.deletions:
        if deletion.actor in EVICTIONS and not is_finished(deletion.pod.view):
            ending = history.endings.get(deletion.pod.uid)
            timer = Timer(deletion.pod, deletion.time, ending.because if ending is not None else "")
            if history.is_repetition(timer):
                return True
    return any(history.is_repetition(timer) for timer in simulation.evictions.timers())


def _loops(simulation: Simulation, evicted: Iterable[tuple[Deletion, Departure]]) -> Iterator[EvictionLoop]:
    """Return the workloads whose pods are evicted for the same reason as those that they replaced.

    How often is the time from the eviction of a pod to that of the one that replaces it.
    """
    names = OwnerNames(simulation)
    counts = Counter(departure.workload for _, departure in evicted)
    replaced: dict[str, float] = {}  # by the successor: when its predecessor left
    repeated: dict[str, tuple[str, float]] = {}  # by workload: the reason, and how many seconds lie between
    for deletion, departure in evicted:
        timer = Timer(deletion.pod, deletion.time, departure.because)
        if departure.workload and simulation.history.is_repetition(timer):
            seconds = deletion.time - replaced.get(departure.pod, deletion.time)
            repeated.setdefault(departure.workload, (departure.because, seconds))
        if departure.replaced_by:
            replaced[departure.replaced_by] = deletion.time
    for timer in simulation.evictions.timers():
        workload = names.of(timer.pod)
        if workload and simulation.history.is_repetition(timer):
            seconds = timer.due - replaced.get(timer.pod.key, timer.due)
            repeated.setdefault(workload, (timer.because, seconds))
    for workload, (because, seconds) in repeated.items():
        yield EvictionLoop(workload, round(seconds), because, counts[workload])
