"""Laws of generated loops: the same values, errors and costs as the closures, also where the limit stops them."""

from collections.abc import Callable
from typing import Any
from unittest import mock

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from tests.laws.cel_loops import loops
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples

from moorage.match.cel import CelError, Program, compile_expression, taint_environment
from moorage.match.cel.evaluate import loops as evaluate_loops
from moorage.match.cel.evaluate.steps import COST, COST_LIMIT
from moorage.match.cel.generate import calls as operators
from moorage.match.cel.generate import loop_function as runtime
from moorage.model.types.node import Taint

TAINTS = (
    Taint(key="sla", value="1", effect="NoSchedule"),
    Taint(key="env.example.com/dev", value="", effect="NoExecute"),
)
SETTINGS = settings(LAW_SETTINGS, max_examples=examples(150), phases=(Phase.explicit, Phase.generate))
NEVER = 10**12

Outcome = tuple[Any, int]
Evaluate = Callable[[str, Taint, int], Outcome]


def compiled(source: str) -> Program | None:
    program = compile_expression(source, taint_environment())
    return program if isinstance(program, Program) else None


def outcome(program: Program, taint: Taint, spent: int) -> Outcome:
    """The value or the error, and the cost, of an evaluation that has spent so much already."""
    state = program.initial_state(taint)
    state[COST] = spent
    try:
        return program.finish(state), state[COST]
    except CelError as error:
        return f"{type(error).__name__}: {error}", error.cost


def with_closures(source: str, taint: Taint, spent: int) -> Outcome:
    program = compiled(source)
    assert program is not None
    with mock.patch.object(evaluate_loops, "LONG", NEVER):
        return outcome(program, taint, spent)


def generated(source: str, taint: Taint, spent: int) -> Outcome:
    program = compiled(source)
    assert program is not None
    with mock.patch.object(evaluate_loops, "LONG", -1):
        return outcome(program, taint, spent)


def agrees_with_the_closures(implementation: Evaluate) -> Callable[[], None]:
    @SETTINGS
    @given(loops(), st.sampled_from(TAINTS), st.integers(0, 200))
    def law(source: str, taint: Taint, left: int) -> None:
        assume(compiled(source) is not None)
        expected = with_closures(source, taint, 0)
        assert implementation(source, taint, 0) == expected
        spent = COST_LIMIT - left % max(expected[1], 1)
        assert implementation(source, taint, spent) == with_closures(source, taint, spent)

    return law


def test_generated_loops_answer_and_charge_as_the_closures_do() -> None:
    agrees_with_the_closures(generated)()


def test_generated_loops_that_answer_or_charge_differently_are_noticed() -> None:
    def compares_wrongly(source: str, taint: Taint, spent: int) -> Outcome:
        wrong = {"less_int64": operators.RULES["less_equals_int64"]}
        with mock.patch.dict(operators.RULES, wrong):
            return generated(source, taint, spent)

    def stops_too_late(source: str, taint: Taint, spent: int) -> Outcome:
        def over(state: list[Any], cost: int, costs: tuple[int, ...]) -> int:
            return runtime.over(state, cost, (sum(costs),))

        with mock.patch.dict(runtime.NAMESPACE, over=over):
            return generated(source, taint, spent)

    def absorbs_errors(source: str, taint: Taint, spent: int) -> Outcome:
        def as_bool(value: Any) -> Any:
            return bool(value)

        with mock.patch.dict(runtime.NAMESPACE, as_bool=as_bool):
            return generated(source, taint, spent)

    for broken in (compares_wrongly, stops_too_late, absorbs_errors):
        assert_notices(agrees_with_the_closures(broken))
