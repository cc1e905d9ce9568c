"""The questions `story` and `audit`."""

from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from tests.unit.plan.planning import node, pod, workload, written

from moorage.cli.commands.gates import command
from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions import audit as audit_question
from moorage.dashboard.questions import story as story_question
from moorage.dashboard.questions.base import parts_of
from moorage.lint.sources import sources_of
from moorage.model.gates import all_gates, gates_from
from moorage.plan.gates.audit import as_document
from moorage.plan.planner import Planner, Settings

CLUSTER = "examples/cluster"
CEL = "TaintTolerationCEL"


def built(*documents: Any) -> Base:
    planner = Planner(Settings(all_gates()))
    planner.load(written(*documents))
    return Base(planner, planner.build())


def loaded_with_defaults() -> Base:
    """The example cluster with the default gates, under which much of it is refused."""

    def read(gates: Any) -> Planner:
        planner = Planner(Settings(gates))
        planner.load(sources_of([CLUSTER]))
        return planner

    planner = read(gates_from({}))
    return Base(planner, planner.build(), with_all_gates=lambda: read(all_gates()))


def told(base: Base, **arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    *parts, last = parts_of(QUESTIONS["story"], base, arguments)
    assert last["done"] is True
    return [entry for part in parts for entry in part["entries"]], last


def test_story_entries_name_the_actor() -> None:
    entries, last = told(built(node("n1"), workload("Deployment", "web", replicas=2)))
    brief = [(one.actor, one.kind, one.subject.rpartition("-")[0], one.detail.partition("-")[0]) for one in entries]
    assert brief == [
        (
            "node-lifecycle-controller",
            "control",
            "",
            "RegisteredNode: Node n1 event: Registered Node n1 in Controller",
        ),
        ("deployment-controller", "control", "", "created ReplicaSet web"),
        ("replicaset-controller", "control", "ReplicaSet default/web", "created Pod web"),
        ("scheduler", "placed", entries[3].subject.rpartition("-")[0], "on n1"),
        ("scheduler", "placed", entries[4].subject.rpartition("-")[0], "on n1"),
    ]
    assert entries[2].detail.endswith(" and 1 more")
    assert {entry.workload for entry in entries[1:]} == {"Deployment default/web"}
    assert last["leftOut"] == 0


def test_a_pending_pod_is_reported_once_with_its_reason() -> None:
    entries, _ = told(built(node("n1", cpu="1"), pod("big", cpu="2"), pod("small", cpu="1")))
    waiting = [entry for entry in entries if entry.kind == "pending"]
    (entry,) = waiting
    assert (entry.subject, entry.actor) == ("default/big", "scheduler")
    assert "1 Insufficient cpu" in entry.detail


def test_evictions_come_at_their_time_with_the_component_that_made_them() -> None:
    taint = {"key": "maintenance", "value": "on", "effect": "NoExecute"}
    patient = [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]
    entries, last = told(
        built(node("n1", taints=[taint]), pod("guest", tolerations=patient)),
        until=100,
    )
    (gone,) = [entry for entry in entries if entry.kind == "evicted"]
    assert gone.actor == "taint-eviction-controller"
    assert gone.time == pytest.approx(30, abs=2)
    assert gone.detail == "from n1 by taint maintenance=on:NoExecute: maintenance=on is tolerated for 30 s"
    assert last["end"] == 100


def test_a_long_story_is_cut_and_counts_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_question, "MAX_ENTRIES", 3)
    entries, last = told(built(node("n1"), workload("Deployment", "web", replicas=2)))
    assert len(entries) == 3
    assert last["leftOut"] == 2


@pytest.mark.parametrize("until", ["soon", -1, 1e12, True])
def test_a_time_that_makes_no_sense_is_refused(until: object) -> None:
    (part,) = parts_of(QUESTIONS["story"], built(node("n1")), {"until": until})
    assert part["error"].startswith("until: ")


@pytest.mark.parametrize("gate", [None, CEL, "DRADeviceTaints"])
def test_the_audit_is_that_of_the_command(gate: str | None) -> None:
    arguments = ["audit", CLUSTER, "-o", "json", *(("--gate", gate) if gate else ())]
    printed = CliRunner().invoke(command, arguments).stdout
    (part,) = parts_of(QUESTIONS["audit"], loaded_with_defaults(), {"gate": gate} if gate else {})
    totals = part.pop("totals")
    assert part.pop("done") is True
    assert msgspec.json.decode(msgspec.json.encode(part)) == msgspec.json.decode(printed)
    assert totals[gate or CEL]["objects"] == len(
        next(one["findings"] for one in part["gates"] if one["name"] == (gate or CEL))
    )
    assert part["breaks"] is True


def test_without_a_second_reading_the_audit_takes_what_was_loaded() -> None:
    base = built(node("n1"), pod("guest", tolerations=[{"expression": "true"}]))
    (part,) = parts_of(QUESTIONS["audit"], base, {"gate": CEL})
    assert [finding["name"] for finding in part["gates"][0]["findings"]] == ["guest"]
    assert as_document([], [])["breaks"] is False


def test_many_findings_are_cut_with_breaking_ones_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_question, "MAX_FINDINGS", 1)
    expression = [{"expression": "true"}]
    idle = workload("Deployment", "idle", pods={"tolerations": expression}, replicas=0)
    base = built(node("n1"), idle, pod("guest", tolerations=expression))
    (part,) = parts_of(QUESTIONS["audit"], base, {"gate": CEL})
    assert part["totals"][CEL] == {"objects": 2, "affected": 1}
    assert [finding["name"] for finding in part["gates"][0]["findings"]] == ["guest"]


def test_an_unknown_gate_is_refused() -> None:
    (part,) = parts_of(QUESTIONS["audit"], built(node("n1")), {"gate": "Nothing"})
    assert part["error"].startswith("gate: there is no gate 'Nothing'; there are TaintTolerationComparisonOperators, ")
