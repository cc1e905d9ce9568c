"""The matrix of gates and components: values, warnings with what to do, and what happens on the way off."""

from pathlib import Path
from typing import Any

import msgspec
from click.testing import CliRunner

from moorage.cli.commands.gates import command
from moorage.dashboard.gates import RUNBOOKS, gates_document
from moorage.model.gates import GATES
from moorage.plan.gates.kep_states import Lowering, as_rows, kep_lines, kep_states
from moorage.plan.input.live_gates import gates_in

CEL = "TaintTolerationCEL"
NAME = "kubernetes_feature_enabled"


def metrics(**values: bool) -> str:
    return "".join(f'{NAME}{{name="{name}",stage="ALPHA"}} {int(on)}\n' for name, on in values.items())


def row(document: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in document["gates"] if one["name"] == name)
    return found


def test_files_have_the_defaults_that_the_command_prints() -> None:
    printed = msgspec.json.decode(CliRunner().invoke(command, ["-o", "json"]).stdout)
    document = gates_document(None, {})
    assert {one["name"]: one["values"] for one in document["gates"]} == printed
    assert (document["told"], document["skews"], document["silent"]) == (False, [], [])


def test_keps_are_told_as_the_command_tells_them() -> None:
    live = gates_in({"kube-apiserver": metrics(TaintTolerationComparisonOperators=True, **{CEL: False})})
    states = kep_states(live, 36, Lowering.NOTHING)
    document = gates_document(live, {}, states)
    assert [(one["kep"], one["standing"]) for one in document["keps"]] == [
        ("KEP-5471", "native"),
        ("KEP-5721", "absent"),
        ("KEP-5500", "absent"),
    ]
    assert document["keps"] == as_rows(states)
    assert document["kepAdvice"] == [*kep_lines(states)][-1][0]
    attached = gates_document(live, {}, kep_states(live, 36, Lowering.WEBHOOK))
    assert [one["standing"] for one in attached["keps"]] == ["native", "attached", "attached"]
    assert attached["kepAdvice"] == ""
    assert gates_document(None, {})["keps"] == []


def test_what_the_command_line_sets_is_shown_for_files() -> None:
    assert set(row(gates_document(None, {CEL: True}), CEL)["values"].values()) == {True}


def test_gates_that_a_component_does_not_report_are_unknown() -> None:
    live = gates_in({"kube-apiserver": metrics(**{CEL: True, "SomethingElse": False})})
    document = gates_document(live, {})
    assert row(document, CEL)["values"] == {
        "kube-apiserver": True,
        "kube-controller-manager": None,
        "kube-scheduler": None,
        "kubelet": None,
    }
    assert document["silent"] == ["kube-scheduler", "kube-controller-manager", "kubelet"]
    assert document["others"] == [{"name": "SomethingElse", "values": {"kube-apiserver": False}}]
    assert document["skews"] == []


def test_a_half_enabled_gate_is_warned_about_with_what_to_do() -> None:
    texts = {"kube-apiserver": metrics(**{CEL: True}), "kube-scheduler": metrics(**{CEL: True})}
    live = gates_in({**texts, "kube-controller-manager": metrics(**{CEL: False}), "kubelet": metrics(**{CEL: False})})
    (skew,) = gates_document(live, {})["skews"]
    assert skew["situation"] == (
        "TaintTolerationCEL is on in kube-apiserver and kube-scheduler, off in kube-controller-manager and kubelet"
    )
    assert skew["remedy"] == (
        "Turn it on in kubelet and kube-controller-manager, in this order; or, if what depends on it may go, off in "
        "kube-apiserver and kube-scheduler, in this order."
    )
    assert any("evicted at once" in text for text in skew["happens"])


def test_disabling_a_gate_is_described_step_by_step() -> None:
    document = gates_document(None, {})
    semver = row(document, "TaintTolerationNodeAffinitySemverComparisonOperators")["disabling"]
    assert [step["component"] for step in semver] == [
        "kube-scheduler",
        "kube-apiserver",
        "kube-controller-manager",
        "kubelet",
    ]
    assert any("stay Pending" in text for text in semver[0]["happens"])
    assert [step["happens"] for step in semver[1:]] == [[], [], []]
    assert row(document, "DynamicResourceAllocation")["disabling"] == []


def test_problems_are_passed_on() -> None:
    document = gates_document(gates_in({}, ["--scrape: http://x/metrics: refused"]), {})
    assert document["problems"] == ["--scrape: http://x/metrics: refused"]
    assert len(document["silent"]) == 4


def test_every_runbook_of_a_gate_is_named() -> None:
    pages = {path.stem for path in Path("docs/runbooks").glob("*.md")}
    assert pages & {gate.name for gate in GATES} == RUNBOOKS
