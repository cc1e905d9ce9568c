"""Limits: cost, time, size, length and depth, each against an expression that is out to exceed it."""

import threading
from itertools import pairwise
from typing import Any

import pytest

from moorage.match.cel import CelError, Program, compile_expression, render_issues, taint_environment
from moorage.match.cel.evaluate import steps
from moorage.match.cel.values import CelCancelled
from moorage.model.types.node import Taint

TAINT = Taint(key="example.com/" + "k" * 300, value="v" * 63, effect="NoSchedule")
COST_EXCEEDED = "operation cancelled: actual cost limit exceeded"


def compiled(source: str) -> Program:
    program = compile_expression(source, taint_environment())
    assert isinstance(program, Program), render_issues(source, program)
    return program


def failure(source: str) -> str:
    with pytest.raises(CelError) as raised:
        compiled(source).evaluate(TAINT)
    return str(raised.value)


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(10000).all(a, lists.range(10000).all(b, a + b >= 0))",
        "lists.range(100000000).size() > 0",
        "lists.range(2000).distinct().size() == 1",
        "[1, 2].all(a, lists.range(600000).size() > a)",
    ],
)
def test_evaluation_stops_at_the_cost_limit(source: str) -> None:
    assert failure(source) == COST_EXCEEDED


def test_the_cost_of_a_stopped_evaluation_is_where_it_stopped() -> None:
    with pytest.raises(CelCancelled) as raised:
        compiled("lists.range(10000).all(a, lists.range(10000).all(b, a + b >= 0))").evaluate(TAINT)
    assert raised.value.cost == 1_000_001


def test_neither_logic_nor_loops_absorb_a_stopped_evaluation() -> None:
    endless = "lists.range(100000000).size() > 0"
    assert failure(f"{endless} || true") == COST_EXCEEDED
    assert failure(f"false || ({endless} ? true : true) || true") == COST_EXCEEDED
    assert failure(f"[1].exists(x, {endless}) || true") == COST_EXCEEDED
    assert failure(f"cel.bind(v, {endless}, v || true)") == COST_EXCEEDED


def test_deadline_stops_cheap_but_slow_expressions(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def tick() -> float:
        now[0] += 0.5
        return now[0]

    monkeypatch.setattr(steps, "monotonic", tick)
    assert failure("lists.range(1000).all(x, x >= 0)") == "operation cancelled: time limit exceeded"
    assert compiled("[1, 2, 3].all(x, x >= 0)").evaluate(TAINT)


@pytest.mark.parametrize(
    "source",
    [
        "taint.key.replace('', taint.key.replace('', taint.key.replace('', taint.key))) == 'a'",
        "cel.bind(a, lists.range(9), "
        + "".join(f"cel.bind({n}, {o}+{o}+{o}+{o}+{o}+{o}+{o}+{o}, " for o, n in zip("abcdefg", "bcdefgh", strict=True))
        + "h.size() > 0"
        + ")" * 8,
    ],
)
def test_results_are_limited_in_size(source: str) -> None:
    assert failure(source).startswith("result too large")


def nested(body: str) -> str:
    """`h` is ten references to a list of ten references … to a list of ten numbers."""
    bindings = "".join(f"cel.bind({name}, [{', '.join(inner * 10)}], " for inner, name in pairwise("abcdefgh"))
    return f"cel.bind(a, [1, 2, 3, 4, 5, 6, 7, 8, 9, size(taint.key)], {bindings}{body})" + ")" * 7


@pytest.mark.parametrize(
    "body",
    [
        "h == h",
        "h != h",
        "h in [h]",
        "dyn(h) == dyn(h)",
        "{'a': h} == {'a': h}",
        "optional.of(h) == optional.of(h)",
        "[h].indexOf(h) == 0",
        "'%s'.format([h]).size() > 0",
        "h.flatten(9).size() > 0",
        "[h, h].distinct().size() > 0",
        "sets.equivalent([h], [h])",
    ],
)
def test_values_that_nest_exponentially_are_refused(body: str) -> None:
    assert failure(nested(body)).startswith("value too large")


def test_long_flat_lists_are_evaluated() -> None:
    assert compiled("dyn(lists.range(300000)).size() == 300000").evaluate(TAINT)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("(" * 5000 + "true" + ")" * 5000, "expression recursion limit exceeded: 250"),
        ("[" * 5000, "expression recursion limit exceeded: 250"),
        ("size(" * 2000, "expression recursion limit exceeded: 250"),
        ("true ? true : " * 600 + "true", "expression recursion limit exceeded: 250"),
        ("1" + "+1" * 4000, "expression recursion limit exceeded: 250"),
        ("taint" + ".a" * 4000, "expression recursion limit exceeded: 250"),
        ("[1].all(x, " * 900, "expression recursion limit exceeded: 250"),
        ("optional.of(1)" + ".optMap(x, x)" * 100 + ".hasValue()", "macros expand to too large an expression"),
        ("'" + "a" * 10240 + "'", "may not be more than 10240 bytes"),
        ("'" + "é" * 5120 + "' == ''", "may not be more than 10240 bytes"),
        ("taint.key.matches('" + "(" * 1000 + "a" + ")" * 1000 + "{1000}')", ""),
    ],
)
def test_hostile_texts_are_refused(source: str, complaint: str) -> None:
    issues = compile_expression(source, taint_environment())
    if isinstance(issues, Program):
        assert not complaint
        issues.evaluate_with_cost(TAINT)
    else:
        assert complaint in render_issues(source, issues)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 249 + "true" + ")" * 249,
        "+".join(["1"] * 249) + " == 249",
        "".join(f"[1].all(x{i}, " for i in range(120)) + "true" + ")" * 120,
        "".join(f"[1].map(x{i}, " for i in range(100)) + "1" + ")" * 100 + ".size() == 1",
        "[" * 120 + "taint.key" + "]" * 120 + " == " + "[" * 120 + "taint.key" + "]" * 120,
        "true ? true : " * 240 + "true",
        "||".join(["taint.key == 'a'"] * 500) + " || true",
        "!" * 5000 + "true",
        "taint.key != '" + "a" * 10000 + "'",
    ],
)
def test_deep_and_long_expressions_within_limits_are_evaluated(source: str) -> None:
    assert compiled(source).evaluate(TAINT) is True


@pytest.mark.parametrize("pattern", ["(a*)*b", "(x+x+)+y", "(a|aa)+$", "(.*)(.*)(.*)(.*)z"])
def test_no_pattern_is_catastrophic(pattern: str) -> None:
    assert not compiled(f"(taint.key + taint.key).matches('{pattern}')").evaluate(TAINT)


def test_dyn_value_of_the_wrong_type_is_an_error() -> None:
    assert failure("[dyn(1)].map(x, string(x) + 'a')[0].startsWith(dyn(1))") == "no such overload"


def test_programs_are_shared_between_threads() -> None:
    program = compiled("cel.bind(v, taint.value, [v, taint.key].exists(x, x == 'same' + v))")
    answers: list[tuple[int, bool]] = []

    def ask(number: int) -> None:
        taint = Taint(key=f"same{number}" if number % 2 else "other", value=str(number), effect="NoSchedule")
        answers.extend((number, program.evaluate(taint)) for _ in range(50))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 300
    assert all(answer == bool(number % 2) for number, answer in answers)


def test_run_reads_bindings_by_name() -> None:
    program = compiled("taint.key == 'a'")
    assert program.run({"taint": Taint(key="a", value="", effect="")}) is True


def test_a_missing_variable_is_an_error() -> None:
    from moorage.match.cel import types
    from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment

    program: Any = compile_expression("x + 1", Environment(KUBERNETES_FUNCTIONS, variables={"x": types.INT}))
    with pytest.raises(CelError, match=r"no such attribute\(s\): x"):
        program.run({})
