"""The laws of a plugin, checked for one pod in one cluster: all ways of asking it give the same answer.

For the tests of plugins, Moorage's own and other packages': `check_plugin(plugin, cluster, shape)` in a few clusters,
after changes to the cluster too, finds what a fast path gets wrong.
"""

from collections import Counter
from typing import Any

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.plugin import Plugin, Prepared
from moorage.schedule.framework.verdict import Code


def check_plugin(plugin: Plugin[Any], cluster: Cluster, shape: Shape, prepared: Prepared | None = None) -> None:
    """Raise AssertionError if the plugin breaks a law. `prepared` is what it prepared before the cluster changed."""
    made = prepared if prepared is not None else plugin.prepare(shape, cluster)
    if made.filters and made.rejection is None:
        _check_filter(plugin, cluster, made.want)
    if made.scores and made.rejection is None and plugin.local:
        scores = plugin.score(made.want, cluster, cluster.nodes.alive)
        for slot, node in cluster.nodes:
            one, of_all = plugin.score_slot(made.want, cluster, slot), int(scores[slot])
            assert one == of_all, f"{plugin.name}, node {node.metadata.name}: score_slot {one}, score {of_all}"


def _check_filter(plugin: Plugin[Any], cluster: Cluster, want: Any) -> None:
    mask = plugin.filter(want, cluster)
    reasons: Counter[str] = Counter()
    final: list[bool] = []
    refused: list[int] = []
    for slot, node in cluster.nodes:
        where = f"{plugin.name}, node {node.metadata.name}"
        verdict, passes = plugin.explain(want, cluster, slot), bool(mask[slot])
        assert passes is (verdict is None), f"{where}: filter {passes}, explain {verdict}"
        one = plugin.filter_slot(want, cluster, slot)
        assert bool(one) is passes, f"{where}: filter_slot {one}, filter {passes}"
        if verdict is None:
            continue
        assert verdict.reasons, f"{where}: a refusal without a reason"
        assert all(verdict.reasons), f"{where}: an empty reason"
        refused.append(slot)
        final.append(verdict.code is Code.UNRESOLVABLE)
        reasons.update(verdict.reasons)
    slots = np.array(refused, np.int64)
    counted = plugin.reasons(want, cluster, slots)
    assert counted == reasons, f"{plugin.name}: reasons {counted}, explain {reasons}"
    curable = plugin.curable(want, cluster, slots).tolist()
    assert curable == [not one for one in final], f"{plugin.name}: curable {curable}, but final by explain {final}"
    for slot, is_final in zip(refused, final, strict=True):
        if is_final:
            with cluster.as_if_gone(list(cluster.pods_on[slot].values())):
                verdict = plugin.explain(want, cluster, slot)
            assert verdict is not None, f"{plugin.name}, slot {slot}: a final refusal that evictions undo"
