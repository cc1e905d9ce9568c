"""Keep the best node for one shape up to date, instead of searching for it.

What local plugins say is kept for every slot and repaired for slots that changed. Slots that normalised scores and wide
plugins cannot tell apart are one class, in which they wait in a heap, so only classes are compared for each pod. The
winner is the same as if all nodes had been asked: highest score, then largest tie number.
Kubernetes: schedulePod, findNodesThatFitPod and prioritizeNodes, per pod and on a sample of the nodes.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape, needs_key
from moorage.match.evaluation.accounts import Undecided
from moorage.model.go.quoting import go_quote
from moorage.schedule.framework.plugin import (
    SKIP,
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
from moorage.schedule.framework.wide import Trait, WidePlugin
from moorage.schedule.local_answers import Filter, LocalAnswers, Score, current_epochs, epochal
from moorage.schedule.ranking import Ranking
from moorage.schedule.wide_traits import Wide, WideTraits

NO_SLOT = -1
SHAPES_KEPT = 512  # in any cluster,
MOST_SHAPES_KEPT = 2048  # and up to this many if there are few nodes,
_SLOTS_KEPT = 1 << 22  # as long as their answers are for no more slots than this
_WANTS_KEPT = 1 << 16


class SharedAnswers:
    """What local plugins answer for all shapes whose pods need the same."""

    def __init__(
        self, key: bytes, profile: Profile, shape: Shape, cluster: Cluster, timer: PluginTimer | None = None
    ) -> None:
        self.key = key
        self.prepared = {
            plugin: _prepare(plugin, shape, cluster, timer)
            for plugin in _plugins(profile)
            if plugin.local and plugin.answers_by_needs
        }
        filters, scores = _applying(profile, self.prepared)
        only_nodes = combine_prepared(self.prepared.items()).only_nodes
        self.local = LocalAnswers(filters, scores, only_nodes, cluster, timer)
        self.ranking = Ranking(self.local, cluster)


def _plugins(profile: Profile) -> Iterable[Plugin[Any]]:
    return dict.fromkeys((*profile.filters, *(plugin for plugin, _ in profile.scores)))


def _prepare(plugin: Plugin[Any], shape: Shape, cluster: Cluster, timer: PluginTimer | None) -> Prepared:
    began = perf_counter()
    prepared = plugin.prepare(shape, cluster)
    if timer is not None:
        timer.prepared(plugin, prepared, perf_counter() - began)
    return prepared


def _applying(
    profile: Profile, prepared: Mapping[Plugin[Any], Prepared]
) -> tuple[tuple[Filter, ...], tuple[Score, ...]]:
    """Return the filters and scores that have something to do, of those that are prepared."""
    filters = (p for p in profile.filters if p in prepared and prepared[p].filters)
    scores = ((p, weight) for p, weight in profile.scores if p in prepared and prepared[p].scores)
    return (
        tuple(Filter(plugin, prepared[plugin]) for plugin in filters),
        tuple(Score(plugin, prepared[plugin], weight) for plugin, weight in scores),
    )


class Candidates:
    """One shape's feasible nodes and their scores."""

    def __init__(
        self,
        profile: Profile,
        shape: Shape,
        cluster: Cluster,
        timer: PluginTimer | None = None,
        shared: SharedAnswers | None = None,
    ) -> None:
        self.shape = shape
        self.cluster = cluster
        known = shared.prepared if shared is not None else {}
        prepared = {p: known[p] if p in known else _prepare(p, shape, cluster, timer) for p in _plugins(profile)}
        self.prepared = prepared
        self.filters, self.scores = _applying(profile, prepared)
        self.names = tuple(item.plugin.name for item in self.filters)
        self.prefilter = combine_prepared((p, prepared[p]) for p in profile.filters)
        self.rejection: tuple[Plugin[Any], Verdict] | None = self.prefilter.rejection
        self._only_nodes = self.prefilter.only_nodes
        self._pinning = tuple(f for f in self.filters if type(f.plugin).sole_slot is not Plugin.sole_slot)
        # The filters whose errors fail an attempt, and which may undo something for a pod without a node.
        self._fallible = tuple(f for f in self.filters if type(f.plugin).failure is not Plugin.failure)
        self._hasty = tuple(f for f in self.filters if type(f.plugin).is_provisional is not Plugin.is_provisional)
        if shared is not None and shared.local.only_nodes != self._only_nodes:
            shared = None
        # Local filters whose answers other shapes do not share.
        self._own: tuple[Filter, ...] = ()
        if shared is not None:
            self._own = tuple(f for f in self.filters if f.plugin.local and f.plugin not in shared.prepared)
            self._local = shared.local
        else:
            self._local = LocalAnswers(self.filters, self.scores, self._only_nodes, cluster, timer)
        weights = {score.plugin: score.weight for score in self.scores}
        filtering = {item.plugin for item in self.filters}
        self._wide = WideTraits(
            (
                Wide(plugin, prepared[plugin].want, plugin in filtering, weights.get(plugin, 0))
                for plugin in prepared
                if isinstance(plugin, WidePlugin) and (plugin in filtering or plugin in weights)
            ),
            len(self._local.ranked),
            cluster,
            timer,
        )
        self._epochal = epochal((*self.filters, *self.scores))
        self.shared = shared
        # The filters that could refuse a slot when last asked: the local ones, and wide ones with traits and a reason.
        self.deciding = self.filters
        # As long as others' answers are all there is to say of this shape, it has their ranking.
        self._shared = shared.ranking if shared is not None else None
        self._ranking = self._shared or Ranking(self._local, cluster, self._wide)
        self._traits: list[Trait] | None = None  # those of all slots, when it turned out that there are some
        self._wide_masks: dict[Plugin[Any], tuple[Any, Mask]] = {}
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
        standings, wide = self._ranking.standings, self._wide
        tops = standings.tops
        if len(tops) == 1 and not wide.speaking:
            return standings.front(0) if tops[0] >= 0 else NO_SLOT
        allowed = tops >= 0
        traits = standings.traits
        wide.refuse(allowed, traits)
        choices = allowed.nonzero()[0]
        if len(choices) <= 1:
            return standings.front(choices.item(0)) if len(choices) else NO_SLOT
        sizes = standings.sizes
        if len(choices) != len(tops):
            tops, traits, sizes = tops[choices], traits[:, choices], sizes[choices]
        worth = self._worth(traits) + wide.worth(traits, sizes)
        return standings.front(choices.item((tops + (worth << 32)).argmax()))

    def _worth(self, traits: Scores) -> Scores | int:
        """Return each class's local scores by its traits, normalised over these classes and weighted."""
        worth: Scores | int = 0
        for raw, ranked, varies in zip(traits, self._local.ranked, self._ranking.standings.varies, strict=False):
            if varies:
                scaled = normalize(raw, np.ones(len(raw), np.bool_), ranked.score.plugin.normalization)
                worth = worth + scaled * ranked.score.weight
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
            if not item.plugin.local or item in self._own:
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
        return (
            current_epochs(self._epochal, self.cluster),
            self.cluster.nodes.changes.position,
            self._wide.revisions(),
        )

    # -- keeping up ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Repair the slots that changed. Raises Undecided."""
        if self.rejection is not None:
            return
        if self._ranking is self._shared and not self._goes_along():
            self._ranking = Ranking(self._local, self.cluster, self._wide, self._own, self._traits)
            self._traits = None
        if self._ranking.refresh():
            self._note_deciding()

    def _goes_along(self) -> bool:
        """Return False as soon as something tells this shape from those that need the same."""
        for item in self._own:
            if not item.plugin.is_idle(item.prepared.want, self.cluster):
                return False
        wide = self._wide
        if wide.catch_up() and wide.touched() is None:
            traits = wide.listen()
            self._note_deciding()
            if wide.speaking:
                self._traits = traits
        return not wide.speaking

    def _note_deciding(self) -> None:
        minding = {wide.plugin for wide in self._wide.speaking if wide.plugin.may_filter(wide.want)}
        self.deciding = tuple(item for item in self.filters if item.plugin.local or item.plugin in minding)

    def considered(self) -> Mask:
        return self._local.considered()

    def is_considered(self, slot: int) -> bool:
        return self._local.is_considered(slot)


class Engine:
    """Finds nodes for pods: one profile over one cluster, with the `Candidates` of the shapes used last."""

    def __init__(self, profile: Profile, cluster: Cluster) -> None:
        self.profile = profile
        self.cluster = cluster
        self.timer: PluginTimer | None = None
        self._candidates: OrderedDict[int, Candidates] = OrderedDict()
        # By what pods need, for the shapes whose candidates are kept.
        self._answers: OrderedDict[bytes, SharedAnswers] = OrderedDict()
        # An event asks about every shape that waits, and those may be more than candidates are kept for.
        self._wants: dict[tuple[str, int], tuple[Any] | None] = {}

    def candidates(self, shape: Shape) -> Candidates:
        kept = self._candidates.get(shape.number)
        if kept is None:
            shared = self._shared_answers(shape)
            kept = Candidates(self.profile, shape, self.cluster, self.timer, shared)
            self._candidates[shape.number] = kept
            if len(self._candidates) > self.shapes_kept:
                self._candidates.popitem(last=False)
        else:
            self._candidates.move_to_end(shape.number)
        return kept

    def _shared_answers(self, shape: Shape) -> SharedAnswers | None:
        """Return what shapes that need the same share; None if the shape has answers of its own."""
        if not all(plugin.answers_by_needs or not plugin.local for plugin, _ in self.profile.scores):
            return None
        key = needs_key(shape)
        if key is None:
            return None
        shared = self._answers.get(key)
        if shared is None:
            shared = self._answers[key] = SharedAnswers(key, self.profile, shape, self.cluster, self.timer)
            if len(self._answers) > self.shapes_kept:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(key)
        return shared

    @property
    def answers_kept(self) -> int:
        """Return for how many different needs answers are kept."""
        return len(self._answers)

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
        kept = self._candidates.pop(shape.number, None)
        if kept is not None and kept.shared is not None:
            self._answers.pop(kept.shared.key, None)

    def retire(self, shapes: Iterable[Shape]) -> None:
        """Drop what is kept of shapes that no pod has any more."""
        for shape in shapes:
            self._candidates.pop(shape.number, None)
        used = {kept.shared.key for kept in self._candidates.values() if kept.shared is not None}
        for key in self._answers.keys() - used:
            del self._answers[key]
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
