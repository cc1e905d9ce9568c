"""Compute with Go's fixed-width integers where Kubernetes' results depend on how they overflow.

Kubernetes: k8s.io/apimachinery/pkg/api/resource/math.go.
"""

import math

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UINT64_MAX = 2**64 - 1

# Go's math.Pow10 multiplies two table entries, so it is not always the nearest float: the tables are rebuilt here.
_POW10_LOW = [float(f"1e{n}") for n in range(32)]
_POW10_HIGH = [float(f"1e{n}") for n in range(0, 309, 32)]
_POW10_NEGATIVE = [float(f"1e-{n}") for n in range(0, 324, 32)]

# The factors for which Kubernetes multiplies once and hands out the overflowed product; the others give 0.
_SINGLE_STEP_SCALES = frozenset((1, 2, 3, 6, 9))
_INT64_DIGITS = 19


def wrap32(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def wrap64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def fits_int64(number: int) -> bool:
    return INT64_MIN <= number <= INT64_MAX


def add64(number: int, other: int) -> int:
    """Add two int64 as Go does, quickly where nothing overflows."""
    total = number + other
    return total if INT64_MIN <= total <= INT64_MAX else wrap64(total)


def divide64(number: int, divisor: int) -> int:
    """Divide two int64 as Go does, towards zero. The divisor must not be 0."""
    quotient = abs(number) // abs(divisor)
    return wrap64(quotient if (number < 0) == (divisor < 0) else -quotient)


def float_to_int64(number: float) -> int:
    """Return a float as an int64, as Go converts it on amd64: what does not fit becomes the smallest."""
    whole = int(number) if math.isfinite(number) else INT64_MIN
    return whole if fits_int64(whole) else INT64_MIN


def read_int(text: str, lowest: int = INT64_MIN, highest: int = INT64_MAX) -> int | None:
    """Return a decimal integer with an optional sign; None for any other text, or a number out of range.

    Python's int() takes time quadratic in the digits, and refuses more than 4,300 of them: this asks it for at most as
    many as `highest` and `lowest` have.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        return None
    significant = digits.lstrip("0") or "0"
    if len(significant) > max(len(str(highest)), len(str(lowest))):
        return None
    number = -int(significant) if text[0] == "-" else int(significant)
    return number if lowest <= number <= highest else None


def scale_up(base: int, scale: int) -> tuple[int, bool]:
    """Return `base` times ten to the `scale` (>= 0) as int64, and whether it fits."""
    if scale == 0 or base == 0:
        return base, True
    if scale in _SINGLE_STEP_SCALES:
        if base == INT64_MIN:
            return 0, False
        product = base * 10**scale
        return wrap64(product), fits_int64(product)
    if scale > _INT64_DIGITS or base == INT64_MIN:
        return 0, False
    product = base * 10**scale
    return (product, True) if fits_int64(product) else (0, False)


def scale_down(base: int, scale: int) -> tuple[int, bool]:
    """Divide `base` by ten to the `scale` (>= 0), rounding away from zero; return also whether it was exact."""
    if scale > _INT64_DIGITS:
        return (base > 0) - (base < 0), base == 0
    quotient, remainder = divmod(abs(base), 10**scale)
    rounded = quotient + (remainder != 0)
    return (rounded if base > 0 else -rounded), remainder == 0


def pow10_float(exponent: int) -> float:
    if 0 <= exponent <= 308:
        return _POW10_HIGH[exponent // 32] * _POW10_LOW[exponent % 32]
    if -323 <= exponent < 0:
        return _POW10_NEGATIVE[-exponent // 32] / _POW10_LOW[-exponent % 32]
    return float("inf") if exponent > 0 else 0.0


def pow10_int64(exponent: int) -> int:
    """Return Go's int64(math.Pow10(exponent)) for exponent >= 0: what does not fit becomes the smallest int64."""
    return 10**exponent if exponent < _INT64_DIGITS else INT64_MIN
