"""Source lines on a terminal: safe, cut where they are long, and the carets under the right characters."""

from __future__ import annotations

import pytest

from moorage.lint.finding import NO_EXCERPT, Excerpt, excerpt_of
from moorage.lint.report.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é漢", "é漢"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\x00\r", "\\x00\\x0d"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("line", "column", "marked"),
    [
        ('    value: "007"', 5, 'value: "007"'),
        ("    value: 7  # seven", 5, "value: 7"),
        ('    value: "a # b"  # c', 5, 'value: "a # b"'),
        ("  - {key: a, operator: Lt, value: '0', effect: x}", 14, "operator: Lt"),
        ("  - {key: a, operator: Lt, value: '0,}', effect: x}", 28, "value: '0,}'"),
        ("  - {key: a, values: [1, 2], effect: x}", 14, "values: [1, 2]"),
        ("  - {key: a, effect: x}", 14, "effect: x"),
        ("  - {key: a}  # b", 5, "{key: a}"),
        ("keys: [app, tier]", 13, "tier"),
        ('{"spec":{"a":1,"b":2}}', 10, '"a":1'),
        ("x", 9, ""),
    ],
)
def test_what_is_marked(line: str, column: int, marked: str) -> None:
    excerpt = excerpt_of(line, column)
    shown, carets = excerpt.line, excerpt.carets
    assert shown == line.rstrip()
    assert carets.count("^") == max(1, len(marked))
    if marked:
        start = carets.index("^")
        assert shown[start : start + len(marked)] == marked


def test_tabs_wide_and_combining_characters() -> None:
    excerpt = excerpt_of("\t漢: é\u0301x", 2)
    assert excerpt.line == "    漢: é\u0301x"
    assert excerpt.carets == "    ^^^^^^"


def test_long_lines_are_cut_around_the_place() -> None:
    excerpt = excerpt_of("x" * 100_000 + "HERE" + "y" * 100_000, 100_001)
    shown, carets = excerpt.line, excerpt.carets
    assert len(shown) < 200
    assert shown[carets.index("^") :].startswith("HERE")
    assert shown.startswith("…")
    assert shown.endswith("…")


def test_an_empty_line_has_no_excerpt() -> None:
    assert excerpt_of("", 1) is NO_EXCERPT
    assert excerpt_of("  ", 1) is NO_EXCERPT


@pytest.mark.parametrize("width", [20, 40, 300])
@pytest.mark.parametrize("first", [0, 30, 190])
def test_excerpts_are_cut_to_a_narrow_terminal_around_the_carets(width: int, first: int) -> None:
    line = "".join(chr(ord("a") + number % 26) for number in range(200))
    cut = Excerpt(line, " " * first + "^" * 5).cut(width)
    assert len(cut.line) <= width
    assert len(cut.carets) <= width
    start = cut.carets.index("^")
    assert cut.line[start : start + 5] == line[first : first + 5]
