"""The sets library: lists taken as sets.

Kubernetes: cel-go ext/sets.go. Cost is the product of the sizes, twice that for `equivalent`, plus one for the call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import ONE, CallEstimate, Function, Overload, actual_size
from moorage.match.cel.libraries.collections.lists import contains
from moorage.match.cel.types import BOOL, LIST_OF_T

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from moorage.match.cel.functions import EstimateContext, Node


def _contains(items: list[Any], part: list[Any]) -> bool:
    return all(contains(items, wanted) for wanted in part)


def _equivalent(first: list[Any], second: list[Any]) -> bool:
    return _contains(first, second) and _contains(second, first)


def _intersects(first: list[Any], second: list[Any]) -> bool:
    return any(contains(second, item) for item in first)


def _row(name: str, overload_id: str, implementation: Callable[[list[Any], list[Any]], bool], passes: int) -> Function:
    """Return a function of two lists that compares every element with every element, `passes` times."""

    def estimate(context: EstimateContext, _receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
        if len(arguments) != 2:
            return None
        pairs = context.size(arguments[0]).times(context.size(arguments[1]))
        return CallEstimate(pairs.by_factor(float(passes)).plus(ONE))

    def cost(values: Sequence[Any]) -> int:
        return 1 + actual_size(values[0]) * actual_size(values[1]) * passes

    return Function(
        name, (Overload(overload_id, (LIST_OF_T, LIST_OF_T), BOOL, implementation, estimate=estimate, cost=cost),)
    )


FUNCTIONS = (
    _row("sets.contains", "list_sets_contains_list", _contains, 1),
    _row("sets.equivalent", "list_sets_equivalent_list", _equivalent, 2),
    _row("sets.intersects", "list_sets_intersects_list", _intersects, 1),
)
