"""Say for each pool why it would or would not start a node for a pod: what plugins say of its nodes, and its bounds."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from moorage.model.types.pod import Pod
from moorage.plan.pools.pool_nodes import NodeKind, PoolAnswer, PoolNodes
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.growth import Growth, growth_of
from moorage.pools.membership import Membership
from moorage.pools.node_template import Pool
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit, shown

_MAX_REASONS = 6


class RefusedKinds(msgspec.Struct, frozen=True, rename="camel"):
    """How many kinds of node of a pool are refused for a reason, as the scheduler counts them."""

    reason: str
    kinds: int


class PoolVerdict(msgspec.Struct, frozen=True, rename="camel"):
    """Whether a pool would start a node for a pod, and which; or why not.

    `kinds` are all kinds of node of the pool, `accepting` those that the scheduler would use. `nearest` is the kind
    that lacks least, `details` what it lacks, with the inequalities. `bounds` are those of the pool that forbid one
    more node; `overhead` is what DaemonSets take of the nearest one.
    """

    pool: str
    kind: str
    takes: bool
    node: str = ""
    price: float | None = None
    kinds: int = 0
    accepting: int = 0
    nearest: str = ""
    details: tuple[str, ...] = ()
    refused: tuple[RefusedKinds, ...] = ()
    bounds: tuple[str, ...] = ()
    overhead: str = ""

    @property
    def offer(self) -> str:
        """`one node of pool gpu-spot (g5.xlarge/a/spot), 0.91/h`."""
        price = "" if self.price is None else f", {price_text(self.price)}/h"
        return f"one node of pool {self.pool} ({self.node}){price}"

    @property
    def sentence(self) -> str:
        """What the pool would do: `would start c.large/a/spot, 0.03/h (2 of 6 kinds of node)`, or why not."""
        if not self.takes:
            return f"{self.why_not} ({self.overhead})" if self.overhead else self.why_not
        price = "price not known" if self.price is None else f"{price_text(self.price)}/h"
        kinds = f" ({self.accepting:,} of {self.kinds:,} kinds of node)" if self.kinds > 1 else ""
        return f"would start {self.node}, {price}{kinds}"

    @property
    def why_not(self) -> str:
        """Why the pool would not start a node, in one sentence."""
        if self.accepting:
            return "; ".join(self.bounds)
        parts = list(self.details)
        if self.kinds > 1 and self.refused:
            counted = ", ".join(f"{one.kinds:,} {one.reason}" for one in self.refused)
            return f"0/{self.kinds:,} kinds of node: {counted}. Nearest is {self.nearest}: {'; '.join(parts)}"
        return "; ".join(parts)


def price_text(price: float) -> str:
    """Return a price as people write it: `0.91`, `12`, `0.0416`."""
    text = f"{price:,.4f}" if price < 1 else f"{price:,.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def pool_growths(simulation: Simulation, pools: Sequence[Pool]) -> dict[str, Growth]:
    """Return what each pool has of the nodes of a cluster, by name."""
    members = Membership(pools).nodes_of(node for _, node in simulation.cluster.nodes)
    return {pool.name: growth_of(pool, members[pool.name]) for pool in pools}


def pool_verdicts(simulation: Simulation, pools: Sequence[Pool], pod: Pod) -> list[PoolVerdict]:
    """Return what each pool would do for a pod: those that would start a node first, by price; then the others."""
    nodes = PoolNodes(simulation, pools)
    found = verdicts_of(nodes, pools, nodes.ask([pod])[0], pool_growths(simulation, pools))
    return sorted(found, key=lambda one: (not one.takes, float("inf") if one.price is None else one.price, one.pool))


def verdicts_of(
    nodes: PoolNodes, pools: Sequence[Pool], answer: PoolAnswer, growths: dict[str, Growth]
) -> list[PoolVerdict]:
    """Return the verdict of each pool from the answer about all kinds of node."""
    return [_verdict(nodes, pool, answer, growths[pool.name]) for pool in pools]


def _verdict(nodes: PoolNodes, pool: Pool, answer: PoolAnswer, growth: Growth) -> PoolVerdict:
    indexes = nodes.indexes_of(pool)
    taking = [index for index in indexes if answer.accepted[index]]
    bounds = {index: growth.why_not(nodes.kinds[index].template) for index in taking}
    startable = [index for index in taking if not bounds[index]]
    if startable:
        best = min(startable, key=lambda index: _price(nodes.kinds[index]))
        template = nodes.kinds[best].template
        return PoolVerdict(
            pool.name, pool.kind, True, template.name, template.price, kinds=len(indexes), accepting=len(taking)
        )
    if taking:
        least = min(taking, key=lambda index: _price(nodes.kinds[index]))
        return PoolVerdict(
            pool.name,
            pool.kind,
            False,
            kinds=len(indexes),
            accepting=len(taking),
            nearest=nodes.kinds[least].template.name,
            bounds=bounds[least],
        )
    nearest = min(indexes, key=lambda index: _distance(answer.refusals[index]))
    refusals = answer.refusals[nearest]
    counts = Counter(reason for index in indexes for one in answer.refusals[index] for reason in one.verdict.reasons)
    fits = all(one.plugin != NodeResourcesFit.name for one in refusals)
    return PoolVerdict(
        pool.name,
        pool.kind,
        False,
        kinds=len(indexes),
        nearest=nodes.kinds[nearest].template.name,
        details=tuple(text for one in refusals for text in (one.verdict.details or one.verdict.reasons)),
        refused=tuple(RefusedKinds(reason, number) for reason, number in counts.most_common(_MAX_REASONS)),
        overhead="" if fits else _overhead(nodes.kinds[nearest]),
    )


def _price(kind: NodeKind) -> tuple[float, str]:
    price = kind.template.price
    return (float("inf") if price is None else price, kind.name)


def _distance(refusals: Sequence[Refusal]) -> tuple[int, float]:
    return sum(one.verdict.objections for one in refusals), sum(one.verdict.gap for one in refusals)


def _overhead(kind: NodeKind) -> str:
    """Return what DaemonSets take of a node: `DaemonSets take cpu 200m, memory 1Gi`; empty if there are none."""
    taken: Counter[str] = Counter()
    for daemon in kind.daemons:
        taken.update(daemon.requests)
    listed = ", ".join(f"{name} {shown(name, amount)}" for name, amount in taken.items())
    return f"DaemonSets take {listed}" if listed else ""
