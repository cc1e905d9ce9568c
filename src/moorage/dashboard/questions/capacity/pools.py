"""List the pools of autoscalers that the input has: nodes, what they cost, how much they may grow, what comes next."""

from collections.abc import Iterator
from typing import Any

from moorage.capacity.curving.curve import used_nodes
from moorage.dashboard.questions.base import Base, Part
from moorage.model.kinds import KINDS
from moorage.plan.pools.reading import read_pool_sources
from moorage.pools.growth import Growth, growth_of
from moorage.pools.membership import Membership
from moorage.pools.node_template import Pool
from moorage.pools.prices import Prices

#: Names of nodes of one pool that are told.
MAX_NODES = 500


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: a row for each pool, the nodes of none, and what all nodes cost an hour."""
    pools = read_pool_sources((), base.planner.inventory)
    nodes = [found.view for found in base.simulation.world.all(KINDS.NODE)]
    membership, prices = Membership(pools.pools), Prices(pools.pools)
    by_pool = membership.nodes_of(nodes)
    used = {node.metadata.name for node in used_nodes(base.simulation)}
    known = {node.metadata.name for found in by_pool.values() for node in found}
    total, unpriced = prices.sum_of(nodes)
    yield {
        "part": "pools",
        "pools": [_row(pool, by_pool[pool.name], prices, used) for pool in pools.pools],
        "problems": [str(problem) for problem in pools.problems][:MAX_NODES],
        "others": [node.metadata.name for node in nodes if node.metadata.name not in known][:MAX_NODES],
        "cost": round(total, 6),
        "unpriced": len(unpriced),
        "nodes": len(nodes),
        "done": True,
    }


def _row(pool: Pool, nodes: list[Any], prices: Prices, used: set[str]) -> dict[str, Any]:
    growth, (cost, unpriced) = growth_of(pool, nodes), prices.sum_of(nodes)
    known = [template for template in pool.templates if template.price is not None]
    cheapest = min(known, key=lambda template: template.price or 0.0, default=None)
    taints = list(pool.templates[0].taints) if pool.templates else []
    return {
        "name": pool.name,
        "kind": pool.kind,
        "nodes": [node.metadata.name for node in nodes][:MAX_NODES],
        "number": len(nodes),
        "inUse": sum(node.metadata.name in used for node in nodes),
        "more": growth.more_nodes,
        "cost": round(cost, 6),
        "unpriced": len(unpriced),
        "templates": len(pool.templates),
        "cheapest": None if cheapest is None else {"name": cheapest.name, "price": cheapest.price},
        "taints": [f"{one.key}{one.value and f'={one.value}'}:{one.effect}" for one in taints],
        "limits": {resource: str(limit) for resource, limit in pool.limits.items()},
        "next": _next(pool, growth),
    }


def _next(pool: Pool, growth: Growth) -> dict[str, Any]:
    """Return the cheapest node that a pool may start next and how much larger it may get, or why it starts none."""
    allowed = [template for template in pool.templates if not growth.why_not(template)]
    if not allowed:
        reasons = growth.why_not(pool.templates[0]) if pool.templates else ("it has no kind of node",)
        return {"why": "; ".join(reasons)}
    one = min(allowed, key=lambda template: (template.price is None, template.price or 0.0))
    left = {
        resource: str(limit.sub(growth.used[resource]) if resource in growth.used else limit)
        for resource, limit in pool.limits.items()
        if resource != "nodes"
    }
    return {
        "name": one.name,
        "price": one.price,
        "zone": one.zone,
        "capacity": {name: str(amount) for name, amount in one.allocatable.items()},
        "left": left,
        "kinds": len(allowed),
    }
