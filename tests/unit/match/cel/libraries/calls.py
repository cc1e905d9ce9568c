"""Calls a library's rows directly: picks the overload by id and hands over plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import Argument, CallEstimate, Function, Interval, Overload

if TYPE_CHECKING:
    from collections.abc import Iterable


def overload(functions: Iterable[Function], overload_id: str) -> Overload:
    return next(row for function in functions for row in function.overloads if row.id == overload_id)


def call(functions: Iterable[Function], overload_id: str, *values: Any) -> Any:
    return overload(functions, overload_id).implementation(*values)


def cost(functions: Iterable[Function], overload_id: str, *values: Any) -> int:
    charge = overload(functions, overload_id).cost
    return 1 if charge is None else charge(values)


def estimate(functions: Iterable[Function], overload_id: str, *arguments: Argument) -> CallEstimate:
    """The estimate of a call; without one, the default of a single unit."""
    found = overload(functions, overload_id).estimate
    return CallEstimate(Interval(1, 1)) if found is None else found(*arguments)
