"""NodePrice: prefer cheap nodes, and keep pods off nodes above the hourly price that they allow.

A node states its price in a label (`example.com/hourly-price: "0.42"`), a pod its limit in a label of its own
(`example.com/max-hourly-price: "0.50"`). A node without a price is refused only to pods with a limit.
"""

from decimal import Decimal, InvalidOperation

import msgspec

from moorage.schedule.framework import (
    Cluster,
    Code,
    EventKind,
    Normalization,
    Plugin,
    Prepared,
    Shape,
    Verdict,
    on,
    unresolvable,
)

TOO_EXPENSIVE = "node(s) cost more than the pod allows"
_CENT = Decimal("0.01")


class NodePriceArgs(msgspec.Struct, frozen=True):
    """The plugin's arguments in `pluginConfig`: which labels hold the price and the limit."""

    priceLabel: str = "example.com/hourly-price"
    limitLabel: str = "example.com/max-hourly-price"


class NodePrice(Plugin[Decimal | None]):
    """Filters by price where the pod has a limit, and scores the cheapest node highest."""

    name = "NodePrice"
    args_type = NodePriceArgs
    reads_pods = False  # the price of a node does not depend on the pods on it
    normalization = Normalization.DOWN  # the lowest raw score becomes 100
    refuses_with = Code.UNRESOLVABLE  # evicting pods does not make a node cheaper
    requeue_on = (on(EventKind.NODE_ADDED, EventKind.NODE_LABELS, EventKind.OWN_LABELS),)

    def __init__(self, args: NodePriceArgs) -> None:
        if args.priceLabel == args.limitLabel:
            raise ValueError("priceLabel and limitLabel must differ")
        self._price_label, self._limit_label = args.priceLabel, args.limitLabel

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        """Parse the pod's limit, once for all pods of its shape; a limit that is not a number rejects the pod."""
        text = shape.labels.get(self._limit_label)
        limit = parse_price(text)
        if text is not None and limit is None:
            return Prepared(rejection=unresolvable(f"pod has an invalid price limit {text!r}"))
        return Prepared(limit, filters=limit is not None)

    def explain(self, want: Decimal | None, cluster: Cluster, slot: int) -> Verdict | None:
        if want is None:
            return None
        price = self._price(cluster, slot)
        if price is None:
            return unresolvable(TOO_EXPENSIVE, f"the node has no price in label {self._price_label}")
        if price > want:
            return unresolvable(TOO_EXPENSIVE, f"{self._price_label}: {price} <= {want} is false")
        return None

    def score_slot(self, want: Decimal | None, cluster: Cluster, slot: int) -> int:
        price = self._price(cluster, slot)
        return 0 if price is None else int(price / _CENT)

    def _price(self, cluster: Cluster, slot: int) -> Decimal | None:
        return parse_price(cluster.nodes.node(slot).metadata.labels.get(self._price_label))


def parse_price(text: str | None) -> Decimal | None:
    """Return the price; None if there is none, or it is not a number of 0 or more."""
    try:
        price = Decimal(text) if text is not None else None
    except InvalidOperation:
        return None
    return price if price is not None and price.is_finite() and price >= 0 else None
