"""Prices of nodes by the templates of their pools."""

from __future__ import annotations

import pytest
from tests.unit.pools.inputs import TYPES, node_pool, read

from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node
from moorage.pools.prices import Prices

POOL, TYPE, ZONE, WAY = (
    "karpenter.sh/nodepool",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "karpenter.sh/capacity-type",
)


def node(name: str = "n", **labels: str) -> Node:
    keys = {"pool": POOL, "type": TYPE, "zone": ZONE, "way": WAY}
    return Node(metadata=ObjectMeta(name=name, labels={keys[key]: value for key, value in labels.items()}))


@pytest.mark.parametrize(
    ("labels", "price"),
    [
        ({"pool": "pool", "type": "c.large", "zone": "b", "way": "spot"}, 0.04),
        ({"pool": "pool", "type": "c.large", "zone": "a", "way": "on-demand"}, 0.1),
        ({"pool": "pool", "type": "m.2xlarge", "way": "on-demand"}, 0.5),
        ({"pool": "pool", "type": "c.large", "way": "spot"}, None),
        ({"pool": "pool"}, None),
        ({"pool": "other", "type": "c.large", "zone": "b", "way": "spot"}, None),
        ({}, None),
    ],
)
def test_price_is_that_of_the_template_with_the_labels_of_the_node(labels: dict[str, str], price: float | None) -> None:
    assert Prices(read(TYPES, node_pool()).pools).of(node(**labels)) == price


def test_nodes_without_a_known_price_are_named_beside_the_sum() -> None:
    prices = Prices(read(TYPES, node_pool()).pools)
    spot = {"pool": "pool", "type": "c.large", "zone": "b", "way": "spot"}
    total, unknown = prices.sum_of([node("a", **spot), node("b", **spot), node("c")])
    assert total == pytest.approx(0.08)
    assert unknown == ["c"]
