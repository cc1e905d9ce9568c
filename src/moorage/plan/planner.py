"""A plan from beginning to end: read, simulate; then what if; then a rollout.

`load_cluster` is for commands that need the cluster but no plan.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from moorage.admit.raw import Raw
from moorage.lint.sources import Source
from moorage.plan.difference import Difference
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.rollout import ROLLED_OUT, Rollout, RolloutWatch
from moorage.plan.rollout_fix import find_fix
from moorage.plan.simulation.loading import simulate
from moorage.plan.simulation.simulation import Settings, Simulation
from moorage.plan.what_if import Changes, WhatIf

__all__ = ["Planner", "Settings", "load_cluster"]

Tick = Callable[[], None]
_KINDS = {
    **dict.fromkeys(("deployment", "deployments", "deploy", "deployment.apps"), "Deployment"),
    **dict.fromkeys(("statefulset", "statefulsets", "sts", "statefulset.apps"), "StatefulSet"),
    **dict.fromkeys(("daemonset", "daemonsets", "ds", "daemonset.apps"), "DaemonSet"),
}


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

    def build(self, inventory: Inventory | None = None) -> Simulation:
        """Return a simulation of the input in which nothing has happened yet."""
        return simulate(self.settings, self.inventory if inventory is None else inventory)

    def plan(self, simulation: Simulation, tick: Tick = _nothing) -> Outcome:
        """Let the simulation settle. `tick` is called for every pod that gets a node."""
        simulation.scheduling.placed = tick
        simulation.settle()
        return outcome_of(simulation, self.inventory)

    def what_if(
        self, simulation: Simulation, before: Outcome, changes: Changes, sources: Iterable[Source], rollout: str = ""
    ) -> tuple[Outcome, Difference, Rollout | None]:
        """Play changes on a planned simulation; the inventory is that of the changed cluster then. Raises ChangeError.

        With `rollout`, the update of a workload is watched: to the template that `sources` have, or a restart.
        """
        base = self.inventory.copy()
        key = find_workload(base, rollout) if rollout else None
        what_if = WhatIf(simulation, self.inventory)
        watch = RolloutWatch(simulation, key) if key is not None else None
        after, difference = what_if.play(changes, lambda reader: reader.read(sources), before, key)
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


def find_workload(inventory: Inventory, name: str) -> Key:
    """Find `deployment/web`, `deploy/web`, `web`, `statefulset/data/db`. Raises ChangeError."""
    word, slash, rest = name.partition("/")
    kind = _KINDS.get(word.lower()) if slash else None
    kinds = (kind,) if kind is not None else ROLLED_OUT
    rest = rest if kind is not None else name
    namespace, slash, plain = rest.rpartition("/")
    keys = [key for key in inventory.items if key.kind in kinds]
    found = [key for key in keys if key.name == plain and (not slash or key.namespace == namespace)]
    if len(found) == 1:
        return found[0]
    shown = kind or "Deployment"
    if found:
        several = ", ".join(f"{key.kind.lower()}/{key.namespace}/{key.name}" for key in found)
        raise ChangeError(f"there are several {shown}s {plain!r}: {several}")
    close = get_close_matches(plain, [key.name for key in keys], n=1)
    raise ChangeError(f"there is no {shown} {rest!r} in the input" + (f"; is it {close[0]}?" if close else ""))
