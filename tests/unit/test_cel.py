"""`moorage.cel`, the public module: values in and out, declarations, issues, costs, and its documentation."""

from __future__ import annotations

import doctest
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from moorage import cel

PAGE = Path(__file__).parents[2] / "docs" / "library-cel.md"
TAINT = {"taint": {"key": "string", "value": "string"}}


@pytest.mark.parametrize(
    ("source", "values", "want"),
    [
        ("1 + n", {"n": 2}, 3),
        ("m.a.b", {"m": {"a": {"b": [1, 2]}}}, [1, 2]),
        ("{'x': dyn([m])}", {"m": {"a": 1}}, {"x": [{"a": 1}]}),
        ("t + duration('1m')", {"t": datetime(2026, 1, 1, tzinfo=UTC)}, datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
        ("d + d", {"d": timedelta(seconds=1.5)}, timedelta(seconds=3)),
        ("optional.none()", {}, None),
        ("optional.of([1])", {}, [1]),
        ("l.exists(x, x == 'a')", {"l": ("b", "a")}, True),
        ("null", {}, None),
    ],
)
def test_values_go_in_and_come_out_as_python_has_them(source: str, values: dict[str, Any], want: Any) -> None:
    got = cel.evaluate(source, **values)
    assert got == want
    assert type(got) is type(want)


def test_an_object_is_a_dict_or_has_attributes() -> None:
    expression = cel.compile("taint.key + '=' + taint.value", TAINT)
    assert expression.evaluate(taint={"key": "a", "value": "b"}) == "a=b"
    assert expression.evaluate(taint=SimpleNamespace(key="a", value="b")) == "a=b"
    with pytest.raises(cel.CelError, match=r"no such attribute\(s\): taint\.value"):
        expression.evaluate(taint={"key": "a"})
    with pytest.raises(cel.CelError, match=r"no such attribute\(s\): taint\.key"):
        expression.evaluate()


def test_a_variable_without_a_value_is_an_error_where_it_is_used() -> None:
    expression = cel.compile("given || missing", {"given": "bool", "missing": "bool"})
    assert expression.evaluate(given=True) is True
    with pytest.raises(cel.CelError, match=r"no such attribute\(s\): missing"):
        expression.evaluate(given=False)


@pytest.mark.parametrize(
    ("declared", "rendered"),
    [
        ("int", "int"),
        ("list(map(string, uint))", "list(map(string, uint))"),
        ("optional_type(timestamp)", "optional_type(timestamp)"),
        ("dyn", "dyn"),
        ("list", "list(dyn)"),
    ],
)
def test_declared_types(declared: str, rendered: str) -> None:
    assert cel.compile("x", {"x": declared}).result_type == rendered


@pytest.mark.parametrize(
    "text", ["", "text", "list", "list()", "list(int, int)", "map(int)", "list(text)", "1 + 1", "("]
)
def test_what_is_no_type_is_refused(text: str) -> None:
    if text == "list":
        assert cel.compile("x", {"x": text}).result_type == "list(dyn)"
        return
    with pytest.raises(ValueError, match="not a type"):
        cel.compile("x", {"x": text})


def test_issues_have_places() -> None:
    assert cel.check("1 +") != []
    assert cel.check("taint.key == 'a'", TAINT) == []
    issue = cel.check("true &&\n  nothing", {})[0]
    assert (issue.line, issue.column) == (2, 3)
    assert "undeclared reference to 'nothing'" in issue.message
    with pytest.raises(cel.CompileError, match="undeclared reference") as caught:
        cel.compile("nothing")
    assert [(one.line, one.column) for one in caught.value.issues] == [(1, 1)]


def test_bool_only_refuses_other_results() -> None:
    assert cel.compile("1 == 1", bool_only=True).result_type == "bool"
    with pytest.raises(cel.CompileError, match="must evaluate to bool"):
        cel.compile("1", bool_only=True)


def test_the_estimate_knows_declared_sizes() -> None:
    bounded = cel.estimate("taint.key.contains('a')", TAINT, max_sizes={"taint.key": 100})
    unbounded = cel.estimate("taint.key.contains('a')", TAINT)
    assert bounded.min <= bounded.max < unbounded.max
    assert cel.compile("taint.key.contains('a')", TAINT, max_sizes={"taint.key": 100}).cost == bounded


def test_evaluation_stops_at_the_cost_limit() -> None:
    with pytest.raises(cel.CelError, match="cost limit"):
        cel.compile("s.contains(t)", {"s": "string", "t": "string"}).evaluate(s="a" * 20_000, t="b" * 20_000)


def test_the_page_says_what_happens() -> None:
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0
    assert doctest.testmod(cel).failed == 0


def test_the_import_is_small() -> None:
    code = "import sys, moorage.cel; print({'numpy', 'moorage.schedule', 'moorage.serve'} & sys.modules.keys())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
