"""The quantity library: `quantity(<string>)`, `isQuantity`, comparisons and sums.

Kubernetes: apiserver/pkg/cel/library/quantity.go and pkg/cel/quantity.go; sign() is a global function there, not a
member. The arithmetic is `moorage.model.quantity`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from moorage.match.cel.costs import READS_TEXT
from moorage.match.cel.functions import row, succeeds
from moorage.match.cel.types import QUANTITY, Type
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.quantity import Format, Quantity, QuantityError, parse_quantity


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


def _as_integer(value: QuantityValue) -> int:
    number = value.quantity.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _combined(
    combine: Callable[[Quantity, Quantity], Quantity],
) -> Callable[[QuantityValue, QuantityValue | int], QuantityValue]:
    """Return the sum or difference of a quantity and another one, or a whole number."""

    def run(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
        second = Quantity.from_int(other, Format.DECIMAL_EXPONENT) if isinstance(other, int) else other.quantity
        try:
            return QuantityValue(combine(value.quantity, second))
        except QuantityError as error:
            raise CelError(str(error)) from None

    return run


_add, _subtract = _combined(Quantity.add), _combined(Quantity.sub)


FUNCTIONS = (
    row("quantity(string) -> Quantity", "string_to_quantity", _quantity, *READS_TEXT),
    row("isQuantity(string) -> bool", "is_quantity_string", succeeds(_quantity), *READS_TEXT),
    row("sign(Quantity) -> int", "quantity_sign", lambda q: q.quantity.sign()),
    row(
        "Quantity.isGreaterThan(Quantity) -> bool",
        "quantity_is_greater_than",
        lambda a, b: a.quantity.compare(b.quantity) > 0,
    ),
    row(
        "Quantity.isLessThan(Quantity) -> bool",
        "quantity_is_less_than",
        lambda a, b: a.quantity.compare(b.quantity) < 0,
    ),
    row("Quantity.compareTo(Quantity) -> int", "quantity_compare_to", lambda a, b: a.quantity.compare(b.quantity)),
    row("Quantity.asApproximateFloat() -> double", "quantity_get_float", lambda q: q.quantity.as_approximate_float()),
    row("Quantity.asInteger() -> int", "quantity_get_int", _as_integer),
    row("Quantity.isInteger() -> bool", "quantity_is_integer", lambda q: q.quantity.is_integer()),
    row("Quantity.add(Quantity) -> Quantity", "quantity_add", _add),
    row("Quantity.add(int) -> Quantity", "quantity_add_int", _add),
    row("Quantity.sub(Quantity) -> Quantity", "quantity_sub", _subtract),
    row("Quantity.sub(int) -> Quantity", "quantity_sub_int", _subtract),
)
