"""Why there is no node: the event's sentence, and the plugins to ask again."""

from typing import Any

import pytest
from tests.unit.schedule.clusters import candidates_of, cluster_of, node, place, pod, requests

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.schedule import diagnosis as module
from moorage.schedule.diagnosis import Diagnoses, Diagnosis, diagnose, event_note

TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


def crowded() -> Cluster:
    return cluster_of(
        node("a", unschedulable=True),
        node("b", taints=[TAINT]),
        node("c", {"disk": "ssd"}),
        node("d", {"disk": "ssd"}),
        node("e", {"disk": "ssd"}, taints=[TAINT, {"key": "x", "effect": "NoExecute"}]),
        node("f"),
    )


def big(**spec: Any) -> dict[str, Any]:
    return {"containers": requests(cpu="5", memory="16Gi"), "nodeSelector": {"disk": "ssd"}, **spec}


def test_each_node_counts_for_the_first_plugin_that_refuses_it() -> None:
    found = diagnose(candidates_of(crowded(), pod(**big())))
    assert found.text() == (
        "0/6 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) were unschedulable, "
        "2 Insufficient cpu, 2 Insufficient memory, 2 node(s) had untolerated taint {gpu: a100}."
    )
    assert found.rejected_by == {"NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodeResourcesFit"}


def test_reasons_are_sorted_as_text_so_ten_comes_before_two() -> None:
    assert Diagnosis(12, {"b": 2, "a": 10}, frozenset()).text() == "0/12 nodes are available: 10 a, 2 b."


def test_what_preemption_said_comes_last() -> None:
    found = Diagnosis(1, {"a": 1}, frozenset())
    assert found.text("preemption: none.") == "0/1 nodes are available: 1 a. preemption: none."


def test_without_nodes_there_is_nothing_to_count() -> None:
    assert diagnose(candidates_of(cluster_of(), pod())).text() == "no nodes available to schedule pods"


def field(operator: str, name: str) -> dict[str, Any]:
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def affinity(*fields: dict[str, Any]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchFields": list(fields)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def test_nodes_that_were_not_named_are_counted_together() -> None:
    found = diagnose(candidates_of(crowded(), pod(affinity=affinity(field("In", "b")))))
    assert found.text() == (
        "0/6 nodes are available: 1 node(s) had untolerated taint {gpu: a100}, "
        "5 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )
    assert found.rejected_by == {"NodeAffinity", "TaintToleration"}
    gone = diagnose(candidates_of(crowded(), pod(affinity=affinity(field("In", "ghost")))))
    assert gone.text() == "0/6 nodes are available: 6 node(s) didn't satisfy plugin(s) [NodeAffinity]."


def test_prefilter_rejection_is_the_only_message() -> None:
    asked = candidates_of(crowded(), pod(affinity=affinity(field("In", "a"), field("In", "b"))))
    found = diagnose(asked)
    assert found.text() == "0/6 nodes are available: pod affinity terms conflict."
    assert found.rejected_by == {"NodeAffinity"}
    assert asked.rejection is not None
    assert asked.rejection[0].name == "NodeAffinity"


def test_a_diagnosis_is_kept_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def counting(candidates: Any) -> Diagnosis:
        made.append(candidates)
        return diagnose(candidates)

    monkeypatch.setattr(module, "diagnose", counting)
    cluster, diagnoses = crowded(), Diagnoses()
    asked = candidates_of(cluster, pod(**big()))
    first = diagnoses.of(asked)
    assert diagnoses.of(asked) is first
    assert len(made) == 1
    place(cluster, pod("other"), "c")
    assert diagnoses.of(asked) == first
    assert len(made) == 2


@pytest.mark.parametrize("text", ["short", "x" * 1024, "ü" * 512])
def test_a_note_that_fits_is_left_alone(text: str) -> None:
    assert event_note(text) == text


@pytest.mark.parametrize("text", ["x" * 1025, "ü" * 600, "x" * 1019 + "ü" * 5])
def test_a_long_note_is_cut_between_characters(text: str) -> None:
    note = event_note(text)
    assert len(note.encode()) <= 1024
    assert note.endswith(" ...")
    assert text.startswith(note.removesuffix(" ..."))


def test_many_values_that_cannot_be_compared_are_few_reasons() -> None:
    gates = gates_from({"TaintTolerationNodeAffinitySemverComparisonOperators": True})
    versions = ["odd", "odd", "odd", "weird", "weird", *(f"v{number:02}x" for number in range(20))]
    nodes = [node(f"n{number}", {"version": version}) for number, version in enumerate(versions)]
    terms = [{"matchExpressions": [{"key": "version", "operator": "SemverGt", "values": ["1.0"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    asked = candidates_of(cluster_of(*nodes), pod(affinity={"nodeAffinity": required}), gates=gates)
    reason = "node(s) didn't match Pod's node affinity/selector"
    assert diagnose(asked).reasons == {
        f"{reason} ({{version: odd}} is not a semantic version)": 3,
        f"{reason} ({{version: weird}} is not a semantic version)": 2,
        f"{reason} ({{version: v00x}} is not a semantic version)": 1,
        f"{reason} ({{version: v01x}} is not a semantic version)": 1,
        f"{reason} (18 other values cannot be compared)": 18,
    }
