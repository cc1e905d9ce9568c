"""The pages of rules on a terminal."""

import pytest

from moorage.lint.catalogue import SelectionError, rule_of, rules
from moorage.lint.pages import for_terminal, page_of


@pytest.mark.parametrize("rule", [rule.name for rule in rules().values()])
def test_every_page_fits_a_terminal(rule: str) -> None:
    lines = list(for_terminal(page_of(rule), 70, colour=False))
    assert lines[0] == rule
    assert "Before" in lines
    prose = [line for line in lines if not line.startswith("    ") and "://" not in line]
    assert max(map(len, prose)) <= 70
    assert not any("```" in line or "](" in line for line in lines)


def test_colours_mark_headings_and_examples() -> None:
    lines = list(for_terminal("# `a`\n\ntext `b`\n\n```yaml\nkind: Pod\n\nx: y\n```\n", 70, colour=True))
    assert lines == [
        "\x1b[1ma\x1b[0m",
        "",
        "text b",
        "",
        "    \x1b[36mkind: Pod\x1b[0m",
        "",
        "    \x1b[36mx: y\x1b[0m",
        "",
    ]


def test_links_keep_addresses_that_lead_somewhere() -> None:
    text = "[All](README.md), [Taints](https://kubernetes.io/x)."
    assert list(for_terminal(text, 70, colour=False)) == ["All, Taints <https://kubernetes.io/x>.", ""]


def test_unknown_rules_and_pages() -> None:
    with pytest.raises(SelectionError, match="did you mean rejected"):
        rule_of("rejcted")
    with pytest.raises(FileNotFoundError, match="came without the page of none"):
        page_of("none")
