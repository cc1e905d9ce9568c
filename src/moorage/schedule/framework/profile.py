"""A scheduler profile: which plugins run, in which order, with which weights."""

from typing import Any

import msgspec

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.framework.plugin import Plugin, Prepared
from moorage.schedule.framework.requeue import Requeue


class Profile(msgspec.Struct, frozen=True):
    """The plugins of one `schedulerName`: filters in run order, scores with their weights.

    `respects_scheduling_gates` tells the queue whether the plugin SchedulingGates is enabled.
    """

    name: str
    filters: tuple[Plugin[Any], ...]
    scores: tuple[tuple[Plugin[Any], int], ...]
    respects_scheduling_gates: bool = True


class PreFilterOnly(Plugin[Any]):
    """A plugin that may reject a pod or narrow the search, and is asked about no node: `filter` off, `preFilter` on."""

    name: str  # type: ignore[misc]
    requeue_on: tuple[Requeue, ...] | None  # type: ignore[misc]
    reads_pods = False

    def __init__(self, plugin: Plugin[Any]) -> None:
        self.name = plugin.name
        self.requeue_on = plugin.requeue_on
        self._plugin = plugin

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return msgspec.structs.replace(self._plugin.prepare(shape, cluster), filters=False, scores=False)
