"""The two costs of functions that read one string: a factor times its length, before running and while running.

Kubernetes: the string cases of apiserver/pkg/cel/library/cost.go. Both round up; CallCost multiplies twice where
EstimateCallCost multiplies once by the product, and the results may differ in the last digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import STRING_FACTOR, CallEstimate, actual_size, ceil_factor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.cel.functions import EstimateContext, Node

    Estimate = Callable[[EstimateContext, Node | None, Sequence[Node]], CallEstimate | None]
    Cost = Callable[[Sequence[Any]], int]


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

    def estimate(context: EstimateContext, receiver: Node | None, _arguments: Sequence[Node]) -> CallEstimate | None:
        if receiver is None:
            return None
        size = context.size(receiver)
        return CallEstimate(size.by_factor(factor), size if keeps_size else None)

    return estimate


def argument_cost(factor: float, *, times: int = 1) -> Cost:
    """(size × times) × factor of the receiver, or of the first argument where there is none."""

    def cost(values: Sequence[Any]) -> int:
        return ceil_factor(actual_size(values[0]) * times, factor)

    return cost


#: The costs of functions that read their argument once.
READS_TEXT = (argument_estimate(STRING_FACTOR), argument_cost(STRING_FACTOR))
