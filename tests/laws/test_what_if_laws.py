"""Laws of what-ifs on random clusters: what is foreseen happens, and what was brought up to date is the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.random_what_ifs import changed
from tests.unit.plan.planning import Plan, Raw, written

from moorage.control.taint_eviction import TaintEvictionController
from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.match.eviction_clock import Deadline, deadline
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.plan import departures
from moorage.plan.departures import evictions_of
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import Outcome, outcome_of
from moorage.plan.outcome_update import Follower
from moorage.plan.planner import Planner, Settings
from moorage.plan.report.plain import difference_data
from moorage.plan.simulation import pod_edits
from moorage.plan.simulation.pod_deletions import PodDeletions
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

pytestmark = pytest.mark.usefixtures("_gives_up_early")

GATES = {"AllAlpha": True, "AllBeta": True}
Scene = tuple[list[Raw], Changes]


def law_of_updates() -> None:
    @LAW_SETTINGS
    @given(changed())
    def law(scene: Scene) -> None:
        documents, changes = scene
        plan = Plan(*documents, gates=GATES)
        before = plan.outcome
        plan.what_if(changes)
        whole = outcome_of(plan.simulation, plan.planner.inventory)
        whole.evicted, whole.loops = before.evicted, evictions_of(plan.simulation)[1]
        assert plan.outcome == whole

    law()


def test_an_outcome_brought_up_to_date_is_that_of_the_whole_cluster() -> None:
    law_of_updates()


def test_changes_that_are_not_followed_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Follower, "_changed", lambda *change: None)
    assert_notices(law_of_updates)


def test_repeated_evictions_that_are_passed_over_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(departures, "_repeats", lambda simulation: False)
    assert_notices(law_of_updates)


def _comparable(view: Pod) -> Any:
    """What a pod says, without the times that Go writes as null and the number of its last change."""
    metadata = msgspec.structs.replace(view.metadata, resourceVersion="", selfLink="")
    return msgspec.structs.replace(view, metadata=metadata)


def law_of_edits() -> None:
    @LAW_SETTINGS
    @given(changed())
    def law(scene: Scene) -> None:
        documents, changes = scene
        plan = Plan(*documents, gates=GATES)
        seen: list[tuple[Pod, Pod]] = []

        def compare(kind: Any, old: Any, new: Any) -> None:
            if kind is KINDS.POD and new is not None:
                seen.append((_comparable(new.view), _comparable(convert_view(new.raw, Pod))))

        plan.simulation.api.listeners.append(compare)
        plan.what_if(changes)
        for view, document in seen:
            assert view == document

    law()


def test_the_view_of_a_pod_and_its_document_say_the_same() -> None:
    law_of_edits()


def _forgetful(decide: Callable[..., Any]) -> Callable[..., Any]:
    """Return decisions that mark the view of a pod, and leave nothing of it for its document."""

    class Forgetful(NamedTuple):
        decided: Any
        removes: bool
        edit: pod_edits.Marked | None

        def marked(self, pod: Pod) -> Pod:
            made: Pod = self.decided.marked(pod)
            return made

    def decided(*arguments: Any) -> Any:
        found = decide(*arguments)
        if found is None or found.edit is None:
            return found
        return Forgetful(found, found.removes, pod_edits.Marked({}))

    return decided


def test_a_document_without_its_deletion_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PodDeletions, "decide", _forgetful(PodDeletions.decide))
    assert_notices(law_of_edits)


def law_of_the_first_part(until: float | None = None) -> None:
    """What is foreseen of taints comes true, and nothing else happens because of them to a pod that had a node."""

    @LAW_SETTINGS
    @given(changed())
    def law(scene: Scene) -> None:
        documents, changes = scene
        first, last, before = asked(documents, changes, until)
        if last["stopped"]:
            return
        foreseen = {one["pod"]: one for one in (*first["evicted"], *first["anyway"])}
        had_a_node = {line.key: line.node for line in before.pods if line.node}
        went: dict[str, Raw] = {}
        for one in sorted((*last["evicted"], *last["anyway"]), key=lambda one: one["afterSeconds"]):
            if had_a_node.get(one["pod"]) == one["node"]:
                went.setdefault(one["pod"], one)  # the first of its name: a StatefulSet's pods come again
        assert foreseen.keys() <= went.keys()
        for pod, one in went.items():
            if one["cause"] == "taint":
                assert told(one) == told(foreseen[pod])
            elif pod in foreseen:
                assert one["afterSeconds"] <= foreseen[pod]["afterSeconds"]

    law()


def told(departure: Raw) -> Raw:
    return {name: departure[name] for name in ("pod", "workload", "node", "afterSeconds", "because")}


def asked(documents: list[Raw], changes: Changes, until: float | None = None) -> tuple[Raw, Raw, Outcome]:
    plan = Plan(*documents, gates=GATES)
    before = plan.outcome
    arguments = {"changes": as_arguments(changes), "until": until}
    first, last = parts_of(QUESTIONS["what-if"], Base(plan.planner, plan.simulation, before), arguments)
    return first, last, before


def as_arguments(changes: Changes) -> list[Raw]:
    def fields(one: Any) -> Raw:
        return {name: getattr(one, name) for name in one.__struct_fields__ if name != "node"}

    return [
        *({"taint": {**fields(one), "nodes": [one.node]}} for one in changes.taints),
        *({"untaint": {**fields(one), "nodes": [one.node]}} for one in changes.untaints),
        *({"scale": fields(one)} for one in changes.scales),
        *({"cordon": name} for name in changes.cordons),
        *({"drain": name} for name in changes.drains),
    ]


@pytest.mark.parametrize("until", [None, 60.0])
def test_what_is_foreseen_of_taints_is_what_happens(until: float | None) -> None:
    law_of_the_first_part(until)


def test_taints_that_are_judged_otherwise_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(real: Callable[..., Deadline]) -> Callable[..., Deadline]:
        """Return deadlines that are over now, whatever the tolerations say."""

        def found(*args: Any, **more: Any) -> Deadline:
            return msgspec.structs.replace(real(*args, **more), due=0.0, seconds=0)

        return found

    monkeypatch.setattr("moorage.plan.simulation.evictions.deadline", impatient(deadline))
    monkeypatch.setattr(TaintEvictionController, "foresee", impatient(TaintEvictionController.foresee))
    assert_notices(law_of_the_first_part)


def law_of_one_truth(difference: Callable[[Planner, Simulation, Changes], Difference | None]) -> None:
    """The last part of the answer is what the command prints as `whatIf`."""

    @LAW_SETTINGS
    @given(changed())
    def law(scene: Scene) -> None:
        documents, changes = scene
        if not changes:
            return
        _, last, _ = asked(documents, changes)
        planner = Planner(Settings(gates_from(GATES)))
        planner.load(written(*documents))
        found = difference(planner, planner.build(), changes)
        assert found is not None
        printed = difference_data(found)
        assert {name: last[name] for name in printed} == printed

    law()


def test_the_answer_is_that_of_the_command() -> None:
    law_of_one_truth(lambda planner, simulation, changes: planner.answer(simulation, changes, ())[1])
    assert_notices(
        lambda: law_of_one_truth(
            lambda planner, simulation, changes: planner.answer(simulation, Changes(drains=("n0",)), ())[1]
        )
    )
