"""How a cluster has the KEPs that attach brings: natively, attached, or not at all."""

import pytest

from moorage.cli.gate_table import GateTable
from moorage.model.gates import GATES, Component
from moorage.plan.gates.kep_states import KEPS, KepState, Lowering, Standing, as_rows, kep_states
from moorage.plan.input.live_gates import LiveGates

NUMBERS, VERSIONS, EXPRESSIONS = (kep.gate.name for kep in KEPS)
NOTHING_TOLD = LiveGates({})
NATIVE, ATTACHED, ABSENT, UNKNOWN = Standing


def told(**values: bool) -> LiveGates:
    """Return gates as a Kubernetes API server tells them."""
    return LiveGates({name: {Component.API_SERVER.value: on} for name, on in values.items()})


def states(gates: LiveGates, minor: int | None, lowering: Lowering | None) -> dict[str, KepState]:
    return {state.kep.name: state for state in kep_states(gates, minor, lowering)}


@pytest.mark.parametrize(
    ("gates", "minor", "lowering", "expected"),
    [
        (told(**{NUMBERS: False}), 36, Lowering.NOTHING, (ABSENT, ABSENT, ABSENT)),
        (told(**{NUMBERS: True}), 36, Lowering.NOTHING, (NATIVE, ABSENT, ABSENT)),
        (told(**{NUMBERS: False}), 36, Lowering.WEBHOOK, (ATTACHED, ATTACHED, ATTACHED)),
        (told(**{NUMBERS: True}), 36, Lowering.WEBHOOK, (NATIVE, ATTACHED, ATTACHED)),
        (told(**{NUMBERS: False}), 36, Lowering.POLICY, (ATTACHED, ABSENT, ABSENT)),
        (told(**{NUMBERS: True, VERSIONS: True, EXPRESSIONS: True}), 36, Lowering.NOTHING, (NATIVE, NATIVE, NATIVE)),
        (NOTHING_TOLD, 34, Lowering.NOTHING, (ABSENT, ABSENT, ABSENT)),
        (NOTHING_TOLD, 36, Lowering.NOTHING, (UNKNOWN, ABSENT, ABSENT)),
        (NOTHING_TOLD, 36, Lowering.WEBHOOK, (ATTACHED, ATTACHED, ATTACHED)),
        (NOTHING_TOLD, None, Lowering.NOTHING, (UNKNOWN, UNKNOWN, UNKNOWN)),
        (told(**{NUMBERS: False}), 36, None, (UNKNOWN, UNKNOWN, UNKNOWN)),
    ],
)
def test_gates_the_version_and_what_lowers_decide(
    gates: LiveGates, minor: int | None, lowering: Lowering | None, expected: tuple[Standing, ...]
) -> None:
    found = states(gates, minor, lowering)
    assert tuple(state.standing for state in found.values()) == expected


def test_each_has_its_reason() -> None:
    found = states(told(**{NUMBERS: False}), 36, Lowering.WEBHOOK)
    assert found["KEP-5471"].why == f"the webhook lower.attach.moorage.dev lowers it; {NUMBERS} is off"
    assert found["KEP-5500"].why.endswith("; no release of Kubernetes has it")
    old = states(NOTHING_TOLD, 34, Lowering.NOTHING)
    assert old["KEP-5471"].why == "Kubernetes 1.34 does not have it: it came with 1.35"
    native = states(told(**{NUMBERS: True}), 36, Lowering.WEBHOOK)
    assert native["KEP-5471"].why.endswith("leaves it alone")
    policy = states(told(**{NUMBERS: False}), 36, Lowering.POLICY)
    assert policy["KEP-5721"].why.endswith("the policy of attach lowers Lt and Gt only")


def test_a_gate_that_is_on_in_some_components_only_is_not_native() -> None:
    half = LiveGates({NUMBERS: {"kube-apiserver": True, "kube-scheduler": False}})
    found = states(half, 36, Lowering.NOTHING)["KEP-5471"]
    assert found.standing is ABSENT
    assert found.why == f"{NUMBERS} is on in kube-apiserver, but off in kube-scheduler"


def test_they_are_printed_below_the_table() -> None:
    found = kep_states(told(**{NUMBERS: False}), 36, Lowering.NOTHING)
    lines = GateTable(width=100).keps(found)
    assert lines[:2] == ["", "KEP-5471  absent    Lt and Gt in tolerations"]
    assert lines[-1] == "moorage attach install brings the 3 KEPs that are absent"
    assert GateTable(width=100).keps(()) == []
    assert not any(line.startswith(gate.name) for line in lines for gate in GATES), "the table is searched by line"
    assert {row["standing"] for row in as_rows(found)} == {"absent"}
