"""Long loops run as generated code: when, with what in it, and what happens where it does not apply."""

from typing import Any

import pytest

from moorage.match.cel import CelError, Environment, Program, compile_expression, render_issues, taint_environment
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS
from moorage.match.cel.evaluate import loops, steps
from moorage.match.cel.evaluate.steps import EvaluationStep
from moorage.match.cel.generate import loop_function
from moorage.match.cel.parse import syntax
from moorage.match.cel.types import INT, list_of
from moorage.model.types.node import Taint

TAINT = Taint(key="example.com/gpu", value="a,b,c", effect="NoSchedule")


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions generated during a test."""
    made: list[str] = []
    write = loop_function.write_loop

    def write_and_note(node: syntax.Comprehension, found: dict[syntax.Node, EvaluationStep]) -> Any:
        source, namespace = write(node, found)
        made.append(source)
        return source, namespace

    monkeypatch.setattr(loop_function, "write_loop", write_and_note)
    return made


def compiled(source: str) -> Program:
    program = compile_expression(source, taint_environment())
    assert isinstance(program, Program), render_issues(source, program)
    return program


def outcome(source: str) -> tuple[Any, int]:
    try:
        return compiled(source).evaluate_with_cost(TAINT)
    except CelError as error:
        return f"{type(error).__name__}: {error}", error.cost


def both(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[tuple[Any, int], tuple[Any, int]]:
    """The outcome with closures, and with generated code."""
    monkeypatch.setattr(loops, "LONG", 10**12)
    closures = outcome(source)
    monkeypatch.setattr(loops, "LONG", -1)
    return closures, outcome(source)


def test_a_short_loop_stays_with_the_closures(sources: list[str]) -> None:
    assert compiled("[1, 2, 3].all(x, x > 0)").evaluate(TAINT)
    assert sources == []


def test_a_long_loop_is_generated_at_once(sources: list[str]) -> None:
    assert compiled("lists.range(1000).all(x, x >= 0)").evaluate_with_cost(TAINT) == (True, 6012)
    assert len(sources) == 1


def test_a_short_loop_that_runs_often_is_generated_once(sources: list[str]) -> None:
    program = compiled("[1, 2, 3].all(x, x > 0)")
    assert {program.evaluate_with_cost(TAINT) for _ in range(100)} == {(True, 16)}
    assert len(sources) == 1


def test_loops_within_loops_become_one_function(sources: list[str]) -> None:
    assert compiled("lists.range(300).all(x, lists.range(300).exists(y, x == y))").evaluate(TAINT)
    assert len(sources) == 1
    assert "ask(" not in sources[0]


def test_no_text_of_the_expression_is_in_the_source(sources: list[str]) -> None:
    text = "injected'); import os #"
    assert not compiled(f'lists.range(300).exists(injected, taint.key + "{text}" == string(injected))').evaluate(TAINT)
    assert not compiled(f'lists.range(300).exists(x, {{"{text}": x}}["{text}"] < 0)').evaluate(TAINT)
    assert len(sources) == 2
    assert not any("inject" in source or "import" in source for source in sources)


@pytest.mark.parametrize(
    "source",
    [
        # Elements whose type the checker was deceived about, at the start, in the middle, in pairs and inside.
        "([1, 2] + dyn([dyn('a'), dyn(3)])).all(x, x > 0)",
        "([1, 2] + dyn([dyn('a'), dyn(3)])).all(x, x != 5)",
        "([1, 2] + dyn([true])).exists(x, x == 9)",
        "([1, 2] + dyn([dyn(3u), dyn(4.0)])).map(x, x + 1).size() == 4",
        "([1, 2] + dyn([dyn('a'), dyn(3)])).filter(x, x > 1).size() == 1",
        "([1, 2] + dyn([dyn(true), dyn(3)])).exists_one(x, x == 1)",
        "([true, true] + dyn([1])).all(x, x)",
        "([1, 2] + dyn(['a'])).transformMap(i, x, x != 1, x).size() == 2",
        "([[1], [2]] + dyn(['a'])).all(l, l.exists(x, x > 0))",
        "([[1], [2]] + [dyn([dyn('a'), dyn(true)])]).all(l, l.exists(x, x != 9))",
        "dyn(7).all(x, x > 0)",
        "dyn(7).all(i, x, x > 0)",
        # Errors that are absorbed, and errors that are not.
        "lists.range(3).all(x, 6 / x > 0)",
        "lists.range(3).exists(x, 6 / x == 3)",
        "lists.range(3).map(x, 6 / x).size() == 3",
        "lists.range(3).map(x, x > 0, 6 / (x - 1)).size() == 3",
        "lists.range(3).filter(x, 6 / (x - x) > 0 || x == 1).size() == 1",
        "lists.range(3).exists_one(x, 6 / (x - 1) == 6)",
        "lists.range(3).transformMap(i, x, 6 / (x - 1)).size() == 3",
        "lists.range(3).transformMapEntry(i, x, {'a': i}).size() == 3",
        "lists.range(3).all(x, [1, 2][x] > 0)",
        "lists.range(3).all(x, [6 / x, x].size() == 2)",
        "[9223372036854775807].all(x, x + 1 > 0 || x * 2 > 0 || -x < 0)",
        "[-9223372036854775807 - 1].all(x, -x > 0 || x / -1 > 0 || x % -1 == 0)",
        # Bindings: used always, sometimes, never, in an inner loop, and failing.
        "lists.range(3).all(x, cel.bind(y, x + 1, y > x && y > 0))",
        "lists.range(3).all(x, cel.bind(y, 6 / x, x == 0 || y > 0))",
        "lists.range(3).all(x, cel.bind(y, 6 / x, x >= 0 || (y > 0 ? y > 1 : y > 2)))",
        "lists.range(3).all(x, cel.bind(y, 6 / x, lists.range(2).exists(z, z > 0 && y > z)))",
        "cel.bind(y, 6 / 0, lists.range(3).all(x, x > 0 || y > 1))",
        "cel.bind(y, lists.range(3), y.all(x, y.exists(z, z == x)))",
        # Left to the closures, within a loop that is generated.
        "lists.range(3).all(x, optional.of(x).orValue(1) >= 0 && has({'a': x}.a) && {'a': x}.?a.hasValue())",
        "lists.range(3).all(x, (x > 1 ? {'a': x} : {'b': x}).a > 0)",
        "[{'a': [1, 2]}].all(m, m.a[1] == 2 && m['a'].exists(x, x in m.a))",
        "taint.value.split(',').all(p, p.matches('^[a-c]$') && p in taint.value.split(','))",
    ],
)
def test_generated_loops_do_what_the_closures_do(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closures, generated = both(source, monkeypatch)
    assert generated == closures
    for spent in range(1, closures[1], 5):
        assert _stopped(source, spent, monkeypatch, 10**12) == _stopped(source, spent, monkeypatch, -1)


def _stopped(source: str, spent: int, monkeypatch: pytest.MonkeyPatch, long: int) -> tuple[Any, int]:
    """Where an evaluation stops that may only spend so much."""
    monkeypatch.setattr(loops, "LONG", long)
    program = compiled(source)
    state = program.initial_state(TAINT)
    state[steps.COST] = steps.COST_LIMIT - spent
    try:
        return program.finish(state), state[steps.COST]
    except CelError as error:
        return f"{type(error).__name__}: {error}", error.cost


@pytest.mark.parametrize("depth", [7, 8, 9, 20, 40])
def test_loops_nested_deeply_are_generated_in_parts(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    opening = "".join(f"[1, 2].exists(x{level}, " for level in range(depth))
    source = opening + " + ".join(f"x{level}" for level in range(0, depth, 3)) + " > 0" + ")" * depth
    closures, generated = both(source, monkeypatch)
    assert generated == closures


@pytest.mark.parametrize(
    "body",
    [
        "x >= 0 && " * 100 + "true",
        " ? x >= 0 : ".join(["x >= 0"] * 60),
        "x" + " + x" * 100 + " >= 0",
        "[" * 20 + "x" + "]" * 20 + " == " + "[" * 20 + "x" + "]" * 20,
        "[" + ", ".join(["x"] * 1000) + "].size() > 0",
        "(" * 40 + "x" + " + 1)" * 40 + " > 0",
        "!" * 60 + "(x > 0) || true",
        "[1].all(y, " * 15 + "x >= 0" + ")" * 15,
        "[" + ", ".join(f"[{n}].exists(y, y == x)" for n in range(60)) + "].size() > 0",
    ],
)
def test_loops_with_large_bodies_are_generated(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closures, generated = both(f"lists.range(5).all(x, {body})", monkeypatch)
    assert generated == closures


def test_parts_too_large_for_a_function_stay_closures(sources: list[str]) -> None:
    body = " && ".join(f"[{n}, x].exists(y, y + {n} == x + {n})" for n in range(150))
    assert compiled(f"lists.range(300).exists(x, {body})").evaluate_with_cost(TAINT)[0] is True
    (generated,) = (source for source in sources if "ask(" in source)
    assert generated.count("\n") < 3000


def test_a_loop_over_a_variable_that_is_not_what_it_was_declared_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(KUBERNETES_FUNCTIONS, variables={"n": INT, "items": list_of(INT)})
    program = compile_expression("items.all(x, x < n)", environment)
    assert isinstance(program, Program)
    monkeypatch.setattr(loops, "LONG", -1)
    assert program.run({"n": 9, "items": [1, 2]}) is True
    assert program.run({"n": 2, "items": [1, 2]}) is False
    for bindings in ({"n": "a", "items": [1]}, {"n": 1, "items": "a"}, {"items": [1]}, {"n": 1}):
        with pytest.raises(CelError):
            program.run(bindings)


def test_an_error_kept_by_a_loop_keeps_no_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "LONG", 10**12)
    with pytest.raises(CelError, match="division by zero") as raised:
        compiled("lists.range(2000).exists(x, 10 / (x - x) == 3)").evaluate(TAINT)
    frames, frame = 0, raised.value.__traceback__
    while frame is not None:
        frames, frame = frames + 1, frame.tb_next
    assert frames < 50
    assert raised.value.cost == 20012


def test_a_stopped_evaluation_is_not_charged_for_what_encloses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for outcome_ in both("lists.range(10).all(a, size(lists.range(400000).filter(b, b < 0)) == 1)", monkeypatch):
        assert outcome_ == ("CelCancelled: operation cancelled: actual cost limit exceeded", 1_000_001)


@pytest.mark.parametrize(
    "source",
    [
        "cel.bind(l, lists.range(1000), l.all(x, l.filter(y, false).size() == 0))",
        # Without a loop that could look: calls that are expensive, and calls that cost less than they should.
        "cel.bind(l, lists.range(1000), " + " || ".join(["-1 in l"] * 20) + ")",
        "cel.bind(l, dyn(lists.range(1000)), " + " || ".join(["-1 in l"] * 20) + ")",
        "cel.bind(l, lists.range(1000), " + " || ".join(["'%s'.format([l]) == ''"] * 20) + ")",
    ],
)
def test_deadline_stops_cheap_but_slow_loops(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def tick() -> float:
        now[0] += 0.5
        return now[0]

    monkeypatch.setattr(steps, "monotonic", tick)
    assert outcome(source)[0] == "CelCancelled: operation cancelled: time limit exceeded"
