"""Plan from beginning to end: read the input, simulate it, play changes and rollouts on it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing

from moorage.admit.admission import Rejected
from moorage.admit.chain import Admission
from moorage.admit.raw import Raw, copy_document
from moorage.control.framework.world import controller_of
from moorage.lint.policies.admission import admit_with_policies
from moorage.lint.sources import Source
from moorage.model.well_known.labels import POD_TEMPLATE_HASH
from moorage.plan.autoscaling.attached import Autoscaling, attach
from moorage.plan.autoscaling.report import scaling_of
from moorage.plan.departures import evictions_of
from moorage.plan.difference.difference import Difference
from moorage.plan.evictions.follow_ups import add_follow_ups
from moorage.plan.headroom import headroom as pods_that_fit
from moorage.plan.input.absent_owners import deployment_of
from moorage.plan.input.admitted.known_objects import KnownObjects
from moorage.plan.input.extensions.objects import extensions_of
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.reading import Reader
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.outcome_update import Updated
from moorage.plan.pod_lines import State
from moorage.plan.pools.offers import pool_notes
from moorage.plan.rollout import Rollout, RolloutWatch, find_workload
from moorage.plan.simulation.loading import simulate
from moorage.plan.simulation.simulation import Settings, Simulation
from moorage.plan.what_if import Changes, WhatIf

__all__ = ["Planner", "Settings", "load_cluster"]

Tick = Callable[[], None]
#: A cluster that is shown at some time comes to rest for so long before changes are made.
REST_SECONDS = 60.0
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_KEYS = "matchLabelKeys"


class Planner:
    """One input, planned as often as needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.inventory = Inventory(settings.gates, settings.namespace)
        self.allows_empty = False  # manifests to apply need not have an object
        self._is_changed = False
        #: The autoscaler that works in the cluster; None for a cluster whose nodes are as they are.
        self.autoscaling: Autoscaling | None = None

    def load(self, sources: Iterable[Source], tick: Tick = lambda: None, *, announces_updates: bool = True) -> None:
        """Read the input. What cannot be read or would be refused is noted and left out."""
        with closing(Reader(self.inventory, self.settings.gates, announces_updates=announces_updates)) as reader:
            reader.read(sources, tick)

    def load_objects(self, objects: Iterable[Raw], known: KnownObjects | None = None) -> None:
        """Take what was read from a cluster; what is `known` is not admitted again."""
        with closing(Reader(self.inventory, self.settings.gates, known=known)) as reader:
            reader.read_objects(objects)

    def build(self, inventory: Inventory | None = None, *, lives: bool = False) -> Simulation:
        """Return a simulation of the input in which nothing has happened yet.

        Where it `lives`, containers end and CronJobs start Jobs as time passes.
        """
        simulation = simulate(self.settings, self.inventory if inventory is None else inventory, lives=lives)
        if self.autoscaling is not None:
            simulation.autoscaler = attach(simulation, self.autoscaling)
        return simulation

    def plan(self, simulation: Simulation, tick: Tick = lambda: None, until: float | None = None) -> Outcome:
        """Let the simulation settle, or go on for some seconds. `tick` is called for every pod that gets a node."""
        simulation.scheduling.placed = tick
        if until is None:
            simulation.settle()
        else:
            simulation.run_until(simulation.clock.start + until)
        return self._outcome(simulation)

    def with_evictions(self, simulation: Simulation, outcome: Outcome) -> Outcome:
        """Return the outcome once all pods have left that taints evict later, and their successors have a place.

        The simulation goes on if there are such pods.
        """
        if not outcome.of_state(State.EVICTING):
            return outcome
        simulation.settle_with_evictions()
        return self._outcome(simulation)

    def _outcome(self, simulation: Simulation) -> Outcome:
        outcome = outcome_of(simulation, self.inventory)
        outcome.evicted, outcome.loops = evictions_of(simulation)
        waiting = {line.key: line.message for line in outcome.pending} if outcome.evicted else {}
        for departure in outcome.evicted:
            departure.message = "" if departure.new_node else waiting.get(departure.replaced_by, "")
        return outcome

    def answer(
        self,
        simulation: Simulation,
        changes: Changes,
        sources: Iterable[Source],
        rollout: str = "",
        until: float | None = None,
        *,
        headroom: bool = False,
        tick: Tick = lambda: None,
    ) -> tuple[Outcome, Difference | None, Rollout | None]:
        """Plan, then play the changes and the rollout, if there are any. Raises ChangeError.

        `until` is the time to show, in seconds; changes are made of a cluster at rest. With `headroom`, the outcome
        says how many more pods of each workload fit.
        """
        is_changed = bool(changes) or bool(rollout)
        outcome = self.plan(simulation, tick, rest_of(simulation) if until is not None and is_changed else until)
        difference = played = None
        if is_changed:
            after, found, played = self.what_if(simulation, outcome, changes, sources, rollout, until)
            if changes:  # a mere restart leaves the plan as it is
                outcome, difference = after, found
        elif until is None:
            outcome = self.with_evictions(simulation, outcome)
        add_follow_ups(simulation, outcome, goes_on=is_changed or until is not None, lives=until is not None)
        if self.inventory.pools is not None:
            outcome.notes += pool_notes(simulation, outcome, self.inventory.pools.pools)
        if headroom:
            outcome.headroom, outcome.no_headroom = pods_that_fit(simulation)
        if simulation.autoscaler is not None:
            outcome.scaling = scaling_of(simulation, simulation.autoscaler)
        return outcome, difference, played

    def what_if(
        self,
        simulation: Simulation,
        before: Outcome,
        changes: Changes,
        sources: Iterable[Source],
        rollout: str = "",
        until: float | None = None,
    ) -> tuple[Outcome, Difference, Rollout | None]:
        """Play changes on a planned simulation; the inventory is that of the changed cluster then. Raises ChangeError.

        `until` ends it after this many seconds. With `rollout`, the update of a workload is watched: to the template
        that `sources` have, or a restart.
        """
        updated, difference, played = self.play(simulation, before, changes, sources, rollout, until)
        return updated.outcome, difference, played

    def play(
        self,
        simulation: Simulation,
        before: Outcome,
        changes: Changes,
        sources: Iterable[Source],
        rollout: str = "",
        until: float | None = None,
    ) -> tuple[Updated, Difference, Rollout | None]:
        """Answer `what_if`, and say which lines of pods and nodes have changed. Raises ChangeError."""
        base = self.inventory.copy() if rollout else self.inventory
        key = find_workload(base, rollout) if rollout else None
        # The inventory is that of the changed cluster afterwards.
        rebuild = self._rebuilding(simulation) if not self._is_changed else None
        self._is_changed = True
        what_if = WhatIf(simulation, self.inventory, rebuild, allows_empty=self.allows_empty)
        watch = RolloutWatch(simulation, key) if key is not None else None
        updated, difference = what_if.play(changes, self._reading(simulation, changes, sources), before, key, until)
        played = watch.rollout() if watch is not None else None
        if played is not None and key is not None and not played.completes:
            fixed_key = key
            played.fix = _find_fix(base, key, lambda fixed: self._restart_completes(fixed, fixed_key))
        return updated, difference, played

    @staticmethod
    def _reading(
        simulation: Simulation, changes: Changes, sources: Iterable[Source]
    ) -> Callable[[Reader], None] | None:
        """Return what reads the manifests of the changes; those of a comparison replace those before.

        Return None if there are none, so that nothing is made ready for them: a slider moves several times a second.
        """
        diff = changes.diff
        if diff is None:
            is_empty = isinstance(sources, Sequence) and not sources
            return None if is_empty else lambda reader: reader.read(sources)
        return lambda reader: diff.read(reader, sources, simulation)

    def _rebuilding(self, simulation: Simulation) -> Callable[[], WhatIf]:
        """Return a function that plans what is in the inventory now once more, to make no changes of it."""
        inventory = self.inventory.copy(with_notes=True)

        def rebuild() -> WhatIf:
            again = self.build(inventory, lives=simulation.lives)
            again.random.setstate(simulation.loaded_random)
            if simulation.lives:
                again.run_until(again.clock.start + rest_of(again))
            else:
                again.settle()
            return WhatIf(again, inventory)

        return rebuild

    def _restart_completes(self, inventory: Inventory, key: Key) -> bool:
        simulation = self.build(inventory)
        simulation.settle()
        watch = RolloutWatch(simulation, key)
        WhatIf(simulation, inventory).play(Changes(), lambda reader: None, outcome_of(simulation, inventory), key)
        return watch.rollout().completes


def rest_of(simulation: Simulation) -> float:
    """Return for how long a cluster that is shown at some time goes on before changes are made."""
    return REST_SECONDS if simulation.autoscaler is None else simulation.patience


def load_cluster(sources: Iterable[Source], settings: Settings) -> tuple[Simulation, Inventory]:
    """Return the cluster that the input describes, with the pods of its workloads made and none of them placed."""
    planner = Planner(settings)
    planner.load(sources)
    simulation = planner.build()
    simulation.controllers.work()
    simulation.scheduling.take_in()
    return simulation, planner.inventory


def _find_fix(inventory: Inventory, key: Key, completes: Callable[[Inventory], bool]) -> str:
    """Return the matchLabelKeys lines (KEP-3633) that let a rollout complete, as YAML; empty if none helps.

    A line is tried as if it had always been there: the update that adds it has still to get past the old pods.
    """
    item = inventory.items[key]
    paths = [path for path, _ in _terms(item.raw["spec"]["template"]["spec"])]
    attempts = [[path] for path in paths] + ([paths] if len(paths) > 1 else [])
    for attempt in attempts:
        changed = _with_keys(inventory, item, attempt)
        if changed is not None and completes(changed):
            return "\n".join(f"{path}:\n  {_KEYS}:\n  - {POD_TEMPLATE_HASH}" for path in attempt)
    return ""


def _terms(spec: Raw) -> Iterator[tuple[str, Raw]]:
    """Return the required rules between new and old pods that have no `pod-template-hash` key yet."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAntiAffinity", "podAffinity"):
        for index, term in enumerate((affinity.get(kind) or {}).get(_REQUIRED) or []):
            if _can_have_keys(term):
                yield f"spec.template.spec.affinity.{kind}.{_REQUIRED}[{index}]", term
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or []):
        if constraint.get("whenUnsatisfiable") == "DoNotSchedule" and _can_have_keys(constraint):
            yield f"spec.template.spec.topologySpreadConstraints[{index}]", constraint


def _can_have_keys(term: Raw) -> bool:
    return bool(term.get("labelSelector")) and POD_TEMPLATE_HASH not in (term.get(_KEYS) or [])


def _with_keys(inventory: Inventory, item: Item, paths: list[str]) -> Inventory | None:
    """Return the inventory as if the Deployment always had the line; None if the API server refuses it."""
    raw = copy_document(item.raw)
    for path, term in _terms(raw["spec"]["template"]["spec"]):
        if path in paths:
            term[_KEYS] = [*(term.get(_KEYS) or []), POD_TEMPLATE_HASH]
    chain = Admission(inventory.world(), inventory.gates, extensions=extensions_of(inventory))
    result = admit_with_policies(chain, raw).result
    if isinstance(result, Rejected):
        return None
    changed = inventory.copy()
    changed.items[item.key] = Item(item.key, item.kind, result.object, result.view, item.existing, item.place)
    for other in list(changed.of_kind("Pod", "ReplicaSet")):
        if _belongs_to(changed, other, item.key):
            del changed.items[other.key]
    return changed


def _belongs_to(inventory: Inventory, item: Item, key: Key) -> bool:
    """Return whether the Deployment controls a ReplicaSet, or the ReplicaSet of a pod."""
    owner = controller_of(item.view.metadata)
    if owner is None:
        return False
    above = Key(owner.kind, item.key.namespace, owner.name)
    deployment = deployment_of(inventory, item) if item.key.kind == "Pod" else None
    if above == key or (deployment is not None and deployment.key == key):
        return True
    return above in inventory.items and _belongs_to(inventory, inventory.items[above], key)
