"""Expressions that are one comparison become operators; of others the reason is given."""

import pytest

from moorage.dashboard.questions.playing.cel_form import expression_of, with_operator
from moorage.model.types.pod import Toleration

SLA = "taint.key == 'sla'"


@pytest.mark.parametrize(
    ("expression", "operator", "value"),
    [
        (f"{SLA} && taint.value == 'high'", "Equal", "high"),
        (f"{SLA} && int(taint.value) > 900", "Gt", "900"),
        (f"int(taint.value) >= 900 && {SLA}", "Gt", "899"),
        (f"{SLA} && int(taint.value) <= -3", "Lt", "-2"),
        (f"{SLA} && semver(taint.value, true).isLessThan(semver('1.2', true))", "SemverLt", "1.2"),
        (f"{SLA} && semver(taint.value, true).compareTo(semver('1.2', true)) == 0", "SemverEq", "1.2"),
        (f"{SLA} && true", "Exists", ""),
    ],
)
def test_one_comparison_becomes_an_operator(expression: str, operator: str, value: str) -> None:
    assert with_operator(expression).item == Toleration(key="sla", operator=operator, value=value)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (f"{SLA} || taint.key == 'zone'", "no alternatives"),
        ("taint.key in ['sla', 'zone']", "no alternatives"),
        ("taint.value.startsWith('a')", "a part of a taint's value (startsWith)"),
        (f"!({SLA})", "not so"),
        (f"{SLA} && int(taint.value) > 5 && int(taint.value) < 9", "one comparison"),
        ("int(taint.value) > 5", "needs a key"),
        ("taint.key == ''", "every key"),
        ("taint.effect == 'Never'", "never true"),
        (f"{SLA} && isSemver(taint.value, true)", "only tests"),
        (f"{SLA} && int(taint.value) > 9223372036854775807 + 1", "no operator says this"),
        ("taint.key ==", "does not compile"),
    ],
)
def test_other_expressions_get_the_reason_why_no_operator_fits(expression: str, reason: str) -> None:
    form = with_operator(expression)
    assert form.item is None
    assert reason in form.why_not


def test_an_unguarded_number_differs_for_other_spellings() -> None:
    unguarded = f"{SLA} && int(taint.value) > 900"
    assert "007" in with_operator(unguarded).differs
    guarded = expression_of(Toleration(key="sla", operator="Gt", value="900"))
    assert guarded is not None
    assert with_operator(guarded).differs == ""
