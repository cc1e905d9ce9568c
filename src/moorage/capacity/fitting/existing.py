"""Bound the cost of new nodes beside those there are: pods that are not bound may use what is free there, in parts."""

from collections.abc import Sequence

import msgspec
import numpy as np

from moorage.capacity.fitting.demands import Waiting
from moorage.capacity.fitting.model.fluid import relax
from moorage.capacity.fitting.model.problem import Bound, Floats, Mask, Problem
from moorage.plan.pools.pool_nodes import candidates_of, without_node
from moorage.plan.simulation.simulation import Simulation


def bound_beside(simulation: Simulation, waiting: Sequence[Waiting], problem: Problem) -> float:
    """Return a lower bound of what new nodes cost, in a cluster in which nothing has been placed yet.

    `problem` is that of its pods on new nodes, with a shape for each of `waiting`. Nodes that take the same pods count
    as one, with all that they have free.
    """
    takes = _taken(simulation, waiting)
    free = _free(simulation, problem)
    columns: dict[bytes, list[int]] = {}
    for slot in range(takes.shape[1]):
        if takes[:, slot].any():
            columns.setdefault(takes[:, slot].tobytes(), []).append(slot)
    groups = list(columns.values())
    rooms = np.array([free[slots].sum(axis=0) for slots in groups]).reshape(len(groups), len(problem.resources))
    there = np.zeros(problem.kinds + len(groups))
    bounds = [
        Bound(one.name, np.concatenate([one.shares, np.zeros(len(groups))]), one.most, one.least)
        for one in problem.bounds
    ]
    for number in range(len(groups)):
        shares = there.copy()
        shares[problem.kinds + number] = 1.0
        bounds.append(Bound("there is only one", shares, 1.0))
    beside = msgspec.structs.replace(
        problem,
        rooms=np.concatenate([problem.rooms, rooms]),
        takes=np.concatenate(
            [problem.takes, np.array([takes[:, slots[0]] for slots in groups]).reshape(len(groups), problem.shapes).T],
            axis=1,
        ),
        prices=np.concatenate([problem.prices, np.zeros(len(groups))]),
        bounds=tuple(bounds),
    )
    found = relax(beside)
    return found.cost if found is not None else 0.0


def _taken(simulation: Simulation, waiting: Sequence[Waiting]) -> Mask:
    """Return which nodes of a cluster may take which pods (shapes × slots), by plugins that look at one node alone."""
    slots = np.array([slot for slot, _ in simulation.cluster.nodes], np.int64)
    found = np.zeros((len(waiting), len(slots)), np.bool_)
    for index, one in enumerate(waiting):
        candidates = candidates_of(simulation, without_node(one.pod))
        if candidates.rejection is not None:
            continue
        found[index] = candidates.considered()[slots]
        for item in candidates.filters:
            if item.plugin.local:
                found[index] &= candidates.mask(item)[slots]
    return found


def _free(simulation: Simulation, problem: Problem) -> Floats:
    nodes = simulation.cluster.nodes
    slots = np.array([slot for slot, _ in nodes], np.int64)
    columns = []
    for name in problem.resources:
        if " " in name:
            columns.append(np.ones(len(slots)))
        else:
            columns.append(np.maximum(nodes.free(name)[slots], 0).astype(np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((len(slots), 0))
