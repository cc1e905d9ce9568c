"""Taints and labels that a comparison elsewhere in the input cannot read."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, pod, stream, tolerating

TAINT, LABEL = "taint-not-comparable", "label-not-comparable"


def affinity(operator: str, value: str, *, key: str = "cores", preferred: bool = False) -> str:
    term = f"{{matchExpressions: [{{key: {key}, operator: {operator}, values: ['{value}']}}]}}"
    if preferred:
        part = f"preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, preference: {term}}}]"
    else:
        part = f"requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{term}]}}"
    return pod(f"  affinity: {{nodeAffinity: {{{part}}}}}\n")


def found(rule: str, *texts: str) -> list[tuple[str, str, str, str]]:
    return [
        (finding.place.position, finding.place.path, finding.message, finding.hint)
        for finding in lint(*texts)
        if finding.rule == rule
    ]


@pytest.mark.parametrize(
    ("operator", "wanted", "value", "hint"),
    [
        ("Gt", "750", "high", "give it a value that is a number"),
        ("Lt", "750", "007", 'write "7"'),
        ("Gt", "750", "95.5", "give it a value that is a number"),
        ("Gt", "750", "1e3", 'write "1000"'),
        ("Gt", "750", "", "give it a value that is a number"),
        ("Gt", "750", "9223372036854775808", "give it a value that is a number"),
        ("SemverGt", "1.2.3", "1.2.3.4", 'write "1.2.3"'),
        ("SemverLt", "1.2.3", "V1.2.3", 'write "1.2.3"'),
        ("SemverEq", "1.2.3", "latest", "give it a value that is a version"),
    ],
)
def test_a_taint_that_a_toleration_cannot_read(operator: str, wanted: str, value: str, hint: str) -> None:
    tainted = node("n1", f"{{key: sla, value: '{value}', effect: NoSchedule}}")
    asking = tolerating(f"{{key: sla, operator: {operator}, value: '{wanted}', effect: NoSchedule}}")
    for texts in ((stream(tainted, asking),), (stream(asking, tainted),), (tainted, asking), (asking, tainted)):
        ((position, path, message, advice),) = found(TAINT, *texts)
        assert path == "spec.taints[0].value"
        assert f"it never matches toleration {operator} {wanted} of Pod default/web, spec.tolerations[0] (" in message
        assert advice == hint
        assert position.endswith(".yaml:6") or len(texts) == 1


@pytest.mark.parametrize(
    ("toleration", "taint"),
    [
        ("{key: sla, operator: Gt, value: '750'}", "{key: sla, value: '800', effect: NoSchedule}"),
        ("{key: sla, operator: Gt, value: '750'}", "{key: other, value: high, effect: NoSchedule}"),
        ("{key: sla, operator: Gt, value: '750', effect: NoExecute}", "{key: sla, value: high, effect: NoSchedule}"),
        ("{key: sla, operator: Equal, value: high}", "{key: sla, value: high, effect: NoSchedule}"),
        ("{key: sla, operator: Exists}", "{key: sla, value: high, effect: NoSchedule}"),
        ("{key: v, operator: SemverGt, value: '1.2'}", "{key: v, value: '007', effect: NoSchedule}"),
        ("{key: v, operator: SemverGt, value: '1.2'}", "{key: v, value: v2, effect: NoSchedule}"),
        ("{key: sla, operator: Gt, value: nonsense}", "{key: sla, value: high, effect: NoSchedule}"),
        ("{key: v, operator: SemverGt, value: nonsense}", "{key: v, value: high, effect: NoSchedule}"),
    ],
)
def test_taints_that_are_fine_or_not_compared(toleration: str, taint: str) -> None:
    assert found(TAINT, stream(tolerating(toleration), node("n1", taint))) == []


@pytest.mark.parametrize("preferred", [False, True])
@pytest.mark.parametrize(
    ("operator", "wanted", "value"),
    [("Gt", "16", "many"), ("Lt", "16", "1.5"), ("SemverGt", "1.2.3", "1.2.x"), ("SemverEq", "1.2.3", "latest")],
)
def test_a_label_that_an_affinity_cannot_read(operator: str, wanted: str, value: str, preferred: bool) -> None:
    labelled = node("n1", labels=f"{{cores: '{value}'}}")
    asking = affinity(operator, wanted, preferred=preferred)
    for texts in ((stream(labelled, asking),), (asking, labelled)):
        ((_, path, message, _),) = found(LABEL, *texts)
        assert path == "metadata.labels[cores]"
        assert f"it never matches node affinity {operator} {wanted} of Pod default/web, spec.affinity." in message


@pytest.mark.parametrize(
    ("operator", "wanted", "value"),
    [("Gt", "16", "32"), ("Gt", "16", "007"), ("Gt", "16", "-5"), ("SemverGt", "1.2.3", "1.2"), ("In", "x", "many")],
)
def test_labels_that_are_fine_or_not_compared(operator: str, wanted: str, value: str) -> None:
    assert found(LABEL, stream(node("n1", labels=f"{{cores: '{value}'}}"), affinity(operator, wanted))) == []


def test_many_nodes_with_one_value_are_one_finding() -> None:
    nodes = [node(f"n{number}", "{key: sla, value: high, effect: NoSchedule}") for number in range(5)]
    asking = tolerating("{key: sla, operator: Gt, value: '1'}", "{key: sla, operator: Lt, value: '9'}")
    ((position, _, message, _),) = found(TAINT, stream(*nodes), asking)
    assert position == "0.yaml:6"
    assert message.endswith("(1.yaml:6) and 1 more (and 4 more with this value)")


def test_facts_are_bounded() -> None:
    one = [node(f"n{number}", labels=f"{{cores: 'x{number}'}}") for number in range(300)]
    assert len(found(LABEL, stream(*one), affinity("Gt", "1"))) == 200
