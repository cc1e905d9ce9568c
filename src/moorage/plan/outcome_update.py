"""Bring an outcome up to date: lines of pods and nodes that did not change since are taken over.

Most changes touch few of a cluster's pods, and a slider asks several times a second. What is taken over is what
`outcome_of` would say again: a law compares the two.
"""

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import FINISHED_PHASES
from moorage.plan.input.inventory import Inventory
from moorage.plan.outcome import (
    NodeLine,
    Outcome,
    PodLine,
    State,
    node_line,
    node_lines,
    outcome_with,
    planned_pods,
    pod_line,
)
from moorage.plan.simulation.simulation import Simulation


class Updated(msgspec.Struct):
    """The outcome now, lines of pods that may be new or different, what these were then, and lines of changed nodes."""

    outcome: Outcome
    pods: list[PodLine]
    then: dict[str, State]
    nodes: list[NodeLine]


class Follower:
    """Follows a simulation from an outcome on: which pods change."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._first_new = len(simulation.order)
        self._position = simulation.cluster.nodes.changes.position
        self._touched: set[str] = set()  # keys of pods
        #: Whether lines of pods that did not change may be different nevertheless.
        self._spreads = False
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is KINDS.POD:
            found = new or old
            if found is not None:
                self._touched.add(found.key)
        elif kind is KINDS.RESOURCE_CLAIM or kind is KINDS.RESOURCE_SLICE:
            self._spreads = True  # lines have the devices of claims, and how many devices nodes have
        elif kind is KINDS.REPLICA_SET and old is not None:  # lines have the owner of the ReplicaSet
            after = controller_of(new.view.metadata) if new is not None else None
            self._spreads = self._spreads or controller_of(old.view.metadata) != after

    def update(self, before: Outcome, inventory: Inventory) -> Updated:
        """Return the outcome now, for the one from which this has followed the simulation."""
        simulation = self._simulation
        order, world = simulation.order, simulation.world
        everything, touched = self._spreads, self._touched
        then: dict[str, State] = {}
        places: dict[str, int] = {}
        for index, line in enumerate(before.pods):
            key = line.key
            if everything or key in touched or not line.node:
                then[key], places[key] = line.state, index
        there = (found for key in self._touched | then.keys() if (found := world.get(KINDS.POD, key)) is not None)
        live = [one for one in there if one.view.status.phase not in FINISHED_PHASES]
        pods = sorted(live, key=lambda one: order[one.uid])
        lines = [pod_line(pod, simulation) for pod in planned_pods(simulation, pods)]
        new = next((index for index, pod in enumerate(pods) if order[pod.uid] >= self._first_new), len(pods))
        old = {line.key: line for line in lines[:new]}
        kept: list[PodLine | None] = list(before.pods)
        for key, index in places.items():
            kept[index] = old.get(key)
        all_lines = [line for line in kept if line is not None] + lines[new:]
        changed, nodes = self._nodes(before)
        return Updated(outcome_with(all_lines, nodes, simulation, inventory), lines, then, changed)

    def _nodes(self, before: Outcome) -> tuple[list[NodeLine], list[NodeLine]]:
        """Return the lines of nodes that changed, and those of all nodes."""
        cluster = self._simulation.cluster
        table = cluster.nodes
        slots = table.changes.since(self._position)
        then = {line.name: line for line in before.nodes}
        if slots is None or self._spreads:
            nodes = node_lines(cluster)
        else:
            changed = set(slots)
            nodes = [
                node_line(cluster, slot) if slot in changed or name not in then else then[name]
                for name, slot in table.slot_of.items()
            ]
        return [line for line in nodes if then.get(line.name) != line], nodes
