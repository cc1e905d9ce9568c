"""Find the nodes that can go now, and in which order: each is drained and removed in a simulation of the whole cluster.

A node may go if every pod of it finds a place elsewhere, and no budget forbids it. Nodes on which nothing moves go
first, then those that save most for each pod that has to move. What goes stays gone for those after it. A node that
cannot go is tried again after the others: when no node can go any more, the answer is complete.
"""

from collections.abc import Callable, Sequence

import msgspec

from moorage.capacity.forks import can_fork, fresh_inventory
from moorage.capacity.losing.loss import GONE, WAITING
from moorage.capacity.reclaiming.obstacles import obstacle
from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.plan.departures import Cause, Departure
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.report.reasons import shortened
from moorage.plan.simulation.drain import stays
from moorage.plan.simulation.forked import in_fork
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes
from moorage.pools.membership import Membership
from moorage.pools.node_template import Pool
from moorage.pools.prices import Prices

#: Nodes that are tried in one pass, and passes; of more nodes those that save most for each pod.
MAX_TRIED, MAX_PASSES = 1_000, 3


class ReclaimedNode(msgspec.Struct, frozen=True, rename="camel"):
    """A node that can go after those before it, and the pods that move."""

    name: str
    pool: str
    price: float | None
    moves: list[Departure]


class KeptNode(msgspec.Struct, frozen=True, rename="camel"):
    """A node that has to stay, and why."""

    name: str
    pool: str
    reason: str


class Reclaim(msgspec.Struct, frozen=True, rename="camel"):
    """The nodes that can go, in their order, and those that stay. `saves` is the price of an hour of those that go.

    `unpriced` of them have no known price; `untried` nodes were not tried, because there are too many.
    """

    nodes: list[ReclaimedNode]
    kept: list[KeptNode]
    total: int
    saves: float | None
    unpriced: int
    untried: int

    @property
    def moves(self) -> int:
        return sum(len(node.moves) for node in self.nodes)


class Reclaimer:
    """Takes nodes from a planned simulation, which is another one afterwards."""

    def __init__(self, planner: Planner, simulation: Simulation, before: Outcome, pools: Sequence[Pool]) -> None:
        self._planner, self._simulation, self._outcome = planner, simulation, before
        self._pools = Membership(pools)
        self._prices = Prices(pools) if pools else None
        self._gone: list[ReclaimedNode] = []
        self._input = fresh_inventory(planner.inventory)  # the planner's is that of the changed cluster

    def reclaim(
        self, names: Sequence[str], most: int | None = None, tick: Callable[[], None] = lambda: None
    ) -> Reclaim:
        """Let as many of these nodes go as can, at most `most`."""
        total = len(list(self._simulation.world.all(KINDS.NODE)))
        left = sorted(names, key=self._rank)
        untried = left[MAX_TRIED:]
        reasons: dict[str, str] = {}
        left = left[:MAX_TRIED]
        for _ in range(MAX_PASSES):
            number = len(self._gone)
            for name in list(left):
                if most is not None and len(self._gone) >= most:
                    break
                reasons[name] = self._take(name)
                tick()
                if not reasons[name]:
                    left.remove(name)
            if len(self._gone) == number:
                break
        enough = f"--most {most} is reached" if most is not None and len(self._gone) >= most else ""
        kept = [KeptNode(name, self._pool(name), reasons.get(name) or enough) for name in left]
        prices = [one.price for one in self._gone]
        known = [price for price in prices if price is not None]
        saves = round(sum(known), 6) if self._prices is not None else None
        return Reclaim(self._gone, kept, total, saves, len(prices) - len(known), len(untried))

    def _node(self, name: str) -> Node:
        node: Node = self._simulation.api.get(KINDS.NODE, name).view
        return node

    def _pool(self, name: str) -> str:
        pool = self._pools.pool_of(self._node(name))
        return pool.name if pool is not None else ""

    def _rank(self, name: str) -> tuple[bool, float, int, str]:
        """Sort nodes on which nothing moves first, then by the price of each pod that moves."""
        moving = sum(not stays(pod.view) for pod in self._simulation.world.pods_on(name))
        price = self._prices.of(self._node(name)) if self._prices is not None else None
        return moving > 0, -(price or 0.0) / max(moving, 1), moving, name

    def _take(self, name: str) -> str:
        """Take a node if it can go; return why it cannot."""
        node = self._node(name)
        why = obstacle(node, self._simulation.world.pods_on(name)) or self._bound_of_pool(node)
        if why:
            return why
        if why := self._tried(name):
            return why
        price, pool = self._prices.of(node) if self._prices is not None else None, self._pool(name)
        why, difference = self._played(name)
        assert not why
        moves = [one for one in difference.evicted if one.cause is not Cause.NODE_REMOVED]  # those of DaemonSets end
        self._gone.append(ReclaimedNode(name, pool, price, moves))
        return ""

    def _tried(self, name: str) -> str:
        """Return why a node cannot go, and leave the simulation as it is."""
        if can_fork():
            tried: str = in_fork(lambda: self._played(name)[0])
            return tried
        fresh = Planner(self._planner.settings)
        fresh.inventory = fresh_inventory(self._input)
        simulation = fresh.build()
        again = Reclaimer(fresh, simulation, fresh.plan(simulation), ())
        for gone in self._gone:
            again._played(gone.name)
        return again._played(name)[0]

    def _bound_of_pool(self, node: Node) -> str:
        pool = self._pools.pool_of(node)
        if pool is None:
            return ""
        least = pool.replicas if pool.replicas is not None else pool.least
        nodes = self._pools.nodes_of(found.view for found in self._simulation.world.all(KINDS.NODE))[pool.name]
        return (
            f"{pool.kind} {pool.name} has {counted(len(nodes), 'node')}, and keeps {least:,}"
            if len(nodes) <= least
            else ""
        )

    def _played(self, name: str) -> tuple[str, Difference]:
        """Drain and remove a node; return why that should not be, and what it does."""
        changes = Changes(drains=(name,), removes=(name,))
        self._outcome, difference, _ = self._planner.what_if(self._simulation, self._outcome, changes, [])
        return _harm(difference), difference


def _harm(difference: Difference) -> str:
    if difference.blocked:
        blocked = difference.blocked[0]
        return f"pod {blocked.pod} cannot be evicted: {blocked.message}"
    comparison = difference.comparison
    waiting = [pair.after for pair in comparison.of(*WAITING) if pair.after is not None]
    if waiting:
        first = waiting[0]
        whose = first.workload or first.key
        return f"{counted(len(waiting), 'pod')} would wait, such as of {whose}: {shortened(first.message)}"
    gone = [pair.line for pair in comparison.of(*GONE)]
    if gone:
        return f"{counted(len(gone), 'pod')} would be gone, such as {gone[0].key}"
    return ""
