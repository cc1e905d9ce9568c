"""Implement the quantity library and the semver library, version 1.

Kubernetes: apiserver/pkg/cel/library/quantity.go and semverlib.go, pkg/cel/quantity.go and semver.go. sign() is a
global function there, not a member. Versions are strict unless `normalize` is true, which forgives a leading `v`,
missing parts and leading zeros, but no spaces: it is not `parse_tolerant`. Build metadata does not count in `==`; parts
beyond int64 wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.match.cel.functions import READS_TEXT, Function, row, succeeds
from moorage.match.cel.types import QUANTITY, SEMVER
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.match.semver import SemverError, normalized, parse
from moorage.model.quantity import Format, Quantity, QuantityError, parse_quantity


class _Ordered(OpaqueValue):
    """A value made from text, whose content has an order: `1000m` equals `1`, and `1.0.0+a` equals `1.0.0`."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.content.compare(other.content) == 0

    def __hash__(self) -> int:
        return hash(self.cel_type)


class QuantityValue(_Ordered):
    """A value of type kubernetes.Quantity."""

    __slots__ = ()
    cel_type = QUANTITY


class SemverValue(_Ordered):
    """A value of type kubernetes.Semver."""

    __slots__ = ()
    cel_type = SEMVER


def _quantity(text: str) -> QuantityValue:
    try:
        return QuantityValue(parse_quantity(text))
    except QuantityError as error:
        raise CelError(str(error)) from None


def _as_integer(value: QuantityValue) -> int:
    number: int | None = value.content.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _combined(
    combine: Callable[[Quantity, Quantity], Quantity],
) -> Callable[[QuantityValue, QuantityValue | int], QuantityValue]:
    """Return the sum or difference of a quantity and another one, or a whole number."""

    def run(value: QuantityValue, other: QuantityValue | int) -> QuantityValue:
        second = Quantity.from_int(other, Format.DECIMAL_EXPONENT) if isinstance(other, int) else other.content
        try:
            return QuantityValue(combine(value.content, second))
        except QuantityError as error:
            raise CelError(str(error)) from None

    return run


_add, _subtract = _combined(Quantity.add), _combined(Quantity.sub)


def _semver(text: str, normalize: bool = False) -> SemverValue:
    try:
        return SemverValue(parse(normalized(text.removeprefix("v"), "short") if normalize else text))
    except SemverError as error:
        raise CelError(str(error)) from None


def _int64(number: int) -> int:
    return number if number < 2**63 else number - 2**64


def _comparisons(type_: str) -> tuple[Function, ...]:
    id_ = type_.lower()
    return (
        row(
            f"{type_}.isGreaterThan({type_}) -> bool",
            f"{id_}_is_greater_than",
            lambda a, b: a.content.compare(b.content) > 0,
        ),
        row(
            f"{type_}.isLessThan({type_}) -> bool", f"{id_}_is_less_than", lambda a, b: a.content.compare(b.content) < 0
        ),
        row(f"{type_}.compareTo({type_}) -> int", f"{id_}_compare_to", lambda a, b: a.content.compare(b.content)),
    )


FUNCTIONS = (
    row("quantity(string) -> Quantity", "string_to_quantity", _quantity, *READS_TEXT),
    row("isQuantity(string) -> bool", "is_quantity_string", succeeds(_quantity), *READS_TEXT),
    row("sign(Quantity) -> int", "quantity_sign", lambda q: q.content.sign()),
    *_comparisons("Quantity"),
    row("Quantity.asApproximateFloat() -> double", "quantity_get_float", lambda q: q.content.as_approximate_float()),
    row("Quantity.asInteger() -> int", "quantity_get_int", _as_integer),
    row("Quantity.isInteger() -> bool", "quantity_is_integer", lambda q: q.content.is_integer()),
    row("Quantity.add(Quantity) -> Quantity", "quantity_add", _add),
    row("Quantity.add(int) -> Quantity", "quantity_add_int", _add),
    row("Quantity.sub(Quantity) -> Quantity", "quantity_sub", _subtract),
    row("Quantity.sub(int) -> Quantity", "quantity_sub_int", _subtract),
    row("semver(string) -> Semver", "string_to_semver", _semver, *READS_TEXT),
    row("semver(string, bool) -> Semver", "string_bool_to_semver", _semver, *READS_TEXT),
    row("isSemver(string) -> bool", "is_semver_string", succeeds(_semver), *READS_TEXT),
    row("isSemver(string, bool) -> bool", "is_semver_string_bool", succeeds(_semver), *READS_TEXT),
    *_comparisons("Semver"),
    row("Semver.major() -> int", "semver_major", lambda v: _int64(v.content.major)),
    row("Semver.minor() -> int", "semver_minor", lambda v: _int64(v.content.minor)),
    row("Semver.patch() -> int", "semver_patch", lambda v: _int64(v.content.patch)),
)
