"""CEL that compiles and still is not what was meant."""

from __future__ import annotations

import pytest
from tests.unit.lint.linting import lint, pod, tolerating

from moorage.lint.rules import expressions

CONSTANT, EVERYTHING, NO_KEY = "cel-constant", "cel-tolerates-everything", "cel-ignores-key"
FAILS, EXPENSIVE = "cel-always-fails", "cel-expensive"


def found(expression: str) -> dict[str, str]:
    text = pod("  tolerations:\n  - expression: |-\n" + "".join(f"      {line}\n" for line in expression.split("\n")))
    findings = lint(text)
    assert {finding.place.path for finding in findings} <= {"spec.tolerations[0].expression"}
    return {finding.rule: finding.message for finding in findings}


@pytest.mark.parametrize(
    "expression", ["true", "1 < 2", "'a' in ['a', 'b']", "has(taint.key)", "[1, 2].exists(x, x > 1)"]
)
def test_constant_and_true(expression: str) -> None:
    assert set(found(expression)) == {CONSTANT, EVERYTHING}


@pytest.mark.parametrize("expression", ["false", "'a' == 'b'", "[].exists(x, x)"])
def test_constant_and_false(expression: str) -> None:
    assert "always false and tolerates nothing" in found(expression)[CONSTANT]
    assert set(found(expression)) == {CONSTANT}


def test_constant_and_failing() -> None:
    assert "fails every time" in found("semver('v1.2').major() == 1")[CONSTANT]


@pytest.mark.parametrize(
    "expression",
    [
        "taint.key != ''",
        "taint.key == 'a' || taint.key != 'a'",
        "taint.key.startsWith('')",
        "taint.key.matches('.*')",
        "taint.value == '' || taint.value != ''",
        "taint.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute']",
        "taint.key.size() > 0",
        "true || taint.key == 'x'",
    ],
)
def test_tolerates_everything(expression: str) -> None:
    assert set(found(expression)) == {EVERYTHING}
    assert "node.kubernetes.io/unreachable:NoExecute" in found(expression)[EVERYTHING]


@pytest.mark.parametrize(
    "expression",
    [
        "taint.value == 'true'",
        "taint.effect == 'PreferNoSchedule'",
        "has(taint.key) && taint.value == 'x'",
        "semver(taint.value).isGreaterThan(semver('5.15.0'))",
        "isSemver(taint.value) && semver(taint.value).major() >= 5",
        "int(taint.value) < 5",
    ],
)
def test_ignores_the_key(expression: str) -> None:
    assert set(found(expression)) == {NO_KEY}


@pytest.mark.parametrize(
    "expression",
    [
        "taint.key == 'kernel' && semver(taint.value).isGreaterThan(semver('v5.4'))",
        "taint.key == 'net' && cidr(taint.value).containsIP('10.0.0.1')",
        "taint.key == 'since' && timestamp(taint.value) < timestamp('2030-01-01T00:00:00Z')",
    ],
)
def test_fails_whatever_the_value(expression: str) -> None:
    assert set(found(expression)) == {FAILS}


@pytest.mark.parametrize(
    "expression",
    [
        "taint.key == 'dedicated'",
        "taint.key.startsWith('env.example.com/')",
        "taint.key == 'node.example.com/kernel-version' && semver(taint.value).isGreaterThan(semver('5.15.0'))",
        "taint.key.matches('^zone-a[12]-rack-[0-9]+$')",
        "taint.key == 'kernel' && semver(taint.value, true).isGreaterThan(semver('v5.4', true))",
        "taint.key == 'zone' && taint.value.split('-')[7] == 'x'",
        "taint.key in ['a', 'b'] && taint.effect != 'NoExecute'",
        "!(taint.key in ['node.kubernetes.io/unreachable', 'node.kubernetes.io/not-ready'])",
        "taint.key == 'sla' && int(taint.value) >= 950",
        "taint.key == 'sla' && quantity(taint.value).isGreaterThan(quantity('1Gi'))",
        "[taint].exists(t, t.key == 'a')",
        "taint.key == 'a' ?\n  taint.value == 'b' :\n  taint.key == 'c'",
    ],
)
def test_the_documents_expressions_and_others_that_are_fine(expression: str) -> None:
    assert found(expression) == {}


def test_close_to_the_limit() -> None:
    near = "taint.key == 'a' && lists.range({}).all(x, x >= 0)"
    assert EXPENSIVE in found(near.format(90_000))
    assert EXPENSIVE not in found(near.format(1_000))
    over = found(near.format(999_999))
    assert set(over) == {"rejected"}
    assert "too complex, exceeds cost limit" in over["rejected"]


def test_what_does_not_compile_is_only_rejected() -> None:
    assert set(found("taint.kee == 'a'")) == {"rejected"}
    assert set(found("taint.key")) == {"rejected"}
    assert set(found("(" * 5_000 + "true" + ")" * 5_000)) == {"rejected"}
    assert set(found("x" * 10_241)) == {"rejected"}


def test_only_some_expensive_expressions_of_a_run_are_tried_and_the_others_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(expressions, "_MAX_TRIALS", 1)
    listed = "".join(
        f"  - expression: lists.range({size}).all(x, x >= 0) && taint.key.size() >= 0\n"
        for size in (9_001, 9_002, 9_001)
    )
    said = [(one.place.path, one.message) for one in lint(pod("  tolerations:\n" + listed)) if one.rule == EXPENSIVE]
    skipped = "not tried on any taint, because 1 expensive expressions before it were"
    assert said == [("spec.tolerations[1].expression", skipped)]


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("taint.value > '950'", "taint.value > '950' compares texts", "write int(taint.value) > 950"),
        (
            "'950' >= taint.value",
            "a number seems to be meant: '1000' <= '950' is true",
            "write int(taint.value) <= 950",
        ),
        ("taint.value < '5'", "'10' < '5' is true", "write int(taint.value) < 5"),
        ("taint.value > '100'", "'9' > '100' is true", "write int(taint.value) > 100"),
        ("taint.value > '95.5'", "'100' > '95.5' is false", "write double(taint.value) > 95.5"),
        (
            "taint.value >= '5.15.0'",
            "a version seems to be meant: '10.0.0' >= '5.15.0' is false",
            "write semver(taint.value, true).compareTo(semver('5.15.0', true)) >= 0",
        ),
        (
            "taint.value > 'v1.36'",
            "a version seems to be meant: 'v1.100' > 'v1.36' is false",
            "write semver(taint.value, true).isGreaterThan(semver('v1.36', true))",
        ),
    ],
)
def test_numbers_and_versions_compared_as_text(expression: str, message: str, hint: str) -> None:
    [finding] = [
        finding
        for finding in lint(tolerating(f"{{expression: \"taint.key == 'a' && {expression}\"}}"))
        if finding.rule == "cel-compares-text"
    ]
    assert message in finding.message
    assert finding.hint == hint


@pytest.mark.parametrize(
    "expression",
    [
        "int(taint.value) > 950",
        "taint.value == '950'",
        "taint.value > '2026-01-01'",
        "taint.value >= 'm'",
        "taint.value > '007'",
        "taint.key > '950'",
        "semver(taint.value, true).isGreaterThan(semver('1.2.3'))",
        "taint.value > string(950)",
    ],
)
def test_comparisons_of_texts_that_are_meant(expression: str) -> None:
    found = lint(tolerating(f"{{expression: \"taint.key == 'a' && {expression}\"}}"))
    assert "cel-compares-text" not in {finding.rule for finding in found}
