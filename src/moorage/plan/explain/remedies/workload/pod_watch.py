"""Watch in a simulation what becomes of a workload's pods, and of the pods of others."""

from collections.abc import Iterable, Iterator

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.plan.explain.remedies.workload.carrying_out import kind_named
from moorage.plan.input.inventory import Key
from moorage.plan.outcome import wanted_pods
from moorage.plan.pod_lines import not_created
from moorage.plan.simulation.simulation import Simulation


class PodWatch:
    """Watches a simulation. `pods` are the keys of the workload's pods: there may be very many others."""

    def __init__(self, simulation: Simulation, key: Key, pods: Iterable[str]) -> None:
        self._simulation, self._key = simulation, key
        self._pods = list(pods)
        self._on_node: dict[str, Object] = {}  # by uid, as they were when they changed first
        self._created: dict[str, Object] = {}
        self._placed: set[str] = set()  # the uids of the workload's pods that had a node
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.POD:
            return
        if old is None:
            if new is not None:
                self._created[new.uid] = new
        elif old.view.spec.nodeName and old.uid not in self._created and _is_there(old):
            self._on_node.setdefault(old.uid, old)

    def begin(self) -> None:
        """Forget what has happened: from now on pods are worse off that have to leave."""
        self._pods += [pod.key for pod in self._created.values() if self._is_mine(pod)]
        self._created.clear()
        self._on_node.clear()
        self._placed = {pod.uid for pod in self._mine() if pod.view.spec.nodeName}

    def lacking(self) -> int:
        """Return how many of the workload's pods wait, are about to be evicted, were refused, or are missing."""
        simulation, key = self._simulation, self._key
        mine = list(self._mine())
        leaving = {timer.pod.uid for timer in simulation.evictions.timers()}
        running = sum(bool(pod.view.spec.nodeName) and pod.uid not in leaving for pod in mine)
        if key.kind == "Pod":
            return int(not running)
        pending = sum(not pod.view.spec.nodeName for pod in mine)
        if key.kind == KINDS.STATEFUL_SET.name:
            pending += sum(pod.owner == key for pod in not_created(simulation))
        return max(pending, self._wanted() - running)

    def _mine(self) -> Iterator[Object]:
        created = (pod.key for pod in self._created.values() if self._is_mine(pod))
        for key in dict.fromkeys((*self._pods, *created)):
            found = self._simulation.world.get(KINDS.POD, key)
            if found is not None and is_of(self._simulation, found, self._key):
                yield found

    def _wanted(self) -> int:
        key, kind = self._key, kind_named(self._key.kind)
        owner = self._simulation.world.get(kind, f"{key.namespace}/{key.name}") if kind is not None else None
        return wanted_pods(owner) if owner is not None else 0

    def worse(self) -> dict[str, str]:
        """Return who is worse off, by uid, each with a sentence."""
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
        names = (pod.view.spec.nodeName for pod in current if pod is not None)
        return tuple(dict.fromkeys(name for name in names if name))

    def landed(self) -> tuple[str, ...]:
        """Return the nodes of the workload's pods that had none, or were not there, when the watch began."""
        names = (pod.view.spec.nodeName for pod in self._mine() if pod.uid not in self._placed)
        return tuple(dict.fromkeys(name for name in names if name))

    def _current(self, pod: Object) -> Object | None:
        found = self._simulation.world.get(KINDS.POD, pod.key)
        return found if found is not None and found.uid == pod.uid and _is_there(found) else None

    def _workload(self, pod: Object) -> Key:
        return Key(*self._simulation.workload_of(pod))

    def _is_mine(self, pod: Object) -> bool:
        return self._workload(pod) == self._key


def is_of(simulation: Simulation, pod: Object, key: Key) -> bool:
    """Return whether a pod that is there to stay belongs to a workload, or is the bare pod that is meant."""
    if not _is_there(pod):
        return False
    owner = simulation.owner_of(pod)
    return Key(*owner) == key if owner is not None else Key("Pod", pod.namespace, pod.name) == key


def _is_there(pod: Object) -> bool:
    return pod.view.metadata.deletionTimestamp is None and pod.view.status.phase not in FINISHED_PHASES
