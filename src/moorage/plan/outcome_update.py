"""Bring an outcome up to date: lines of pods and nodes that did not change since are taken over.

Most changes touch few of a cluster's pods, and a slider asks several times a second. What is taken over is what
`outcome_of` would say again: a law compares the two. The line of a pod stands at the pod's place in the simulation's
history; lines of pods that are not created yet, or that were refused, follow.
"""

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.world import controller_of
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.inventory import Inventory
from moorage.plan.outcome import NodeLine, Outcome, node_line, node_lines, outcome_with
from moorage.plan.pod_lines import PodLine, PodRows, State, not_created
from moorage.plan.simulation.simulation import Simulation

#: Lines of these states may change while their pods do not.
_UNSTEADY = frozenset({State.PENDING, State.EVICTING})


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
        self._first_new = len(simulation.history)
        self._position = simulation.cluster.nodes.changes.position
        self._touched: set[str] = set()  # UIDs of pods
        self._down = frozenset(simulation.kubelets.down)
        self._nodes_changed: set[str] = set()  # names of nodes that came or went
        #: Whether lines of pods that did not change may be different nevertheless.
        self._spreads = False
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is KINDS.POD:
            changed = new or old
            if changed is not None:
                self._touched.add(changed.uid)
        elif kind is KINDS.RESOURCE_CLAIM or kind is KINDS.RESOURCE_SLICE:
            self._spreads = True  # lines have the devices of claims, and how many devices nodes have
        elif kind is KINDS.REPLICA_SET and old is not None:  # lines have the owner of the ReplicaSet
            after = controller_of(new.view.metadata) if new is not None else None
            self._spreads = self._spreads or controller_of(old.view.metadata) != after
        elif kind is KINDS.NODE and (old is None or new is None) and (node := new or old) is not None:
            self._nodes_changed.add(node.name)

    def update(self, before: Outcome, inventory: Inventory) -> Updated:
        """Return the outcome now, for the one from which this has followed the simulation."""
        history = self._simulation.history
        rows = PodRows(self._simulation)
        order = history.order
        known = before.pods[: self._first_new]
        if len(known) < self._first_new:  # an outcome from before other changes
            known, self._spreads = [], True
        places = {order[uid] for uid in self._touched} | {order[uid] for uid in rows.timers}
        nodes_changed = self._nodes_changed | (self._down ^ self._simulation.kubelets.down)
        for place, line in enumerate(known):
            if self._spreads or line.state in _UNSTEADY or line.node in nodes_changed:
                places.add(place)
        places.update(range(len(known), len(history)))
        changed = {place: rows.line(rows.pod(history.current(place))) for place in sorted(places)}
        lines = [changed.get(place) or line for place, line in enumerate(known)]
        lines += [changed[place] for place in range(len(known), len(history))]
        later = [rows.line(pod) for pod in not_created(self._simulation)]
        # Pods that were to be created may exist by now: they are compared, too.
        then = {line.key: line.state for line in before.pods[len(known) :] if line.is_present}
        for place in places:
            if place < len(known) and (line := known[place]).is_present:
                then[line.key] = line.state
        new_nodes, nodes = self._nodes(before)
        outcome = outcome_with(lines + later, nodes, self._simulation, inventory)
        outcome.evicted, outcome.loops = before.evicted, before.loops
        return Updated(outcome, [*changed.values(), *later], then, new_nodes)

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
