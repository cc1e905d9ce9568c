"""Patterns: Go's syntax and Go's complaints, by way of RE2."""

import pytest

from moorage.match.cel.patterns import compile_pattern, search
from moorage.match.cel.values import CelError


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("", "", True),
        ("^a.c$", "aéc", True),
        (r"\d+", "a1", True),
        ("(?i)ABC", "xabcx", True),
        (r"^\Qa.b\E$", "a.b", True),
        (r"\Q\C\E", r"\C", True),
        (r"\\C", r"\C", True),
        ("[[:alpha:]]", "1", False),
        (r"\p{Greek}", "α", True),
        ("(?P<name>a)(?<other>b)", "ab", True),
        ("a{2}b", "aab", True),
        ("|".join("abcdefghijklmnopqrstuvwxyz" * 8), "é", False),
        ("|".join("abcdefghijklmnopqrstuvwxyz" * 8), "z", True),
    ],
)
def test_search(pattern: str, text: str, found: bool) -> None:
    assert search(pattern, text) is found


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("[a", "missing closing ]: `[a`"),
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\8", r"invalid escape sequence: `\8`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("(?i", "missing closing ): `(?i`"),
        ("\ud800", "invalid UTF-8: `\ud800`"),
    ],
)
def test_complaints(pattern: str, complaint: str) -> None:
    with pytest.raises(CelError) as raised:
        compile_pattern(pattern)
    assert str(raised.value) == f"error parsing regexp: {complaint}"


HOSTILE = ["((a|b|c|d|e|f|g)?" * 60 + ")" * 60, "(" + "(a|b|c|d|e|f|g)?" * 60 + "){1000}z", "(.?){1000}b"]


@pytest.mark.parametrize("pattern", HOSTILE[1:])
def test_slow_patterns_are_refused_for_long_texts(pattern: str) -> None:
    with pytest.raises(CelError, match="regular expression too large for a text of 9000 bytes"):
        search(pattern, "a" * 9_000)
    assert search(pattern, "a" * 20) is False


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "((a*)*)*c", HOSTILE[0], "(?P<x>a|aa)+$"])
def test_nested_quantifiers_take_linear_time(pattern: str) -> None:
    search(pattern, "a" * 2_000 + "!")


def test_a_pattern_with_too_many_instructions_is_refused() -> None:
    with pytest.raises(CelError, match="pattern too large"):
        search("(" + "[a-z]?" * 300 + "){1000}z", "a")
