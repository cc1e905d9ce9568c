"""List the nodes and pods of the settled simulation as the rows of `/api/state`: the map of a cluster in files.

Pods that a StatefulSet has yet to make are no rows: they are in the plan.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import Base, Part
from moorage.dashboard.state.rows import node_row, pod_row, pod_table
from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.plan.devices import device_counts
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.simulation import Simulation
from moorage.watch.usage import NodeUsage

MAX_REFUSED = 200


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    notes = base.planner.inventory.notes
    refused = [(note.subject or note.where, note.message) for note in notes if note.level is Severity.ERROR]
    yield {**rows(base.simulation), "refused": refused[:MAX_REFUSED], "done": True}


def rows(simulation: Simulation) -> dict[str, Any]:
    """Return the nodes in the order of the input, and all pods in the order in which they came."""
    usage = NodeUsage()
    pods = []
    for found in sorted(simulation.world.all(KINDS.POD), key=lambda pod: simulation.order[pod.uid]):
        usage.count(found.key, found.view)
        owner = simulation.owner_of(found)
        pods.append(pod_row(found.view, str(Key(*owner)) if owner is not None else ""))
    devices = device_counts(simulation.cluster)
    nodes = []
    for _, node in simulation.cluster.nodes:
        name = node.metadata.name
        nodes.append(node_row(node, usage.of(name), devices.get(name, {})))
    return {"nodes": nodes, "pods": pod_table(pods)}
