"""Keep what local plugins say about every slot for one shape, and repair it where something changed.

Pods come and go all the time and nodes seldom change, so the answers of plugins that do not read pods (taints, labels,
images) are kept apart and asked for again only when a node changed. Shapes whose pods need the same share the answers:
a thousand pods that differ in their labels only ask about a node once.
"""

from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.schedule.framework.plugin import ChosenSlots, Mask, Normalization, Plugin, PluginTimer, Prepared, Scores
from moorage.schedule.framework.wide import too_many

MANY = 8  # if fewer than one slot in this many changed, asking about these only is quicker


class Filter(msgspec.Struct, frozen=True):
    """A filter that applies to the shape."""

    plugin: Plugin[Any]
    prepared: Prepared


class Score(Filter, frozen=True):
    """A score that applies to the shape, and its weight."""

    weight: int


def epochal(items: Iterable[Filter]) -> tuple[Filter, ...]:
    """Return those of local plugins that read more than a node; one that rejects the pod may not be prepared."""
    return tuple(
        item
        for item in items
        if item.plugin.local and type(item.plugin).epoch is not Plugin.epoch and item.prepared.rejection is None
    )


def current_epochs(items: Iterable[Filter], cluster: Cluster) -> list[Any]:
    return [item.plugin.epoch(item.prepared.want, cluster) for item in items]


class Ranked(msgspec.Struct, eq=False):
    """A local score that is normalised over all feasible slots, and its raw values: a trait."""

    score: Score
    raw: Scores = msgspec.field(default_factory=lambda: np.zeros(0, np.int64))


class LocalAnswers:
    """Which slots pass, what each scores by itself, and raw scores to normalise; arrays are read-only."""

    def __init__(
        self,
        filters: Iterable[Filter],
        scores: Iterable[Score],
        only_nodes: frozenset[str] | None,
        cluster: Cluster,
        timer: PluginTimer | None = None,
    ) -> None:
        self._timer = timer
        self.only_nodes = only_nodes
        local = [item for item in filters if item.plugin.local]
        scoring = [item for item in scores if item.plugin.local]
        plugins: list[Filter | Score] = [*local, *scoring]
        self._epochal = epochal(plugins)
        self._epochs: list[Any] = []
        self._position = -1
        #: How often all slots were asked about.
        self.rebuilds = 0
        plain = [item for item in scoring if item.plugin.normalization is Normalization.NONE]
        self._cluster = cluster
        self._settled_filters = [item for item in local if not item.plugin.reads_pods]
        self._filters = [
            (item.plugin.filter_slot, item.prepared.want, item.plugin) for item in local if item.plugin.reads_pods
        ]
        self._settled_scores = [item for item in plain if not item.plugin.reads_pods]
        self._scores = [
            (item.plugin.score_slot, item.prepared.want, item.weight, item.plugin)
            for item in plain
            if item.plugin.reads_pods
        ]
        self.ranked = tuple(Ranked(item) for item in scoring if item.plugin.normalization is not Normalization.NONE)
        self._moving_ranked = [ranked for ranked in self.ranked if ranked.score.plugin.reads_pods]
        self._settled_ranked = [ranked for ranked in self.ranked if not ranked.score.plugin.reads_pods]
        self._generation = -1
        self.feasible: Mask = np.zeros(0, np.bool_)
        self.fixed: Scores = np.zeros(0, np.int64)
        # What follows from the nodes alone: which slots are left, and what they score.
        self._eligible: Mask = np.zeros(0, np.bool_)
        self._base: Scores = np.zeros(0, np.int64)

    def catch_up(self) -> None:
        """Ask again about slots that changed. Raises Undecided."""
        nodes = self._cluster.nodes
        epochs = current_epochs(self._epochal, self._cluster)  # first, since a plugin may note slots
        position, known = nodes.changes.position, self._position
        if position == known and epochs == self._epochs:
            return
        changed = nodes.changes.since(known) if known >= 0 and epochs == self._epochs else None
        if changed is not None and len(changed) > 1:
            changed = list(dict.fromkeys(changed))  # devices that are given to a pod are logged as well as the pod
        capacity = nodes.slots.capacity
        self._position = -1  # until it is done
        if changed is None or len(self.fixed) != capacity:
            self._rebuild()
        elif not too_many(len(changed), capacity):
            self._repair_some(changed)
        elif self._generation == nodes.generation and len(changed) < capacity // MANY:
            self._repair_many(np.array(changed, np.int64))
        else:
            self._rebuild()
        self._position, self._epochs = position, epochs

    def considered(self) -> Mask:
        """Return the slots to ask the filters about: all, or those that a plugin named beforehand."""
        nodes = self._cluster.nodes
        if self.only_nodes is None:
            return nodes.alive.copy()
        mask = np.zeros(nodes.slots.capacity, np.bool_)
        mask[[slot for name in self.only_nodes if (slot := nodes.slot_of.get(name)) is not None]] = True
        return mask

    def is_considered(self, slot: int) -> bool:
        nodes = self._cluster.nodes
        return bool(nodes.alive[slot]) and (
            self.only_nodes is None or nodes.node(slot).metadata.name in self.only_nodes
        )

    def _rebuild(self) -> None:
        self.rebuilds += 1
        cluster = self._cluster
        self._generation = cluster.nodes.generation
        eligible = self.considered()
        for item in self._settled_filters:
            eligible = eligible & self._filtered(item.plugin, item.prepared.want)
        feasible = eligible.copy()
        for _, want, plugin in self._filters:
            feasible &= self._filtered(plugin, want)
        base = np.zeros(len(feasible), np.int64)
        for score in self._settled_scores:
            base += self._scored(score.plugin, score.prepared.want, feasible) * score.weight
        fixed = base.copy()
        for _, want, weight, scoring in self._scores:
            fixed += self._scored(scoring, want, feasible) * weight
        for ranked in self.ranked:
            ranked.raw = self._scored(ranked.score.plugin, ranked.score.prepared.want, feasible).copy()
        self._eligible, self._base = eligible, base
        self.feasible, self.fixed = feasible, fixed

    def _filtered(self, plugin: Plugin[Any], want: Any) -> Mask:
        began = perf_counter()
        mask = plugin.filter(want, self._cluster)
        if self._timer is not None:
            seconds = perf_counter() - began
            self._timer.filtered(plugin, bool((mask & self._cluster.nodes.alive).any()), seconds)
        return mask

    def _scored(self, plugin: Plugin[Any], want: Any, feasible: Mask) -> Scores:
        began = perf_counter()
        scores = plugin.score(want, self._cluster, feasible)
        if self._timer is not None:
            self._timer.scored(plugin, perf_counter() - began)
        return scores

    def _repair_some(self, slots: Sequence[int]) -> None:
        """Ask again about slots on which pods came or went and, if any node changed, about these nodes too."""
        if self._generation != self._cluster.nodes.generation:
            self._generation = self._cluster.nodes.generation
            for slot in slots:
                self._repair_node(slot)
        for slot in slots:
            self._repair(slot)

    def _repair_many(self, slots: ChosenSlots) -> None:
        """Ask again about many slots at once, on which pods came or went."""
        cluster = self._cluster
        feasible = self._eligible[slots]
        for _, want, plugin in self._filters:
            feasible &= plugin.filter_at(want, cluster, slots)
        fixed = self._base[slots]
        for _, want, weight, plugin in self._scores:
            fixed += plugin.score_at(want, cluster, slots) * weight
        self.feasible[slots] = feasible
        self.fixed[slots] = fixed
        for ranked in self._moving_ranked:
            ranked.raw[slots] = ranked.score.plugin.score_at(ranked.score.prepared.want, cluster, slots)

    @property
    def moves_traits(self) -> bool:
        """Whether pods that come or go change what is normalised."""
        return bool(self._moving_ranked)

    def _repair_node(self, slot: int) -> None:
        cluster = self._cluster
        eligible = self.is_considered(slot) and all(
            item.plugin.filter_slot(item.prepared.want, cluster, slot) for item in self._settled_filters
        )
        self._eligible[slot] = eligible
        if eligible:
            self._base[slot] = sum(
                score.plugin.score_slot(score.prepared.want, cluster, slot) * score.weight
                for score in self._settled_scores
            )
            _rank(self._settled_ranked, cluster, slot)

    def _repair(self, slot: int) -> None:
        cluster = self._cluster
        feasible = bool(self._eligible[slot])
        if feasible:
            for filter_slot, want, _ in self._filters:
                if not filter_slot(want, cluster, slot):
                    feasible = False
                    break
        self.feasible[slot] = feasible
        if feasible:
            fixed = self._base.item(slot)
            for score_slot, want, weight, _ in self._scores:
                fixed += score_slot(want, cluster, slot) * weight
            self.fixed[slot] = fixed
            if self._moving_ranked:
                _rank(self._moving_ranked, cluster, slot)


def _rank(scores: Iterable[Ranked], cluster: Cluster, slot: int) -> None:
    for ranked in scores:
        ranked.raw[slot] = ranked.score.plugin.score_slot(ranked.score.prepared.want, cluster, slot)
