"""The quantity library: `quantity(<string>)`, `isQuantity`, comparisons and sums.

Kubernetes: apiserver/pkg/cel/library/quantity.go and pkg/cel/quantity.go; sign() is a global function there, not a
member. The arithmetic is `moorage.model.quantity`'s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from moorage.match.cel.functions import Function, Overload
from moorage.match.cel.libraries.text.string_costs import argument_cost, argument_estimate
from moorage.match.cel.types import BOOL, DOUBLE, INT, QUANTITY, STRING, Type
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.quantity import Format, Quantity, QuantityError, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class QuantityValue(OpaqueValue):
    """A value of type kubernetes.Quantity; `1000m` equals `1`."""

    cel_type: ClassVar[Type] = QUANTITY
    quantity: Quantity


def _quantity(text: str) -> QuantityValue:
    try:
        return QuantityValue(parse_quantity(text))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        parse_quantity(text)
    except QuantityError:
        return False
    return True


def _as_integer(value: QuantityValue) -> int:
    number = value.quantity.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _add(value: QuantityValue, other: Quantity) -> QuantityValue:
    try:
        return QuantityValue(value.quantity.add(other))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _subtract(value: QuantityValue, other: Quantity) -> QuantityValue:
    try:
        return QuantityValue(value.quantity.sub(other))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _whole(number: int) -> Quantity:
    return Quantity.from_int(number, Format.DECIMAL_EXPONENT)


def _member(name: str, overload_id: str, params: tuple[Type, ...], result: Type, run: Callable[..., Any]) -> Function:
    return Function(name, (Overload(overload_id, params, result, run, member=True),))


_PAIR = (QUANTITY, QUANTITY)
_ESTIMATE = argument_estimate(0.1)
_COST = argument_cost(0.1)

FUNCTIONS = (
    Function(
        "quantity",
        (Overload("string_to_quantity", (STRING,), QUANTITY, _quantity, estimate=_ESTIMATE, cost=_COST),),
    ),
    Function(
        "isQuantity",
        (Overload("is_quantity_string", (STRING,), BOOL, _is_quantity, estimate=_ESTIMATE, cost=_COST),),
    ),
    Function("sign", (Overload("quantity_sign", (QUANTITY,), INT, lambda q: q.quantity.sign()),)),
    _member("isGreaterThan", "quantity_is_greater_than", _PAIR, BOOL, lambda a, b: a.quantity.compare(b.quantity) > 0),
    _member("isLessThan", "quantity_is_less_than", _PAIR, BOOL, lambda a, b: a.quantity.compare(b.quantity) < 0),
    _member("compareTo", "quantity_compare_to", _PAIR, INT, lambda a, b: a.quantity.compare(b.quantity)),
    _member(
        "asApproximateFloat", "quantity_get_float", (QUANTITY,), DOUBLE, lambda q: q.quantity.as_approximate_float()
    ),
    _member("asInteger", "quantity_get_int", (QUANTITY,), INT, _as_integer),
    _member("isInteger", "quantity_is_integer", (QUANTITY,), BOOL, lambda q: q.quantity.is_integer()),
    Function(
        "add",
        (
            Overload("quantity_add", _PAIR, QUANTITY, lambda a, b: _add(a, b.quantity), member=True),
            Overload("quantity_add_int", (QUANTITY, INT), QUANTITY, lambda a, n: _add(a, _whole(n)), member=True),
        ),
    ),
    Function(
        "sub",
        (
            Overload("quantity_sub", _PAIR, QUANTITY, lambda a, b: _subtract(a, b.quantity), member=True),
            Overload("quantity_sub_int", (QUANTITY, INT), QUANTITY, lambda a, n: _subtract(a, _whole(n)), member=True),
        ),
    ),
)
