"""Every plugin says the same about a node, whichever way it is asked: all nodes at once, one slot, or for a reason.

The laws run on random clusters, once when a shape is new and once more after the cluster changed, because what a plugin
has learned must not go stale.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.laws.random_clusters import Scene, build, change, scenes, unreadable_scenes

from moorage.columns.cluster import Cluster
from moorage.columns.shape import Shape
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.framework.plugin import ChosenSlots, Code, Mask, Plugin, Prepared, Scores, UnreadableOn, Verdict

PROFILE = default_profile(gates_from({"AllAlpha": True}))
FILTERS = PROFILE.filters
SCORES = tuple(plugin for plugin, _ in PROFILE.scores if plugin.local)
Check = Callable[[Plugin[Any], Prepared, Cluster], None]


def moments(plugin: Plugin[Any], scene: Scene) -> Iterator[tuple[Prepared, Cluster]]:
    """What the plugin made of the pod, and the cluster: now, and later."""
    cluster = build(scene)
    pod = convert_view(scene.pod, Pod)
    prepared = plugin.prepare(cluster.shape_of(pod, pod.spec.nodeName), cluster)
    yield prepared, cluster
    change(cluster, scene)
    yield prepared, cluster


def law_of(check: Check, plugins: Iterable[Plugin[Any]], how: settings = LAW_SETTINGS) -> Callable[[], None]:
    @how
    @given(st.one_of(scenes(), unreadable_scenes()))
    def law(scene: Scene) -> None:
        for plugin in plugins:
            for prepared, cluster in moments(plugin, scene):
                check(plugin, prepared, cluster)

    return law


def mask_is_explanation(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    if not prepared.filters or prepared.rejection is not None:
        return
    mask = plugin.filter(prepared.want, cluster)
    for slot, _ in cluster.nodes:
        verdict = plugin.explain(prepared.want, cluster, slot)
        assert bool(mask[slot]) is (verdict is None)
        assert verdict is None or (verdict.reasons and all(verdict.reasons))


def slot_is_mask(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    if not prepared.filters or prepared.rejection is not None:
        return
    mask = plugin.filter(prepared.want, cluster)
    for slot, _ in cluster.nodes:
        assert plugin.filter_slot(prepared.want, cluster, slot) is bool(mask[slot])


def counted_reasons_are_those_given(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    if not prepared.filters or prepared.rejection is not None:
        return
    refused = np.flatnonzero(cluster.nodes.alive & ~plugin.filter(prepared.want, cluster))
    given_reasons: Counter[str] = Counter()
    for slot in refused.tolist():
        verdict = plugin.explain(prepared.want, cluster, slot)
        given_reasons.update(verdict.reasons if verdict is not None else ())
    assert plugin.reasons(prepared.want, cluster, refused) == given_reasons


def curable_is_the_code(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    if not prepared.filters or prepared.rejection is not None:
        return
    refused = np.flatnonzero(cluster.nodes.alive & ~plugin.filter(prepared.want, cluster))
    curable = plugin.curable(prepared.want, cluster, refused)
    for slot, cures in zip(refused.tolist(), curable.tolist(), strict=True):
        assert cures is not _is_final(plugin.explain(prepared.want, cluster, slot))


def score_of_a_slot_is_its_score(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    if not prepared.scores:
        return
    scores = plugin.score(prepared.want, cluster, cluster.nodes.alive)
    for slot, _ in cluster.nodes:
        assert plugin.score_slot(prepared.want, cluster, slot) == int(scores[slot])


def final_noes_stay(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    """A verdict that no eviction can cure is not cured by evicting everybody."""
    if not prepared.filters or prepared.rejection is not None:
        return
    final = [slot for slot, _ in cluster.nodes if _is_final(plugin.explain(prepared.want, cluster, slot))]
    for slot in final:
        with cluster.as_if_gone(list(cluster.pods_on[slot].values())):
            assert plugin.explain(prepared.want, cluster, slot) is not None


def unreadable_values_are_those_of_nodes(plugin: Plugin[Any], prepared: Prepared, cluster: Cluster) -> None:
    """What a plugin cannot compare is what the nodes have now, and every reason that names a value is one of them."""
    if not plugin.reads_values or not prepared.filters or prepared.rejection is not None:
        return
    refused = np.flatnonzero(cluster.nodes.alive & ~plugin.filter(prepared.want, cluster))
    named = {
        text for reason in plugin.reasons(prepared.want, cluster, refused) for text in re.findall(r" \(({.*)\)", reason)
    }
    found = plugin.unreadable(prepared.want, cluster)
    if plugin.name != "VolumeBinding":  # which also names labels that volumes which are free cannot compare
        assert named <= {one.found.obstacle for one in found}
    for one in found:
        for slot in one.slots.tolist():
            assert cluster.nodes.alive[slot], "a value of a node that is gone"
            node = cluster.nodes.node(slot)
            labels = set(node.metadata.labels.items())
            taints = {(taint.key, taint.value) for taint in node.spec.taints}
            assert (one.found.key, one.found.value) in (labels if one.found.source == "label" else taints)


def _is_final(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.code is Code.UNRESOLVABLE


def test_a_mask_is_false_exactly_where_there_is_a_reason() -> None:
    law_of(mask_is_explanation, FILTERS)()


def test_one_slot_and_all_slots_are_filtered_alike() -> None:
    law_of(slot_is_mask, FILTERS)()


def test_reasons_are_counted_as_they_are_given() -> None:
    law_of(counted_reasons_are_those_given, FILTERS)()


def test_a_final_no_outlasts_the_pods_on_the_node() -> None:
    law_of(final_noes_stay, FILTERS)()


def test_what_eviction_may_cure_is_what_is_not_final() -> None:
    law_of(curable_is_the_code, FILTERS)()


def test_values_that_cannot_be_compared_are_those_of_nodes() -> None:
    law_of(unreadable_values_are_those_of_nodes, FILTERS)()


def test_one_slot_and_all_slots_are_scored_alike() -> None:
    law_of(score_of_a_slot_is_its_score, SCORES)()


# -- broken twins, one of each plugin ------------------------------------------------------------------------------


class Twin(Plugin[Any]):
    """A plugin that does as another one does."""

    def __init__(self, original: Plugin[Any]) -> None:
        self.original = original

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return self.original.prepare(shape, cluster)

    def filter(self, want: Any, cluster: Cluster) -> Mask:
        return self.original.filter(want, cluster)

    def filter_slot(self, want: Any, cluster: Cluster, slot: int) -> bool:
        return self.original.filter_slot(want, cluster, slot)

    def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
        return self.original.explain(want, cluster, slot)

    def score(self, want: Any, cluster: Cluster, feasible: Mask) -> Scores:
        return self.original.score(want, cluster, feasible)


class LetsAllPass(Twin):
    def filter(self, want: Any, cluster: Cluster) -> Mask:
        return np.ones(cluster.nodes.slots.capacity, np.bool_)


class RefusesASlotThatAllPass(Twin):
    def filter_slot(self, want: Any, cluster: Cluster, slot: int) -> bool:
        return slot != 0 and super().filter_slot(want, cluster, slot)


class CountsANodeTwice(Twin):
    def reasons(self, want: Any, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        return super().reasons(want, cluster, np.concatenate([slots, slots[:1]]))


class GivesUpTooEarly(Twin):
    def explain(self, want: Any, cluster: Cluster, slot: int) -> Verdict | None:
        verdict = super().explain(want, cluster, slot)
        return None if verdict is None else msgspec.structs.replace(verdict, code=Code.UNRESOLVABLE)


class CuresWhatIsFinal(Twin):
    def curable(self, want: Any, cluster: Cluster, slots: ChosenSlots) -> Mask:
        return ~self.original.curable(want, cluster, slots)


class RemembersOldValues(Twin):
    """It looks at the nodes once."""

    reads_values = True

    def __init__(self, original: Plugin[Any]) -> None:
        super().__init__(original)
        self._seen: dict[int, list[UnreadableOn]] = {}

    def unreadable(self, want: Any, cluster: Cluster) -> list[UnreadableOn]:
        return self._seen.setdefault(id(want), list(self.original.unreadable(want, cluster)))


class ForgetsValues(Twin):
    """It names values in reasons only."""

    reads_values = True


class ScoresNoSlot(Twin):
    def score_slot(self, want: Any, cluster: Cluster, slot: int) -> int:
        return 0


def named(plugins: Iterable[Plugin[Any]]) -> list[Any]:
    return [pytest.param(plugin, id=plugin.name) for plugin in plugins]


@pytest.mark.parametrize("plugin", named(FILTERS))
def test_the_laws_of_filters_notice_a_broken_twin(plugin: Plugin[Any]) -> None:
    assert_notices(law_of(mask_is_explanation, [LetsAllPass(plugin)], UNTIL_NOTICED))
    assert_notices(law_of(slot_is_mask, [RefusesASlotThatAllPass(plugin)], UNTIL_NOTICED))
    assert_notices(law_of(counted_reasons_are_those_given, [CountsANodeTwice(plugin)], UNTIL_NOTICED))
    assert_notices(law_of(curable_is_the_code, [CuresWhatIsFinal(plugin)], UNTIL_NOTICED))


@pytest.mark.parametrize("name", ["NodePorts", "NodeResourcesFit"])
def test_the_law_of_final_noes_notices_one_that_eviction_cures(name: str) -> None:
    plugin = next(plugin for plugin in FILTERS if plugin.name == name)
    assert_notices(law_of(final_noes_stay, [GivesUpTooEarly(plugin)], UNTIL_NOTICED))


@pytest.mark.parametrize("name", ["NodeAffinity", "TaintToleration"])
def test_the_law_of_unreadable_values_notices_broken_twins(name: str) -> None:
    plugin = next(plugin for plugin in FILTERS if plugin.name == name)
    for twin in (RemembersOldValues, ForgetsValues):
        broken = twin(plugin)
        broken.name = name  # type: ignore[misc]
        assert_notices(law_of(unreadable_values_are_those_of_nodes, [broken], UNTIL_NOTICED))


@pytest.mark.parametrize("plugin", named(SCORES))
def test_the_law_of_scores_notices_a_broken_twin(plugin: Plugin[Any]) -> None:
    assert_notices(law_of(score_of_a_slot_is_its_score, [ScoresNoSlot(plugin)], UNTIL_NOTICED))
