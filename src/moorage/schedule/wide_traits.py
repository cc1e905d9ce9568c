"""Follow the wide plugins of one shape: which of them have traits now, and on which slots these changed."""

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import Mask, PluginTimer, Scores
from moorage.schedule.framework.wide import Trait, Traits, WidePlugin


class Wide(msgspec.Struct, eq=False):
    """A wide plugin, its rows among the traits, and how far its want's log was read."""

    plugin: WidePlugin[Any]
    want: Any
    filters: bool
    weight: int
    position: int = -1
    rows: slice = slice(0, 0)


class WideTraits:
    """The wide plugins of a shape. Their traits follow `first` others."""

    def __init__(self, wide: Iterable[Wide], first: int, cluster: Cluster, timer: PluginTimer | None = None) -> None:
        self._wide = tuple(wide)
        self._first = first
        self._cluster = cluster
        self._timer = timer
        #: Those with traits, which is not all of them at all times.
        self.speaking: tuple[Wide, ...] = ()

    def catch_up(self) -> bool:
        """Let the wants follow the nodes; return whether a log has something that was not read."""
        unread, cluster = False, self._cluster
        for wide in self._wide:
            want = wide.want
            want.catch_up(cluster)
            if wide.position != want.touched.position:
                unread = True
        return unread

    def touched(self) -> list[int] | None:
        """Return the slots whose traits changed since the last time; None if that may be all."""
        touched: list[int] | None = []
        for wide in self._wide:
            log = wide.want.touched
            if wide.position != log.position:
                since = log.since(wide.position)
                wide.position = log.position
                touched = None if since is None or touched is None else touched + since
        return touched

    def listen(self) -> list[Trait]:
        """Return the traits of all slots."""
        traits: list[Trait] = []
        for wide in self._wide:
            first = len(traits)
            began = perf_counter()
            traits += wide.plugin.traits(wide.want, self._cluster)
            if self._timer is not None:
                self._timer.filtered(wide.plugin, True, perf_counter() - began)
            wide.rows = slice(self._first + first, self._first + len(traits))
        self.speaking = tuple(wide for wide in self._wide if wide.rows.start != wide.rows.stop)
        return traits

    def revisions(self) -> tuple[Any, ...]:
        return tuple(wide.plugin.revision(wide.want, self._cluster) for wide in self._wide)

    # -- classes of slots with equal traits -----------------------------------------------------------------------

    def refuse(self, allowed: Mask, traits: Traits) -> None:
        """Take out the classes that a plugin refuses."""
        for wide in self.speaking:
            if wide.filters and wide.plugin.has_filter(wide.want):
                allowed &= wide.plugin.filter_traits(wide.want, traits[wide.rows])

    def worth(self, traits: Traits, sizes: NDArray[np.int64]) -> Scores | int:
        """Return the weighted scores of classes."""
        worth: Scores | int = 0
        for wide in self.speaking:
            if wide.weight and wide.plugin.has_score(wide.want):
                worth = worth + wide.plugin.score_traits(wide.want, traits[wide.rows], sizes) * wide.weight
        return worth


def traits_at(speaking: Sequence[Wide], cluster: Cluster, slot: int) -> tuple[int, ...]:
    """Return what the plugins with traits say of one slot."""
    traits: tuple[int, ...] = ()
    for wide in speaking:
        traits += wide.plugin.traits_at(wide.want, cluster, slot)
    return traits
