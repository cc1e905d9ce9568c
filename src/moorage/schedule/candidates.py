"""Keep the best node for one shape up to date, instead of searching for it.

What local plugins say is kept for every slot and repaired for slots that changed. Slots that normalised scores and wide
plugins cannot tell apart are one class, in which they wait in a heap, so only classes are compared for each pod. The
winner is the same as if all nodes had been asked: highest score, then largest tie number.
Kubernetes: schedulePod, findNodesThatFitPod and prioritizeNodes, per pod and on a sample of the nodes.
"""

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.match.evaluation.accounts import Undecided
from moorage.model.go.quoting import go_quote
from moorage.schedule.framework.plugin import (
    SKIP,
    ChosenSlots,
    Mask,
    Plugin,
    PluginTimer,
    PostFilterResult,
    Prepared,
    Profile,
    Scores,
    Verdict,
    normalize,
)
from moorage.schedule.framework.prefilter import combine_prepared
from moorage.schedule.framework.wide import Trait, WidePlugin, too_many
from moorage.schedule.local_answers import Filter, LocalAnswers, Score
from moorage.schedule.standings import Standings

NO_SLOT = -1
SHAPES_KEPT = 512  # in any cluster,
MOST_SHAPES_KEPT = 2048  # and up to this many if there are few nodes,
_SLOTS_KEPT = 1 << 22  # as long as their answers are for no more slots than this
_WANTS_KEPT = 1 << 16
_MANY = 8  # if fewer than one slot in this many changed, asking about these only is quicker


class _Wide(msgspec.Struct, eq=False):
    """A wide plugin, its rows among the traits, and how far its want's log was read."""

    plugin: WidePlugin[Any]
    want: Any
    filters: bool
    weight: int
    position: int = -1
    rows: slice = slice(0, 0)

    @property
    def is_read(self) -> bool:
        return bool(self.position == self.want.touched.position)


class Candidates:
    """One shape's feasible nodes and their scores."""

    def __init__(self, profile: Profile, shape: Shape, cluster: Cluster, timer: PluginTimer | None = None) -> None:
        self.shape = shape
        self.cluster = cluster
        self._timer = timer
        prepared: dict[Plugin[Any], Prepared] = {}
        for plugin in (*profile.filters, *(plugin for plugin, _ in profile.scores)):
            if plugin not in prepared:
                began = perf_counter()
                prepared[plugin] = preparation = plugin.prepare(shape, cluster)
                if timer is not None:
                    timer.prepared(plugin, preparation, perf_counter() - began)
        self.prepared = prepared
        self.filters = tuple(Filter(p, prepared[p]) for p in profile.filters if prepared[p].filters)
        self.scores = tuple(Score(p, prepared[p], weight) for p, weight in profile.scores if prepared[p].scores)
        self.names = tuple(item.plugin.name for item in self.filters)
        self.prefilter = combine_prepared((p, prepared[p]) for p in profile.filters)
        self.rejection: tuple[Plugin[Any], Verdict] | None = self.prefilter.rejection
        self._only_nodes = self.prefilter.only_nodes
        self._pinning = tuple(f for f in self.filters if type(f.plugin).sole_slot is not Plugin.sole_slot)
        # The filters whose errors fail an attempt, and which may undo something for a pod without a node.
        self._fallible = tuple(f for f in self.filters if type(f.plugin).failure is not Plugin.failure)
        self._hasty = tuple(f for f in self.filters if type(f.plugin).is_provisional is not Plugin.is_provisional)
        weights = {score.plugin: score.weight for score in self.scores}
        filtering = {item.plugin for item in self.filters}
        self._wide = tuple(
            _Wide(plugin, prepared[plugin].want, plugin in filtering, weights.get(plugin, 0))
            for plugin in prepared
            if isinstance(plugin, WidePlugin) and (plugin in filtering or plugin in weights)
        )
        self._speaking: tuple[_Wide, ...] = ()  # those with traits, which is not all of them at all times
        # The filters that could refuse a slot when last asked: the local ones, and wide ones with traits and a reason.
        self.deciding = self.filters
        self._local = LocalAnswers(self.filters, self.scores, cluster, timer)
        self._ranked = self._local.ranked
        plugins: tuple[Filter | Score, ...] = (*self.filters, *self.scores)
        # A plugin that rejects the shape as a whole need not have prepared anything to be asked about.
        self._epochal = tuple(
            a
            for a in plugins
            if a.plugin.local and type(a.plugin).epoch is not Plugin.epoch and a.prepared.rejection is None
        )
        self._epochs: list[Any] = []
        self._wide_masks: dict[Plugin[Any], tuple[Any, Mask]] = {}
        self._position = -1
        self._standings = Standings()
        #: What preemption and diagnoses keep of this shape, by who keeps it; it goes with the candidates.
        self.notes: dict[object, Any] = {}

    def best(self) -> int:
        """Return the slot of the best node, or `NO_SLOT`."""
        if self.rejection is not None:
            return NO_SLOT
        if self._only_nodes is not None and len(self._only_nodes) == 1:
            (name,) = self._only_nodes
            return self._only_choice(self.cluster.nodes.slot_of.get(name, NO_SLOT))
        for item in self._pinning:
            sole = item.plugin.sole_slot(item.prepared.want, self.cluster)
            if sole is not None:
                return self._only_choice(sole)
        self.refresh()
        standings = self._standings
        tops = standings.tops
        if len(tops) == 1 and not self._speaking:
            return standings.front(0) if tops[0] >= 0 else NO_SLOT
        allowed = tops >= 0
        traits = standings.traits
        for wide in self._speaking:
            if wide.filters and wide.plugin.has_filter(wide.want):
                allowed &= wide.plugin.filter_traits(wide.want, traits[wide.rows])
        choices = allowed.nonzero()[0]
        if len(choices) <= 1:
            return standings.front(choices.item(0)) if len(choices) else NO_SLOT
        sizes = standings.sizes
        if len(choices) != len(tops):
            tops, traits, sizes = tops[choices], traits[:, choices], sizes[choices]
        return standings.front(choices.item((tops + self._worth(traits, sizes)).argmax()))

    def _worth(self, traits: Scores, sizes: Scores) -> Scores | int:
        """Return each class's score by its traits, normalised over these classes, as a part of the key."""
        worth: Scores | int = 0
        for raw, ranked, varies in zip(traits, self._ranked, self._standings.varies, strict=False):
            if varies:
                scaled = normalize(raw, np.ones(len(raw), np.bool_), ranked.score.plugin.normalization)
                worth = worth + scaled * (ranked.score.weight << 32)
        for wide in self._speaking:
            if wide.weight and wide.plugin.has_score(wide.want):
                worth = worth + wide.plugin.score_traits(wide.want, traits[wide.rows], sizes) * (wide.weight << 32)
        return worth

    def _only_choice(self, slot: int) -> int:
        """Ask about one slot only: asking all nodes about each pod of a DaemonSet would cost its square."""
        return slot if slot != NO_SLOT and self.passes(slot) else NO_SLOT

    def feasible(self) -> Mask:
        if self.rejection is not None:
            return np.zeros(self.cluster.nodes.slots.capacity, np.bool_)
        self.refresh()
        feasible = self._local.feasible.copy()
        for item in self.filters:
            if not item.plugin.local:
                feasible &= self.mask(item)
        return feasible

    def passes(self, slot: int) -> bool:
        """Return whether one slot passes all filters now; nothing is kept."""
        if self.rejection is not None or not self.is_considered(slot):
            return False
        cluster = self.cluster
        return all(f.plugin.filter_slot(f.prepared.want, cluster, slot) for f in self.filters)

    def refusal(self, slot: int) -> Verdict | None:
        """Return the rejection of the pod, or the first refusal of a slot by a deciding filter; None if it passes."""
        if self.rejection is not None:
            return self.rejection[1]
        verdicts = (item.plugin.explain(item.prepared.want, self.cluster, slot) for item in self.deciding)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    @property
    def is_provisional(self) -> bool:
        """Whether a filter would answer differently with more time, though nothing in the cluster changes."""
        return any(item.plugin.is_provisional(item.prepared.want) for item in self._hasty)

    def failure(self, record: PodRecord) -> str:
        """Return the error of a filter that fails the pod's attempt, in the framework's words; empty if none."""
        if self.rejection is not None:
            return ""
        for item in self._fallible:
            text = item.plugin.failure(item.prepared.want, self.cluster, record, partial(self._passed, item))
            if text:
                return f"running {go_quote(item.plugin.name)} filter plugin: {text}"
        return ""

    def post_filter(self, record: PodRecord) -> PostFilterResult | None:
        """Return what a plugin would undo so that the pod fits next time."""
        if self.rejection is not None:
            return None
        results = (
            item.plugin.post_filter(item.prepared.want, self.cluster, record, partial(self._passed, item))
            for item in self._fallible
        )
        return next((result for result in results if result is not None), None)

    def _passed(self, item: Filter) -> Mask:
        """Return the slots that all filters before this one let pass."""
        mask = self.considered()
        for earlier in self.filters[: self.filters.index(item)]:
            mask = mask & self.mask(earlier)
        return mask

    def score_table(self, feasible: Mask) -> dict[str, Scores]:
        """Return the weighted, normalised scores of each plugin that scores now, for all slots."""
        table: dict[str, Scores] = {}
        for score in self.scores:
            want = score.prepared.want
            if score.plugin.scores_now(want, self.cluster, feasible):
                raw = score.plugin.score(want, self.cluster, feasible)
                table[score.plugin.name] = normalize(raw, feasible, score.plugin.normalization) * score.weight
        return table

    # -- wide plugins -------------------------------------------------------------------------------------------

    def mask(self, item: Filter) -> Mask:
        """Return one filter's answer for every slot, read-only; a wide plugin's is kept while it is valid."""
        want = item.prepared.want
        if item.plugin.local:
            return item.plugin.filter(want, self.cluster)
        revision = item.plugin.revision(want, self.cluster)
        kept = self._wide_masks.get(item.plugin)
        if kept is None or kept[0] != revision:
            kept = self._wide_masks[item.plugin] = (revision, item.plugin.filter(want, self.cluster))
        return kept[1]

    def revision(self) -> tuple[Any, ...]:
        """Return a value that is equal as long as every filter answers the same."""
        wide = tuple(wide.plugin.revision(wide.want, self.cluster) for wide in self._wide)
        return (self._current_epochs(), self.cluster.nodes.changes.position, wide)

    def _current_epochs(self) -> list[Any]:
        return [item.plugin.epoch(item.prepared.want, self.cluster) for item in self._epochal]

    # -- keeping up ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Repair the slots that changed."""
        if self.rejection is not None:
            return
        cluster = self.cluster
        nodes = cluster.nodes
        epochs = self._current_epochs()  # first, since a plugin may note slots on which something else changed
        position = nodes.changes.position
        unread = False
        for wide in self._wide:
            want = wide.want
            want.catch_up(cluster)
            unread |= wide.position != want.touched.position
        if position == self._position and epochs == self._epochs and not unread:
            return
        changed = nodes.changes.since(self._position) if self._position >= 0 and epochs == self._epochs else None
        self._position = position
        self._epochs = epochs
        touched = self._touched() if unread else []
        capacity = nodes.slots.capacity
        if changed is None or len(self._local.fixed) != capacity:
            self._rebuild()
        elif touched is None or too_many(len(changed) + len(touched), capacity):
            if self._local.knows_nodes and len(changed) < capacity // _MANY:
                self._repair_many(np.array(list(dict.fromkeys(changed)), np.int64))
            else:
                self._rebuild()
        else:
            repaired = changed if len(changed) == 1 else list(dict.fromkeys(changed))
            self._local.repair(repaired, self.is_considered)
            for slot in dict.fromkeys((*repaired, *touched)) if touched else repaired:
                self._place(slot)
        self._standings.settle()

    def _touched(self) -> list[int] | None:
        """Return the slots whose wide traits changed since the last time; None if that may be all."""
        touched: list[int] | None = []
        for wide in self._wide:
            if not wide.is_read:
                log = wide.want.touched
                since = log.since(wide.position)
                wide.position = log.position
                touched = None if since is None or touched is None else touched + since
        return touched

    def _repair_many(self, slots: ChosenSlots) -> None:
        """Ask again about many slots on which pods came or went; the answers for all others stand."""
        local = self._local
        speaking = self._speaking
        wide_traits = self._listen()
        local.repair_many(slots)
        if wide_traits or speaking or local.moves_traits:
            self._stand(wide_traits)
            return
        keys = (local.fixed[slots] << 32) | self.cluster.nodes.tie[slots]
        for slot in self._standings.put_many(slots, local.feasible[slots], keys).tolist():
            self._place(slot)

    def _rebuild(self) -> None:
        wide_traits = self._listen()
        self._local.rebuild(self.considered())
        self._stand(wide_traits)

    def _stand(self, wide_traits: list[Trait]) -> None:
        """Sort all slots into classes."""
        local = self._local
        traits = [ranked.raw for ranked in self._ranked] + wide_traits
        self._standings.rebuild(local.feasible, (local.fixed << 32) | self.cluster.nodes.tie, traits)

    def _listen(self) -> list[Trait]:
        """Return the traits of all wide plugins, whose rows follow those of the ranked scores."""
        traits: list[Trait] = []
        for wide in self._wide:
            first = len(traits)
            began = perf_counter()
            traits += wide.plugin.traits(wide.want, self.cluster)
            if self._timer is not None:
                self._timer.filtered(wide.plugin, True, perf_counter() - began)
            wide.rows = slice(len(self._ranked) + first, len(self._ranked) + len(traits))
        self._speaking = tuple(wide for wide in self._wide if wide.rows.start != wide.rows.stop)
        minding = {wide.plugin for wide in self._speaking if wide.plugin.may_filter(wide.want)}
        self.deciding = tuple(item for item in self.filters if item.plugin.local or item.plugin in minding)
        return traits

    def _place(self, slot: int) -> None:
        local = self._local
        if not local.feasible[slot]:
            self._standings.remove(slot)
            return
        cluster = self.cluster
        traits = [ranked.raw.item(slot) for ranked in self._ranked]
        for wide in self._speaking:
            traits += wide.plugin.traits_at(wide.want, cluster, slot)
        key = (local.fixed.item(slot) << 32) | cluster.nodes.tie.item(slot)
        self._standings.put(slot, key, tuple(traits))

    def considered(self) -> Mask:
        """Return the slots to ask the filters about: all, or those that a plugin named beforehand."""
        nodes = self.cluster.nodes
        if self._only_nodes is None:
            return nodes.alive.copy()
        mask = np.zeros(nodes.slots.capacity, np.bool_)
        mask[[slot for name in self._only_nodes if (slot := nodes.slot_of.get(name)) is not None]] = True
        return mask

    def is_considered(self, slot: int) -> bool:
        nodes = self.cluster.nodes
        return bool(nodes.alive[slot]) and (
            self._only_nodes is None or nodes.node(slot).metadata.name in self._only_nodes
        )


class Engine:
    """Finds nodes for pods: one profile over one cluster, with the `Candidates` of the shapes used last."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        self.profile = profile
        self.cluster = cluster
        self.timer: PluginTimer | None = None
        self._candidates: OrderedDict[int, Candidates] = OrderedDict()
        # An event asks about every shape that waits, and those may be more than candidates are kept for.
        self._wants: dict[tuple[str, int], tuple[Any] | None] = {}

    def candidates(self, shape: Shape) -> Candidates:
        kept = self._candidates.get(shape.number)
        if kept is None:
            kept = self._candidates[shape.number] = Candidates(self.profile, shape, self.cluster, self.timer)
            if len(self._candidates) > self.shapes_kept:
                self._candidates.popitem(last=False)
        else:
            self._candidates.move_to_end(shape.number)
        return kept

    @property
    def shapes_kept(self) -> int:
        """Return how many shapes' candidates are kept: those of pods that wait are asked for again and again."""
        return max(SHAPES_KEPT, min(MOST_SHAPES_KEPT, _SLOTS_KEPT // self.cluster.nodes.slots.capacity))

    def catch_up(self) -> None:
        """Repair what is kept of every shape now, so that it is not left to the next pods."""
        for kept in [*self._candidates.values()]:  # what is asked for meanwhile becomes the one used last
            with suppress(Undecided):
                kept.refresh()

    def forget(self, shape: Shape) -> None:
        """Drop what is kept of a shape: an answer was missing, so it is incomplete."""
        self._candidates.pop(shape.number, None)

    def retire(self, shapes: Iterable[Shape]) -> None:
        """Drop what is kept of shapes that no pod has any more."""
        for shape in shapes:
            self._candidates.pop(shape.number, None)
        self._wants.clear()

    def want(self, name: str, shape: Shape) -> tuple[Any] | None:
        """Return what a plugin wants for a shape, in a tuple; None if the plugin does not filter it."""
        key = (name, shape.number)
        if key not in self._wants:
            if len(self._wants) >= _WANTS_KEPT:
                self._wants.clear()
            plugin = next((plugin for plugin in self.profile.filters if plugin.name == name), None)
            prepared = self.candidates(shape).prepared[plugin] if plugin is not None else SKIP
            self._wants[key] = (prepared.want,) if prepared.filters or prepared.rejection is not None else None
        return self._wants[key]

    def find(self, record: PodRecord) -> int:
        return self.candidates(self.cluster.refresh(record)).best()

    def reserve(self, record: PodRecord, slot: int) -> None:
        """Have plugins keep the volumes and devices that the pod gets on a slot, before the pod is put there."""
        if record.claims or record.shape.devices:
            for item in self.candidates(record.shape).filters:
                item.plugin.reserve(item.prepared.want, self.cluster, record, slot)

    def unreserve(self, record: PodRecord) -> None:
        """Give back what was reserved, because the pod was not bound."""
        if record.claims or record.shape.devices:
            for item in self.candidates(record.shape).filters:
                item.plugin.unreserve(item.prepared.want, self.cluster, record)
