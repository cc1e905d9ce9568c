"""What a plugin need not override: the plugin that the recipe shows has one method, and filters all the same."""

import re
from pathlib import Path
from typing import Any

import numpy as np
from tests.unit.schedule.clusters import alone, cluster_of, node, passing, pod

from moorage.columns.cluster import Cluster
from moorage.schedule.framework import MAX_SCORE, Plugin, Shape, check_plugin

RECIPE = Path(__file__).resolve().parents[4] / "docs" / "contributing" / "add-plugin.md"


def test_the_plugin_of_the_recipe_filters_and_counts_its_reason() -> None:
    [code] = re.findall(r"^```python\n(.*?)^```", RECIPE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    plugin: Plugin[Any] = names["NodeMaintenance"]()
    cluster = cluster_of(node("a"), node("b", {"example.com/maintenance": "tonight"}))
    shape = cluster.shape_of(pod())
    check_plugin(plugin, cluster, shape)
    assert passing(alone(plugin, cluster, pod())) == {"a"}
    assert plugin.reasons(shape, cluster, np.array([1])) == {"node(s) are about to be maintained": 1}


class Scores(Plugin[Shape]):
    name = "Scores"
    reads_pods = False

    def score_slot(self, want: Shape, cluster: Cluster, slot: int) -> int:
        return MAX_SCORE if cluster.nodes.node(slot).metadata.name == "b" else 1


def test_scores_of_all_nodes_are_those_of_each_slot() -> None:
    cluster = cluster_of(node("a"), node("b"))
    plugin, shape = Scores(), cluster.shape_of(pod())
    nobody = np.zeros(cluster.nodes.slots.capacity, np.bool_)
    assert plugin.score(shape, cluster, nobody)[:3].tolist() == [1, MAX_SCORE, 0]  # slots may become feasible later
    check_plugin(plugin, cluster, shape)
