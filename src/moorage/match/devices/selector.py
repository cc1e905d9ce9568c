"""Device selectors: a CEL expression → does it choose this device?

In: the text of `cel.expression` and the component's gates. Out: a `DeviceSelector`, which answers for descriptions of
devices and remembers the answers, or a `SelectorProblem` with the API server's words. Kubernetes:
dynamic-resource-allocation/cel/compile.go. Differs: equal devices are evaluated once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.match.cel import CelError, Program, compile_expression, render_issues
from moorage.match.cel.device_environment import device_environment
from moorage.match.cel.program import NOT_INSTANTIATED
from moorage.match.cel.types import Type
from moorage.match.cel.values import Duration, OptionalValue, Timestamp, UInt, type_of_value
from moorage.model.gates import DRA_CONSUMABLE_CAPACITY, DRA_LIST_TYPE_ATTRIBUTES, GateSet

if TYPE_CHECKING:
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
        answer = self._answers.get(device)
        if answer is None:
            if len(self._answers) >= MAX_ANSWERS:
                self._answers.clear()
            try:
                answer, cost = self.evaluate_with_cost(device)
            except CelError as error:
                answer, cost = str(error), error.cost
            self.spent += cost
            self._answers[device] = answer
        if isinstance(answer, str):
            raise CelError(answer)
        return answer

    def evaluate_with_cost(self, device: DeviceDescription) -> tuple[bool, int]:
        """Evaluate anew. A CelError raised carries the cost, which is 0 where an attribute cannot be used."""
        result, cost = self.program.run_with_cost({"device": device.cel_device(self._lists)})
        if type(result) is bool:
            return result, cost
        problem = _as_bool(result)
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
    environment = device_environment(lists=lists, multiple_allocations=multiple_allocations, includes=includes)
    program = compile_expression(expression, environment)
    if isinstance(program, Program):
        return DeviceSelector(expression, program, lists)
    detail = render_issues(expression, program)
    return SelectorProblem(detail, internal=detail.startswith(NOT_INSTANTIATED))


_CONVERSIONS: dict[type, str] = {
    str: "unsupported native conversion from string to 'bool'",
    int: "unsupported type conversion from 'int' to bool",
    UInt: "unsupported type conversion from 'uint' to bool",
    float: "type conversion error from Double to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    list: "type conversion error from list to 'bool'",
    type(None): "type conversion error from 'null_type' to 'bool'",
    Duration: "type conversion error from 'Duration' to 'bool'",
    Timestamp: "type conversion error from 'Timestamp' to 'bool'",
    Type: "type conversion not supported for 'type'",
}


def _as_bool(result: Any) -> bool | str:
    """Return the result if it is a bool, or an optional that holds one; otherwise why it is not."""
    if isinstance(result, OptionalValue):
        return _as_bool(result.value) if result.present else "optional.none() dereference"
    if type(result) is bool:
        return result
    known = _CONVERSIONS.get(type(result))
    if known is not None:
        return known
    name = type_of_value(result).name.rpartition(".")[2]
    return f"type conversion error from {name if name == 'map' else repr(name)} to 'bool'"
