"""The costs that several functions share: an estimate before running, a charge while running.

Kubernetes: cel-go checker/cost.go and interpreter/runtimecost.go, apiserver/pkg/cel/library/cost.go. Both round up;
CallCost multiplies twice where EstimateCallCost multiplies once by the product, so that the last digit may differ.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import (
    ONE,
    REGEX_FACTOR,
    STRING_FACTOR,
    CallEstimate,
    EstimateContext,
    Interval,
    Node,
    actual_size,
    ceil_factor,
    traversal_cost,
)
from moorage.match.cel.types import TypeKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.match.cel.functions import Cost, Estimate


def argument_estimate(factor: float, *, keeps_size: bool = False) -> Estimate:
    """factor × the first argument's size; `keeps_size` if the result is as large as the argument."""

    def estimate(context: EstimateContext, _receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
        if not arguments:
            return None
        size = context.size(arguments[0])
        return CallEstimate(size.by_factor(factor), size if keeps_size else None)

    return estimate


def receiver_estimate(factor: float, *, keeps_size: bool = False) -> Estimate:
    """factor × the receiver's size; `keeps_size` if the result is as large as the receiver."""
    of_argument = argument_estimate(factor, keeps_size=keeps_size)
    return lambda context, receiver, _: None if receiver is None else of_argument(context, None, (receiver,))


def argument_cost(factor: float, *, times: int = 1) -> Cost:
    """(size × times) × factor of the receiver, or of the first argument where there is none."""

    def cost(values: Sequence[Any]) -> int:
        return ceil_factor(actual_size(values[0]) * times, factor)

    return cost


receiver_size_cost = argument_cost(STRING_FACTOR)
#: Both costs of functions that read their argument once.
READS_TEXT = (argument_estimate(STRING_FACTOR), receiver_size_cost)


def smaller_size_estimate(context: EstimateContext, _: Node | None, args: Sequence[Node]) -> CallEstimate:
    """Comparing two values reads at most the smaller one."""
    largest = min(context.size(args[0]).max, context.size(args[1]).max)
    return CallEstimate(Interval(1 if largest > 0 else 0, largest).by_factor(STRING_FACTOR))


def smaller_size_cost(args: Sequence[Any]) -> int:
    return ceil_factor(min(actual_size(args[0]), actual_size(args[1])), STRING_FACTOR)


def sum_of_sizes_cost(args: Sequence[Any]) -> int:
    """Concatenation copies both."""
    return ceil_factor(actual_size(args[0]) + actual_size(args[1]), STRING_FACTOR)


def pattern_estimate(context: EstimateContext, target: Node | None, args: Sequence[Node]) -> CallEstimate | None:
    """Matching costs the text times the pattern."""
    if target is None or not args:
        return None
    text = context.size(target).plus(ONE).by_factor(STRING_FACTOR)
    return CallEstimate(text.times(context.size(args[0]).by_factor(REGEX_FACTOR)))


def pattern_cost(args: Sequence[Any]) -> int:
    return ceil_factor(actual_size(args[0]) + 1, STRING_FACTOR) * ceil_factor(actual_size(args[1]), REGEX_FACTOR)


def traversal_estimate(context: EstimateContext, receiver: Node | None, _: Sequence[Node]) -> CallEstimate | None:
    """Walking over a list, or a string for indexOf, costs 1 per element, and the largest size of each string in it."""
    if receiver is None:
        return None
    size = context.size(receiver)
    element = context.element(receiver)
    if element is None:
        return CallEstimate(size.by_factor(STRING_FACTOR))
    each = ONE
    if element.type.kind in (TypeKind.STRING, TypeKind.BYTES):
        each = each.plus(context.size(element).by_factor(STRING_FACTOR))
    return CallEstimate(size.times(each))


def receiver_traversal_cost(values: Sequence[Any]) -> int:
    return traversal_cost(values[0])
