"""Check numbers: type and format, multipleOf, minimum, maximum.

Kubernetes: kube-openapi, pkg/validation/validate/values.go. An integer is compared with bounds cut to integers:
3 is more than a maximum of 2.5, "should be less than or equal to 2".
"""

import math
import struct
from collections.abc import Iterator

from moorage.custom.objects.failures import Failure, ValuePlace
from moorage.custom.structural import Structural
from moorage.model.field_error import invalid
from moorage.model.go.integers import fits_int64, float_to_int64
from moorage.model.go.quoting import go_float

Number = int | float
_MAX_EXACT = (1 << 53) - 1
_EPSILON = 1e-9
_INT32 = 1 << 31


def is_float(value: object) -> bool:
    """Return whether Go reads the number as a float: it has a fraction or exponent, or is too large."""
    return isinstance(value, float) or (isinstance(value, int) and not fits_int64(value))


def is_whole(number: float) -> bool:
    """Return whether a float counts as an integer: up to 2^53, and within a relative error of 1e-9."""
    if not math.isfinite(number) or abs(number) > _MAX_EXACT:
        return False
    if number.is_integer():
        return True
    below = float(int(number)) if number > 0 else 0.0
    if below == 0:
        return False
    return abs(number - below) / (abs(number) + below) < _EPSILON


def number_failures(value: Number, schema: Structural, place: ValuePlace) -> Iterator[Failure]:
    """Yield what a number fails at, in Kubernetes' order: type, multipleOf, minimum, maximum."""
    kind = schema.types[0] if len(schema.types) == 1 and schema.types[0] in ("integer", "number") else ""
    form = schema.known_format if kind else ""

    def misfit(number: Number, what: str) -> Failure | None:
        if _fits(number, kind, form):
            return None
        shown = f"with format {form}" if form else "(default format)"
        return place.general(f"{what} value must be of type {kind} {shown} in {place.path}")

    if failure := misfit(value, "Checked"):
        yield failure
    if schema.multipleOf is not None:
        if failure := misfit(schema.multipleOf, "MultipleOf"):
            yield failure
        yield from _not_multiple(value, schema.multipleOf, place, cut=failure is None)
    if schema.minimum is not None:
        if failure := misfit(schema.minimum, "Minimum boundary"):
            yield failure
        number, bound = _comparable(value, schema.minimum, cut=failure is None)
        if number < bound or (schema.exclusiveMinimum and number == bound):
            words = "greater than" if schema.exclusiveMinimum else "greater than or equal to"
            yield place.failure(number, f"should be {words} {_shown(bound)}")
    if schema.maximum is not None:
        if failure := misfit(schema.maximum, "Maximum boundary"):
            yield failure
        number, bound = _comparable(value, schema.maximum, cut=failure is None)
        if number > bound or (schema.exclusiveMaximum and number == bound):
            words = "less than" if schema.exclusiveMaximum else "less than or equal to"
            yield place.failure(number, f"should be {words} {_shown(bound)}")


def _comparable(value: Number, bound: float, *, cut: bool) -> tuple[Number, Number]:
    """Return both as integers if the value is one, else as floats."""
    if cut and not is_float(value):
        return value, float_to_int64(bound)
    return float(value), bound


def _shown(number: Number) -> str:
    return go_float(number) if isinstance(number, float) else str(number)


def _not_multiple(value: Number, factor: float, place: ValuePlace, *, cut: bool) -> Iterator[Failure]:
    if cut and isinstance(value, int) and not is_float(value):
        divisor: Number = float_to_int64(factor)
        is_multiple = divisor > 0 and value % divisor == 0
    else:
        divisor, value = factor, float(value)
        quotient = 0.0 if factor <= 0 else (1 / factor * value if factor < 1 else value / factor)
        is_multiple = is_whole(quotient)
    if divisor <= 0:
        text = f"factor MultipleOf declared for {place.path} must be positive: {_shown(divisor)}"
        yield Failure(text, invalid(place.field, divisor, text))
    elif not is_multiple:
        yield place.failure(value, f"should be a multiple of {_shown(divisor)}")


def _fits(number: Number, kind: str, form: str) -> bool:
    if kind == "integer":
        if is_float(number) and not float(number).is_integer():
            return False
        whole = int(number)
        return -_INT32 <= whole < _INT32 if form == "int32" else fits_int64(whole)
    if kind == "number" and form == "float":
        try:
            struct.pack("<f", float(number))
        except OverflowError:
            return False
    return True
