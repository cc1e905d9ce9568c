"""Evaluate an expression for a taint, in the process of the caller.

CEL is imported by the first question.
"""

from typing import TYPE_CHECKING, Any

from moorage.match.evaluation.questions import CelAnswer

if TYPE_CHECKING:
    from moorage.match.cel import Program


def evaluate_taint(program: "Program", taint: Any) -> CelAnswer:
    from moorage.match.cel import CelError

    try:
        value, cost = program.evaluate_with_cost(taint)
    except CelError as error:
        return CelAnswer(str(error), error.cost)
    return CelAnswer(value is True, cost)
