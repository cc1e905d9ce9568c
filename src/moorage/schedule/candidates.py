"""The best node for one shape, kept up to date instead of searched for.

In: a profile, a shape, the cluster. Out: the best slot now. What local plugins say is kept for every slot and repaired
for the slots that changed since the last question; what the others say (spread, pod affinity) is asked anew when its
revision moved. If all plugins that matter are local, the slots wait in a heap and the answer takes O(log n); otherwise
it takes a handful of array operations. Either way the winner is the same: highest score, then largest tie number.

Kubernetes: schedulePod, findNodesThatFitPod and prioritizeNodes, per pod and on a sample of the nodes.
Next: `engine`, which keeps one of these per shape.
"""

from heapq import heapify, heappop, heappush
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.schedule.plugin import Mask, Normalization, Plugin, Prepared, Scores, normalize, normalize_one
from moorage.schedule.prefilter import combine_prepared
from moorage.schedule.profile import Profile
from moorage.schedule.verdict import Verdict

NO_SLOT = -1
_INFEASIBLE = -1


class Filter(msgspec.Struct, frozen=True):
    """A filter that has something to say about the shape."""

    plugin: Plugin[Any]
    prepared: Prepared


class Score(msgspec.Struct, frozen=True):
    """A score that has something to say about the shape, and its weight."""

    plugin: Plugin[Any]
    prepared: Prepared
    weight: int


class _Ranked:
    """A local score that is normalised: its raw values, the highest feasible one and how many slots have it."""

    __slots__ = ("highest", "holders", "raw", "score")

    def __init__(self, score: Score) -> None:
        self.score = score
        self.raw: Scores = np.zeros(0, np.int64)
        self.highest = 0
        self.holders = 0


class Candidates:
    """One shape's chances on every node."""

    def __init__(self, profile: Profile, shape: Shape, cluster: Cluster) -> None:
        self.shape = shape
        self.cluster = cluster
        prepared = {plugin: plugin.prepare(shape, cluster) for plugin in profile.filters}
        for plugin, _ in profile.scores:
            if plugin not in prepared:
                prepared[plugin] = plugin.prepare(shape, cluster)
        self.prepared = prepared
        self.filters = tuple(Filter(p, prepared[p]) for p in profile.filters if prepared[p].filters)
        self.scores = tuple(Score(p, prepared[p], weight) for p, weight in profile.scores if prepared[p].scores)
        self.prefilter = combine_prepared((p, prepared[p]) for p in profile.filters)
        self.rejection: tuple[Plugin[Any], Verdict] | None = self.prefilter.rejection
        self._only_nodes = self.prefilter.only_nodes
        self._local_filters = tuple(f for f in self.filters if f.plugin.local)
        self._wide_filters = tuple(f for f in self.filters if not f.plugin.local)
        self._wide_scores = tuple(s for s in self.scores if not s.plugin.local)
        local = [s for s in self.scores if s.plugin.local]
        self._plain = tuple(s for s in local if s.plugin.normalization is Normalization.NONE)
        self._ranked = tuple(_Ranked(s) for s in local if s.plugin.normalization is not Normalization.NONE)
        asked: tuple[Filter | Score, ...] = (*self.filters, *self.scores)
        self._epochal = tuple(a for a in asked if a.plugin.local and type(a.plugin).epoch is not Plugin.epoch)
        self._epochs: list[Any] = []
        self._wide_masks: dict[Plugin[Any], tuple[Any, Mask]] = {}
        self._position = -1
        self._feasible: Mask = np.zeros(0, np.bool_)
        self._fixed: Scores = np.zeros(0, np.int64)
        self._keys: Scores = np.zeros(0, np.int64)
        self._heap: list[tuple[int, int]] = []

    def best(self) -> int:
        """The slot of the best node, or `NO_SLOT`."""
        if self.rejection is not None:
            return NO_SLOT
        if self._only_nodes is not None and len(self._only_nodes) == 1:
            return self._only_choice(*self._only_nodes)
        self._refresh()
        if not self._wide_filters and not self._wide_scores:
            return self._best_of_heap()
        feasible = self._narrowed()
        keys = self._key_array(self._totals(feasible), feasible)
        slot = int(keys.argmax())
        return slot if keys[slot] >= 0 else NO_SLOT

    def _only_choice(self, name: str) -> int:
        """Asking all nodes about a DaemonSet's pod, which names its node, would make a DaemonSet's cost quadratic."""
        slot = self.cluster.nodes.slot_of.get(name, NO_SLOT)
        return slot if slot != NO_SLOT and self.passes(slot) else NO_SLOT

    def feasible(self) -> Mask:
        """Every slot on which all filters agree."""
        if self.rejection is not None:
            return np.zeros(self.cluster.nodes.slots.capacity, np.bool_)
        self._refresh()
        return self._narrowed().copy()

    def passes(self, slot: int) -> bool:
        """Whether one slot passes all filters as the cluster is now; nothing is kept (preemption's look ahead)."""
        if self.rejection is not None or not self._is_considered(slot):
            return False
        cluster = self.cluster
        return all(f.plugin.filter_slot(f.prepared.want, cluster, slot) for f in self.filters)

    def score_table(self, feasible: Mask) -> dict[str, Scores]:
        """The weighted, normalised scores of each plugin that scores now, for all slots."""
        table: dict[str, Scores] = {}
        for score in self.scores:
            want = score.prepared.want
            if score.plugin.scores_now(want, self.cluster, feasible):
                raw = score.plugin.score(want, self.cluster, feasible)
                table[score.plugin.name] = normalize(raw, feasible, score.plugin.normalization) * score.weight
        return table

    # -- wide plugins -------------------------------------------------------------------------------------------

    def _narrowed(self) -> Mask:
        feasible = self._feasible
        for item in self._wide_filters:
            feasible = feasible & self.mask(item)
        return feasible

    def mask(self, item: Filter) -> Mask:
        """One filter's answer for every slot; not to be written to. What is not local is kept while it is valid."""
        want = item.prepared.want
        if item.plugin.local:
            return item.plugin.filter(want, self.cluster)
        revision = item.plugin.revision(want, self.cluster)
        kept = self._wide_masks.get(item.plugin)
        if kept is None or kept[0] != revision:
            kept = self._wide_masks[item.plugin] = (revision, item.plugin.filter(want, self.cluster))
        return kept[1]

    def revision(self) -> tuple[Any, ...]:
        """Equal values mean that every filter answers the same."""
        wide = tuple(item.plugin.revision(item.prepared.want, self.cluster) for item in self._wide_filters)
        return (self.cluster.nodes.changes.position, self._current_epochs(), wide)

    def _current_epochs(self) -> list[Any]:
        return [item.plugin.epoch(item.prepared.want, self.cluster) for item in self._epochal]

    def _totals(self, feasible: Mask) -> Scores:
        totals = self._fixed
        for ranked in self._ranked:
            if ranked.highest:
                scaled = normalize(ranked.raw, feasible, ranked.score.plugin.normalization)
                totals = totals + scaled * ranked.score.weight
        for score in self._wide_scores:
            want = score.prepared.want
            if score.plugin.scores_now(want, self.cluster, feasible):
                totals = totals + score.plugin.score(want, self.cluster, feasible) * score.weight
        return totals

    def _key_array(self, totals: Scores, feasible: Mask) -> Scores:
        return np.where(feasible, (totals << 32) | self.cluster.nodes.tie, _INFEASIBLE)

    # -- keeping up ---------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        nodes = self.cluster.nodes
        position = nodes.changes.position
        epochs = self._current_epochs()
        if position == self._position and epochs == self._epochs:
            return
        changed = nodes.changes.since(self._position) if self._position >= 0 and epochs == self._epochs else None
        self._position = position
        self._epochs = epochs
        capacity = nodes.slots.capacity
        if changed is None or len(self._fixed) != capacity or len(changed) > 32 + capacity // 16:
            self._rebuild()
            return
        for slot in dict.fromkeys(changed):
            if not self._repair(slot):
                self._rebuild()
                return

    def _rebuild(self) -> None:
        cluster = self.cluster
        feasible = self.considered()
        for item in self._local_filters:
            feasible &= item.plugin.filter(item.prepared.want, cluster)
        self._feasible = feasible
        fixed = np.zeros(len(feasible), np.int64)
        for score in self._plain:
            fixed += score.plugin.score(score.prepared.want, cluster, feasible) * score.weight
        self._fixed = fixed
        for ranked in self._ranked:
            ranked.raw = ranked.score.plugin.score(ranked.score.prepared.want, cluster, feasible).copy()
            among = ranked.raw[feasible]
            ranked.highest = int(among.max(initial=0))
            ranked.holders = int((among == ranked.highest).sum())
        if not self._wide_filters and not self._wide_scores:
            self._keys = self._key_array(self._totals(feasible), feasible)
            slots = np.flatnonzero(feasible)
            self._heap = list(zip((-self._keys[slots]).tolist(), slots.tolist(), strict=True))
            heapify(self._heap)

    def _repair(self, slot: int) -> bool:
        """Ask the local plugins about one slot again; False if the normalisation of all slots changed with it."""
        cluster = self.cluster
        was_feasible = bool(self._feasible[slot])
        feasible = self._is_considered(slot) and all(
            item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in self._local_filters
        )
        self._feasible[slot] = feasible
        for ranked in self._ranked:
            raw = ranked.score.plugin.score_slot(ranked.score.prepared.want, cluster, slot)
            held = was_feasible and int(ranked.raw[slot]) == ranked.highest
            holds = feasible and raw == ranked.highest
            ranked.raw[slot] = raw
            ranked.holders += holds - held
            if (feasible and raw > ranked.highest) or (ranked.holders == 0 and ranked.highest):
                return False
        fixed = 0
        if feasible:
            for score in self._plain:
                fixed += score.plugin.score_slot(score.prepared.want, cluster, slot) * score.weight
        self._fixed[slot] = fixed
        if len(self._keys):
            self._rekey(slot, fixed, feasible)
        return True

    def _rekey(self, slot: int, total: int, feasible: bool) -> None:
        if not feasible:
            self._keys[slot] = _INFEASIBLE
            return
        for ranked in self._ranked:
            if ranked.highest:
                how = ranked.score.plugin.normalization
                total += normalize_one(int(ranked.raw[slot]), ranked.highest, how) * ranked.score.weight
        key = (total << 32) | int(self.cluster.nodes.tie[slot])
        if key != self._keys[slot]:
            self._keys[slot] = key
            heappush(self._heap, (-key, slot))

    def _best_of_heap(self) -> int:
        heap, keys = self._heap, self._keys
        while heap:
            negative_key, slot = heap[0]
            if keys[slot] == -negative_key:
                return slot
            heappop(heap)  # superseded by a later entry, or no longer feasible
        return NO_SLOT

    def considered(self) -> Mask:
        """The slots whose nodes the filters are asked about: all, or those a plugin named beforehand."""
        nodes = self.cluster.nodes
        if self._only_nodes is None:
            return nodes.alive.copy()
        mask = np.zeros(nodes.slots.capacity, np.bool_)
        mask[[slot for name in self._only_nodes if (slot := nodes.slot_of.get(name)) is not None]] = True
        return mask

    def _is_considered(self, slot: int) -> bool:
        nodes = self.cluster.nodes
        return bool(nodes.alive[slot]) and (
            self._only_nodes is None or nodes.node(slot).metadata.name in self._only_nodes
        )
