"""Where syntax errors are found, and how deep an expression may be nested."""

import pytest

from moorage.match.cel.parse.parser import parse
from moorage.match.cel.parse.syntax import Issue, Node, Source


def issues(source: str) -> list[Issue]:
    parsed = parse(Source(source))
    assert isinstance(parsed, list)
    return parsed


@pytest.mark.parametrize(
    ("source", "places"),
    [
        ("", [(1, 0)]),
        ("1 +", [(1, 4)]),
        ("a b c", [(1, 3)]),
        ("== 'x'", [(1, 1)]),
        ("a..b", [(1, 3)]),
        ("[1, 2", [(1, 6)]),
        ("{'a': }", [(1, 7)]),
        ("f(1", [(1, 4)]),
        ("(1", [(1, 3)]),
        ("a ? b", [(1, 6)]),
        ("a &\nb", [(1, 3), (2, 1)]),
        ("'abc", [(1, 1), (1, 5)]),
        (r"'\q' == 'x'", [(1, 1), (1, 10), (1, 11)]),
        ("a =~ 'x'", [(1, 3), (1, 6)]),
        ("$a", [(1, 1)]),
        ("a;", [(1, 2)]),
        ("1.2.3", [(1, 4)]),
        ("-!a", [(1, 2)]),
        ("a.true", [(1, 3)]),
        ("'a' 'b'", [(1, 5)]),
        ("// nothing", [(1, 11)]),
        # after a repair, or after skipping to where it can go on, parsing goes on
        ("&&", [(1, 1), (1, 3)]),
        ("(a b) +", [(1, 4), (1, 8)]),
        ("f(1 2 3) ==", [(1, 5), (1, 12)]),
        ("[1 2, 3", [(1, 4), (1, 7)]),
        ("((a", [(1, 4)]),
        ("{1}", [(1, 3)]),
        ("{1 2}", [(1, 4)]),
        ("f(,1)", [(1, 3)]),
        ("if true", [(1, 1), (1, 4)]),
        ("a[]", [(1, 3)]),
        ("X{1: 2}", [(1, 3)]),
    ],
)
def test_places_of_syntax_errors(source: str, places: list[tuple[int, int]]) -> None:
    assert sorted((issue.line, issue.column) for issue in issues(source)) == places


@pytest.mark.parametrize(
    ("source", "shown"),
    [("", "1:0"), (" ", "1:2"), ("   ", "1:4"), ("\t", "1:2"), ("\n", "2:1"), (" \n  ", "2:3"), ("// why", "1:7")],
)
def test_an_expression_with_nothing_in_it_is_reported_where_cel_go_does(source: str, shown: str) -> None:
    """The column of an empty text is 0; of blanks and comments it is the one behind them, and the line is shown."""
    rendered = Source(source).render(issues(source))
    assert rendered.startswith(f"ERROR: <input>:{shown}: Syntax error: mismatched input '<EOF>' expecting {{'[', '{{',")
    assert ("\n | " in rendered) == bool(source)


@pytest.mark.parametrize(
    ("deepest", "too_deep"),
    [
        ("(" * 249 + "true" + ")" * 249, "(" * 250 + "true" + ")" * 250),
        ("[" * 249 + "]" * 249, "[" * 251 + "]" * 251),
        ("+".join(["1"] * 249), "+".join(["1"] * 250)),
        ("<".join(["1"] * 249), "<".join(["1"] * 250)),
        ("a" + ".b" * 249, "a" + ".b" * 250),
        ("a" + "[0]" * 248, "a" + "[0]" * 249),
        ("f(" * 249 + "1" + ")" * 249, "f(" * 250 + "1" + ")" * 250),
        ("true ? 1 : " * 249 + "1", "true ? 1 : " * 250 + "1"),
    ],
)
def test_nesting_ends_at_the_same_depth_as_in_kubernetes(deepest: str, too_deep: str) -> None:
    assert isinstance(parse(Source(deepest)), Node)
    assert [issue[:2] for issue in issues(too_deep)] == [(-1, 0)]


@pytest.mark.parametrize(
    "source", ["!" * 5000 + "true", "&&".join(["true"] * 2000), "||".join(["a"] * 2000), "-" * 999 + "a"]
)
def test_chains_that_do_not_nest_may_be_long(source: str) -> None:
    assert isinstance(parse(Source(source)), Node)


def test_operators_of_several_kinds_add_up() -> None:
    mixed = "(" * 80 + "a" + ".b[0] + 1)" * 80
    assert isinstance(parse(Source(mixed)), Node)
    assert [issue.message for issue in issues("(" * 90 + "a" + ".b[0] + 1)" * 90)] == ["max recursion depth exceeded"]


def test_at_most_a_hundred_syntax_errors_are_reported() -> None:
    found = issues("$" * 3000)
    assert len(found) == 101
    assert found[-1].message == "Syntax error: More than 100 syntax errors"
    assert Source("$" * 3000).render(found).endswith("1 more errors were truncated")
