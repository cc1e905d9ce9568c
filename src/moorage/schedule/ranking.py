"""Keep the standings of all slots up to date: the answers of local plugins, a shape's own filters, and traits.

Shapes that need the same, and of which no wide plugin says anything, share one ranking without own filters and traits.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import ChosenSlots
from moorage.schedule.framework.wide import Trait, too_many
from moorage.schedule.local_answers import MANY, Filter, LocalAnswers, current_epochs, epochal
from moorage.schedule.standings import Standings
from moorage.schedule.wide_traits import WideTraits, traits_at

_NO_EPOCHS: list[Any] = []


class Ranking:
    """The standings of the slots that local plugins and `own` filters let pass."""

    def __init__(
        self,
        local: LocalAnswers,
        cluster: Cluster,
        wide: WideTraits | None = None,
        own: Sequence[Filter] = (),
        traits: list[Trait] | None = None,
    ) -> None:
        self.standings = Standings()
        self._local = local
        self._cluster = cluster
        self._wide = wide
        self._own = own
        self._epochal = epochal(own)
        self._epochs = _NO_EPOCHS
        self._position = self._rebuilds = self._generation = -1
        self._traits = traits  # of all slots, as they are now; until they are used

    def refresh(self) -> bool:
        """Repair the slots that changed; return whether traits of all slots were asked for. Raises Undecided."""
        local, wide, nodes = self._local, self._wide, self._cluster.nodes
        epochs = current_epochs(self._epochal, self._cluster) if self._epochal else _NO_EPOCHS
        local.catch_up()
        unread = wide.catch_up() if wide is not None else False
        position, known = nodes.changes.position, self._position
        if position == known and not unread and epochs == self._epochs and local.rebuilds == self._rebuilds:
            return False
        is_valid = known >= 0 and epochs == self._epochs and local.rebuilds == self._rebuilds
        changed = nodes.changes.since(known) if is_valid else None
        self._position = -1  # until it is done
        touched = wide.touched() if unread and wide is not None else []
        if changed is not None and touched is not None and len(changed) + len(touched) > 1:
            changed = list(dict.fromkeys(changed + touched))
        capacity = nodes.slots.capacity
        listened = False
        if changed is None or touched is None:
            listened = self._stand()
        elif not too_many(len(changed), capacity):
            for slot in changed:
                self._place(slot)
        elif self._keeps_traits and self._generation == nodes.generation and len(changed) < capacity // MANY:
            self._place_many(np.array(changed, np.int64))
        else:
            listened = self._stand()
        self.standings.settle()
        self._position, self._epochs = position, epochs
        self._rebuilds, self._generation = local.rebuilds, nodes.generation
        return listened

    @property
    def _keeps_traits(self) -> bool:
        """Whether no slot's traits change when pods come or go."""
        return not self._local.moves_traits and (self._wide is None or not self._wide.speaking)

    def _stand(self) -> bool:
        """Sort all slots into classes; return whether wide plugins were asked for their traits."""
        local, nodes = self._local, self._cluster.nodes
        listens = self._traits is None and self._wide is not None
        traits = self._wide.listen() if self._traits is None and self._wide is not None else self._traits
        self._traits = None
        feasible = local.feasible
        for item in self._own:
            feasible = feasible & item.plugin.filter(item.prepared.want, self._cluster)
        local_traits = [ranked.raw for ranked in local.ranked]
        self.standings.rebuild(feasible, (local.fixed << 32) | nodes.tie, local_traits + (traits or []))
        return listens

    def _place_many(self, slots: ChosenSlots) -> None:
        """Put many slots on which pods came or went in their places; those of all others stand."""
        local, cluster = self._local, self._cluster
        feasible = local.feasible[slots]
        for item in self._own:
            feasible &= item.plugin.filter_at(item.prepared.want, cluster, slots)
        keys = (local.fixed[slots] << 32) | cluster.nodes.tie[slots]
        for slot in self.standings.put_many(slots, feasible, keys).tolist():
            self._place(slot)

    def _place(self, slot: int) -> None:
        local, cluster = self._local, self._cluster
        if not local.feasible[slot]:
            self.standings.remove(slot)
            return
        for item in self._own:
            if not item.plugin.filter_slot(item.prepared.want, cluster, slot):
                self.standings.remove(slot)
                return
        traits: tuple[int, ...] = tuple([ranked.raw.item(slot) for ranked in local.ranked])
        if self._wide is not None and self._wide.speaking:
            traits += traits_at(self._wide.speaking, cluster, slot)
        key = (local.fixed.item(slot) << 32) | cluster.nodes.tie.item(slot)
        self.standings.put(slot, key, traits)
