"""Play a mix: plan the pods on its nodes, and add nodes for those that are left Pending, as a scheduler places them.

The scheduler follows its scores, not the fillings of the model, and rules that look at other nodes count here. So a mix
may need more nodes than the model says. Every mix that is answered with was planned from its beginning and left nothing
Pending.
"""

from collections.abc import Sequence

import msgspec
import numpy as np

from moorage.capacity.fitting.demands import Demands, demands_of, problem_of
from moorage.capacity.fitting.model.problem import Ints, Mask
from moorage.capacity.fitting.model.solve import solve
from moorage.capacity.fitting.worlds import FitWorld, nodes_of
from moorage.plan.pools.pool_nodes import NodeKind, PoolNodes
from moorage.plan.pools.verdicts import pool_growths
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import NodeTemplate

#: How often nodes are added for pods that still wait.
MAX_ROUNDS = 40
#: After this many rounds in a row that left no fewer pods waiting, the last ones for 64 times as many, it is given up.
MAX_STALLED = 7


class Played(msgspec.Struct, frozen=True, eq=False):
    """A mix that was planned: how many nodes of each kind, and the cluster afterwards, in which these pods wait."""

    nodes: Ints
    simulation: Simulation
    waiting: Demands

    @property
    def is_whole(self) -> bool:
        return not self.waiting.waiting


class Stuck(Exception):
    """Pods for which no pool may start a node, or that wait however many are added: `waiting` in the cluster then."""

    def __init__(self, played: Played) -> None:
        super().__init__("no nodes that pools may start help the pods that wait")
        self.played = played


class MixTrials:
    """Plays mixes of kinds of node. `number` counts how many were planned."""

    def __init__(self, world: FitWorld, kinds: Sequence[NodeKind], *, searches: bool = True) -> None:
        """Unless it `searches`, nodes for pods that wait are put together greedily."""
        self._world, self._kinds, self._searches = world, kinds, searches
        self._pools = list({kind.pool.name: kind.pool for kind in kinds}.values())
        self._index = {(kind.pool.name, kind.name): index for index, kind in enumerate(kinds)}
        self.number = 0

    def play(self, nodes: Ints) -> Played:
        """Plan the pods on these nodes from the beginning."""
        self.number += 1
        simulation = self._world.planned(nodes_of(self._chosen(nodes), self._world.taken_names))
        return Played(nodes, simulation, demands_of(simulation))

    def repaired(self, nodes: Ints) -> Played:
        """Return a mix with these nodes, and more if pods would wait otherwise. Raises Stuck.

        Pods that come before those that wait may take the nodes that are added for them. After a round that left no
        fewer pods waiting, nodes are added as if twice as many waited; after one that helped, as if half as many.
        """
        played = self.play(nodes)
        fewest, times, stalled = played.waiting.number, 1, 0
        for _ in range(MAX_ROUNDS):
            if played.is_whole:
                return played
            more = self.more_for(played, times=times) if stalled < MAX_STALLED else played.nodes * 0
            if not more.any():
                raise Stuck(played)
            played = self.play(played.nodes + more)
            if played.waiting.number < fewest:
                fewest, times, stalled = played.waiting.number, max(times // 2, 1), 0
            else:
                times, stalled = 2 * times, stalled + 1
        if played.is_whole:
            return played
        raise Stuck(played)

    def names_of_nodes(self, nodes: Ints) -> list[str]:
        """Return the names of the nodes of a mix, in the order of their kinds."""
        return [made["metadata"]["name"] for made in nodes_of(self._chosen(nodes), self._world.taken_names)]

    def kinds_of_nodes(self, nodes: Ints) -> Ints:
        """Return the kinds of the nodes that `names_of_nodes` names."""
        return np.repeat(np.arange(len(nodes)), nodes)

    def _chosen(self, nodes: Ints) -> list[tuple[NodeTemplate, int]]:
        return [(kind.template, int(number)) for kind, number in zip(self._kinds, nodes, strict=True) if number]

    def more_for(self, played: Played, without: Mask | None = None, *, times: int = 1) -> Ints:
        """Return nodes for pods that wait in a cluster, by what the scheduler says of new nodes beside it.

        They are of no kind that is `without`, and for `times` as many pods as wait, if the pools may start as many.
        """
        simulation, waiting = played.simulation, played.waiting.waiting
        nodes = PoolNodes(simulation, self._pools)
        answers = nodes.ask([one.pod for one in waiting], why=False)
        takes = np.array([answer.accepted for answer in answers], np.bool_).reshape(len(waiting), len(nodes))
        growths = pool_growths(simulation, self._pools)
        for index, kind in enumerate(nodes.kinds):
            is_lost = without is not None and bool(without[self._index[kind.pool.name, kind.name]])
            if is_lost or growths[kind.pool.name].why_not(kind.template):
                takes[:, index] = False
        helped = [index for index in range(len(waiting)) if takes[index].any()]
        more = np.zeros(len(self._kinds), np.int64)
        if not helped:
            return more
        shapes = problem_of([waiting[index] for index in helped], takes[helped], nodes.kinds, growths)
        problem = shapes.problem
        if times > 1:
            problem = problem.with_numbers(problem.numbers * times)
        solved = solve(problem, searches=self._searches)
        if solved is None and times > 1:
            solved = solve(shapes.problem, searches=self._searches)
        for index in np.flatnonzero(solved.mix.nodes).tolist() if solved is not None else ():
            kind = nodes.kinds[index]
            more[self._index[kind.pool.name, kind.name]] += int(solved.mix.nodes[index]) if solved is not None else 0
        return more
