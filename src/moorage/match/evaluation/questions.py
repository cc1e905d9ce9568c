"""Define questions about expensive expressions and their answers, and evaluate one in the caller's process.

Questions and answers are plain data that can be sent to another process. CEL is imported by the first question.
Kubernetes: none; there an expression is evaluated where it is asked about, however long that takes.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

#: The environment of tolerations' expressions; the subject is a taint's key, value and effect.
TAINT = "taint"


class CelQuestion(NamedTuple):
    """Does an expression hold for a subject? The environment says what the subject is."""

    environment: str
    expression: str
    subject: Hashable


class CelAnswer(NamedTuple):
    """True, False or the text of the error that evaluation ended with, and what that cost.

    `gave_up`: it was not evaluated, because a budget is used up.
    """

    value: bool | str
    cost: int = 0
    gave_up: bool = False


#: Evaluates a question at once.
Compute: TypeAlias = Callable[[], CelAnswer]


def taint_question(expression: str, taint: Any) -> CelQuestion:
    return CelQuestion(TAINT, expression, (taint.key, taint.value, taint.effect))


if TYPE_CHECKING:
    from moorage.match.cel import Program


def evaluate_taint(program: "Program", taint: Any) -> CelAnswer:
    from moorage.match.cel import CelError

    try:
        value, cost = program.evaluate_with_cost(taint)
    except CelError as error:
        return CelAnswer(str(error), error.cost)
    return CelAnswer(value is True, cost)
