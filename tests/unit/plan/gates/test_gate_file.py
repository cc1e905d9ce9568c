"""Files of gates."""

import pytest

from moorage.model.gates import GATES, Component, default_gates, gates_from
from moorage.plan.gates.gate_file import GateFileError, read_gate_file

CEL, KEYS = "TaintTolerationCEL", "MatchLabelKeysInPodAffinity"
API, SCHEDULER, MANAGER, KUBELET = Component
ON, DEFAULTS = gates_from({CEL: True}), default_gates()


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("kubelet: {TaintTolerationCEL: true}", [{KUBELET: ON}]),
        ('{"kubelet": {"TaintTolerationCEL": true}}', [{KUBELET: ON}]),
        ("kubelet: TaintTolerationCEL=true", [{KUBELET: ON}]),
        ("kubelet:\nkube-scheduler: ''\napiserver: {}", [{KUBELET: DEFAULTS}, {SCHEDULER: DEFAULTS}, {API: DEFAULTS}]),
        ("controller-manager: {TaintTolerationCEL: true}", [{MANAGER: ON}]),
        ("all: {TaintTolerationCEL: true}", [dict.fromkeys(Component, ON)]),
        ("- kubelet: {TaintTolerationCEL: true}\n- kubelet: {}", [{KUBELET: ON}, {KUBELET: DEFAULTS}]),
        ("- {kubelet: {TaintTolerationCEL: true}, scheduler: {}}", [{KUBELET: ON, SCHEDULER: DEFAULTS}]),
    ],
)
def test_each_component_is_a_step_in_the_order_of_the_file(text: str, steps: list[object]) -> None:
    assert read_gate_file(text.encode(), "f") == steps


def test_stages_can_be_named() -> None:
    (step,) = read_gate_file(b"kubelet: {AllAlpha: true}", "f")
    assert all(step[KUBELET].enabled(gate) for gate in GATES if gate.stage == "ALPHA")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "f: holds nothing"),
        ("a: b\n---\nc: d", "f: holds 2 documents"),
        ("text", "f: is not a mapping of components, or a list of them"),
        ("{}", "f: names no component"),
        ("[]", "f: names no component"),
        ("- kubelet", "f: step 1 is not a mapping"),
        ("- {}", "f: step 1 is not a mapping"),
        ("kublet: {}", "f: 'kublet' is not a component; there are kube-apiserver, "),
        ("1: {}", "f: '1' is not a component"),
        ("- kubelet: {}\n- kublet: {}", "f: step 2: 'kublet' is not a component"),
        ("kubelet: {Nope: true}", "f: kubelet: unrecognized feature gate: Nope"),
        ("kubelet: {TaintTolerationCEL: 1}", "f: kubelet: the value of TaintTolerationCEL is 1, and neither"),
        ("kubelet: [TaintTolerationCEL]", "f: kubelet: gates are a mapping"),
        ("kubelet: TaintTolerationCEL", "f: kubelet: missing bool value for TaintTolerationCEL"),
        ("kubelet: {DynamicResourceAllocation: false}", "feature is locked to true"),
        ("kubelet: {}\nkubelet: {}", 'f: duplicate field "kubelet"'),
        ("a: [", "f:1: yaml: "),
        ("\n".join(["- kubelet: {}"] * 51), "f: has 51 steps, more than 50"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(GateFileError) as error:
        read_gate_file(text.encode(), "f")
    assert reason in str(error.value)
