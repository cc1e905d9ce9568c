"""Estimated and actual costs, one row per rule: expression → (least, greatest, charged for the taint below)."""

import pytest

from moorage.match.cel import CelError, Program, compile_expression, render_issues, taint_environment
from moorage.model.types.node import Taint

TAINT = Taint(key="env.example.com/dev", value="950", effect="NoSchedule")


def compiled(source: str) -> Program:
    program = compile_expression(source, taint_environment())
    assert isinstance(program, Program), render_issues(source, program)
    return program


def charged(program: Program) -> int:
    try:
        return program.evaluate_with_cost(TAINT)[1]
    except CelError as error:
        return error.cost


@pytest.mark.parametrize(
    ("source", "least", "greatest", "actual"),
    [
        ("true", 0, 0, 0),
        ("taint.key == 'sla'", 3, 3, 3),
        ("taint.key == taint.value", 5, 11, 5),
        ("taint.key == 'env.example.com/staging'", 3, 5, 4),
        ("taint.key < 'z'", 3, 3, 3),
        ("has(taint.key)", 1, 1, 1),
        # && and ||: the right side may not be needed
        ("taint.key == 'a' && taint.value == 'b'", 3, 6, 3),
        ("taint.key == 'a' || taint.value == 'b'", 3, 6, 6),
        # a ternary is its condition and one branch; an attribute as a branch is charged one less
        ("(taint.key == 'a' ? taint.key : taint.value) == 'x'", 6, 6, 5),
        ("(taint.key == 'a' ? 'b' : 'c') == 'x'", 4, 4, 4),
        # affixes: the estimate reads the argument, the charge is for the receiver
        ("taint.key.startsWith('env.example.com/')", 4, 4, 4),
        ("taint.key.endsWith('x')", 3, 3, 4),
        ("taint.key.contains('dev')", 2, 34, 4),
        ("taint.key.matches('^env')", 3, 34, 4),
        # literals, and constants folded away
        ("[taint.key] == ['a']", 23, 23, 13),
        ("{'a': taint.key} == {'a': 'b'}", 63, 63, 33),
        ("taint.key in ['a', 'b', 'c']", 15, 15, 2),
        ("taint.key in ['a', taint.value]", 16, 16, 16),
        ("int('7') == 7", 2, 2, 1),
        ("int(taint.value) > 900", 4, 4, 4),
        ("size(taint.key + taint.value) > 1", 6, 44, 9),
        # selecting from what is no variable costs two
        ("['a', taint.key][0] == 'a'", 14, 14, 15),
        ("taint.key.split('/')[1] == 'dev'", 4, 68, 9),
        # loops: condition and step for every element
        ("[1, 2, 3].all(x, x > 0)", 20, 26, 16),
        ("[1, 2, 3].exists(x, x == 1)", 23, 29, 10),
        ("[1, 2].map(x, x * 2) == [2, 4]", 60, 60, 30),
        ("[1, 2].filter(x, x > 1) == [2]", 38, 62, 19),
        ("cel.bind(v, taint.key, v == 'a')", 14, 14, 4),
        ("cel.bind(v, taint.key, true)", 12, 12, 0),
        ("cel.bind(v, taint.key, v == 'a' || v == 'b')", 14, 16, 6),
        # optionals
        ("taint.?key.orValue('') == 'sla'", 4, 4, 3),
        # an argument that fails spares neither the others nor the call
        ("int(taint.key) == size(taint.value)", 7, 7, 7),
        ("taint.key.substring(int(taint.key), 3) == 'a'", 6, 38, 6),
        # dyn is estimated like its argument
        ("dyn(taint.key) == 'sla'", 4, 4, 4),
        ("dyn(taint.value) < '95'", 4, 4, 4),
        ("dyn(taint.value) < dyn('95')", 5, 5, 4),
    ],
)
def test_costs(source: str, least: int, greatest: int, actual: int) -> None:
    program = compiled(source)
    assert (program.estimate.min, program.estimate.max) == (least, greatest)
    assert charged(program) == actual


def test_expressions_over_unknown_sizes_are_too_complex() -> None:
    program = compiled("taint.key.split('/')[1].contains('a')")
    assert program.exceeds_cost_limit
    assert not compiled("taint.key.contains('a')").exceeds_cost_limit
