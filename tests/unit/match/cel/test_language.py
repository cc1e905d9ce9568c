"""The language in one table per topic: expression → value, or the text of its error."""

from typing import Any

import pytest

from moorage.match.cel import CelError, Environment, Program, compile_expression, render_issues
from moorage.match.cel import types as t
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS
from moorage.match.cel.values import OPTIONAL_NONE, CelMap, Duration, OptionalValue, Timestamp, UInt

ENVIRONMENT = Environment(
    KUBERNETES_FUNCTIONS,
    variables={"x": t.DYN, "n": t.INT, "m": t.map_of(t.STRING, t.DYN), "pkg.name": t.STRING},
    homogeneous=False,
)
BINDINGS = {
    "x": 5,
    "n": 7,
    "m": CelMap([("a", 1), ("b", None), ("c", CelMap([("d", "deep")]))]),
    "pkg.name": "qualified",
}


def run(source: str) -> Any:
    program = compile_expression(source, ENVIRONMENT)
    assert isinstance(program, Program), render_issues(source, program)
    return program.run(BINDINGS)


def assert_value(source: str, want: Any) -> None:
    got = run(source)
    assert got == want
    assert type(got) is type(want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("null", None),
        ("0x7F", 127),
        ("-0x7F", -127),
        ("42u", UInt(42)),
        ("0xFFu", UInt(255)),
        ("1.5e3", 1500.0),
        (".5", 0.5),
        ("-9223372036854775808", -(2**63)),
        ("18446744073709551615u", UInt(2**64 - 1)),
        (r"'\a\b\f\n\r\t\v\\\'\"\?\`'", "\a\b\f\n\r\t\v\\'\"?`"),
        (r"'\x41\101\u00e9\U0001F600'", "AAé😀"),
        (r"r'\d\n'", r"\d\n"),
        (r'R"""a\"b"""', r"a\"b"),
        ("'''it's\n'''", "it's\n"),
        (r"b'\xff\377é'", b"\xff\xff\xc3\xa9"),
        (r"br'\x41'", b"\\x41"),
        ("[1, 2,]", [1, 2]),
        ("{'a': 1,}", CelMap([("a", 1)])),
        ("1 // a comment\n + 1", 2),
    ],
)
def test_literals(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("2 + 3 * 4 - 10 / 2 % 3", 12),
        ("(2 + 3) * 4", 20),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("7u / 2u", UInt(3)),
        ("7u % 4u - 3u", UInt(0)),
        ("1.0 / 0.0", float("inf")),
        ("-(n)", -7),
        ("--1", 1),
        ("'a' + 'b'", "ab"),
        ("b'a' + b'b'", b"ab"),
        ("[1] + [2, 3]", [1, 2, 3]),
        ("!true || !false", True),
        ("true ? 1 : 1 / 0", 1),
        ("1 < 2 == true", True),
        ("'a' < 'b' && 'ä' > 'z'", True),
        ("b'a' <= b'b'", True),
        ("false < true", True),
        ("1 < 2u && 2u < 2.5 && 3.5 > 3", True),
        ("dyn(1) == 1u && dyn(1) == 1.0", True),
        ("dyn('1') == 1", False),
        ("[1, 2] == [1, 2] && [1] != [2]", True),
        ("{'a': dyn(1)} == {'a': 1.0}", True),
        ("{dyn(1): 'a'} == {1u: 'a'}", True),
        ("null == null", True),
        ("dyn(null) == 1", False),
        ("2 in [1, 2, 3] && !(4 in [1])", True),
        ("'a' in {'a': 1}", True),
        ("dyn(n) in [7.0]", True),
        ("timestamp(0) + duration('1h') == timestamp('1970-01-01T01:00:00Z')", True),
        ("timestamp(60) - timestamp(0) == duration('1m')", True),
        ("duration('1h') - duration('30m') < duration('31m')", True),
    ],
)
def test_operators(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("n / 0", "division by zero"),
        ("n % 0", "modulus by zero"),
        ("9223372036854775807 + n", "integer overflow"),
        ("-9223372036854775808 - n", "integer overflow"),
        ("9223372036854775807 * n", "integer overflow"),
        ("-(n - 7 - 9223372036854775807 - 1)", "integer overflow"),
        ("1u - uint(n)", "unsigned integer overflow"),
        ("18446744073709551615u * uint(n)", "unsigned integer overflow"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
        ("double('nan') < 1.0", "NaN values cannot be ordered"),
        ("x + 'a'", "no such overload"),
        ("x.startsWith('a')", "no such overload"),
        ("dyn({}) + dyn({})", "no such overload: _+_"),
        ("size(x)", "no such overload: size"),
        ("int(dyn([n]))", "no such overload: int(list)"),
        ("x && true", "no such overload"),
        ("m.z", "no such key: z"),
        ("m['z']", "no such key: z"),
        ("[1][n]", "index out of bounds: 7"),
        ("[1][dyn(0.5)]", "unsupported index value 0.5 in list"),
        ("[1][dyn('a')]", "unsupported index type 'string' in list"),
        ("x.all(i, true)", "got 'types.Int', expected iterable type"),
        ("optional.none().value()", "optional.none() dereference"),
        ("[1].map(i, i / 0)", "division by zero"),
        ("'a'.matches('[' + string(n))", "error parsing regexp: missing closing ]: `[7`"),
        ("[1, 2].transformMapEntry(i, v, {'k': v})", "insert failed: key k already exists"),
    ],
)
def test_errors(source: str, error: str) -> None:
    with pytest.raises(CelError) as raised:
        run(source)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("n / 0 > 0 || true", True),
        ("true || n / 0 > 0", True),
        ("n / 0 > 0 && false", False),
        ("[1, 0].exists(d, n / d == 7)", True),
        ("[0, 1].all(d, n / d > 100)", False),
        ("[0, 1].all(d, n / d > 100) ? 1 : 2", 2),
    ],
)
def test_logic_absorbs_errors(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("has(m.a) && has(m.c.d) && !has(m.z)", True),
        ("[1, 2, 3].all(i, i > 0)", True),
        ("{'a': 1, 'b': 2}.exists(k, k == 'b')", True),
        ("[1, 2, 2].exists_one(i, i == 2)", False),
        ("[1, 2, 3].exists_one(i, i == 2)", True),
        ("[1, 2, 3].map(i, i * 2)", [2, 4, 6]),
        ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
        ("[1, 2, 3].filter(i, i % 2 == 1)", [1, 3]),
        ("[1, 2].map(i, [3, 4].map(j, i * j))", [[3, 4], [6, 8]]),
        ("[10, 20].all(i, v, v == (i + 1) * 10)", True),
        ("{'a': 1}.exists(k, v, k == 'a' && v == 1)", True),
        ("[5, 6].exists_one(i, v, i == 1)", True),
        ("[5, 6].transformList(i, v, i + v)", [5, 7]),
        ("[5, 6].transformList(i, v, i > 0, v)", [6]),
        ("[5, 6].transformMap(i, v, v * 2)", CelMap([(0, 10), (1, 12)])),
        ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v)", CelMap([("b", 2)])),
        ("['x', 'y'].transformMapEntry(i, v, {v: i})", CelMap([("x", 0), ("y", 1)])),
        ("cel.bind(v, n + 1, v * v)", 64),
        ("cel.bind(v, 1 / 0, true || v == 1)", True),
        ("cel.bind(n, 'shadow', n)", "shadow"),
        ("['bb', 'a'].sortBy(s, size(s))", ["a", "bb"]),
        ("[].map(i, i)", []),
        ("[[1, 2]].map(l, l + [3]) == [[1, 2, 3]]", True),
    ],
)
def test_macros(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("optional.of(1)", OptionalValue.of(1)),
        ("optional.none()", OPTIONAL_NONE),
        ("optional.ofNonZeroValue('')", OPTIONAL_NONE),
        ("optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z'))", OPTIONAL_NONE),
        ("m.?a", OptionalValue.of(1)),
        ("m.?z", OPTIONAL_NONE),
        ("m.?c.d", OptionalValue.of("deep")),
        ("m.?z.d.e", OPTIONAL_NONE),
        ("m[?'a'].orValue(2)", 1),
        ("m[?'z'].orValue(2)", 2),
        ("[1][?5].or(optional.of(3)).value()", 3),
        ("m.?a.hasValue()", True),
        ("optional.of(2).optMap(v, v * 2)", OptionalValue.of(4)),
        ("optional.none().optMap(v, v)", OPTIONAL_NONE),
        ("optional.of(m).optFlatMap(v, v.?a)", OptionalValue.of(1)),
        ("[?m.?a, ?m.?z]", [1]),
        ("{?'a': m.?a, ?'z': m.?z}", CelMap([("a", 1)])),
        ("[1, 2].first()", OptionalValue.of(1)),
        ("[].last()", OPTIONAL_NONE),
        ("optional.unwrap([optional.of(1), optional.none()])", [1]),
        ("has(m.?c.d)", True),
    ],
)
def test_optionals(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("type(1) == int && type(1u) == uint && type(1.0) == double && type('') == string", True),
        ("type([]) == list && type({}) == map && type(null) == null_type && type(type(1)) == type", True),
        ("type(duration('1s')) == google.protobuf.Duration", True),
        ("type(optional.none()) == optional_type", True),
        ("type(x) == int", True),
        ("pkg.name", "qualified"),
        (".pkg.name", "qualified"),
        ("{1: 'int', 1u: 'uint', true: 'bool'}.size()", 3),
        ("{1: 'a'}[dyn(1u)] + {1: 'a'}[dyn(1.0)]", "aa"),
        ("size('ключ') + size(b'ключ')", 12),
        ("'ключ'.size()", 4),
        ("'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')", True),
        ("'abc'.matches('^a.c$') && !matches('abc', 'd')", True),
    ],
)
def test_types_and_names(source: str, want: Any) -> None:
    assert_value(source, want)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        ("timestamp('2009-02-13T23:31:30.5+01:00')", Timestamp(1234564290_500_000_000)),
        ("duration('1h1.5s')", Duration(3601_500_000_000)),
        ("timestamp('2009-02-13T23:31:30Z').getFullYear()", 2009),
        ("timestamp('2009-02-13T23:31:30Z').getDayOfYear()", 43),
        ("timestamp('2009-02-13T23:31:30Z').getDate('Australia/Sydney')", 14),
        ("timestamp('2009-02-13T23:31:30Z').getHours('-02:30')", 21),
        ("duration('-90s').getMinutes()", -1),
    ],
)
def test_time(source: str, want: Any) -> None:
    assert_value(source, want)


def test_unchecked_expressions_resolve_names_at_run_time() -> None:
    environment = Environment(KUBERNETES_FUNCTIONS, container="a.b", homogeneous=False)
    program = compile_expression("c.d + lists.range(2)[1] + size([x])", environment, checked=False)
    assert isinstance(program, Program)
    assert program.run({"a.c": CelMap([("d", 10)]), "x": 0}) == 12
    with pytest.raises(CelError, match="no such attribute"):
        program.run({"x": 0})


def test_exists_one_has_its_new_name_for_two_variables_only() -> None:
    assert isinstance(compile_expression("[1, 2].existsOne(i, v, v == 2)", Environment(KUBERNETES_FUNCTIONS)), Program)
    issues = compile_expression("[1, 2].existsOne(i, i == 2)", Environment(KUBERNETES_FUNCTIONS))
    assert isinstance(issues, list)
    assert "undeclared reference to 'existsOne' (in container '')" in [issue.message for issue in issues]
