"""Tell what changes would do: at once who has to leave because of taints, then everything that follows.

The first part is decided as the taint eviction controller decides, once for each distinct list of taints and
tolerations; it is left out where the API server refuses a taint. The last is the simulation of `moorage plan` with the
same changes, and what that prints as `whatIf`. How the two agree says `plan.eviction_forecast`; the last part may add
pods that waited and got a tainted node, and those that go because of drains, devices, removed nodes, controllers and
pods of higher priority.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.admit.pod.tolerations import validate_taints
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.changes import (
    kubectl_commands,
    kubectl_remarks,
    plan_command,
    read_changes,
    read_until,
)
from moorage.dashboard.questions.rows import added_rows
from moorage.model.kinds import KINDS
from moorage.model.types.node import Taint
from moorage.plan.departures import Cause, Departure, OwnerNames
from moorage.plan.difference.difference import happens_anyway
from moorage.plan.evictions.forecast import EvictionForecast, forecast_evictions
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import NodeLine
from moorage.plan.report.plain import difference_data, summary
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    asked, until = read_changes(arguments), read_until(arguments)
    planner, simulation, before = base.planner, base.simulation, base.plan
    try:
        forecast = forecast_evictions(simulation, asked.changes.taints, asked.changes.untaints, until)
        if not _is_refused(asked.changes):
            evicted, anyway = _departures(simulation, forecast, forecast_evictions(simulation))
            yield {
                "part": "evictions",
                "evicted": msgspec.to_builtins(evicted),
                "anyway": msgspec.to_builtins(anyway),
                "tolerated": forecast.tolerated,
            }
        commands = kubectl_commands(asked, planner.inventory)
        known = {node.name for node in simulation.world.all(KINDS.NODE)} if asked.adds_nodes else frozenset[str]()
        first_note = len(planner.inventory.notes)
        updated, difference, _ = planner.play(simulation, before, asked.changes, asked.sources, until=until)
    except ChangeError as error:
        raise BadQuestion(str(error)) from None
    yield {
        "part": "whatIf",
        **difference_data(difference),
        "happensAnyway": msgspec.to_builtins(happens_anyway(difference, before)),
        "summary": summary(updated.outcome),
        "nodes": [_node_row(line) for line in updated.nodes],
        "added": added_rows(simulation, known) if asked.adds_nodes else [],
        "notes": [str(note) for note in planner.inventory.notes[first_note:]],
        "stopped": simulation.stopped,
        "kubectl": commands,
        "kubectlRemarks": kubectl_remarks(asked.changes),
        "plan": plan_command(asked, until),
        "done": True,
    }


def _is_refused(changes: Changes) -> bool:
    """Return whether the API server would refuse one of the taints; its words come when the changes are made."""
    taints = {Taint(key=one.key, value=one.value, effect=one.effect) for one in changes.taints}
    return any(validate_taints((taint,), "") for taint in taints)


def _departures(
    simulation: Simulation, forecast: EvictionForecast, without: EvictionForecast
) -> tuple[list[Departure], list[Departure]]:
    """Return the pods that leave because of the changes, and those that leave then without them, too."""
    due = {eviction.pod.uid: eviction.seconds for eviction in without.evictions}
    names = OwnerNames(simulation)
    caused: list[Departure] = []
    anyway: list[Departure] = []
    for pod, seconds, because in forecast.evictions:
        departure = Departure(pod.key, names.of(pod), pod.view.spec.nodeName, Cause.TAINT, seconds, because)
        (anyway if due.get(pod.uid) == seconds else caused).append(departure)
    return caused, anyway


def _node_row(line: NodeLine) -> Part:
    """Return how full a node is, in the units of the dashboard's rows."""
    return {
        "name": line.name,
        "schedulable": line.schedulable,
        "taints": list(line.taints),
        "resources": {name: [usage.requested, usage.allocatable] for name, usage in line.resources.items()},
        "devices": {driver: [count.in_use, count.published] for driver, count in line.devices.items()},
    }
