"""Say what a node costs an hour, by the template of its pool that it is like; and what a number of nodes costs."""

from collections.abc import Iterable

from moorage.model.types.node import Node
from moorage.model.well_known.labels import BETA_INSTANCE_TYPE, BETA_ZONE, INSTANCE_TYPE, ZONE
from moorage.pools.instance_types import CAPACITY_TYPE
from moorage.pools.membership import Membership
from moorage.pools.node_template import NodeTemplate, Pool

HOURS_A_MONTH = 730


class Prices:
    """Knows what nodes of some pools cost. A node of another pool, or of a type that its pool lacks, has no price."""

    def __init__(self, pools: Iterable[Pool]) -> None:
        self._membership = Membership(pools)

    def of(self, node: Node) -> float | None:
        """Return the price of a node for an hour; None if it is not known."""
        pool = self._membership.pool_of(node)
        if pool is None:
            return None
        prices = {one.price for one in pool.templates if _is_like(one, node)} or {one.price for one in pool.templates}
        return prices.pop() if len(prices) == 1 else None

    def sum_of(self, nodes: Iterable[Node]) -> tuple[float, list[str]]:
        """Return what nodes cost an hour together, and the names of those whose price is not known."""
        total, unknown = 0.0, list[str]()
        for node in nodes:
            price = self.of(node)
            if price is None:
                unknown.append(node.metadata.name)
            else:
                total += price
        return total, unknown


def _is_like(template: NodeTemplate, node: Node) -> bool:
    """Return whether a node is of the template's instance type, zone and capacity type, as far as its labels tell."""
    labels = node.metadata.labels
    described = (
        (template.instance_type, labels.get(INSTANCE_TYPE) or labels.get(BETA_INSTANCE_TYPE)),
        (template.zone, labels.get(ZONE) or labels.get(BETA_ZONE)),
        (template.capacity_type, labels.get(CAPACITY_TYPE)),
    )
    return all(not mine or not theirs or mine == theirs for mine, theirs in described)
