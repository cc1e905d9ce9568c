"""Short forms for the standard library's rows, and the costs several of them share.

Kubernetes: cel-go checker/cost.go and interpreter/runtimecost.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import (
    STRING_FACTOR,
    CallEstimate,
    EstimateContext,
    Function,
    Interval,
    Node,
    Overload,
    actual_size,
    ceil_factor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.cel.types import Type


def overload(
    id_: str, params: tuple[Type, ...], result: Type, implementation: Callable[..., Any], *, member: bool = False
) -> Overload:
    """Return a row that costs 1."""
    return Overload(id_, params, result, implementation, member=member)


def function(name: str, *overloads: Overload) -> Function:
    """Return a function of these overloads."""
    return Function(name, overloads)


def smaller_size_estimate(context: EstimateContext, _: Node | None, args: Sequence[Node]) -> CallEstimate:
    """Comparing two values reads at most the smaller one."""
    largest = min(context.size(args[0]).max, context.size(args[1]).max)
    return CallEstimate(Interval(1 if largest > 0 else 0, largest).by_factor(STRING_FACTOR))


def smaller_size_cost(args: Sequence[Any]) -> int:
    """Comparing two values reads at most the smaller one."""
    return ceil_factor(min(actual_size(args[0]), actual_size(args[1])), STRING_FACTOR)


def sum_of_sizes_cost(args: Sequence[Any]) -> int:
    """Concatenation copies both."""
    return ceil_factor(actual_size(args[0]) + actual_size(args[1]), STRING_FACTOR)


def receiver_size_cost(args: Sequence[Any]) -> int:
    """Reading the receiver once."""
    return ceil_factor(actual_size(args[0]), STRING_FACTOR)
