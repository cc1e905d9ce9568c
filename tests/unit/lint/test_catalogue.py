"""The registered rules, the pages in docs/findings, and their index agree; every page's example is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.lint.linting import lint

from moorage.lint.catalogue import CHECKS, TOLERATION_CHECKS, Theme, declare, render_index, rules
from moorage.lint.pages import listed_rules
from moorage.lint.rules.attached import AttachedBy

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "findings"
HEADINGS = ["Why it surprises", "Before", "After", "When to ignore it", "See also"]


def page(rule: str) -> str:
    return (PAGES / f"{rule}.md").read_text(encoding="utf-8")


def example(rule: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n```yaml\n(.*?)```", page(rule), re.MULTILINE | re.DOTALL)
    assert found is not None
    return re.sub(r"<([\d,]+) characters>", lambda size: "x" * int(size[1].replace(",", "")), found[1])


def test_two_rules_cannot_have_one_name() -> None:
    with pytest.raises(ValueError, match="two rules are called rejected"):
        declare(Theme.API_SERVER, rules()["rejected"])


def test_every_check_and_collector_is_found_in_the_modules_of_rules() -> None:
    checks = [*CHECKS, *TOLERATION_CHECKS]
    assert {check.__name__ for check in checks} >= {"check_seconds", "check_rollout", "check_versions"}
    assert {check.__module__.rpartition(".")[0] for check in checks} == {"moorage.lint.rules"}


def test_names_are_kebab_case() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in rules())


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {*rules(), "README"}


def test_the_index_is_generated_from_the_rules() -> None:
    assert render_index(page("README")) == page("README")
    assert listed_rules() == [(rule.name, rule.severity.value, rule.summary) for rule in rules().values()]


@pytest.mark.parametrize("rule", rules())
def test_a_page_has_every_part(rule: str) -> None:
    text = page(rule)
    assert text.startswith(f"# `{rule}`\n\n{rules()[rule].summary} Severity: {rules()[rule].severity.value}.\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert re.search(r"^## See also\n\n\[.+\]\(https://", text, re.MULTILINE)


@pytest.mark.parametrize("rule", rules())
def test_the_example_before_has_the_finding_and_the_one_after_has_none(rule: str) -> None:
    attached = AttachedBy.WEBHOOK if rule.startswith("attach-") else None
    gates = attached is None
    assert rule in {finding.rule for finding in lint(example(rule, "Before"), gates=gates, attached=attached)}
    assert [str(finding) for finding in lint(example(rule, "After"), gates=gates, attached=attached)] == []
