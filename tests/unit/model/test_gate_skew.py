"""Half-enabled gates: which combinations do harm, and that all places which warn read one table."""

import pytest

from moorage.model import gates as known
from moorage.model.gate_skew import HAZARDS, known_values, skew_lines, skews
from moorage.model.gates import GATES, Component, component_gates

API, SCHEDULER, MANAGER, KUBELET = Component
NUMBERS = known.TAINT_TOLERATION_COMPARISON_OPERATORS.name


def found(gate: str, *on: Component) -> list[str]:
    """What happens where the gate is on in these components and off in all others."""
    only = {component: [f"{gate}={str(component in on).lower()}"] for component in Component}
    return [text for skew in skews(known_values(component_gates((), only))) for text in skew.happens]


@pytest.mark.parametrize("gate", [NUMBERS, known.SEMVER_COMPARISON_OPERATORS.name, known.TAINT_TOLERATION_CEL.name])
@pytest.mark.parametrize(
    ("on", "words"),
    [
        ((), ()),
        (tuple(Component), ()),
        ((SCHEDULER, MANAGER, KUBELET), ()),  # off in the API server alone: what uses it is refused
        ((API, SCHEDULER), ("evicted at once", "refused by their node")),
        ((API, SCHEDULER, MANAGER), ("refused by their node",)),
        ((API, SCHEDULER, KUBELET), ("evicted at once",)),
        ((API, MANAGER, KUBELET), ("stay Pending",)),
        ((API,), ("stay Pending", "evicted at once")),
        ((SCHEDULER,), ("evicted at once", "refused by their node")),
        ((MANAGER, KUBELET), ()),
    ],
)
def test_gates_of_tolerations(gate: str, on: tuple[Component, ...], words: tuple[str, ...]) -> None:
    happens = [text for text in found(gate, *on) if "node affinity" not in text]
    assert len(happens) == len(words)
    for text, word in zip(happens, words, strict=True):
        assert word in text
    about_affinity = gate == known.SEMVER_COMPARISON_OPERATORS.name and bool(words)
    assert any("node affinity" in text for text in found(gate, *on)) is (
        about_affinity and any("Pending" in word or "refused" in word for word in words)
    )


def test_keys_that_the_api_server_has_merged_need_no_scheduler() -> None:
    gate, merge = (
        known.MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
        known.MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE,
    )
    off = f"{gate.name}=false,{merge.name}=false"
    assert skews(known_values(component_gates((), {SCHEDULER: [off]}))) == []
    (skew,) = skews(known_values(component_gates((), {API: [f"{merge.name}=false"], SCHEDULER: [off]})))
    assert skew.gates == (gate.name,)
    assert "do not count" in skew.happens[0]


def test_gates_with_the_same_trouble_are_named_together() -> None:
    (first, *_) = skews(known_values(component_gates(["AllAlpha=true"], {MANAGER: ["AllAlpha=false"]})))
    assert (first.on, first.off) == ((API, SCHEDULER, KUBELET), (MANAGER,))
    names = [known.TAINT_TOLERATION_COMPARISON_OPERATORS, known.SEMVER_COMPARISON_OPERATORS, known.TAINT_TOLERATION_CEL]
    assert first.gates == tuple(gate.name for gate in names)
    lines = list(skew_lines([first]))
    assert " ".join(lines[:3]).startswith("warning: TaintTolerationComparisonOperators,")
    assert all(len(line) < 80 for line in lines)


def test_gates_of_unknown_value_cause_no_warning() -> None:
    assert skews({API: {NUMBERS: True}}) == []
    assert skews({}) == []
    (skew,) = skews({API: {NUMBERS: True}, SCHEDULER: {NUMBERS: False}})
    assert str(skew).startswith(f"{NUMBERS} is on in kube-apiserver, off in kube-scheduler: pods that need it")


def test_hazards_are_about_components_that_read_the_gate() -> None:
    for hazard in HAZARDS:
        for gate in hazard.gates:
            assert {*hazard.on, hazard.off} <= gate.components, gate.name
    read_by_many = {gate.name for gate in GATES if len(gate.components) > 1 and not gate.locked and gate.needs == ()}
    judged = {gate.name for hazard in HAZARDS for gate in hazard.gates}
    assert read_by_many - judged == {known.DRA_RESOURCE_CLAIM_DEVICE_STATUS.name}
