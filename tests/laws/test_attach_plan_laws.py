"""The plan of an attached cluster is that of the same cluster with the gates on: pods, reasons, evictions, changes.

Texts are compared where no expression is among the tolerations: natively it names the key, lowered it does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.attached_worlds import Twins, pod_within, twins
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.random_what_ifs import taint_changes
from tests.unit.plan.planning import Raw

from moorage.attach import formats
from moorage.attach.lowering import lower_pod
from moorage.attach.objects import POD_PATHS
from moorage.attach.originals.marks import without_marks
from moorage.attach.originals.reading_back import original_object
from moorage.attach.pods import KEPT
from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import kind_of
from moorage.plan.explain.explanation import explain_pod
from moorage.plan.explain.target import find_target
from moorage.plan.explain.text import ExplanationText
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner, Settings
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

ON, OFF = gates_from({"AllAlpha": True}), gates_from({"AllAlpha": False})
_CHANGES = st.lists(taint_changes(), max_size=2, unique_by=lambda one: (one.node, one.key, one.effect))
_EVICTED = "evicted"


class Planned(NamedTuple):
    """A plan, and what it was made with."""

    planner: Planner
    simulation: Simulation
    outcome: Outcome


Plan = Callable[[list[Raw], GateSet], Planned]


def planned(documents: list[Raw], gates: GateSet) -> Planned:
    planner = Planner(Settings(gates))
    planner.load_objects(documents)
    simulation = planner.build()
    return Planned(planner, simulation, planner.plan(simulation))


def picture(outcome: Outcome, *, texts: bool) -> list[Any]:
    """Return what a plan says; without `texts`, without the words for what was compared."""

    def words(text: str) -> str:
        return text if texts or not text.startswith(_EVICTED) else ""

    lines = [
        (line.workload, line.name, line.state, line.node, line.reason, words(line.message)) for line in outcome.pods
    ]
    evicted = [(each.workload, each.pod, each.node, each.after_seconds, each.new_node) for each in outcome.evicted]
    refused = [(line.workload, line.message) for line in outcome.failed]
    return [lines, evicted, refused, [(note.object, note.message) for note in outcome.notes]]


def equal_plans_law(plan: Plan = planned, *, expressions: bool = False) -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(60))
    @given(twins(expressions=expressions), _CHANGES)
    def law(cluster: Twins, taints: list[Any]) -> None:
        native, attached = planned(cluster.native, ON), plan(cluster.attached, OFF)
        texts = not expressions
        assert picture(attached.outcome, texts=texts) == picture(native.outcome, texts=texts)
        found = []
        for planner, simulation, outcome in (native, attached):
            after, difference, _ = planner.what_if(simulation, outcome, Changes(taints=tuple(taints)), [])
            leave = [(one.pod, one.node, one.after_seconds, one.new_node) for one in difference.departures]
            differs = [(one.becomes, one.pod, one.new_pod, one.new_node) for one in difference.differences]
            found.append((picture(after, texts=texts), leave, differs, difference.departures if texts else ()))
        assert found[0] == found[1]

    return law


def test_plans_of_attached_clusters_are_those_of_native_ones() -> None:
    equal_plans_law()()


def test_plans_of_attached_clusters_with_expressions_are_those_of_native_ones() -> None:
    equal_plans_law(expressions=True)()


def without_annotations(documents: list[Raw], *kinds: str) -> list[Raw]:
    made = deepcopy(documents)
    for document in made:
        within = pod_within(document) if not kinds or document["kind"] in kinds else None
        for name in KEPT if within is not None else ():
            (within or {}).get("metadata", {}).get("annotations", {}).pop(name, None)
    return made


def test_a_plan_of_lowered_pods_that_are_not_read_back_is_noticed() -> None:
    assert_notices(equal_plans_law(lambda documents, gates: planned(without_annotations(documents), gates)))


def test_replica_sets_and_revisions_that_are_not_read_back_are_noticed() -> None:
    kinds = ("ReplicaSet", "ControllerRevision")
    assert_notices(equal_plans_law(lambda documents, gates: planned(without_annotations(documents, *kinds), gates)))


def test_originals_that_obey_the_gates_of_the_cluster_are_noticed() -> None:
    def unmarked(document: Raw) -> Raw:
        kind = kind_of(document)
        path = POD_PATHS.get(kind) if kind is not None else None
        plain: Raw = without_marks(original_object(document, path).pod) if path is not None else document
        return plain

    assert_notices(equal_plans_law(lambda documents, gates: planned([unmarked(each) for each in documents], gates)))


# -- explanations ------------------------------------------------------------------------------------------------------


def explanations(found: Planned) -> list[str]:
    """Return what `explain` prints of each pod, with the changes that would help."""
    texts = []
    for line in found.outcome.pods:
        if line.is_present or line.state.value == "Pending":
            target = find_target(found.simulation, found.planner.inventory, line.name, line.namespace)
            told = explain_pod(found.simulation, found.planner.inventory, target, "")
            texts.append("\n".join(ExplanationText(width=200).lines(told)))
    return texts


def equal_explanations_law(plan: Plan = planned) -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(30))
    @given(twins(expressions=False))
    def law(cluster: Twins) -> None:
        native, attached = planned(cluster.native, ON), plan(cluster.attached, OFF)
        assert explanations(attached) == explanations(native)

    return law


def test_explanations_of_attached_clusters_are_those_of_native_ones() -> None:
    equal_explanations_law()()


def test_explanations_of_affinity_instead_of_tolerations_are_noticed() -> None:
    assert_notices(equal_explanations_law(lambda documents, gates: planned(without_annotations(documents), gates)))


# -- forged annotations ------------------------------------------------------------------------------------------------


def forged(document: Raw) -> Raw:
    """Return an object whose annotation claims other thresholds than its affinity has; the very same if it has none."""
    made = deepcopy(document)
    within = pod_within(made)
    annotations = (within or {}).get("metadata", {}).get("annotations", {})
    if within is None or formats.TOLERATIONS not in annotations:
        return document
    kept = json.loads(annotations[formats.TOLERATIONS])
    for each in kept:
        if each.get("operator") in ("Gt", "Lt"):
            each["value"] = "1"
    annotations[formats.TOLERATIONS] = formats.written(kept)
    again = deepcopy(within)
    lower_pod(again)
    return document if again["spec"].get("affinity") == within["spec"].get("affinity") else made


def forgery_law(forge: Callable[[Raw], Raw] = forged) -> Callable[[], None]:
    @settings(LAW_SETTINGS, max_examples=examples(40))
    @given(twins(expressions=False))
    def law(cluster: Twins) -> None:
        honest = [each for each in cluster.attached if each is forge(each) or _is_daemon(each)]
        others = [each for each in cluster.attached if each not in honest and "uid" in each["metadata"]]
        claimed = planned([*honest, *map(forge, others)], OFF).outcome
        bare = planned([*honest, *without_annotations(others)], OFF).outcome
        assert picture(claimed, texts=True)[:3] == picture(bare, texts=True)[:3]

    return law


def _is_daemon(document: Raw) -> bool:
    owners = document["metadata"].get("ownerReferences", ())
    return document["kind"] == "Pod" and any(owner["kind"] == "DaemonSet" for owner in owners)


def test_forged_annotations_count_for_nothing() -> None:
    forgery_law()()


def test_annotations_that_count_are_noticed() -> None:
    def renamed(document: Raw) -> Raw:
        """Return an object with an honest annotation in another form, which is believed."""
        made = deepcopy(document)
        within = pod_within(made)
        annotations = (within or {}).get("metadata", {}).get("annotations", {})
        if formats.TOLERATIONS not in annotations:
            return document
        annotations[formats.TOLERATIONS] += " "
        return made

    assert_notices(forgery_law(renamed))
