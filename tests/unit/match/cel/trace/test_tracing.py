"""A trace has the value of each part as it was written, what was not evaluated, and the passes through loops."""

from typing import Any

import pytest

from moorage.match.cel import types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, TAINT_ENVIRONMENT, Environment
from moorage.match.cel.trace import tracing
from moorage.match.cel.trace.shown_value import shown_value
from moorage.match.cel.trace.tracing import Trace, TracedIteration, TracedPart, trace_expression
from moorage.match.cel.values import CelMap, Duration, OptionalValue, UInt
from moorage.model.types.node import Taint

ENVIRONMENT = Environment(KUBERNETES_FUNCTIONS, {"object": types.DYN, "n": types.INT})


def cel(value: Any) -> Any:
    if isinstance(value, dict):
        return CelMap((key, cel(entry)) for key, entry in value.items())
    return [cel(entry) for entry in value] if isinstance(value, list) else value


OBJECT = cel({"spec": {"replicas": 7, "containers": [{"image": "x:1"}, {"image": "y"}, {"image": "z"}]}})


def traced(source: str) -> Trace:
    trace = trace_expression(source, ENVIRONMENT, {"object": OBJECT, "n": 3})
    assert isinstance(trace, Trace), trace
    return trace


def lines(part: TracedPart | TracedIteration, depth: int = 0) -> list[str]:
    """The tree as indented lines."""
    indent = "  " * depth
    if isinstance(part, TracedIteration):
        shown = [f"{indent}#{part.number} {part.variables}"]
    else:
        value = "-" if part.skipped else f"!{part.error}" if part.error is not None else part.value
        shown = [f"{indent}{part.expression} = {value}"]
        shown += [line for child in part.parts for line in lines(child, depth + 1)]
        return shown + [line for child in part.iterations for line in lines(child, depth + 1)]
    return shown + [line for child in part.parts for line in lines(child, depth + 1)]


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        (
            "object.spec.replicas <= 5 && n > 3 && object.foo == 1",
            [
                "  object.spec.replicas <= 5 = false",
                "    object.spec.replicas = 7",
                "  n > 3 = -",
                "  object.foo == 1 = -",
            ],
        ),
        ("n == 3 || object.x", ["  n == 3 = true", "    n = 3", "  object.x = -"]),
        (
            "(n + 2) * 3 == 9 ? 'a' : object.y",
            [
                "  (n + 2) * 3 == 9 = false",
                "    (n + 2) * 3 = 15",
                "      n + 2 = 5",
                "        n = 3",
                "  object.y = !no such key: y",
            ],
        ),
        (
            "object.spec.containers.all(c, c.image.contains(':'))",
            [
                "  object.spec.containers = " + shown_value(OBJECT.find("spec").find("containers")),
                "  #1 {'c': '{\"image\": \"x:1\"}'}",
                "    c.image.contains(':') = true",
                '      c.image = "x:1"',
                "  #2 {'c': '{\"image\": \"y\"}'}",
                "    c.image.contains(':') = false",
                '      c.image = "y"',
            ],
        ),
        (
            "cel.bind(x, n + 1, x * x) > 0",
            [
                "  cel.bind(x, n + 1, x * x) = 16",
                "    x * x = 16",
                "      x = 4",
                "        n + 1 = 4",
                "          n = 3",
                "      x = 4",
            ],
        ),
        (
            "object.?foo.orValue('q') == 'q'",
            ["  object.?foo.orValue('q') = \"q\"", "    object.?foo = optional.none()"],
        ),
        (
            "!!(n == 3) \n&& !(n in [1, 2])",
            ["  n == 3 = true", "    n = 3", "  !(n in [1, 2]) = true", "    n in [1, 2] = false", "      n = 3"],
        ),
        ("object.spec.containers[n].x", ["  n = 3"]),
        ("1 == 1", []),
    ],
)
def test_parts_have_their_values(source: str, tree: list[str]) -> None:
    trace = traced(source)
    assert lines(trace.root)[1:] == tree
    assert trace.root.expression == source


def test_the_first_passes_and_the_last_are_shown_of_a_long_loop() -> None:
    loop = traced("lists.range(1000).all(i, i < 900)").root
    assert loop.passes == 901
    assert [(one.number, one.variables) for one in loop.iterations] == [
        (1, {"i": "0"}), (2, {"i": "1"}), (3, {"i": "2"}), (901, {"i": "900"}),
    ]  # fmt: skip
    assert loop.iterations[-1].parts[0].value == "false"


def test_a_trace_says_where_each_part_stands() -> None:
    part = traced("n > 1 &&\n  n > 2").root.parts[1]
    assert (part.expression, part.line, part.column) == ("n > 2", 2, 3)


def test_a_field_that_is_compared_with_a_constant_has_its_value() -> None:
    trace = trace_expression("taint.key == 'gpu'", TAINT_ENVIRONMENT, {"taint": Taint(key="sla")})
    assert isinstance(trace, Trace)
    assert lines(trace.root) == ["taint.key == 'gpu' = false", '  taint.key = "sla"']


def test_an_expression_that_does_not_compile_has_issues() -> None:
    issues = trace_expression("n + 'a'", ENVIRONMENT, {})
    assert isinstance(issues, list)
    assert issues[0].message.startswith("found no matching overload")


def test_a_trace_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MAX_PARTS", 5)
    trace = traced(" && ".join(["n == 3"] * 50))
    assert trace.is_cut
    assert sum(1 for line in lines(trace.root)) <= 6
    assert trace.result is True


def test_a_deep_expression_is_traced() -> None:
    trace = traced("(" * 200 + "n" + " + 1)" * 200 + " > 0")
    assert trace.result is True


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (UInt(3), "3u"),
        (2.5, "2.5"),
        ('a"b', '"a\\"b"'),
        (b"x", "b'x'"),
        (Duration(1_500_000_000), 'duration("1.5s")'),
        (OptionalValue.of([1]), "optional.of([1])"),
        (cel({"a": [1, "b"], "c": {}}), '{"a": [1, "b"], "c": {}}'),
        (types.INT, "int"),
    ],
)
def test_values_are_written_as_cel_writes_them(value: Any, text: str) -> None:
    assert shown_value(value) == text


def test_a_large_value_is_shortened_without_being_walked() -> None:
    nested: list[Any] = [1]
    for _ in range(60):
        nested = [nested, nested]
    assert len(shown_value(nested)) <= 160
    assert shown_value(["a" * 10_000_000]).endswith("…")
