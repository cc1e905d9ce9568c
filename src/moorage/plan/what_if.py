"""Play changes on a simulated cluster: manifests, taints, nodes, drains, scales.

All changes go through the API; then controllers, scheduler, kubelets and evictions go on until nothing more happens.
Which pods went, when and why is read from the log of deletions; a `Difference` has that and the pods' successors.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

import msgspec

from moorage.admit.raw import Raw
from moorage.client.protocol import Object
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, view_of
from moorage.plan.device_evictions import DeviceEvictions
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, Key
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import (
    AddedNodes,
    ChangeError,
    LabelChange,
    ScaleChange,
    TaintChange,
    UntaintChange,
    add_nodes,
    find_node,
    label,
    taint,
    untaint,
)
from moorage.plan.outcome import Outcome, PodLine, State
from moorage.plan.outcome_update import Follower, Updated
from moorage.plan.owner_names import OwnerNames
from moorage.plan.rollout import SCALED, find_workload, kind_of_workload, restart
from moorage.plan.simulation.api import Deletion
from moorage.plan.simulation.controllers import DEVICE_TAINT_EVICTION, POD_GARBAGE, TAINT_EVICTION
from moorage.plan.simulation.drain import DRAIN, complaints, cordon, drain
from moorage.plan.simulation.loading import COUNTED, WRITES_PER_POD, bound_replicas, load, load_services
from moorage.plan.simulation.scheduling import SCHEDULER
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.taint_evictions import TaintEvictions

_USER = "user"


class Cause(StrEnum):
    """Why a pod went."""

    TAINT = "taint"
    DEVICE_TAINT = "device taint"
    DRAIN = "drain"
    NODE_REMOVED = "node removed"
    PREEMPTED = "preempted"
    NEW_TEMPLATE = "new template"
    CONTROLLER = "removed by its controller"
    DELETED = "deleted"


class Departure(msgspec.Struct, rename="camel"):
    """A pod that went, when (in seconds after the change), why, and what became of its successor.

    `anyway`: its time was running already, so that it goes without the changes, too.
    """

    pod: str
    workload: str
    node: str
    cause: Cause
    seconds: int = msgspec.field(default=0, name="afterSeconds")
    because: str = ""
    replaced_by: str = ""
    new_node: str = ""
    message: str = ""
    anyway: bool = False

    def would_go_anyway(self) -> None:
        self.anyway = True
        self.because += "; also without these changes"


class Difference(msgspec.Struct):
    """Before and after. `placed` and `pending` are pods that nothing above explains."""

    changes: tuple[str, ...]
    before: Outcome
    departures: list[Departure]
    blocked: list[tuple[str, str]]
    placed: list[PodLine]
    pending: list[PodLine]

    @property
    def evicted(self) -> list[Departure]:
        """The departures that no rolling update explains."""
        return [one for one in self.departures if one.cause is not Cause.NEW_TEMPLATE]

    @property
    def rolled(self) -> list[Departure]:
        """The pods that a rolling update replaces, as its strategy allows."""
        return [one for one in self.departures if one.cause is Cause.NEW_TEMPLATE]

    @property
    def is_empty(self) -> bool:
        return not (self.departures or self.blocked or self.placed or self.pending)


def difference_of(
    changes: Sequence[str],
    before: Outcome,
    updated: Updated,
    departures: list[Departure],
    blocked: Iterable[tuple[str, str]],
) -> Difference:
    """Complete the departures with their successors, and collect the other pods that are new."""
    lines = {pod.key: pod for pod in updated.pods}
    left = {departure.pod: departure.node for departure in departures}
    explained = set()
    for departure in departures:
        successor = lines.get(departure.replaced_by)
        if successor is not None:
            explained.add(successor.key)
            departure.new_node, departure.message = successor.node, successor.message
        elif departure.replaced_by in left:  # it found a node, and had to leave it in its turn
            departure.new_node = left[departure.replaced_by]
    placed, pending = [], []
    for key, pod in lines.items():
        if key in explained:
            continue
        old = updated.then.get(key)
        if pod.state is State.PENDING:
            if old is not State.PENDING:
                pending.append(pod)
        elif old is None or old is State.PENDING:
            placed.append(pod)
    return Difference(tuple(changes), before, departures, list(blocked), placed, pending)


class Changes(msgspec.Struct, frozen=True):
    """The changes, made in this order. `files` are described here; the caller reads them."""

    files: tuple[str, ...] = ()
    taints: tuple[TaintChange, ...] = ()
    untaints: tuple[UntaintChange, ...] = ()
    drains: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()
    scales: tuple[ScaleChange, ...] = ()
    cordons: tuple[str, ...] = ()
    adds: tuple[AddedNodes, ...] = ()
    labels: tuple[LabelChange, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)

    def described(self) -> list[str]:
        return [
            *(f"apply {name}" for name in self.files),
            *map(str, self.taints),
            *map(str, self.untaints),
            *map(str, self.labels),
            *(f"drain node {name}" for name in self.drains),
            *(f"remove node {name}" for name in self.removes),
            *map(str, self.scales),
            *(f"cordon node {name}" for name in self.cordons),
            *map(str, self.adds),
        ]


class WhatIf:
    """Plays changes on a simulation that has settled."""

    def __init__(self, simulation: Simulation, inventory: Inventory) -> None:
        self._simulation, self._inventory = simulation, inventory
        self._start = simulation.clock.now
        self._first_deletion = len(simulation.api.deletions)
        self._first_created = len(simulation.api.created_pods)
        self._first_preempted = len(simulation.scheduling.preempted)
        self._new_templates: set[Key] = set()
        self._removed: set[str] = set()
        self._devices = DeviceEvictions(simulation)
        self._first_new, self._over = len(simulation.order), frozenset(simulation.finished)
        self._follower = Follower(simulation)
        self._evictions = TaintEvictions(simulation)
        self._due = {one.pod.uid: one.seconds for one in self._evictions.foresee((), ()).leaving}

    def _is_old(self, pod: Object) -> bool:
        """Return whether a pod was there before the changes, and not over."""
        return self._simulation.order[pod.uid] < self._first_new and pod.uid not in self._over

    def play(
        self,
        changes: Changes,
        read: Callable[[Reader], None],
        before: Outcome,
        rolled_out: Key | None = None,
        until: float | None = None,
    ) -> tuple[Updated, Difference]:
        """Make the changes and let the cluster go on until nothing more happens. Raises ChangeError.

        The workload that is `rolled_out` is restarted, unless its template is among the changes. With `until`, the
        cluster goes on for so many seconds and no longer.
        """
        simulation = self._simulation
        self.apply_files(read)
        if rolled_out is not None and rolled_out not in self._new_templates:
            restart(simulation, rolled_out)
            self._new_templates.add(rolled_out)
        for change in changes.taints:
            taint(simulation, change)
        for removed in changes.untaints:
            untaint(simulation, removed)
        for labelled in changes.labels:
            label(simulation, labelled)
        for name in (*changes.drains, *changes.removes, *changes.cordons):
            find_node(simulation, name)
        for scale in changes.scales:
            self._scale(scale)
        for added in changes.adds:
            add_nodes(simulation, added)
        for name in (*changes.cordons, *changes.drains):
            try:
                cordon(simulation, name)
            except ApiError as error:
                raise ChangeError(error.message) from None
        for name in changes.removes:
            simulation.api.delete(KINDS.NODE, name)
            self._inventory.items.pop(Key("Node", "", name), None)
            self._removed.add(name)
        simulation.work()
        self._note_refusals(changes.drains)
        blocked = drain(simulation, changes.drains)
        if until is None:
            simulation.settle(self._awaits_eviction)
        else:
            simulation.run_until(max(self._start + until, simulation.clock.now))
        updated = self._follower.update(before, self._inventory)
        return updated, difference_of(changes.described(), before, updated, self._departures(), blocked)

    def _scale(self, change: ScaleChange) -> None:
        key = find_workload(self._inventory, change.workload, SCALED)
        api = self._simulation.api
        self._expect_pods(change.replicas)
        api.actor = _USER
        api.patch(kind_of_workload(key.kind), key.name, key.namespace, {"spec": {"replicas": change.replicas}})
        api.actor = ""

    def _expect_pods(self, number: int) -> None:
        """Let the simulation write so much more before it is taken to be without end."""
        self._simulation.api.max_writes += WRITES_PER_POD * number

    def _note_refusals(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            for key, why in complaints(self._simulation, name):
                namespace, _, pod = key.partition("/")
                item = self._inventory.items.get(Key("Pod", namespace, pod))
                text = f"kubectl drain {name} refuses without {why}"
                place = item.place if item is not None else NOWHERE
                self._inventory.note(Severity.WARNING, Key("Pod", namespace, pod), text, place)

    # -- manifests applied on top -------------------------------------------------------------------------------------

    def apply_files(self, read: Callable[[Reader], None]) -> None:
        simulation, inventory = self._simulation, self._inventory
        reader = Reader(inventory, simulation.settings.gates, announces_updates=False)
        read(reader)
        load_services(simulation, inventory)
        for key, old in reader.changed.items():
            item = inventory.items.get(key)
            if item is None:
                continue
            self._expect_pods(bound_replicas(inventory, item) if key.kind in COUNTED else 0)
            found = simulation.world.get(item.kind, f"{key.namespace}/{key.name}" if key.namespace else key.name)
            if found is None:
                self._create(item)
                continue
            try:
                simulation.api.actor = _USER
                _update(simulation, item, found.raw)
            except ApiError as error:
                inventory.reject(key, error.message, item.place)
            finally:
                simulation.api.actor = ""
            if old is not None and _template(old.raw) != _template(item.raw):
                self._new_templates.add(key)

    def _create(self, item: Item) -> None:
        """Create an object; admission completes what only the cluster knows, and may refuse it."""
        api = self._simulation.api
        if item.existing or item.kind is KINDS.NODE:
            load(self._simulation, [item])
            return
        try:
            if item.kind.namespaced and self._simulation.world.get(KINDS.NAMESPACE, item.key.namespace) is None:
                api.create(KINDS.NAMESPACE, {"metadata": {"name": item.key.namespace}})
            api.create(item.kind, item.raw, item.key.namespace)
        except ApiError as error:
            self._inventory.reject(item.key, error.message, item.place)

    def _awaits_eviction(self) -> bool:
        """Return whether a pod from before the changes still has to leave its node, sooner or later."""
        for name in self._evictions.tainted_nodes():
            if self._evictions.are_due(pod for pod in self._simulation.world.pods_on(name) if self._is_old(pod)):
                return True
        return self._devices.is_due()

    # -- what went ----------------------------------------------------------------------------------------------------

    def _departures(self) -> list[Departure]:
        simulation = self._simulation
        victims = {victim.uid: by for victim, by in simulation.scheduling.preempted[self._first_preempted :]}
        names = OwnerNames(simulation)
        departures = []
        for deletion in simulation.api.deletions[self._first_deletion :]:
            pod = deletion.pod
            if not self._is_old(pod) and not pod.view.spec.nodeName:
                continue
            cause, because = self._why(deletion, victims.get(pod.uid, ""))
            seconds = round(deletion.time - self._start)
            name = names.of(pod)
            departures.append(Departure(pod.key, name, pod.view.spec.nodeName, cause, seconds, because))
            if cause is Cause.TAINT and seconds >= self._due.get(pod.uid, seconds + 1):
                departures[-1].would_go_anyway()
        self._pair(departures, names)
        _follow_repeated(departures)
        return departures

    def _why(self, deletion: Deletion, preemptor: str) -> tuple[Cause, str]:
        pod, actor = deletion.pod, deletion.actor
        if actor == TAINT_EVICTION:
            return Cause.TAINT, self._evictions.of(deletion.pod).because
        if actor == DEVICE_TAINT_EVICTION:
            return Cause.DEVICE_TAINT, self._devices.because(pod.uid)
        if actor == DRAIN:
            return Cause.DRAIN, "node is drained"
        if actor == SCHEDULER:
            return Cause.PREEMPTED, f"made room for {preemptor}"
        if actor == POD_GARBAGE or pod.view.spec.nodeName in self._removed:
            return Cause.NODE_REMOVED, "its node is gone"
        if actor == _USER:
            return Cause.DELETED, "was deleted"
        owner = self._simulation.owner_of(pod)
        if owner is not None and Key(*owner) in self._new_templates and self._is_old(pod):
            return Cause.NEW_TEMPLATE, f"{Key(*owner)} has a new template"
        return Cause.CONTROLLER, "is no longer wanted"

    def _pair(self, departures: list[Departure], names: OwnerNames) -> None:
        """Name for each pod that went the one that its workload made in its stead."""
        made: dict[str, dict[str, None]] = {}
        for pod, _ in self._simulation.api.created_pods[self._first_created :]:
            if name := names.of(pod):
                made.setdefault(name, {})[pod.key] = None
        for departure in departures:
            successors = made.get(departure.workload)
            if departure.cause is Cause.CONTROLLER or not successors:
                continue
            if departure.workload.startswith("DaemonSet "):
                chosen = next((key for key in successors if self._node_of(key) == departure.node), "")
            else:
                chosen = departure.pod if departure.pod in successors else next(iter(successors))
            if chosen:
                del successors[chosen]
                departure.replaced_by = chosen

    def _node_of(self, key: str) -> str:
        pod = self._simulation.world.view(KINDS.POD, key)
        return str(pod.spec.nodeName) if pod is not None else ""


def _follow_repeated(departures: Iterable[Departure]) -> None:
    """Mark the successors that the same node takes and evicts again, for the same reason, without the changes, too."""
    repeated: dict[str, Departure] = {}
    for one in departures:
        before = repeated.get(one.pod)
        if before is not None and before.node == one.node and before.because.startswith(f"{one.because};"):
            one.would_go_anyway()
        if one.anyway and one.replaced_by:
            repeated[one.replaced_by] = one


def _update(simulation: Simulation, item: Item, current: Raw) -> None:
    """Replace what the manifest says of an object, and leave what the cluster has written into it."""
    metadata, new = current["metadata"], item.raw["metadata"]
    merged = {
        **metadata,
        "labels": new.get("labels") or {},
        "annotations": {**(metadata.get("annotations") or {}), **(new.get("annotations") or {})},
    }
    rest = {name: value for name, value in item.raw.items() if name not in ("metadata", "status")}
    if item.kind is KINDS.POD:
        rest["spec"] = {**current["spec"], **rest["spec"]}
    document = {**current, **rest, "metadata": merged}
    made = simulation.api.update(item.kind, document)
    status = item.raw.get("status")
    if status and item.kind is KINDS.NODE:
        raw = {**made.raw, "status": {**(made.raw.get("status") or {}), **status}}
        simulation.api.put(KINDS.NODE, raw, view_of(raw))


def _template(raw: Raw) -> object:
    return (raw.get("spec") or {}).get("template")
