"""Tolerations that match none of the taints that the input's nodes have under their key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.lint.linting import lint, node, stream, tolerating

from moorage.lint.rules import unmatched_tolerations

RULE = "toleration-matches-no-taint"
SLA = node("n1", "{key: sla, value: '950', effect: NoSchedule}")
KERNEL = node("n1", "{key: kernel, value: 5.15.0, effect: NoSchedule}")
TIER = node("n1", "{key: tier, value: gold, effect: NoSchedule}")


def unmatched(*documents: str) -> list[tuple[str, str, str]]:
    found = [finding for finding in lint(stream(*documents)) if finding.rule == RULE]
    return [(finding.place.path, finding.message, finding.hint) for finding in found]


@pytest.mark.parametrize(
    ("nodes", "toleration", "why", "hint"),
    [
        (
            SLA,
            "{key: sla, operator: Gt, value: '950'}",
            "950 > 950 is false (toleration Gt 950)",
            "Gt is strict: write Gt 949 if sla=950 is meant, too",
        ),
        (
            SLA,
            "{key: sla, operator: Lt, value: '950', effect: NoSchedule}",
            "950 < 950 is false (toleration Lt 950)",
            "Lt is strict: write Lt 951 if sla=950 is meant, too",
        ),
        (
            SLA,
            "{key: sla, operator: Gt, value: '990'}",
            "950 > 990 is false (toleration Gt 990)",
            "write Gt 949 to match the nearest taint, sla=950",
        ),
        (
            node("n1", "{key: sla, value: '9223372036854775807', effect: NoSchedule}"),
            "{key: sla, operator: Lt, value: '5'}",
            "9223372036854775807 < 5 is false (toleration Lt 5)",
            'write operator: Equal and value: "9223372036854775807"',
        ),
        (
            KERNEL,
            "{key: kernel, operator: SemverGt, value: 5.15.0}",
            "5.15.0 > 5.15.0 is false (toleration SemverGt 5.15.0)",
            "SemverGt is strict: write SemverGt 5.15.0-0 if kernel=5.15.0 is meant, too",
        ),
        (
            KERNEL,
            "{key: kernel, operator: SemverEq, value: v5.16}",
            "5.15.0 = v5.16 is false (toleration SemverEq v5.16)",
            "write SemverEq v5.15 to match the nearest taint, kernel=5.15.0",
        ),
        (TIER, "{key: tier, value: golden}", "gold = golden is false (toleration Equal golden)", "did you mean gold?"),
        (
            TIER,
            "{key: tier, operator: Equal, value: gold, effect: NoExecute}",
            "its effect is NoSchedule, the toleration's is NoExecute",
            "write effect: NoSchedule, or no effect for all effects",
        ),
        (
            SLA,
            "{expression: \"taint.key == 'sla' && int(taint.value) > 950\"}",
            "the expression is not true for sla=950",
            "> is strict: write >= 950 if sla=950 is meant, too",
        ),
        (
            SLA,
            "{expression: \"taint.key == 'sla' && 950 > int(taint.value)\"}",
            "the expression is not true for sla=950",
            "< is strict: write <= 950 if sla=950 is meant, too",
        ),
        (
            KERNEL,
            "{expression: \"taint.key == 'kernel' && semver(taint.value).isGreaterThan(semver('5.15.0'))\"}",
            "the expression is not true for kernel=5.15.0",
            "isGreaterThan is strict: write compareTo(semver('5.15.0')) >= 0 if kernel=5.15.0 is meant, too",
        ),
        (TIER, "{expression: \"taint.key == 'tier' && taint.value == 'silver'\"}", "not true for tier=gold", ""),
    ],
)
def test_a_toleration_that_misses_every_taint_of_its_key(nodes: str, toleration: str, why: str, hint: str) -> None:
    for documents in ((nodes, tolerating(toleration)), (tolerating(toleration), nodes)):
        [(path, message, given)] = unmatched(*documents)
        assert path.startswith("spec.tolerations[0].")
        assert why in message
        assert given == hint


@pytest.mark.parametrize(
    ("nodes", "tolerations"),
    [
        (SLA, ["{key: sla, operator: Gt, value: '949'}"]),
        (SLA, ["{key: other, operator: Gt, value: '950'}"]),
        (SLA, ["{key: sla, operator: Exists, effect: NoExecute}"]),
        (SLA, ["{operator: Exists}"]),
        (SLA, ["{key: sla, value: '950'}", "{key: sla, operator: Gt, value: '950'}"]),
        (
            stream(SLA, node("n2", "{key: sla, value: '910', effect: NoSchedule}")),
            ["{key: sla, value: '950'}", "{key: sla, operator: Gt, value: '950'}"],
        ),
        (
            stream(TIER, node("n2", "{key: tier, value: silver, effect: NoSchedule}")),
            ["{key: tier, value: gold, effect: NoSchedule}", "{key: tier, value: gold, effect: NoExecute}"],
        ),
        (TIER, ["{key: tier, value: bronze}", "{expression: \"taint.key == 'tier'\"}"]),
        (TIER, ["{expression: \"taint.key.startsWith('ti') && taint.value == 'bronze'\"}"]),
        (TIER, ["{expression: \"taint.value == 'bronze'\"}"]),
        (TIER, ["{expression: \"taint.key == 'tier' && int(taint.value) > 5\"}"]),  # taint-not-comparable says it
        (node("n1", "{key: sla, value: high, effect: NoSchedule}"), ["{key: sla, operator: Gt, value: '950'}"]),
        (SLA, ["{key: sla, operator: Gt, value: x}"]),  # refused
        (node("n1"), ["{key: sla, operator: Gt, value: '950'}"]),
    ],
)
def test_a_toleration_that_is_fine_or_judged_elsewhere(nodes: str, tolerations: list[str]) -> None:
    assert unmatched(nodes, tolerating(*tolerations)) == []


def test_story_two_of_kep_5471_as_printed() -> None:
    seeds = sorted((Path(__file__).resolve().parents[5] / "shared" / "seeds").glob("001_*.txt"))
    if not seeds:
        pytest.skip("the KEPs are not beside the repository")
    story = seeds[0].read_text(encoding="utf-8").partition("#### Story 2")[2]
    manifests = re.search(r"```yaml\n(.*?)```", story, re.DOTALL)
    assert manifests is not None
    [(path, message, hint)] = unmatched(manifests[1])
    assert path == "spec.template.spec.tolerations[0].value"
    assert "950 > 950 is false" in message
    assert hint == "Gt is strict: write Gt 949 if node.kubernetes.io/sla=950 is meant, too"


def test_several_values_are_named_and_equal_lists_are_reported_once() -> None:
    nodes = [node(f"n{value}", f"{{key: sla, value: '{value}', effect: NoSchedule}}") for value in range(100, 107)]
    pods = [tolerating("{key: sla, operator: Gt, value: '500'}").replace("web", f"web-{index}") for index in range(3)]
    [(_, message, hint)] = unmatched(*nodes, *pods)
    assert message.endswith("; the values are 100, 101, 102, 103, 104 and 2 more (2 more with the same tolerations)")
    assert hint == "write Gt 105 to match the nearest taint, sla=106"


def test_a_key_with_too_many_values_is_not_judged() -> None:
    nodes = [node(f"n{value}", f"{{key: sla, value: '{value}', effect: NoSchedule}}") for value in range(200)]
    assert unmatched(*nodes, tolerating("{key: sla, operator: Gt, value: '500'}")) == []


def test_time_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unmatched_tolerations, "_MAX_SECONDS", -1.0)
    assert unmatched(SLA, tolerating("{key: sla, operator: Gt, value: '950'}")) == []
