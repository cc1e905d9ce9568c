"""Play changes on a simulated cluster: manifests, taints, nodes, drains, scales.

All changes go through the API; then controllers, scheduler, kubelets and evictions go on until nothing more happens.
A `Difference` has the pods that left, their successors, and all other pods of which something else becomes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from moorage.admit.raw import Raw
from moorage.lint.finding import Severity
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, view_of
from moorage.plan.departures import USER, Cause, Departure, DepartureLog
from moorage.plan.difference.two_inputs import InputDiff
from moorage.plan.evictions.forecast import forecast_evictions
from moorage.plan.input.applying import keep_generated
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
from moorage.plan.outcome import Outcome
from moorage.plan.outcome_update import Follower, Updated
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.pool_upgrade import PoolUpgrade, Upgrade, upgrade_pool
from moorage.plan.rollout import SCALED, find_workload, kind_of_workload, restart
from moorage.plan.simulation.drain import complaints, cordon, drain
from moorage.plan.simulation.loading import COUNTED, WRITES_PER_POD, bound_replicas, load
from moorage.plan.simulation.simulation import Simulation


class Blocked(NamedTuple):
    """A pod that a drain cannot evict, and why."""

    pod: str
    message: str


class Difference(msgspec.Struct):
    """Before and after. `placed`, `pending` and `failed` are pods that replace none of those that left."""

    changes: tuple[str, ...]
    before: Outcome
    departures: list[Departure]
    blocked: list[Blocked]
    placed: list[PodLine]
    pending: list[PodLine]
    failed: list[PodLine] = []  # those that their kubelets refuse
    upgrade: Upgrade | None = None
    diff: InputDiff | None = None

    @property
    def evicted(self) -> list[Departure]:
        """The departures that no rolling update explains."""
        return [departure for departure in self.departures if departure.cause is not Cause.NEW_TEMPLATE]

    @property
    def replaced(self) -> list[Departure]:
        """The pods that a rolling update replaces, as its strategy allows."""
        return [departure for departure in self.departures if departure.cause is Cause.NEW_TEMPLATE]

    @property
    def is_empty(self) -> bool:
        return not (self.departures or self.blocked or self.placed or self.pending or self.failed)


def difference_of(
    changes: Sequence[str],
    before: Outcome,
    updated: Updated,
    departures: list[Departure],
    blocked: Iterable[tuple[str, str]],
) -> Difference:
    """Complete the departures with their successors, and collect the other pods that are new."""
    lines = {pod.key: pod for pod in updated.pods if pod.is_present}
    left = {departure.pod: departure.node for departure in departures}
    explained = set()
    for departure in departures:
        successor = lines.get(departure.replaced_by)
        if successor is not None:
            explained.add(successor.key)
            departure.new_node, departure.message = successor.node, "" if successor.node else successor.message
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
    refused = {pod.key for pod in before.of_state(State.FAILED)}
    failed = [pod for pod in updated.pods if pod.state is State.FAILED and pod.key not in refused]
    return Difference(tuple(changes), before, departures, [Blocked(*one) for one in blocked], placed, pending, failed)


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
    upgrade: PoolUpgrade | None = None
    diff: InputDiff | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)

    def described(self) -> list[str]:
        return [
            *(self.diff.described() if self.diff is not None else ()),
            *(f"apply {name}" for name in self.files),
            *map(str, self.taints),
            *map(str, self.untaints),
            *map(str, self.labels),
            *(f"drain node {name}" for name in self.drains),
            *(f"remove node {name}" for name in self.removes),
            *map(str, self.scales),
            *(f"cordon node {name}" for name in self.cordons),
            *map(str, self.adds),
            *([str(self.upgrade)] if self.upgrade is not None else ()),
        ]


class WhatIf:
    """Plays changes on a simulation that has settled."""

    def __init__(self, simulation: Simulation, inventory: Inventory) -> None:
        self._simulation, self._inventory = simulation, inventory
        simulation.history.start = simulation.clock.now
        self._new_templates: set[Key] = set()
        self._log = DepartureLog(simulation)
        self._follower = Follower(simulation)
        self._due = {eviction.pod.uid: eviction.seconds for eviction in forecast_evictions(simulation).evictions}

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
        cluster goes on for this many seconds and no longer.
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
        self._remove_nodes(name for name in changes.removes if name not in changes.drains)
        simulation.work()
        self._note_refusals(changes.drains)
        blocked = drain(simulation, changes.drains)
        self._remove_nodes(name for name in changes.removes if name in changes.drains)
        upgrade = upgrade_pool(simulation, changes.upgrade) if changes.upgrade is not None else None
        if until is None:
            simulation.controllers.retry_refused()
            simulation.settle(self._awaits_eviction)
        else:
            simulation.run_until(max(self._log.start + until, simulation.clock.now))
        updated = self._follower.update(before, self._inventory)
        difference = difference_of(changes.described(), before, updated, self._departures(), blocked)
        difference.upgrade, difference.diff = upgrade, changes.diff
        return updated, difference

    def _remove_nodes(self, names: Iterable[str]) -> None:
        for name in dict.fromkeys(names):
            self._simulation.api.delete(KINDS.NODE, name)
            self._inventory.items.pop(Key("Node", "", name), None)

    def _scale(self, change: ScaleChange) -> None:
        key = find_workload(self._inventory, change.workload, SCALED)
        api = self._simulation.api
        self._expect_pods(change.replicas)
        api.actor = USER
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
                simulation.api.actor = USER
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
        return any(self._log.is_old(timer.pod) for timer in self._simulation.evictions.timers())

    def _departures(self) -> list[Departure]:
        """Return the pods that left, and what replaces them."""
        departures = list(self._log.departures())
        for deletion, departure in departures:
            if departure.cause is Cause.CONTROLLER and self._log.is_old(deletion.pod):
                owner = self._simulation.owner_of(deletion.pod)
                if owner is not None and Key(*owner) in self._new_templates:
                    departure.cause, departure.because = Cause.NEW_TEMPLATE, f"{Key(*owner)} has a new template"
            due = self._due.get(deletion.pod.uid) if departure.cause is Cause.TAINT else None
            if due is not None and departure.after_seconds >= due:
                departure.would_go_anyway()
        self._log.pair(departures)
        _follow_repeated(departure for _, departure in departures)
        return [departure for _, departure in departures]


def _follow_repeated(departures: Iterable[Departure]) -> None:
    """Mark the successors that the same node takes and evicts again, for the same reason, without the changes, too."""
    repeated: dict[str, Departure] = {}
    for departure in departures:
        before = repeated.get(departure.pod)
        if before is not None and before.node == departure.node and before.because.startswith(f"{departure.because};"):
            departure.would_go_anyway()
        if departure.anyway and departure.replaced_by:
            repeated[departure.replaced_by] = departure


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
    elif rest.get("spec") and current.get("spec"):
        rest["spec"] = keep_generated(item.kind, rest["spec"], current["spec"])
    document = {**current, **rest, "metadata": merged}
    made = simulation.api.update(item.kind, document)
    status = item.raw.get("status")
    if status and item.kind is KINDS.NODE:
        raw = {**made.raw, "status": {**(made.raw.get("status") or {}), **status}}
        simulation.api.put(KINDS.NODE, raw, view_of(raw))


def _template(raw: Raw) -> object:
    return (raw.get("spec") or {}).get("template")
