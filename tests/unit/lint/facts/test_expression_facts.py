"""Expressions of pods, asked about the taints of the input."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, node, stream, tolerating

RULE = "taint-not-comparable"


def found(expression: str, *taints: str) -> list[tuple[str, str, str]]:
    text = stream(tolerating(f'{{expression: "{expression}"}}'), node("n1", *taints))
    return [(one.place.path, one.message, one.hint) for one in lint(text) if one.rule == RULE]


KERNEL = "taint.key == 'kernel' && semver(taint.value).isGreaterThan(semver('5.15.0'))"
SLA = "taint.key == 'sla' && int(taint.value) > 950"


@pytest.mark.parametrize(
    ("expression", "taint", "hint"),
    [
        (KERNEL, "{key: kernel, value: v5.4, effect: NoSchedule}", "semver(taint.value, true) also reads"),
        (KERNEL, "{key: kernel, value: '6', effect: NoSchedule}", "semver(taint.value, true) also reads"),
        (KERNEL, "{key: kernel, value: latest, effect: NoSchedule}", "give it a value that is a version"),
        (SLA, "{key: sla, value: high, effect: NoExecute}", "give it a value the expression can read"),
        (SLA, "{key: sla, effect: NoExecute}", "give it a value the expression can read"),
    ],
)
def test_a_taint_for_which_an_expression_fails(expression: str, taint: str, hint: str) -> None:
    ((path, message, advice),) = found(expression, taint)
    assert path == "spec.taints[0].value"
    assert message.startswith(
        "the expression of Pod default/web, spec.tolerations[0].expression (0.yaml:6) fails for this taint"
    )
    assert hint in advice


@pytest.mark.parametrize(
    ("expression", "taint"),
    [
        (KERNEL, "{key: kernel, value: 5.4.0, effect: NoSchedule}"),
        (KERNEL, "{key: other, value: high, effect: NoSchedule}"),
        (SLA, "{key: sla, value: '950', effect: NoExecute}"),
        (
            "taint.key == 'kernel' && isSemver(taint.value) && semver(taint.value).major() > 4",
            "{key: kernel, value: x, effect: NoSchedule}",
        ),
        ("int(taint.value) > 950", "{key: sla, value: high, effect: NoExecute}"),
        ("taint.key ==", "{key: sla, value: high, effect: NoExecute}"),
    ],
)
def test_taints_that_are_fine_or_not_meant(expression: str, taint: str) -> None:
    assert found(expression, taint) == []


def test_a_repeated_taint_is_reported_once() -> None:
    asking = tolerating(f'{{expression: "{SLA}"}}', f"{{expression: \"{SLA} && taint.effect != 'x'\"}}")
    text = stream(asking, *(node(f"n{i}", "{key: sla, value: high, effect: NoExecute}") for i in (1, 2, 3)))
    (finding,) = [one for one in lint(text) if one.rule == RULE]
    assert finding.message.endswith("(and 2 more with this value)")
