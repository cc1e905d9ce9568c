"""Calls a library's rows directly: picks the overload by id and hands over plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import UNKNOWN_SIZE, CallEstimate, Function, Interval, Node, Overload

if TYPE_CHECKING:
    from collections.abc import Iterable


def overload(functions: Iterable[Function], overload_id: str) -> Overload:
    return next(row for function in functions for row in function.overloads if row.id == overload_id)


def call(functions: Iterable[Function], overload_id: str, *values: Any) -> Any:
    return overload(functions, overload_id).implementation(*values)


def cost(functions: Iterable[Function], overload_id: str, *values: Any) -> int:
    charge = overload(functions, overload_id).cost
    return 1 if charge is None else charge(values)


class Sizes:
    """The estimate's questions answered from the nodes alone; elements have no known size."""

    def size(self, node: Node) -> Interval:
        return UNKNOWN_SIZE if node.size is None else node.size

    def element(self, node: Node) -> Node | None:
        return Node(node.type.parameters[0]) if node.type.parameters else None


def estimate(functions: Iterable[Function], overload_id: str, *nodes: Node) -> CallEstimate:
    """The estimate of a call; without one, the default of a single unit."""
    row = overload(functions, overload_id)
    if row.estimate is None:
        return CallEstimate(Interval(1, 1))
    found = row.estimate(Sizes(), nodes[0] if row.member else None, nodes[1:] if row.member else nodes)
    return CallEstimate(Interval(1, 1)) if found is None else found
