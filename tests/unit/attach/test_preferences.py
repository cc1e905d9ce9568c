"""A lowered preference: the default scheduler avoids nodes with a PreferNoSchedule taint that is not accepted."""

from typing import Any

import pytest
from tests.unit.attach.workloads import pod, toleration
from tests.unit.schedule.clusters import candidates_of, cluster_of

from moorage.attach.mirror import mirrored
from moorage.attach.objects import lowered
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod

Raw = dict[str, Any]


def node(name: str, value: str) -> Raw:
    document: Raw = {
        "metadata": {"name": name, "labels": {}},
        "spec": {"taints": [{"key": "spot", "value": value, "effect": "PreferNoSchedule"}]},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
    }
    document["metadata"]["labels"] = mirrored(document, None)
    return document


@pytest.mark.parametrize(("first", "second", "wanted"), [("960", "10", "a"), ("10", "960", "b")])
def test_the_node_with_an_accepted_value_is_preferred(first: str, second: str, wanted: str) -> None:
    cluster = cluster_of(*(convert_view(node(*each), Node) for each in (("a", first), ("b", second))))
    asked = lowered(pod(toleration("Gt", "950", effect="PreferNoSchedule")))
    asked["metadata"]["namespace"] = "default"
    best = candidates_of(cluster, convert_view(asked, Pod), gates_from({"AllAlpha": False})).best()
    assert best == cluster.nodes.slot_of[wanted]
