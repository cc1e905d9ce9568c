"""The API server's words, and what to do about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.lint.linting import lint, node, pod, tolerating

if TYPE_CHECKING:
    from moorage.lint.finding import Finding

COMPARISON = "needs --feature-gates=TaintTolerationComparisonOperators=true (Kubernetes 1.35 and later have it)"
SEMVER = (
    "needs --feature-gates=TaintTolerationNodeAffinitySemverComparisonOperators=true "
    "(no Kubernetes release has it so far, Moorage does)"
)
CEL = "needs --feature-gates=TaintTolerationCEL=true (no Kubernetes release has it so far, Moorage does)"


def only(text: str, *, gates: bool = True) -> Finding:
    rejected = [finding for finding in lint(text, gates=gates) if finding.rule == "rejected"]
    assert rejected
    return rejected[0]


def affinity(expression: str) -> str:
    terms = f"{{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}"
    return pod(f"  affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {terms}}}}}\n")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (tolerating("{key: a, operator: Gt, value: '5'}"), COMPARISON),
        (tolerating("{key: a, operator: Lt, value: '007'}"), COMPARISON),
        (tolerating("{key: a, operator: SemverGt, value: '5'}"), SEMVER),
        (tolerating("{expression: \"taint.key == 'a'\"}"), CEL),
        (affinity("{key: a, operator: SemverEq, values: ['1.2.3']}"), SEMVER),
    ],
)
def test_the_gate_that_is_missing(text: str, hint: str) -> None:
    assert only(text, gates=False).hint == hint
    assert hint not in {finding.hint for finding in lint(text, gates=True)}


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("007", 'write "7"'),
        ("+5", 'write "5"'),
        ("-0", 'write "0"'),
        ("1e3", 'write "1000"'),
        ("1_000", 'write "1000"'),
        (" 5 ", 'write "5"'),
        ("5.0", 'write "5"'),
        ("95.5", "only whole numbers can be compared: use a smaller unit on taints and tolerations (955 for 95.5 %)"),
        (
            "9223372036854775808",
            "only 64-bit integers can be compared: use a larger unit on taints and tolerations alike",
        ),
        ("1.2.3", "to compare versions write SemverGt, SemverLt or SemverEq"),
        ("high", 'Lt and Gt compare whole numbers, such as "950"'),
        ("", "write the number to compare with, in quotes"),
    ],
)
def test_numbers(value: str, hint: str) -> None:
    finding = only(tolerating(f"{{key: a, operator: Gt, value: '{value}'}}"))
    assert finding.hint == hint
    assert finding.message.startswith(f'spec.tolerations[0].value: Invalid value: "{value}": ')


@pytest.mark.parametrize(
    ("value", "better"),
    [
        ("1.2.3.4", "1.2.3"),
        ("V1.2", "1.2.0"),
        ("1.2-rc1", "1.2.0-rc1"),
        ("containerd://2.1.4", "2.1.4"),
        ("1.2.x", "1.2.0"),
        ("latest", "1.36.0"),
        ("", "1.36.0"),
    ],
)
def test_versions(value: str, better: str) -> None:
    hint = f'write a version such as "{better}"'
    assert only(tolerating(f"{{key: a, operator: SemverGt, value: '{value}'}}")).hint == hint
    if value and ":" not in value:
        assert only(affinity(f"{{key: a, operator: SemverGt, values: ['{value}']}}")).hint == hint


def test_ranges_are_no_versions() -> None:
    assert "bare version" in only(tolerating("{key: a, operator: SemverGt, value: '>=1.2.3'}")).hint


@pytest.mark.parametrize(
    ("toleration", "hint"),
    [
        ("{key: a, operator: Equals, value: x}", "did you mean Equal?"),
        ("{key: a, operator: exists}", "did you mean Exists?"),
        ("{key: a, operator: GreaterThan, value: '5'}", "did you mean Gt?"),
        ("{key: a, operator: '>', value: '5'}", "did you mean Gt?"),
        ("{key: a, operator: semvergt, value: '5'}", "did you mean SemverGt?"),
        (
            "{key: a, operator: Gte, value: '5'}",
            "Gte does not exist, comparisons are strict: write Gt 4, or two tolerations, Equal 5 and Gt 5",
        ),
        (
            "{key: a, operator: In, value: x}",
            "In is an operator of node affinity; a toleration compares with one value, by Equal or Exists",
        ),
        ("{key: a, operator: Exists, effect: noschedule}", "did you mean NoSchedule?"),
        ("{key: a, operator: Exists, effect: NoExec}", "did you mean NoExecute?"),
        ("{key: a, operator: Exists, value: x}", "remove the value, or write operator: Equal to compare it"),
        ("{value: x}", "name the taint's key, or write operator: Exists to tolerate every taint"),
        (
            "{key: a, operator: Exists, tolerationSeconds: 5}",
            "only NoExecute evicts: write effect: NoExecute, or remove tolerationSeconds",
        ),
        (
            "{key: a, expression: \"taint.key == 'a'\"}",
            "say it all in the expression: taint.key == '…' && taint.value == '…' && taint.effect == '…'",
        ),
        ("{expression: \"key == 'a'\"}", "write taint.key"),
        ("{expression: \"taint.name == 'a'\"}", "a taint has the fields taint.key, taint.value and taint.effect"),
        ("{expression: taint.key}", "compare with something, so that the result is true or false"),
    ],
)
def test_tolerations(toleration: str, hint: str) -> None:
    assert only(tolerating(toleration)).hint == hint


def test_too_complex() -> None:
    finding = only(tolerating("{expression: \"taint.key.split('/')[1].contains('a')\"}"))
    assert finding.message == "spec.tolerations[0].expression: Forbidden: too complex, exceeds cost limit"
    assert "the parts of split(), count as the longest possible" in finding.hint


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        ("{key: a, operator: Equal, values: [x]}", "write In with one value"),
        ("{key: a, operator: GreaterThan, values: ['5']}", "did you mean Gt?"),
        ("{key: a, operator: notin, values: [x]}", "did you mean NotIn?"),
        (
            "{key: a, operator: SemverGte, values: ['1.2']}",
            "SemverGte does not exist, comparisons are strict: "
            "write two nodeSelectorTerms, SemverEq 1.2 and SemverGt 1.2",
        ),
        (
            "{key: a, operator: '>=', values: ['1']}",
            ">= does not exist, comparisons are strict: write Gt 0, or two nodeSelectorTerms, In 1 and Gt 1",
        ),
        ("{key: a, operator: Gt, values: ['5', '6']}", "write exactly one value, in quotes"),
        ("{key: a, operator: SemverGt, values: []}", "write exactly one value, in quotes"),
    ],
)
def test_node_affinity(expression: str, hint: str) -> None:
    assert only(affinity(expression)).hint == hint


def test_other_enumerations() -> None:
    text = pod("  topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: doNotSchedule}]\n")
    assert only(text).hint == "did you mean DoNotSchedule?"


def test_taints_are_found_although_upstream_names_another_path() -> None:
    finding = only(node("n1", "{key: a, effect: NoSchedule}", "{key: a, value: b, effect: NoSchedule}"))
    assert finding.message.startswith("metadata.taints[1]: Duplicate value")
    assert finding.hint == "keep one of them; a node cannot have two values of one taint"
    assert finding.place.line == 7


def test_of_two_errors_about_one_field_the_first_has_the_hint() -> None:
    findings = lint(tolerating("{key: a, operator: Gt, value: '95.5'}"))
    assert [bool(finding.hint) for finding in findings] == [True, False]


def test_a_selector_of_devices_is_not_told_about_taints() -> None:
    selectors = "selectors: [{cel: {expression: device.model == 'x'}}]"
    text = f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: gpu}}\nspec: {{{selectors}}}\n"
    assert only(text).hint.startswith("a device has the fields device.driver, ")


@pytest.mark.parametrize("expression", ["object.spce == 1", "request.namespac == 'a'", "object.spec"])
def test_a_policy_is_not_told_about_taints(expression: str) -> None:
    rules = "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}"
    text = (
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p}\n"
        f'spec: {{matchConstraints: {{resourceRules: [{rules}]}}, validations: [{{expression: "{expression}"}}]}}\n'
    )
    assert "taint" not in "".join(finding.hint for finding in lint(text))
