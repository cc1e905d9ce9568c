"""Evaluate the expression of a toleration for taints, within the budget of its account, and remember its failures.

Kubernetes: KEP-5500, which logs a failure. Differs: the failure is named wherever the answer is shown; beyond a budget
nothing is evaluated.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from moorage.match.evaluation.accounts import (
    BUDGET,
    CHEAP,
    Account,
    CelAnswer,
    Evaluations,
    evaluate_taint,
    taint_question,
)
from moorage.model.types.node import Taint

if TYPE_CHECKING:
    from moorage.match.cel import Issue, Program

#: Called with the expression, the taint and the error's text whenever an evaluation failed.
EvaluationFailed: TypeAlias = Callable[[str, Taint, str], None]

NOT_TRUE = "the expression is not true"
_FAILURES_KEPT = 4096


class ExpressionQuestions(NamedTuple):
    """What can be asked of one expression about a taint.

    `match` and `why_false` may raise Undecided. `gave_up` is why it was not evaluated, `failure` the error that it
    ended with when it was last evaluated; both are None where that is not so.
    """

    match: Callable[[Taint], bool]
    why_false: Callable[[Taint], str | None]
    gave_up: Callable[[Taint], str | None]
    failure: Callable[[Taint], str | None]
    is_expensive: bool


#: Of a toleration without an expression.
NOT_ASKED = ExpressionQuestions(lambda t: False, lambda t: None, lambda t: None, lambda t: None, False)


def ask_expression(
    source: str,
    program: "Program | None",
    account: Account,
    evaluations: Evaluations,
    on_evaluation_failed: EvaluationFailed | None,
    *,
    patiently: bool,
) -> ExpressionQuestions:
    """Return the questions of an expression; without a program it is compiled where it is evaluated."""
    # Few pods have expressions: CEL is imported when the first one occurs.
    from moorage.match.cel.values import CelError

    is_cheap = program is not None and program.estimate.max <= CHEAP
    failures: dict[tuple[str, str, str], str] = {}

    def compute(taint: Taint) -> CelAnswer:
        assert program is not None
        return evaluate_taint(program, taint)

    def answer(taint: Taint) -> CelAnswer:
        if is_cheap and account.cheap_left > 0:
            computed = compute(taint)
            account.cheap_left -= computed.cost
            return computed
        question = taint_question(source, taint)
        return evaluations.decide(account, question, lambda: compute(taint), patiently=patiently)

    evaluate = program.evaluate_with_cost if program is not None and is_cheap else None

    def match(taint: Taint) -> bool:
        if evaluate is not None and account.cheap_left > 0:
            try:
                value, cost = evaluate(taint)
                account.cheap_left -= cost
                return value is True
            except CelError:
                pass  # it is reported below
        known = answer(taint)
        if isinstance(known.value, bool):
            return known.value
        if not known.gave_up:
            if len(failures) >= _FAILURES_KEPT:
                del failures[next(iter(failures))]
            failures[taint.key, taint.value, taint.effect] = known.value
            if on_evaluation_failed is not None:
                on_evaluation_failed(source, taint, known.value)
        return False

    def why_false(taint: Taint) -> str | None:
        """Explain a false answer or a failure, without reporting the failure a second time."""
        known = answer(taint)
        if isinstance(known.value, bool):
            return None if known.value else NOT_TRUE
        return f"the expression was {known.value}" if known.gave_up else f"the expression failed: {known.value}"

    def gave_up(taint: Taint) -> str | None:
        if account.spent < BUDGET and evaluations.total is None:
            return None
        known = answer(taint)
        return str(known.value) if known.gave_up else None

    def failure(taint: Taint) -> str | None:
        return failures.get((taint.key, taint.value, taint.effect))

    return ExpressionQuestions(match, why_false, gave_up, failure, not is_cheap)


def not_compiled(issues: "list[Issue]") -> str:
    """Say why an expression has no program."""
    first = issues[0]
    where = f"{first.line}:{first.column}: " if first.line > 0 else ""
    return f"the expression does not compile: {where}{first.message}"
