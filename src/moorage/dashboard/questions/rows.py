"""List the nodes and pods of the settled simulation as the rows of `/api/state`, and describe one of them in full.

It is the map of a cluster in files. Pods that a StatefulSet has yet to make are no rows: they are in the plan.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.state.details import node_details, pod_details
from moorage.dashboard.state.rows import NodeRow, RowDeadline, node_row, pod_row, pod_table, row_deadline
from moorage.lint.finding import Severity
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.plan.devices import DeviceCount, device_counts, device_counts_of
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.simulation import Simulation
from moorage.watch.usage import NodeUsage

MAX_REFUSED = 200


def all_rows(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the rows, and the objects that were refused."""
    notes = base.planner.inventory.notes
    refused = [(note.object or note.where, note.message) for note in notes if note.level is Severity.ERROR]
    yield {**rows(base.simulation), "refused": refused[:MAX_REFUSED], "done": True}


def rows(simulation: Simulation) -> dict[str, Any]:
    """Return the nodes in the order of the input, and all pods in the order in which they came."""
    usage = NodeUsage()
    pods = []
    deadlines = deadlines_of(simulation)
    for pod in sorted(simulation.world.all(KINDS.POD), key=lambda pod: simulation.order[pod.uid]):
        usage.count(pod.key, pod.view)
        owner = simulation.owner_of(pod)
        pods.append(pod_row(pod.view, str(Key(*owner)) if owner is not None else "", deadlines.get(pod.key)))
    devices = device_counts(simulation.cluster)
    nodes = []
    for _, node in simulation.cluster.nodes:
        name = node.metadata.name
        nodes.append(_row(simulation, node, usage, devices.get(name, {})))
    return {"nodes": nodes, "pods": pod_table(pods)}


def _row(simulation: Simulation, node: Node, usage: NodeUsage, devices: Mapping[str, DeviceCount]) -> NodeRow:
    """Return the row of a node, without the age of one of which the input does not tell it."""
    row = node_row(node, usage.of(node.metadata.name), devices)
    return {**row, "created": ""} if node.metadata.uid in simulation.ageless else row


def added_rows(simulation: Simulation, known: Collection[str]) -> list[NodeRow]:
    """Return the rows of the nodes that are not known yet, as full as they are now."""
    rows_of_new = []
    for _, node in simulation.cluster.nodes:
        name = node.metadata.name
        if name not in known:
            usage = NodeUsage()
            for pod in simulation.world.pods_on(name):
                usage.count(pod.key, pod.view)
            rows_of_new.append(_row(simulation, node, usage, device_counts_of(simulation.cluster.devices, name)))
    return rows_of_new


def deadlines_of(simulation: Simulation) -> dict[str, RowDeadline]:
    """Return when taints make pods leave their nodes, by key."""
    start = simulation.clock.start
    found = ((timer.pod.key, row_deadline(timer.deadline(start), start)) for timer in simulation.evictions.timers())
    return {key: deadline for key, deadline in found if deadline is not None}


def _times_of_input(base: Base, key: str) -> dict[str, str]:
    """Return when a pod was made and got its node, if the input tells it: what the simulation wrote is an invention."""
    namespace, _, name = key.partition("/")
    item = base.planner.inventory.items.get(Key(KINDS.POD.name, namespace, name))
    if item is None or not item.view.metadata.resourceVersion:
        return {"created": "", "since": ""}
    conditions = (one for one in item.view.status.conditions if one.type == "PodScheduled" and one.status == "True")
    scheduled = next(conditions, None)
    since = scheduled.lastTransitionTime if scheduled is not None else None
    return {"created": item.view.metadata.creationTimestamp or "", "since": since or ""}


def details(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: everything about the node `node` or the pod `pod`, as the pages of a live cluster show it."""
    world = base.simulation.world
    name, pod = str(arguments.get("node") or ""), str(arguments.get("pod") or "")
    document = None
    if name and (node := world.get(KINDS.NODE, name)) is not None:
        usage = NodeUsage()
        for pod_here in world.pods_on(name):
            usage.count(pod_here.key, pod_here.view)
        counts = device_counts_of(base.simulation.cluster.devices, name)
        row = _row(base.simulation, node.view, usage, counts)
        document = node_details(world, name, row, [], deadlines_of(base.simulation).get)
        if document is not None and node.uid in base.simulation.ageless:
            times = ("lastTransitionTime", "lastHeartbeatTime")
            document["conditions"] = [
                {field: value for field, value in one.items() if field not in times} for one in document["conditions"]
            ]
    elif pod:
        document = pod_details(world, pod, [], deadlines_of(base.simulation).get)
        if document is not None:
            document |= _times_of_input(base, pod)
    if document is None:
        raise BadQuestion(f"there is no {KINDS.NODE.name.lower() if name else KINDS.POD.name.lower()} {name or pod!r}")
    yield {**document, "done": True}
