"""A plugin that is asked before the search for a node, and not about nodes.

In: a plugin that filters. Out: one that may still reject a pod as a whole or name the only nodes that matter, but has
nothing against any node. A configuration says so when it disables `filter` and leaves `preFilter`.
Kubernetes: the two extension points are lists of their own.
"""

from typing import Any

import msgspec

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.plugin import Plugin, Prepared
from moorage.schedule.framework.requeue import Requeue


class PreFilterOnly(Plugin[Any]):
    """See the module. Goes by the name of the plugin it is made of, and is woken by the same events."""

    name: str  # type: ignore[misc]
    requeue_on: tuple[Requeue, ...] | None  # type: ignore[misc]
    reads_pods = False

    def __init__(self, plugin: Plugin[Any]) -> None:
        self.name = plugin.name
        self.requeue_on = plugin.requeue_on
        self._plugin = plugin

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return msgspec.structs.replace(self._plugin.prepare(shape, cluster), filters=False, scores=False)
