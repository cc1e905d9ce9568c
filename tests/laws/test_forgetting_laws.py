"""What is known of nodes and pods that changed or are gone is forgotten, and nothing that is kept is out of date.

After any history, a new shape costs no more evaluations than there are distinct lists of taints and label values now,
and every answer (filters, scores, reasons, the best node) is that of a cluster that was made at once.
"""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices, examples
from tests.laws.random_devices import GATES
from tests.laws.random_history import History
from tests.laws.test_device_scheduling_laws import plugin_is_naive
from tests.laws.test_scheduler_laws import PROFILE, SIZES, limits_as_in
from tests.laws.test_volume_laws import kept_law

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.codes import CodeReader, Codes, LabelColumn
from moorage.columns.devices import devices
from moorage.columns.owned_terms import OwnedTerms
from moorage.columns.pod_classes import PodClasses
from moorage.columns.selector_masks import LabelPredicate
from moorage.columns.shape import Shape
from moorage.model.gates import default_gates
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import NO_SLOT, Engine
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.taint_toleration import _Want
from moorage.schedule.plugins.volumes import volume_needs
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding

ENOUGH = settings(LAW_SETTINGS, max_examples=examples(70))
SEEDS = st.integers(0, 2**32)


def answers(engine: Engine, record: PodRecord) -> dict[str, Any]:
    """Return all that is said about a pod, by the names of the nodes."""
    cluster = engine.cluster
    candidates = engine.candidates(record.shape)
    best, mask = candidates.best(), candidates.feasible()
    slots = cluster.nodes.slot_of
    refusals = {
        (item.plugin.name, name): item.plugin.explain(item.prepared.want, cluster, slot)
        for item in candidates.filters
        for name, slot in slots.items()
    }
    return {
        "rejection": candidates.rejection and candidates.rejection[1],
        "feasible": {name for name, slot in slots.items() if mask[slot]},
        "best": None if best == NO_SLOT else cluster.nodes.node(best).metadata.name,
        "refusals": {where: verdict for where, verdict in refusals.items() if verdict is not None},
        "scores": {
            plugin: {name: int(scores[slot]) for name, slot in slots.items() if mask[slot]}
            for plugin, scores in candidates.score_table(mask).items()
            if scores[mask].any()
        },
        "unreadable": {
            (item.plugin.name, value.found): {cluster.nodes.node(slot).metadata.name for slot in value.slots}
            for item in candidates.filters
            for value in item.plugin.unreadable(item.prepared.want, cluster)
        },
    }


def law_of_equal_answers(how: settings = ENOUGH) -> None:
    @how
    @given(SEEDS, st.integers(1, 12), SIZES)
    def law(seed: int, steps: int, size: str) -> None:
        with limits_as_in(size):
            history = History(seed)
            engine = Engine(PROFILE, history.cluster)
            asked = [history.pod() for _ in range(3)]
            for _ in range(steps):
                for _ in range(3):
                    history.go_on()
                asked[history.random.randrange(3)] = history.pod()
                fresh = Engine(PROFILE, history.rebuilt())
                for pod in asked:
                    kept, anew = (answers(an_engine, _record(an_engine.cluster, pod)) for an_engine in (engine, fresh))
                    assert kept == anew

    law()


def _record(cluster: Cluster, pod: Pod) -> PodRecord:
    return PodRecord(f"{pod.metadata.namespace}/{pod.metadata.name}", pod, cluster.shape_of(pod, pod.spec.nodeName))


def test_what_is_kept_answers_as_a_cluster_made_at_once() -> None:
    law_of_equal_answers()


def _by_length_only(reader: CodeReader) -> bool:
    """Broken: notices codes that were never given before, and no code that is used again."""
    return reader._serial < 0 or len(reader._codes) > reader._serial


def _reads_length(reader: CodeReader) -> None:
    reader._serial = len(reader._codes)


def _forgets_shapes_with_pods(classes: PodClasses, shapes: set[Shape]) -> None:
    """Broken: counts that are still held are dropped, too."""
    for counted in classes._counted.values():
        counted.held = None
    _FORGET_CLASSES(classes, shapes)


_FORGET_CLASSES = PodClasses.forget


def test_answers_that_are_kept_for_a_code_of_another_value_are_noticed() -> None:
    with (
        patch.object(CodeReader, "is_behind", property(_by_length_only)),
        patch.object(CodeReader, "done", _reads_length),
    ):
        assert_notices(partial(law_of_equal_answers, UNTIL_NOTICED))


def test_counts_that_are_dropped_while_they_are_held_are_noticed() -> None:
    with patch.object(PodClasses, "forget", _forgets_shapes_with_pods):
        assert_notices(partial(law_of_equal_answers, UNTIL_NOTICED))


# -- evaluations --------------------------------------------------------------------------------------------------


@contextmanager
def evaluations() -> Iterator[Counter[str]]:
    """Count the lists of taints and the label values that are looked at."""
    counted: Counter[str] = Counter()
    ask, learn = _Want._ask, LabelPredicate._learn

    def asked(want: _Want, *args: Any) -> Any:
        counted["taint lists"] += 1
        return ask(want, *args)

    def learned(predicate: LabelPredicate) -> None:
        values = len(predicate._reader.unread())
        counted["label values"] = max(counted["label values"], values)
        learn(predicate)

    with patch.object(_Want, "_ask", asked), patch.object(LabelPredicate, "_learn", learned):
        yield counted


def law_of_evaluations(how: settings = ENOUGH) -> None:
    """A new shape: at most one evaluation for each distinct list of taints, and one for each value of a label."""

    @how
    @given(SEEDS, st.integers(1, 30))
    def law(seed: int, steps: int) -> None:
        history = History(seed)
        for _ in range(steps):
            history.go_on()
            history.change_node()
            Engine(PROFILE, history.cluster).candidates(history.record(history.pod()).shape).feasible()
        nodes = [node for _, node in history.cluster.nodes]
        lists = {tuple((t.key, t.value, t.effect) for t in node.spec.taints) for node in nodes} | {()}
        values = [{node.metadata.labels.get(key) for node in nodes} | {None} for key in _keys(nodes)]
        for plugin in PROFILE.filters:
            getattr(plugin, "_wants", {}).clear()
        with evaluations() as counted:
            Engine(PROFILE, history.cluster).candidates(history.record(history.pod()).shape).feasible()
        assert counted["taint lists"] <= len(lists)
        assert counted["label values"] <= max(map(len, values), default=1)
        taints = history.cluster.nodes.taint_sets
        assert taints.codes.in_use == len(lists)

    law()


def _keys(nodes: list[Any]) -> set[str]:
    return {key for node in nodes for key in node.metadata.labels}


def test_a_new_shape_is_evaluated_once_for_each_value_that_a_node_has() -> None:
    law_of_evaluations()


def test_values_that_no_node_has_any_more_are_noticed() -> None:
    with patch.object(Codes, "give_back", lambda codes, code: None):
        assert_notices(partial(law_of_evaluations, UNTIL_NOTICED))


# -- entries ------------------------------------------------------------------------------------------------------


def entries(cluster: Cluster) -> dict[str, int]:
    """Return how much is kept, in each table that could grow with history."""
    nodes, classes, terms = cluster.nodes, cluster._classes, cluster.affinity_terms
    columns: list[LabelColumn] = list(nodes._labels.values())
    return {
        "taint lists": nodes.taint_sets.codes.in_use,
        "label values": sum(column.values.in_use for column in columns),
        "members": sum(len(column._members or ()) for column in columns),
        "label classes": len(classes._classes),
        "classes by label": sum(map(len, classes._with_label.values())),
        "predicates": len(classes._counted),
        "predicates by label": sum(map(len, classes._by_label.values())) + len(classes._any),
        "terms": len(terms._terms),
        "terms by label": sum(map(len, terms._by_label.values())) + len(terms._any),
        "owners of terms": len(terms._of),
        "shapes": len(cluster.shapes),
        "tracked": sum(len(shape.tracked) for shape in cluster.shapes),
        "images": len(nodes.images),
        "ports": len(cluster.port_users),
        "resources": len(nodes.free_arrays),
    }


def law_of_entries(how: settings = ENOUGH) -> None:
    """Once the shapes without pods are retired, nothing is kept that a cluster made at once does not have."""

    @how
    @given(SEEDS, st.integers(1, 20))
    def law(seed: int, steps: int) -> None:
        history = History(seed)
        engine = Engine(PROFILE, history.cluster)
        for _ in range(steps):
            history.go_on()
            engine.candidates(history.record(history.pod()).shape).feasible()
        del engine
        gc.collect()
        for plugin in PROFILE.filters:
            getattr(plugin, "_wants", {}).clear()
        history.cluster.retire_shapes(())
        fresh = history.rebuilt()
        fresh.retire_shapes(())
        for cluster in (fresh, history.cluster):
            cluster.nodes._recent.clear()
            cluster.nodes.forget_resources()
        assert entries(history.cluster) == entries(fresh)

    law()


def test_nothing_is_kept_of_what_is_gone() -> None:
    law_of_entries()


def test_tables_that_only_grow_are_noticed() -> None:
    keeping: tuple[tuple[type, str], ...] = (
        (PodClasses, "forget"),
        (PodClasses, "_forget_unused"),
        (OwnedTerms, "forget"),
        (Codes, "give_back"),
    )
    for owner, method in keeping:
        with patch.object(owner, method, lambda *args: None):
            assert_notices(partial(law_of_entries, UNTIL_NOTICED))


# -- codes that begin again ---------------------------------------------------------------------------------------


def test_devices_are_allocated_alike_when_all_codes_are_new() -> None:
    with patch.object(devices, "_FEW_CODES", 1), patch.object(devices, "_CODES_PER_NODE", 0):
        plugin_is_naive(lambda: DynamicResources(GATES))()


class _KeepsItsCount:
    """Broken: codes begin again, and answers that are kept by code are not told."""

    def __get__(self, owner: Any, kind: type) -> int:
        return 0

    def __set__(self, owner: Any, value: int) -> None:
        """Forget it."""


def test_answers_for_codes_of_before_are_noticed() -> None:
    with (
        patch.object(devices, "_FEW_CODES", 1),
        patch.object(devices, "_CODES_PER_NODE", 0),
        patch.object(devices.Devices, "code_generation", _KeepsItsCount(), create=True),
    ):
        assert_notices(plugin_is_naive(lambda: DynamicResources(GATES)))


@pytest.mark.parametrize("few", [0, 2])
def test_volumes_are_found_alike_when_all_codes_are_new(few: int) -> None:
    with patch.object(volume_needs, "_FEW_CODES", few), patch.object(volume_needs, "_CODES_PER_VOLUME", 0):
        kept_law(VolumeBinding(default_gates()))()


def test_volumes_under_codes_of_before_are_noticed() -> None:
    with (
        patch.object(volume_needs, "_FEW_CODES", 0),
        patch.object(volume_needs, "_CODES_PER_VOLUME", 0),
        patch.object(volume_needs.VolumeTopology, "generation", _KeepsItsCount(), create=True),
        suppress(IndexError),  # that is noticed, too: the code of before may be none at all
    ):
        assert_notices(kept_law(VolumeBinding(default_gates())))
