"""Play changes on a simulated cluster: manifests, taints, nodes, drains, scales.

All changes go through the API; then controllers, scheduler, kubelets and evictions go on until nothing more happens.
The same cluster goes on without the changes, to the same time; a `Difference` compares the two.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

import msgspec

from moorage.admit.raw import Raw
from moorage.lint.finding import Severity
from moorage.lint.input_contents import InputContents
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, view_of
from moorage.plan.departures import USER, Cause, Departure, DepartureLog, loops_of
from moorage.plan.difference.comparison import Becomes, compare
from moorage.plan.difference.counterfactual import Alone, Counterfactual
from moorage.plan.difference.difference import Difference
from moorage.plan.difference.two_inputs import InputDiff
from moorage.plan.input.applying import keep_generated
from moorage.plan.input.extensions.attached import note_attached
from moorage.plan.input.inventory import NOWHERE, Inventory, Item, Key, Note
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import (
    AddedNodes,
    ChangeError,
    LabelChange,
    LoadChange,
    ScaleChange,
    TaintChange,
    UnreadableChange,
    UntaintChange,
    add_nodes,
    find_nodes,
    find_pod,
    label,
    nodes_text,
    taint,
    untaint,
)
from moorage.plan.outcome import Outcome
from moorage.plan.outcome_update import Follower, Updated
from moorage.plan.pool_upgrade import PoolUpgrade, Upgrade, upgrade_pool
from moorage.plan.rollout import SCALED, find_workload, kind_of_workload, restart
from moorage.plan.simulation.api import Deletion
from moorage.plan.simulation.drain import Blocked, complaints, cordon, drain, evict
from moorage.plan.simulation.loading import COUNTED, WRITES_PER_POD, bound_replicas, load
from moorage.plan.simulation.simulation import Simulation
from moorage.usage.annotations import LOAD, SINCE

#: Pods that autoscalers may make because of a load, before the simulation is taken to be without end.
MAX_SCALED = 10_000


class Changes(msgspec.Struct, frozen=True):
    """The changes, made in this order. `files` are described here; the caller reads them.

    Drains, removals and cordons name nodes as taints do: one, all (`*`), or those with a label (`{zone=a}`).
    """

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
    #: Pods, as NAMESPACE/NAME.
    evicts: tuple[str, ...] = ()
    loads: tuple[LoadChange, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__struct_fields__)

    def described(self) -> list[str]:
        return [
            *(self.diff.described() if self.diff is not None else ()),
            *(f"apply {name}" for name in self.files),
            *map(str, self.taints),
            *map(str, self.untaints),
            *map(str, self.labels),
            *(f"drain {nodes_text(nodes)}" for nodes in self.drains),
            *(f"remove {nodes_text(nodes)}" for nodes in self.removes),
            *map(str, self.scales),
            *map(str, self.loads),
            *(f"cordon {nodes_text(nodes)}" for nodes in self.cordons),
            *(f"evict pod {key}" for key in self.evicts),
            *map(str, self.adds),
            *([str(self.upgrade)] if self.upgrade is not None else ()),
        ]


class WhatIf:
    """Plays changes on a simulation that has settled."""

    def __init__(
        self,
        simulation: Simulation,
        inventory: Inventory,
        rebuild: Callable[[], "WhatIf"] | None = None,
        *,
        allows_empty: bool = False,
    ) -> None:
        """`rebuild` plans the same input once more, for where the process cannot be copied."""
        self._simulation, self._inventory, self._rebuild = simulation, inventory, rebuild
        self._allows_empty = allows_empty
        simulation.history.start = simulation.clock.now
        self._new_templates: set[Key] = set()
        self._log = DepartureLog(simulation)
        self._follower = Follower(simulation)

    def play(
        self,
        changes: Changes,
        read: Callable[[Reader], None] | None,
        before: Outcome,
        rolled_out: Key | None = None,
        until: float | None = None,
    ) -> tuple[Updated, Difference]:
        """Make the changes and let the cluster go on until nothing more happens. Raises ChangeError.

        `read` reads manifests; None if there are none. The workload that is `rolled_out` is restarted, unless its
        template is among the changes. With `until`, the cluster goes on for this many seconds and no longer.
        """
        alone = Counterfactual(self, before, until, self._rebuild, self._due(until))
        with closing(alone):
            blocked, upgrade = self._make(changes, read, rolled_out)
            self._go_on(until)
            without = self._without(alone, before)
        updated = self._follower.update(before, self._inventory)
        updated.outcome.loops = loops_of(self._simulation)
        difference = self._difference(changes, without, updated.outcome)
        difference.blocked, difference.upgrade, difference.diff = blocked, upgrade, changes.diff
        return updated, difference

    def _make(
        self, changes: Changes, read: Callable[[Reader], None] | None, rolled_out: Key | None
    ) -> tuple[list[Blocked], Upgrade | None]:
        """Make the changes; return the pods that drains cannot evict, and how the upgrade went. Raises ChangeError."""
        simulation = self._simulation
        names = changes.files if changes.diff is None else None
        if read is not None or names:
            self.apply_files(read or _read_nothing, names)
        else:
            self._inventory.contents = InputContents()
            note_attached(self._inventory)
        if rolled_out is not None and rolled_out not in self._new_templates:
            restart(simulation, rolled_out)
            self._new_templates.add(rolled_out)
        for change in changes.taints:
            taint(simulation, change)
        for removed in changes.untaints:
            untaint(simulation, removed)
        for labelled in changes.labels:
            label(simulation, labelled)
        evicts = [find_pod(simulation, key) for key in changes.evicts]
        drains, removes, cordons = map(self._names, (changes.drains, changes.removes, changes.cordons))
        for scale in changes.scales:
            self._scale(scale)
        for load_change in changes.loads:
            self._load(load_change)
        for added in changes.adds:
            add_nodes(simulation, added)
        for name in (*cordons, *drains):
            try:
                cordon(simulation, name)
            except ApiError as error:
                raise ChangeError(error.message) from None
        self._remove_nodes(name for name in removes if name not in drains)
        simulation.work()
        self._note_refusals(drains)
        blocked = evict(simulation, dict.fromkeys(evicts))
        blocked += drain(simulation, list(drains))
        self._remove_nodes(name for name in removes if name in drains)
        return blocked, upgrade_pool(simulation, changes.upgrade) if changes.upgrade is not None else None

    def _names(self, scopes: Iterable[str]) -> dict[str, None]:
        """Return the names of the nodes that changes are for, each once, in order. Raises ChangeError."""
        return {node.name: None for scope in scopes for node in find_nodes(self._simulation, scope)}

    def _remove_nodes(self, names: Iterable[str]) -> None:
        for name in names:
            self._simulation.api.delete(KINDS.NODE, name)
            self._inventory.items.pop(Key("Node", "", name), None)

    def _scale(self, change: ScaleChange) -> None:
        key = find_workload(self._inventory, change.workload, SCALED)
        api = self._simulation.api
        self._expect_pods(change.replicas)
        api.actor = USER
        api.patch(kind_of_workload(key.kind), key.name, key.namespace, {"spec": {"replicas": change.replicas}})
        api.actor = ""

    def _load(self, change: LoadChange) -> None:
        """Annotate a workload with a load that begins now."""
        key = find_workload(self._inventory, change.workload, SCALED)
        api = self._simulation.api
        self._expect_pods(MAX_SCALED)
        api.actor = USER
        annotations = {LOAD: change.load, SINCE: api.now_text()}
        api.patch(kind_of_workload(key.kind), key.name, key.namespace, {"metadata": {"annotations": annotations}})
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

    def apply_files(self, read: Callable[[Reader], None], names: Sequence[str] | None = None) -> None:
        """Apply manifests. Those from files of these names must have objects. Raises UnreadableChange."""
        simulation, inventory = self._simulation, self._inventory
        reader = Reader(inventory, simulation.settings.gates, announces_updates=False)
        inventory.contents, known = InputContents(), len(inventory.notes)
        read(reader)
        if names is not None:
            self._refuse_unreadable(inventory.notes[known:], names)
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

    def _refuse_unreadable(self, notes: Iterable[Note], names: Sequence[str]) -> None:
        problems = [str(note) for note in notes if note.level is Severity.ERROR and not note.object]
        if not problems and not self._allows_empty:
            problems = [str(empty) for empty in self._inventory.contents.faults(names)]
        if problems:
            raise UnreadableChange(problems)

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

    # -- with and without the changes ---------------------------------------------------------------------------------

    def _go_on(self, until: float | None) -> None:
        """Let the cluster go on until nothing more happens, or for this many seconds from the beginning."""
        simulation = self._simulation
        if until is None:
            simulation.controllers.retry_refused()
            simulation.settle(self._awaits_eviction)
        else:
            simulation.run_until(max(self._log.start + until, simulation.clock.now))

    def _due(self, until: float | None) -> float:
        """Return from when on the cluster is not what it was, also without changes; infinite if it stays as it is."""
        is_awaited = until is not None or self._awaits_eviction()
        return self._simulation.clock.now if is_awaited else self._simulation.next_time()

    def _without(self, alone: Counterfactual, before: Outcome) -> Outcome:
        """Return the plan without the changes, of the same time as the one with them."""
        found = alone.at(self._simulation.clock.now)
        if found is None:
            return before
        if found.end > self._simulation.clock.now:
            self._simulation.run_until(found.end)
        return found.outcome(before)

    def go_on_alone(self, before: Outcome, until: float | None, end: float) -> Alone:
        """Go on without changes, until that time at least."""
        simulation = self._simulation
        self._go_on(until)
        if simulation.clock.now < end:
            simulation.run_until(end)
            if until is None:
                simulation.settle(self._awaits_eviction)
        outcome = self._follower.update(before, self._inventory).outcome
        return Alone(simulation.clock.now, outcome.pods, outcome.failed, loops_of(simulation))

    def _difference(self, changes: Changes, without: Outcome, after: Outcome) -> Difference:
        """Compare the plans, and tell the pods that leave because of the changes from those that leave anyway."""
        departures = self._departures()
        successors = {one.pod: one.replaced_by for _, one in departures if one.replaced_by}
        rolled = {one.pod for _, one in departures if one.cause is Cause.NEW_TEMPLATE}
        comparison = compare(without, after, successors, rolled, self._log.first_new)
        pairs = {id(line): pair for pair in comparison.pairs for line in (pair.after, pair.left) if line is not None}
        order = self._simulation.order
        differs = {pair.workload for pair in comparison.differences if pair.workload}
        caused, anyway = [], []
        for deletion, departure in departures:
            pair = pairs.get(id(after.pods[order[deletion.pod.uid]]))
            # Pods that came and went are part of a difference, or their workload is as it is without the changes.
            is_passing = pair is not None and pair.becomes is Becomes.PASSING and departure.workload not in differs
            if pair is None or pair.becomes is Becomes.SAME or is_passing:
                anyway.append(departure)
                continue
            caused.append(departure)
            if pair.becomes is Becomes.OTHERWISE and pair.before is not None:
                departure.without = f"without the changes: {pair.before.message}"
        _complete([one for _, one in departures], after)
        return Difference(tuple(changes.described()), without, after, comparison, caused, anyway, [])

    def _departures(self) -> list[tuple[Deletion, Departure]]:
        """Return the pods that left, and what replaces them."""
        departures = list(self._log.departures())
        for deletion, departure in departures:
            if departure.cause is Cause.CONTROLLER and self._log.is_old(deletion.pod):
                owner = self._simulation.owner_of(deletion.pod)
                if owner is not None and Key(*owner) in self._new_templates:
                    departure.cause, departure.because = Cause.NEW_TEMPLATE, f"{Key(*owner)} has a new template"
        self._log.pair(departures)
        return departures


def _read_nothing(reader: Reader) -> None:
    """Read no manifests."""


def _complete(departures: Iterable[Departure], after: Outcome) -> None:
    """Say where the successors are, or why they wait."""
    lines = {pod.key: pod for pod in after.pods if pod.is_present}
    departures = list(departures)
    left = {departure.pod: departure.node for departure in departures}
    for departure in departures:
        successor = lines.get(departure.replaced_by)
        if successor is not None:
            departure.new_node, departure.message = successor.node, "" if successor.node else successor.message
        elif departure.replaced_by in left:  # it found a node, and had to leave it in its turn
            departure.new_node = left[departure.replaced_by]


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
