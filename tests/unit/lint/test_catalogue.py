"""The table of rules, the pages in docs/findings, and their index agree; every page's example is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.lint.linting import lint

from moorage.lint.catalogue import BY_NAME, RULES

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "docs" / "findings"
HEADINGS = ["Why it surprises", "Before", "After", "When to ignore it", "See also"]


def page(rule: str) -> str:
    return (PAGES / f"{rule}.md").read_text(encoding="utf-8")


def example(rule: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n```yaml\n(.*?)```", page(rule), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_names_are_unique_and_kebab_case() -> None:
    assert len(BY_NAME) == len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in BY_NAME)


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {*BY_NAME, "README"}


def test_the_index_lists_every_rule_with_its_severity_and_summary() -> None:
    rows = re.findall(r"^\| \[`([a-z-]+)`\]\(([a-z-]+)\.md\) \| (\w+) \| (.+) \|$", page("README"), re.MULTILINE)
    assert rows == [(rule.name, rule.name, rule.severity.value, rule.summary) for rule in RULES]


@pytest.mark.parametrize("rule", BY_NAME)
def test_a_page_has_every_part(rule: str) -> None:
    text = page(rule)
    assert text.startswith(f"# `{rule}`\n\n{BY_NAME[rule].summary} Severity: {BY_NAME[rule].severity.value}.\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == HEADINGS
    assert re.search(r"^## See also\n\n\[.+\]\(https://", text, re.MULTILINE)


@pytest.mark.parametrize("rule", BY_NAME)
def test_the_example_before_has_the_finding_and_the_one_after_has_none(rule: str) -> None:
    assert rule in {finding.rule for finding in lint(example(rule, "Before"))}
    assert [str(finding) for finding in lint(example(rule, "After"))] == []
