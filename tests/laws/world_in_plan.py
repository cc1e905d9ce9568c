"""Plan a world, and describe it in the words of a cluster."""

from __future__ import annotations

from collections import Counter

from tests.laws.random_worlds import World
from tests.laws.world_picture import (
    COMPARED,
    ENDLESS,
    ON_NODE,
    Line,
    Picture,
    absent_objects,
    objects_of,
    row_of,
    shortened,
)

from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.plan import pod_lines
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.pod_lines import NOT_CREATED, PodLine, State
from moorage.plan.simulation.simulation import Simulation


def planned(world: World, seconds: float | None) -> tuple[Simulation, Outcome]:
    """Plan the world as it is after some seconds (`moorage plan --at`), or once nothing more happens."""
    planner = Planner(Settings(world.gates, others=world.others))
    planner.load_objects(world.documents)
    simulation = planner.build(lives=seconds is not None)
    return simulation, planner.plan(simulation, until=seconds)


def picture_of_plan(world: World, seconds: float) -> Picture:
    """Plan the world and describe the outcome; objects and phases are those of the simulation."""
    simulation, outcome = planned(world, seconds)
    if simulation.stopped:
        return ENDLESS
    found = {name: simulation.world.all(kind) for (_, name), kind in KINDS.items() if name in COMPARED}
    waiting = {line.key: (line.reason, shortened(line.message)) for line in outcome.pods if line.state is State.PENDING}
    rows = []
    for pod in simulation.world.all(KINDS.POD):
        row = row_of(pod.view)
        if not row.node:
            reason, message = waiting.get(pod.key, ("", ""))
            row = row._replace(reason=reason, message=message)
        rows.append(row)
    return Picture(
        Counter(shortened(note.message) for note in outcome.notes if note.level is Severity.ERROR),
        {line.workload: shortened(line.message) for line in outcome.failed},
        objects_of(found),
        Counter(rows),
        Counter(line_of(line) for line in outcome.pods if line.reason != NOT_CREATED),
        absent_objects(note.message for note in outcome.notes),
    )


def line_of(line: PodLine) -> Line:
    """Return a line of an outcome in the words of a cluster, which does not tell what will happen."""
    workload = line.workload or f"Pod {line.key}"
    if line.state in pod_lines.ON_NODE:
        return Line(workload, ON_NODE, line.node)
    if line.state in (State.EVICTED, State.PREEMPTED, State.DELETED):
        return Line(workload, line.state.value, line.last_node, line.evicted_after_seconds)
    return Line(workload, line.state.value, line.last_node, None, line.reason, shortened(line.message))
