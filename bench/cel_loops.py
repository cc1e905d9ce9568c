"""CEL loops: what a million cost units take as generated code, in turns with the closures that it replaces.

The closures are the evaluator as it was before loops were generated; they still run short loops, and are what generated
code is compared with in the laws. KEP-5500 has the cost limit, a million, stand for about 0.1 s.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from unittest import mock

from bench.measure import Timing, race
from bench.result import Result, timed
from moorage.match.cel import CelError, Program, compile_expression, taint_environment
from moorage.match.cel.evaluate import loops
from moorage.model.types.node import Taint

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Cost of an evaluation, about; at most a million.
COST = 200_000
LIMIT = 1_000_000
GOAL = "≤ 0.1 s, ≤ 0.125×"
TAINT = Taint(key="env.example.com/dev", value=",".join("abcdefghijklmnopqrstuvwxyz"), effect="NoSchedule")
#: What to call it, the cost of an element, and the expression for a number of elements.
EXPRESSIONS = (
    ("all", 6, "lists.range({n}).all(x, x >= 0) && taint.key == 'zz'"),
    ("all, two terms", 8, "lists.range({n}).all(x, x >= 0 && x < 1000000)"),
    ("exists in all", 2500, "lists.range({n}).all(x, lists.range(500).exists(y, y == x))"),
    ("filter and map", 18, "lists.range({n}).filter(x, x % 2 == 0).map(x, x + 1).size() > 0"),
    ("existsOne", 3, "lists.range({n}).exists_one(x, x == 7)"),
    ("ternary", 9, "lists.range({n}).all(x, (x > 5 ? x - 5 : x + 1) >= 0)"),
    ("binding", 13, "lists.range({n}).all(x, cel.bind(y, x * 2, y >= x && y + 1 > x))"),
    ("two variables", 7, "lists.range({n}).all(i, v, i == v)"),
    ("transformList", 16, "lists.range({n}).transformList(i, v, i + v).size() > 0"),
    ("transformMap", 9, "lists.range({n}).transformMap(i, v, v > 5, i + v).size() >= 0"),
    ("split", 180, "lists.range({n}).all(i, taint.value.split(',').all(p, p != 'zz'))"),
    ("matches", 230, "lists.range({n}).all(i, taint.value.split(',').all(p, p.matches('^[a-z]$')))"),
    (
        "contains and startsWith",
        16,
        "lists.range({n}).all(i, taint.key.startsWith('env') && taint.key.contains('dev'))",
    ),
    ("in constants", 6, "lists.range({n}).all(x, taint.key in ['a', 'b', 'env.example.com/dev'])"),
    ("dyn", 7, "lists.range({n}).all(x, dyn(x) >= 0)"),
    ("every element fails", 10, "lists.range({n}).exists(x, 10 / (x - x) == 3)"),
    ("failures are absorbed", 9, "lists.range({n}).all(x, 10 / x == 3 || x >= 0)"),
)


def measure() -> Iterator[Result]:
    for name, cost_of_element, text in EXPRESSIONS:
        source = text.format(n=max(COST // cost_of_element, 2))
        with mock.patch.object(loops, "LONG", -1):
            generated = _program(source)
            cost = _run(generated)
        closures = _program(source)

        def with_closures(program: Program = closures) -> None:
            with mock.patch.object(loops, "LONG", LIMIT * LIMIT):
                _run(program)

        ours, theirs = race(partial(_run, generated), with_closures)
        per_million = LIMIT / cost
        yield timed(
            "loops",
            f"a million cost units, {name}",
            _scaled(ours, per_million),
            against=_scaled(theirs, per_million),
            compared_with="closures",
            goal=GOAL,
        )


def _program(source: str) -> Program:
    program = compile_expression(source, taint_environment())
    if isinstance(program, list):
        raise SystemExit(f"{source} does not compile: {program}")
    return program


def _run(program: Program) -> int:
    """Evaluate, which may fail; returns the cost."""
    try:
        return program.evaluate_with_cost(TAINT)[1]
    except CelError as error:
        return error.cost


def _scaled(timing: Timing, factor: float) -> Timing:
    return Timing(timing.median * factor, timing.p99 * factor)
