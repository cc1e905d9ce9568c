"""Plan a world, and describe it in the words of a cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.laws.random_worlds import World
from tests.laws.world_picture import COMPARED, Departure, Picture, departure_of, objects_of, row_of, shortened

from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.simulation.simulation import Simulation


def picture_of_plan(world: World, seconds: float) -> Picture:
    """Plan the world as it is after some seconds (`moorage plan --at`) and describe it."""
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects("world", world.documents)
    simulation = planner.build(lives=True)
    departures = _follow(simulation)
    outcome = planner.plan(simulation, until=seconds)
    return _described(simulation, outcome, departures)


def _follow(simulation: Simulation) -> Counter[Departure]:
    departures: Counter[Departure] = Counter()

    def changed(kind: Any, old: Any, new: Any) -> None:
        if kind is KINDS.POD:
            before, after = (None if one is None else one.view for one in (old, new))
            departure = departure_of(before, after, simulation.clock.elapsed)
            if departure is not None:
                departures[departure] += 1

    simulation.api.listeners.append(changed)
    return departures


def _described(simulation: Simulation, outcome: Outcome, departures: Counter[Departure]) -> Picture:
    found = {name: simulation.world.all(kind) for (_, name), kind in KINDS.items() if name in COMPARED}
    refused = [
        (f"{kind.name} {shortened(key)}", shortened(message))
        for kind, key, message in simulation.controllers.refused_creates()
    ]
    reasons = {line.key: (line.reason, shortened(line.message)) for line in outcome.pods}
    rows = []
    for one in simulation.world.all(KINDS.POD):
        row = row_of(one.view)
        if not row.node:
            reason, message = reasons.get(one.key, ("", ""))
            row = row._replace(reason=reason, message=message)
        rows.append(row)
    return Picture(
        Counter(shortened(note.message) for note in outcome.notes if note.level is Severity.ERROR),
        Counter(refused),
        objects_of(found),
        Counter(rows),
        departures,
    )
