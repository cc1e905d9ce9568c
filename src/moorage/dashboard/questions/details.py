"""Tell everything about one node or one pod of the settled simulation, as the pages of a live cluster do."""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.state.details import node_details, pod_details
from moorage.dashboard.state.rows import node_row
from moorage.model.kinds import KINDS
from moorage.plan.devices import device_counts_of
from moorage.watch.usage import NodeUsage


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    world = base.simulation.world
    name, pod = str(arguments.get("node") or ""), str(arguments.get("pod") or "")
    found = None
    if name and (node := world.get(KINDS.NODE, name)) is not None:
        usage = NodeUsage()
        for one in world.pods_on(name):
            usage.count(one.key, one.view)
        row = node_row(node.view, usage.of(name), device_counts_of(base.simulation.cluster.devices, name))
        found = node_details(world, name, row, [])
    elif pod:
        found = pod_details(world, pod, [])
    if found is None:
        raise BadQuestion(f"there is no {KINDS.NODE.name.lower() if name else KINDS.POD.name.lower()} {name or pod!r}")
    yield {**found, "done": True}
