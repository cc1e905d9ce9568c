"""Evaluate compiled expressions for one request, within cost budgets, and at first for a short time only.

What is long by its cost is given up (`TooLong`) before it holds others up. Callers then start over, in another thread
if there is one, after `Meter.take_time`. Kubernetes: evaluationActivation.Evaluate and compositionContext in
apiserver/pkg/admission/plugin/cel, with the budgets of apiserver/pkg/apis/cel/config.go.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from moorage.admit.extension.policies.compiled import CompiledExpression
from moorage.admit.extension.policies.documents import lazy_map
from moorage.admit.extension.policies.environment import VARIABLES
from moorage.match.cel.evaluate.steps import COST_LIMIT
from moorage.match.cel.libraries.authz import CHECK_COST
from moorage.match.cel.program import Program
from moorage.match.cel.values import CelCancelled, CelError
from moorage.model.go.quoting import go_quote

#: What the validations of a policy may cost for one binding and parameter, and its match conditions.
BUDGET, CONDITIONS_BUDGET = 10_000_000, 2_500_000
#: What is evaluated of one request before it counts as long: some milliseconds.
_SHORT = 30_000
_EXHAUSTED = "validation failed due to running out of cost budget, no further validation rules will be run"


class TooLong(Exception):
    """Evaluation takes longer than others should wait for."""


class OutOfBudget(Exception):
    """The expressions of a policy cost more together than they may."""

    def __init__(self) -> None:
        super().__init__(_EXHAUSTED)


class Meter:
    """What evaluation may cost until it counts as long. `checks` counts the questions to the authorizer.

    Those are charged more than anything else in CEL and are quick here, so they are added to a cost afterwards.
    """

    __slots__ = ("_left", "checks")

    def __init__(self) -> None:
        self._left: int | None = _SHORT
        self.checks = 0

    @property
    def check_cost(self) -> int:
        """What a check is charged while it is evaluated."""
        return CHECK_COST if self._left is None else 1

    def take_time(self) -> None:
        """Let evaluation take as long as it may."""
        self._left = None

    def run(self, program: Program, bindings: Mapping[str, Any]) -> tuple[Any, int]:
        """Run a program. Raises CelError with the cost, and TooLong."""
        left = self._left
        if left is None:
            return program.run_with_cost(bindings)
        if left <= 0:
            raise TooLong
        before, self.checks = self.checks, 0  # those of variables, which run meanwhile, are not of this program
        try:
            value, cost = program.run_with_cost(bindings, min(left, COST_LIMIT))
        except CelCancelled:
            raise TooLong from None
        except CelError as error:
            error.cost = self._whole(error.cost)
            raise
        else:
            return value, self._whole(cost)
        finally:
            self.checks = before

    def _whole(self, cost: int) -> int:
        """Return the cost with that of the checks. Raises TooLong if it may exceed the limit."""
        if self._left is not None:
            self._left -= cost
        cost += self.checks * (CHECK_COST - 1)
        if cost > COST_LIMIT:
            raise TooLong
        return cost


class ExpressionResult(NamedTuple):
    """The value of an expression, or why it has none."""

    value: Any
    error: str | None = None


class Activation:
    """The values of all variables for expressions that are evaluated together.

    A composed variable is evaluated when it is first read, once. Its cost is charged to the expression that read it.
    """

    __slots__ = ("_meter", "_spent", "_variables", "bindings")

    def __init__(
        self, bindings: Mapping[str, Any], meter: Meter, variables: Mapping[str, CompiledExpression] | None = None
    ) -> None:
        self.bindings = dict(bindings)
        self._meter = meter
        self._variables = variables
        self._spent = 0
        if variables is not None:
            self.bindings[VARIABLES] = lazy_map(variables, self._evaluate_variable)

    def evaluate(self, expression: CompiledExpression, budget: int) -> tuple[ExpressionResult, int]:
        """Evaluate an expression; return what is left of a budget, too. Raises OutOfBudget."""
        program = expression.program
        if program is None:
            return ExpressionResult(None, f"compilation error: {expression.error}"), budget
        try:
            value, cost = self._meter.run(program, self.bindings)
            outcome = ExpressionResult(value)
        except CelError as error:
            outcome = ExpressionResult(None, f"expression '{expression.source}' resulted in error: {error}")
            cost = error.cost
        spent, self._spent = self._spent, 0
        if spent > budget or cost > budget - spent:
            raise OutOfBudget
        return outcome, budget - spent - cost

    def _evaluate_variable(self, name: str, expression: CompiledExpression) -> Any:
        """Return the value of a variable, or the error that is raised where it is read."""
        if expression.program is None:
            return CelError(f"composited variable {go_quote(name)} fails to compile: {expression.error}")
        try:
            value, cost = self._meter.run(expression.program, self.bindings)
        except CelError as error:
            self._spent += error.cost
            return CelError(f"composited variable {go_quote(name)} fails to evaluate: {error}")
        self._spent += cost
        return value
