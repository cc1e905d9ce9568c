"""What the checker and the validators of literals object to, in cel-go's words and at its places."""

import pytest

from moorage.match.cel import Program, compile_expression, render_issues, taint_environment

NO_RANGE = "cannot be range of a comprehension (must be list, map, or dynamic)"


def complaint(source: str) -> str:
    issues = compile_expression(source, taint_environment())
    assert not isinstance(issues, Program)
    return render_issues(source, issues)


@pytest.mark.parametrize(
    ("source", "column", "message"),
    [
        ("taint.foo == 'x'", 6, "undefined field 'foo'"),
        ("url('a').foo == 'x'", 9, "unexpected failed resolution of 'kubernetes.URL'"),
        ("ip('::1').foo == 'x'", 10, "type 'net.IP' does not support field selection"),
        ("self == 'x'", 1, "undeclared reference to 'self' (in container '')"),
        ("taint.key.nope()", 15, "undeclared reference to 'nope' (in container '')"),
        ("nope(1)", 5, "undeclared reference to 'nope' (in container '')"),
        ("taint.key == 1", 11, "found no matching overload for '_==_' applied to '(string, int)'"),
        ("taint.key.contains(1)", 19, "found no matching overload for 'contains' applied to 'string.(int)'"),
        ("1 + 'a' == 2", 3, "found no matching overload for '_+_' applied to '(int, string)'"),
        ("taint.key && true", 6, "expected type 'bool' but found 'string'"),
        ("taint.key.foo == 1", 10, "type 'string' does not support field selection"),
        ("(1).all(x, true)", 2, f"expression of type 'int' {NO_RANGE}"),
        ("[1].all(x, x)", 12, "expected type 'bool' but found 'int'"),
        ("[1, 'a'] == [1]", 5, "expected type 'int' but found 'string'"),
        ("[1, dyn('a')] == [1]", 8, "expected type 'int' but found 'dyn'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", 15, "expected type 'int' but found 'string'"),
        ("[?1] == [1]", 3, "expected type 'optional_type(int)' but found 'int'"),
        ("duration('1y') == duration('1s')", 10, "invalid duration argument"),
        ("timestamp('now') == timestamp(0)", 11, "invalid timestamp argument"),
        ("taint.key.matches('[')", 19, "invalid matches argument"),
        (r"taint.key.matches('\\C')", 19, "invalid matches argument"),
        ("has(taint)", 5, "invalid argument to has() macro"),
        ("[1].map(1, 2) == [2]", 9, "argument is not an identifier"),
        ("[1].all(x, x, true)", 12, "duplicate variable name: x"),
        ("[1].all(__result__, true)", 9, "iteration variable overwrites accumulator variable"),
        ("cel.bind(1, 2, true)", 10, "cel.bind() variable names must be simple identifiers"),
        ("optional.of(1).optMap(1, 2) == optional.of(2)", 23, "optMap() variable name must be a simple identifier"),
        ("for == 1", 1, "reserved identifier: for"),
        ("taint.`key` == 'a'", 7, "unsupported syntax: '`'"),
        ("9223372036854775808 == 1", 1, "invalid int literal"),
        ("-9223372036854775809 == 1", 1, "invalid int literal"),
        ("18446744073709551616u == 1u", 1, "invalid uint literal"),
        (r"'\ud800' == 'a'", 1, "invalid unicode code point"),
        (r"b'\u0041' == b'A'", 1, "unable to unescape string"),
        ("int{} == 1", 4, "'int' is not a message type"),
        ("Foo{a: 1} == 1", 4, "undeclared reference to 'Foo' (in container '')"),
    ],
)
def test_type_check_errors(source: str, column: int, message: str) -> None:
    dots = "." * (column - 1)
    assert complaint(source) == f"compilation failed: ERROR: <input>:1:{column}: {message}\n | {source}\n | {dots}^"


def test_type_check_errors_are_sorted_by_position() -> None:
    lines = complaint("a.b == taint.foo ||\n  c").splitlines()
    assert [line for line in lines if "ERROR" in line] == [
        "compilation failed: ERROR: <input>:1:1: undeclared reference to 'a' (in container '')",
        "ERROR: <input>:1:13: undefined field 'foo'",
        "ERROR: <input>:2:3: undeclared reference to 'c' (in container '')",
    ]


def test_carets_are_as_wide_as_the_letters_above_them() -> None:
    assert complaint("'ключ' + 1 == 'é'").splitlines()[2] == " | .．．．．..^"


@pytest.mark.parametrize(
    ("source", "type_"),
    [
        ("taint.key", "string"),
        ("null", "null_type"),
        ("[1]", "list(int)"),
        ("{'a': [dyn(1)]}", "map(string, list(dyn))"),
        ("duration('1s')", "google.protobuf.Duration"),
        ("optional.of(1u)", "optional_type(uint)"),
        ("taint", "kubernetes.Taint"),
        ("type(1)", "type(int)"),
        ("dyn(true)", "dyn"),
        ("ip('::1')", "net.IP"),
    ],
)
def test_expressions_must_return_a_bool(source: str, type_: str) -> None:
    assert complaint(source) == f"must evaluate to bool or the unknown type, not {type_}"


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("taint.key.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
        ("taint.key.findAll('(', 2) == []", "error parsing regexp: missing closing ): `(`"),
        ("matches(taint.key, '*')", "error parsing regexp: missing argument to repetition operator: `*`"),
    ],
)
def test_constants_that_cannot_be_computed(source: str, error: str) -> None:
    assert complaint(source) == f"program instantiation failed: {error}"
