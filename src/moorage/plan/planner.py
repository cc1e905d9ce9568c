"""Plan from beginning to end: read the input, simulate it, play changes and rollouts on it."""

from collections.abc import Callable, Iterable

from moorage.admit.raw import Raw
from moorage.lint.sources import Source
from moorage.plan.difference import Difference
from moorage.plan.headroom import headroom as pods_that_fit
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.input.reading import Reader
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.rollout import Rollout, RolloutWatch, find_workload
from moorage.plan.rollout_fix import find_fix
from moorage.plan.simulation.loading import simulate
from moorage.plan.simulation.simulation import Settings, Simulation
from moorage.plan.what_if import Changes, WhatIf

__all__ = ["Planner", "Settings", "load_cluster"]

Tick = Callable[[], None]
_REST_SECONDS = 60.0


def _nothing() -> None:
    """Report no progress."""


class Planner:
    """One input, planned as often as needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.inventory = Inventory(settings.gates, settings.namespace)

    def load(self, sources: Iterable[Source], tick: Tick = _nothing, *, announces_updates: bool = True) -> None:
        """Read the input. What cannot be read or would be refused is noted and left out."""
        Reader(self.inventory, self.settings.gates, announces_updates=announces_updates).read(sources, tick)

    def load_objects(self, source: str, objects: Iterable[Raw]) -> None:
        """Take what was read from a cluster, which `source` names."""
        Reader(self.inventory, self.settings.gates).read_objects(source, objects)

    def build(self, inventory: Inventory | None = None, *, lives: bool = False) -> Simulation:
        """Return a simulation of the input in which nothing has happened yet.

        Where it `lives`, containers end and CronJobs start Jobs as time passes.
        """
        return simulate(self.settings, self.inventory if inventory is None else inventory, lives=lives)

    def plan(self, simulation: Simulation, tick: Tick = _nothing, until: float | None = None) -> Outcome:
        """Let the simulation settle, or go on for some seconds. `tick` is called for every pod that gets a node."""
        simulation.scheduling.placed = tick
        if until is None:
            simulation.settle()
        else:
            simulation.run_until(simulation.clock.start + until)
        return outcome_of(simulation, self.inventory)

    def answer(
        self,
        simulation: Simulation,
        changes: Changes,
        sources: Iterable[Source],
        rollout: str = "",
        until: float | None = None,
        *,
        headroom: bool = False,
        tick: Tick = _nothing,
    ) -> tuple[Outcome, Difference | None, Rollout | None]:
        """Plan, then play the changes and the rollout, if there are any. Raises ChangeError.

        `until` is the time to show, in seconds; changes are made of a cluster at rest. With `headroom`, the outcome
        says how many more pods of each workload fit.
        """
        is_changed = bool(changes) or bool(rollout)
        outcome = self.plan(simulation, tick, _REST_SECONDS if until is not None and is_changed else until)
        difference = played = None
        if is_changed:
            after, found, played = self.what_if(simulation, outcome, changes, sources, rollout, until)
            if changes:  # a mere restart leaves the plan as it is
                outcome, difference = after, found
        if headroom:
            outcome.headroom = pods_that_fit(simulation)
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

        `until` ends it after so many seconds. With `rollout`, the update of a workload is watched: to the template
        that `sources` have, or a restart.
        """
        base = self.inventory.copy()
        key = find_workload(base, rollout) if rollout else None
        what_if = WhatIf(simulation, self.inventory)
        watch = RolloutWatch(simulation, key) if key is not None else None
        after, difference = what_if.play(changes, lambda reader: reader.read(sources), before, key, until)
        played = watch.rollout() if watch is not None else None
        if played is not None and key is not None and not played.completes:
            fixed_key = key
            played.fix = find_fix(base, key, lambda fixed: self._restart_completes(fixed, fixed_key))
        return after, difference, played

    def _restart_completes(self, inventory: Inventory, key: Key) -> bool:
        simulation = self.build(inventory)
        simulation.settle()
        watch = RolloutWatch(simulation, key)
        WhatIf(simulation, inventory).play(Changes(), lambda reader: None, outcome_of(simulation, inventory), key)
        return watch.rollout().completes


def load_cluster(sources: Iterable[Source], settings: Settings) -> tuple[Simulation, Inventory]:
    """Return the cluster that the input describes, with the pods of its workloads made and none of them placed."""
    planner = Planner(settings)
    planner.load(sources)
    simulation = planner.build()
    simulation.controllers.work()
    simulation.scheduling.take_in()
    return simulation, planner.inventory
