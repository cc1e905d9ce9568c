"""A plan from beginning to end: read, expand, place; then what if; then a rollout.

In: sources and settings. Out: an `Outcome`, a `Difference` if something is to be changed, a `Rollout` if one is to be
played. `load_cluster` is for commands that need the cluster but no plan.
"""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

import msgspec

from moorage.admit.raw import Raw
from moorage.lint.sources import Source
from moorage.model.gates import GateSet
from moorage.plan.difference import Difference
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.reading import Reader
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.placement import Placement
from moorage.plan.rollout import Rollout, play_rollout
from moorage.plan.rollout_fix import find_fix
from moorage.plan.what_if import Changes, WhatIf
from moorage.plan.world import World
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration

Tick = Callable[[], None]


def _nothing() -> None:
    """For those who watch no progress."""


class Settings(msgspec.Struct, frozen=True):
    """What a plan depends on besides its input: equal settings and input give equal plans."""

    gates: GateSet
    seed: int = 0
    configuration: Configuration = DEFAULT_CONFIGURATION
    namespace: str = "default"


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

    def build(self, inventory: Inventory | None = None) -> tuple[World, Placement]:
        """A world with all pods made and none placed yet."""
        settings = self.settings
        inventory = self.inventory if inventory is None else inventory
        world = World(inventory, settings.gates, settings.seed, settings.configuration)
        placement = Placement(world)
        world.reconcile()
        return world, placement

    def plan(self, world: World, placement: Placement, tick: Tick = _nothing) -> Outcome:
        placement.run(tick)
        return outcome_of(world)

    def what_if(
        self, world: World, placement: Placement, changes: Changes, sources: Iterable[Source]
    ) -> tuple[Outcome, Difference]:
        """Play changes on a planned world; its inventory is that of the changed cluster then. Raises ChangeError."""
        difference = WhatIf(world, placement).play(changes, lambda reader: reader.read(sources))
        return outcome_of(world), difference

    # -- rollouts -----------------------------------------------------------------------------------------------------

    def rollout(self, name: str, changed: Iterable[Source] = ()) -> Rollout:
        """Play a rolling update on the plan, to the template that `changed` has, or to the same one restarted.

        Raises ChangeError.
        """
        base = self.inventory.copy()
        key = _deployment(base, name)
        template = self._new_template(key, changed)
        rollout = self._play(base, key, template)
        if not rollout.completes:
            rollout.fix = find_fix(base, key, lambda fixed: self._play(fixed, key, None).completes)
        return rollout

    def _new_template(self, key: Key, changed: Iterable[Source]) -> Raw | None:
        applied = self.inventory.copy()
        Reader(applied, self.settings.gates, announces_updates=False).read(changed)
        template: Raw = applied.items[key].raw["spec"]["template"]
        return None if template == self.inventory.items[key].raw["spec"]["template"] else template

    def _play(self, inventory: Inventory, key: Key, template: Raw | None) -> Rollout:
        world, placement = self.build(inventory.copy())
        placement.run()
        item: Item = world.inventory.items[key]
        return play_rollout(world, placement, item, template)


def load_cluster(sources: Iterable[Source], settings: Settings) -> World:
    """The cluster that the input describes: pods that have a node on it, all others made and waiting for one."""
    planner = Planner(settings)
    planner.load(sources)
    return planner.build()[0]


def _deployment(inventory: Inventory, name: str) -> Key:
    """`deployment/web`, `deploy/web`, `web`, each with a namespace before the name if there are several."""
    kind, slash, rest = name.partition("/")
    if not slash or kind.lower() not in ("deployment", "deployments", "deploy", "deployment.apps"):
        rest = name
    namespace, slash, plain = rest.rpartition("/")
    keys = [key for key in inventory.items if key.kind == "Deployment"]
    found = [key for key in keys if key.name == plain and (not slash or key.namespace == namespace)]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"deployment/{key.namespace}/{key.name}" for key in found)
        raise ChangeError(f"there are several Deployments {plain!r}: {several}")
    close = get_close_matches(plain, [key.name for key in keys], n=1)
    raise ChangeError(f"there is no Deployment {rest!r} in the input" + (f"; is it {close[0]}?" if close else ""))
