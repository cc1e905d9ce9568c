import pytest

from moorage.match.label_selector import parse_selector
from moorage.match.requirement import SelectorError


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        (" \t\r\n", ""),
        ("a", "a"),
        ("!a", "!a"),
        (" ! a , b ", "!a,b"),
        ("a=b", "a=b"),
        ("a==b", "a==b"),
        ("a!=b", "a!=b"),
        ("a=", "a="),
        ("a=,b", "a=,b"),
        ("a>5", "a>5"),
        ("a<-5", None),
        ("a < 007", "a<007"),
        ("b in (y,x,y),a", "a,b in (x,y)"),
        ("a in ()", "a in ()"),
        ("a in (,)", "a in ()"),
        ("a in (x,)", "a in (,x)"),
        ("a in (,x)", "a in (,x)"),
        ("a in (x,,y)", "a in (,x,y)"),
        ("in in (in,notin)", "in in (in,notin)"),
        ("notin", "notin"),
        ("a=in", "a=in"),
        ("a\0", "a"),
        ("a \0=b", "a"),
        ("example.com/a notin (x)", "example.com/a notin (x)"),
    ],
)
def test_canonical_form(text: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(SelectorError):
            parse_selector(text)
    else:
        assert str(parse_selector(text)) == canonical


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a\0b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("!!a", "unable to parse requirement: found '!', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in", "unable to parse requirement: found '' expected: '('"),
        ("a in x", "unable to parse requirement: found 'x' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (x,!", "unable to parse requirement: found '!', expected: ',', or identifier"),
        ("a===b", "unable to parse requirement: found '=', expected: identifier"),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
        ),
    ],
)
def test_errors_have_the_texts_of_the_real_parser(text: str, error: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_selector(text)
    assert str(caught.value) == error


def test_a_bad_key_is_an_error_without_a_path() -> None:
    with pytest.raises(
        SelectorError, match=r'^unable to parse requirement: <nil>: Invalid value: "-a": name part must'
    ):
        parse_selector("-a=b")


def test_a_bad_value_names_the_key() -> None:
    with pytest.raises(SelectorError, match=r'values\[0\]\[a\]: Invalid value: "-b": a valid label'):
        parse_selector("a=-b")


def test_a_long_selector_is_read_in_one_go() -> None:
    selector = parse_selector("a in (" + ",".join(f"v{i}" for i in range(5_000)) + ")")
    assert selector.match({"a": "v4999"})
    assert not selector.match({"a": "v5000"})
