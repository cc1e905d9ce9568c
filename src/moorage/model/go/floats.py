"""Compute with floats as Go does, which has no exceptions: what divides by zero is infinite or not a number.

Kubernetes: float64 arithmetic and conversions of the replica calculator, on amd64.
"""

import math

from moorage.model.go.integers import float_to_int64, wrap32


def divide(number: float, divisor: float) -> float:
    if divisor != 0:
        return number / divisor
    if number == 0 or math.isnan(number):
        return math.nan
    return math.copysign(math.inf, number) * math.copysign(1.0, divisor)


def ceil(number: float) -> float:
    return float(math.ceil(number)) if math.isfinite(number) else number


def float_to_int32(number: float) -> int:
    """Return a float as an int32: the low 32 bits of the int64 that it becomes first."""
    return wrap32(float_to_int64(number))
