"""Compile device selectors: does a CEL expression choose this device?

In: the text of `cel.expression` and the component's gates. Out: a `DeviceSelector`, which answers for descriptions of
devices and remembers the answers, or a `SelectorProblem` with the API server's words. Kubernetes:
dynamic-resource-allocation/cel/compile.go. Differs: equal devices are evaluated once. CEL is imported by the first
expression.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from moorage.model.gates import DRA_CONSUMABLE_CAPACITY, DRA_LIST_TYPE_ATTRIBUTES, GateSet

if TYPE_CHECKING:
    from moorage.match.cel import Program
    from moorage.match.devices.description import DeviceDescription

MAX_ANSWERS = 100_000


class SelectorProblem(msgspec.Struct, frozen=True):
    """Why an expression is no selector: the detail of the API server's error, which is Invalid or an InternalError."""

    detail: str
    internal: bool = False


class DeviceSelector:
    """A compiled expression. `matches` raises CelError where evaluation fails, every time it is asked.

    `spent` is what its evaluations cost so far, in CEL's units.
    """

    __slots__ = ("_answers", "_lists", "expression", "program", "spent")

    def __init__(self, expression: str, program: Program, lists: bool) -> None:
        self.expression = expression
        self.program = program
        self.spent = 0
        self._lists = lists
        self._answers: dict[DeviceDescription, bool | str] = {}

    @property
    def max_cost(self) -> int:
        return self.program.estimate.max

    @property
    def exceeds_cost_limit(self) -> bool:
        return self.program.exceeds_cost_limit

    def matches(self, device: DeviceDescription) -> bool:
        """Return whether the device is chosen; raises CelError."""
        answer = self.answer(device)
        if isinstance(answer, str):
            from moorage.match.cel import CelError

            raise CelError(answer)
        return answer

    def answer(self, device: DeviceDescription) -> bool | str:
        """Return whether the device is chosen, or the text of the error that evaluation ends with."""
        answer = self._answers.get(device)
        if answer is None:
            from moorage.match.cel import CelError

            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            try:
                answer, cost = self.evaluate_with_cost(device)
            except CelError as error:
                answer, cost = str(error), error.cost
            self.spent += cost
            self._answers[device] = answer
        return answer

    def evaluate_with_cost(self, device: DeviceDescription) -> tuple[bool, int]:
        """Evaluate without the cache. A CelError raised carries the cost, 0 where an attribute cannot be used."""
        result, cost = self.program.run_with_cost({"device": device.cel_device(self._lists)})
        if type(result) is bool:
            return result, cost
        from moorage.match.cel import CelError
        from moorage.match.cel.values import type_of_value
        from moorage.match.devices.cel_device import as_bool

        problem = as_bool(result)
        if isinstance(problem, bool):
            return problem, cost
        error = CelError(f"CEL result of type {type_of_value(result).name} could not be converted to bool: {problem}")
        error.cost = cost
        raise error


def compile_device_selector(expression: str, gates: GateSet, stored: bool = False) -> DeviceSelector | SelectorProblem:
    """Compile an expression, or say why not; equal expressions are compiled once.

    Expressions that are `stored` already may use what new ones may not while its gate is off.
    """
    lists = gates.enabled(DRA_LIST_TYPE_ATTRIBUTES)
    return _compile(expression, lists, stored or gates.enabled(DRA_CONSUMABLE_CAPACITY), stored or lists)


@lru_cache(maxsize=1024)
def _compile(
    expression: str, lists: bool, multiple_allocations: bool, includes: bool
) -> DeviceSelector | SelectorProblem:
    from moorage.match.cel import Program, compile_expression, render_issues
    from moorage.match.cel.environment import device_environment
    from moorage.match.cel.program import NOT_INSTANTIATED

    environment = device_environment(lists=lists, multiple_allocations=multiple_allocations, includes=includes)
    program = compile_expression(expression, environment)
    if isinstance(program, Program):
        return DeviceSelector(expression, program, lists)
    detail = render_issues(expression, program)
    return SelectorProblem(detail, internal=detail.startswith(NOT_INSTANTIATED))
