"""Define CEL functions as rows of data (types, an implementation and two costs), and the costs that rows share.

A library is a tuple of `Function`s; the environment joins the tuples. A row reads:

    row(
        "string.startsWith(string) -> bool",  # receiver.name(arguments) -> result, or name(arguments) -> result
        "starts_with_string",                 # cel-go's overload id
        str.startswith,                       # called as implementation(receiver, *arguments)
        estimate,                             # before running, (receiver and arguments as Arguments) → CallEstimate
        cost,                                 # while running, (receiver and arguments as values) → int
    )

Without an estimate or a cost, a call costs 1. The implementation gets values as `values.py` describes them, already
checked against the signature (type parameters and dyn accept anything, list(T) any list); it returns a value or raises
`CelError` with cel-go's text. A result that can be much larger than the arguments must first pass
`values.require_result_size(n)`. A namespaced function is a global one with a dotted name: `lists.range(int)`.

Costs are charged *before* the implementation runs, so `cost` sees the arguments only. An argument that failed to
evaluate is handed over as the `CelError` instance (cel-go charges the call nevertheless), and `actual_size` counts it
as 1.

Kubernetes: cel-go checker/cost.go and interpreter/runtimecost.go; apiserver/pkg/cel/library/cost.go. Both round up;
CallCost multiplies twice where EstimateCallCost multiplies once by the product, so that the last digit may differ.
Differs: result sizes are never known to the actual cost; it is computed from the arguments instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from moorage.match.cel.types import Type, TypeKind, leading_type
from moorage.match.cel.values import CelError, CelMap, OpaqueValue, OptionalValue

Estimate = Callable[..., "CallEstimate"]
Cost = Callable[[Sequence[Any]], int]

MAX_COST = 2**64 - 1
STRING_FACTOR = 0.1
REGEX_FACTOR = 0.25


def ceil_factor(size: int, factor: float) -> int:
    """Return ceil(size × factor) in double precision, at most 2⁶⁴−1: how every factor is applied."""
    product = math.ceil(float(size) * factor)
    return product if product < MAX_COST else MAX_COST


class Interval(NamedTuple):
    """A size or a cost known to lie in [min, max]; arithmetic saturates at 2⁶⁴−1."""

    min: int
    max: int

    def plus(self, other: Interval) -> Interval:
        return Interval(min(self[0] + other[0], MAX_COST), min(self[1] + other[1], MAX_COST))

    def times(self, other: Interval) -> Interval:
        return Interval(min(self[0] * other[0], MAX_COST), min(self[1] * other[1], MAX_COST))

    def by_factor(self, factor: float) -> Interval:
        return Interval(ceil_factor(self[0], factor), ceil_factor(self[1], factor))

    def union(self, other: Interval) -> Interval:
        return Interval(min(self[0], other[0]), max(self[1], other[1]))


def fixed(size: int) -> Interval:
    return Interval(size, size)


ZERO = Interval(0, 0)
ONE = Interval(1, 1)
UNKNOWN_SIZE = Interval(0, MAX_COST)


class CallEstimate(NamedTuple):
    """The cost of a call without its arguments' own costs, and the size of its result if it has one.

    `result_size=None` means nothing is known: the size is then looked up by type, or unknown.
    """

    cost: Interval
    result_size: Interval | None = None


class Argument(NamedTuple):
    """A receiver or argument as the cost estimate sees it.

    `known_size` is what the expression or the environment tells of its size, `element_size` of its elements'. `literal`
    is the value of a literal; None for other expressions, and for null.
    """

    type: Type
    known_size: Interval | None = None
    element_size: Interval | None = None
    literal: Any = None

    @property
    def size(self) -> Interval:
        return self.known_size or UNKNOWN_SIZE


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    id: str
    params: tuple[Type, ...]
    result: Type
    implementation: Callable[..., Any]
    member: bool = False
    estimate: Estimate | None = None
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A name with its overloads, in the order in which cel-go declares (and its resolution considers) them."""

    name: str
    overloads: tuple[Overload, ...]


def row(
    signature: str,
    overload_id: str,
    implementation: Callable[..., Any],
    estimate: Estimate | None = None,
    cost: Cost | None = None,
) -> Function:
    """Return a function with one overload; rows of one name are joined by the environment."""
    call, _, result = signature.rpartition(" -> ")
    receiver, rest = leading_type(call)
    params: list[Type] = []
    if receiver is not None and rest.startswith("."):
        params.append(receiver)
        call = rest[1:]
    name, _, arguments = call.partition("(")
    while arguments not in ("", ")"):
        param, arguments = leading_type(arguments)
        assert param is not None, signature
        params.append(param)
        arguments = arguments.removeprefix(", ")
    member = rest.startswith(".") and receiver is not None
    returned, _ = leading_type(result)
    assert returned is not None, signature
    overload = Overload(overload_id, tuple(params), returned, implementation, member, estimate, cost)
    return Function(name, (overload,))


def no_such_overload(*_: Any) -> Any:
    """Stands in rows that are never called: operators that compiler.py evaluates itself, and the authorizer's."""
    raise CelError("no such overload")


def succeeds(read: Callable[..., Any]) -> Callable[..., bool]:
    """Return the function behind `isIP` and its kin: whether reading a text does not fail."""

    def test(*args: Any) -> bool:
        try:
            read(*args)
        except CelError:
            return False
        return True

    return test


def actual_size(value: Any) -> int:
    """Return the size that cel-go charges a value by: code points, bytes, elements, entries; of others 1."""
    kind = type(value)
    if kind is str or kind is bytes or kind is list or kind is CelMap:
        return len(value)
    if isinstance(value, OptionalValue):
        return actual_size(value.value) if value.present else 1
    if isinstance(value, OpaqueValue):
        size = value.cel_size()
        return 1 if size is None else size
    return len(value) if isinstance(value, list) else 1


def traversal_cost(value: Any) -> int:
    """Charge for reading a whole list: floor(length × 0.1) per string (in UTF-8 bytes), 1 per scalar."""
    kind = type(value)
    if kind is str:
        return int(len(value.encode("utf-8", "surrogatepass")) * STRING_FACTOR)
    if kind is bytes:
        return int(len(value) * STRING_FACTOR)
    if kind is list:
        return sum(map(traversal_cost, value))
    if kind is CelMap:
        return sum(traversal_cost(key) + traversal_cost(entry) for key, entry in value.items())
    return sum(map(traversal_cost, value)) if isinstance(value, list) else 1


def argument_estimate(factor: float, *, keeps_size: bool = False) -> Estimate:
    """Estimate factor × the size of the receiver or first argument; `keeps_size` if the result is as large."""

    def estimate(first: Argument, *_: Argument) -> CallEstimate:
        return CallEstimate(first.size.by_factor(factor), first.size if keeps_size else None)

    return estimate


def argument_cost(factor: float, *, times: int = 1) -> Cost:
    """Estimate (size × times) × factor of the receiver; of the first argument for functions without a receiver."""
    return lambda values: ceil_factor(actual_size(values[0]) * times, factor)


#: Both costs of functions that read their receiver or first argument once.
READS_TEXT = (argument_estimate(STRING_FACTOR), argument_cost(STRING_FACTOR))


def smaller_size_estimate(first: Argument, second: Argument) -> CallEstimate:
    """Estimate a comparison, which reads at most the smaller value."""
    largest = min(first.size.max, second.size.max)
    return CallEstimate(Interval(1 if largest > 0 else 0, largest).by_factor(STRING_FACTOR))


def smaller_size_cost(args: Sequence[Any]) -> int:
    return ceil_factor(min(actual_size(args[0]), actual_size(args[1])), STRING_FACTOR)


def pattern_estimate(text: Argument, pattern: Argument, *_: Argument) -> CallEstimate:
    """Estimate a match, which costs the text times the pattern."""
    read = text.size.plus(ONE).by_factor(STRING_FACTOR)
    return CallEstimate(read.times(pattern.size.by_factor(REGEX_FACTOR)))


def pattern_cost(args: Sequence[Any]) -> int:
    return ceil_factor(actual_size(args[0]) + 1, STRING_FACTOR) * ceil_factor(actual_size(args[1]), REGEX_FACTOR)


def _traversal_estimate(items: Argument, *_: Argument) -> CallEstimate:
    if not items.type.parameters:
        return CallEstimate(items.size.by_factor(STRING_FACTOR))
    each = ONE
    if items.type.parameters[0].kind in (TypeKind.STRING, TypeKind.BYTES):
        each = each.plus((items.element_size or UNKNOWN_SIZE).by_factor(STRING_FACTOR))
    return CallEstimate(items.size.times(each))


#: Both costs of walking over a list, or a string for indexOf: 1 per element, and the largest size of each string in it.
TRAVERSES = (_traversal_estimate, lambda values: traversal_cost(values[0]))
