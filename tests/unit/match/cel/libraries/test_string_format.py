"""`format`: each clause on each type, the words for what does not fit, and the check before running."""

from typing import Any

import pytest
from tests.unit.match.cel.libraries.calls import call, overload

from moorage.match.cel.check.validators import check_format_call
from moorage.match.cel.libraries.strings import FUNCTIONS
from moorage.match.cel.parse.syntax import Call, Entry, Ident, ListLiteral, Literal, MapLiteral, Node
from moorage.match.cel.types import BOOL, DOUBLE, DYN, INT, IP, LIST, MAP, STRING, Type
from moorage.match.cel.values import OPTIONAL_NONE, CelError, CelMap, Duration, Timestamp, UInt


@pytest.mark.parametrize(
    ("text", "arguments", "result"),
    [
        ("no substitution", [], "no substitution"),
        ("%%%s%%", ["text"], "%text%"),
        ("%d %d", [-5, UInt(2**64 - 1)], "-5 18446744073709551615"),
        ("%b %b %b", [5, UInt(2), True], "101 10 1"),
        ("%b", [-5], "-101"),
        ("%x %X %x", [255, UInt(255), -255], "ff FF -ff"),
        ("%x %X", ["Hié", b"\xff"], "4869c3a9 FF"),
        ("%o", [8], "10"),
        ("%f", [2.71828], "2.718280"),
        ("%.3f", [1234567.8914], "1,234,567.891"),
        ("%.0f", [2.5], "2"),
        ("%.300f", [0.5], "0." + "5".ljust(44, "0")),
        ("%f %f %f", ["NaN", "Infinity", "-Infinity"], "NaN ∞ -∞"),
        ("%.9999999f", [0.5], "%!(BADPREC)0.500000"),
        ("%e", [1.5], "1.500000×10⁰⁰"),
        ("%.6e", [1052.032911275], "1.052033×10⁰³"),
        ("%.1e", [-0.000015], "-1.500000×10⁻⁰⁵"),
        ("%.20e", [1.5], "       1.500000×10⁰⁰"),
        ("%e", ["Infinity"], "     ∞"),
        ("%.9999999e", [1.5], "%!(BADWIDTH)1.500000×10⁰⁰"),
        ("%s %s %s", [True, None, b"xyz"], "true null xyz"),
        ("%s %s %s", [1, UInt(2), 1e6], "1 2 1e+06"),
        ("%s", [INT], "int"),
        ("%s", [[1, "a", True, 2.5, None, b"x"]], '[1, "a", true, 2.500000, null, b"x"]'),
        ("%s", [[float("inf"), float("nan")]], '["+Inf", "NaN"]'),
        ("%s", [[Duration(90 * 10**9), Timestamp(0)]], '[duration("90s"), timestamp("1970-01-01T00:00:00Z")]'),
        ("%s", [CelMap([("b", 1), (2, "x"), (True, [])])], '{"b":1, 2:"x", true:[]}'),
    ],
)
def test_results(text: str, arguments: list[Any], result: str) -> None:
    assert call(FUNCTIONS, "string_format", text, arguments) == result


_PARSING = "could not parse formatting clause: "
_PRECISION = _PARSING + "error while parsing precision: "
_FORMATTING = "error during formatting: "


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("%d", [], "index 0 out of range"),
        ("%", [], "index 0 out of range"),
        ("%", [1], "unexpected end of string"),
        ("%q", [1], _PARSING + 'unrecognized formatting clause "q"'),
        ("%é", [1], _PARSING + 'unrecognized formatting clause "Ã"'),
        ("%.3", [1], _PRECISION + "could not find end of precision specifier"),
        (
            "%.f",
            [1.0],
            _PRECISION + 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
        ),
        (
            "%.9223372036854775808f",
            [1.0],
            _PRECISION + "error while converting precision to integer: strconv.Atoi: "
            'parsing "9223372036854775808": value out of range',
        ),
        ("%d", ["a"], _FORMATTING + "decimal clause can only be used on integers, was given string"),
        ("%f", [1], _FORMATTING + "fixed-point clause can only be used on doubles, was given int"),
        ("%e", ["1"], _FORMATTING + "scientific clause can only be used on doubles, was given string"),
        ("%b", ["a"], _FORMATTING + "only integers and bools can be formatted as binary, was given string"),
        (
            "%x",
            [0.5],
            _FORMATTING + "only integers, byte buffers, and strings can be formatted as hex, was given double",
        ),
        ("%o", [None], _FORMATTING + "octal clause can only be used on integers, was given null_type"),
        (
            "%s",
            [OPTIONAL_NONE],
            _FORMATTING + "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
            "types, durations, and timestamps, was given optional_type",
        ),
        ("%s", [[OPTIONAL_NONE]], _FORMATTING + "no formatting function for optional_type"),
        ("%s", [CelMap([(1.5, 1)])], _FORMATTING + "no formatting function for map key of type double"),
        (
            "%s",
            [b"\xff"],
            _FORMATTING + 'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
        ),
    ],
)
def test_errors(text: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(CelError) as caught:
        call(FUNCTIONS, "string_format", text, arguments)
    assert str(caught.value) == message


def _node(position: int, kind: Type) -> Node:
    node = Ident(position, "x")
    node.type = kind
    return node


def _format(text: str, *arguments: Node) -> Call:
    items = ListLiteral(50, list(arguments))
    items.type = LIST
    return _checked(Call(7, "format", Literal(0, text), [items]))


def _checked(call: Call) -> Call:
    call.overloads = (overload(FUNCTIONS, "string_format"),)
    return call


@pytest.mark.parametrize(
    ("expression", "issue"),
    [
        (_format("%s %d %f", _node(1, BOOL), _node(2, INT), _node(3, STRING)), None),
        (_format("%d", _node(1, DYN)), None),
        (_format("%d", _node(9, DOUBLE)), (9, "decimal clause can only be used on integers, was given double")),
        (_format("%d"), (7, "index 0 out of range")),
        (_format("%"), (7, "unexpected end of string")),
        (_format("", _node(1, INT)), (7, "too many arguments supplied to string.format (expected 0, got 1)")),
        (_format("%q", _node(1, INT)), (7, _PARSING + 'unrecognized formatting clause "q"')),
    ],
)
def test_format_clauses_are_checked_before_evaluation(expression: Call, issue: tuple[int, str] | None) -> None:
    if issue is not None and "clause can only" in issue[1]:
        issue = (issue[0], _FORMATTING + issue[1])
    assert check_format_call(expression) == issue


def test_only_the_string_clause_looks_into_literals() -> None:
    inner = ListLiteral(20, [_node(21, IP)])
    inner.type = LIST
    outer = MapLiteral(30, [Entry(31, _node(32, STRING), inner, False)])
    outer.type = MAP
    found = check_format_call(_format("%s", outer))
    assert found is not None
    assert found[0] == 21
    assert found[1].endswith("was given net.IP")


def test_format_arguments_of_unknown_type_are_not_checked() -> None:
    assert check_format_call(_checked(Call(0, "format", _node(1, STRING), [ListLiteral(2, [])]))) is None
    assert check_format_call(_checked(Call(0, "format", Literal(1, "%d"), [_node(2, LIST)]))) is None
    assert check_format_call(Call(0, "format", Literal(1, "%d"), [ListLiteral(2, [])])) is None
