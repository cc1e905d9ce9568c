"""The text of a quantity: `1500m`, `1.5Gi`, `12e6` taken apart, and the suffixes put back.

In: text. Out: its parts, or QuantityError in the API server's words. Kubernetes: parseQuantityString in
apimachinery/pkg/api/resource/quantity.go and suffix.go. Differs: text longer than MAX_TEXT is refused as not numeric,
where upstream would work on a number of any length.
"""

import re
from enum import Enum
from typing import NamedTuple

from moorage.model.go.integers import INT64_MAX, INT64_MIN, wrap32

MAX_TEXT = 4096

_FORMAT_WRONG = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # as upstream prints
)
NUMERIC_WRONG = "unable to parse numeric part of quantity"
_SUFFIX_WRONG = "unable to parse quantity's suffix"


class QuantityError(ValueError):
    """Text that is no quantity, or a sum too far apart to write down. `str()` is the API server's message."""


class Format(Enum):
    """How a quantity was written, and so how it will be printed. The values are Kubernetes' names."""

    DECIMAL_EXPONENT = "DecimalExponent"
    BINARY_SI = "BinarySI"
    DECIMAL_SI = "DecimalSI"


class QuantityParts(NamedTuple):
    """One quantity's text, taken apart."""

    positive: bool
    number: str  # sign, digits and point, as written
    whole: str  # digits before the point, without leading zeros; "0" if there are none
    fraction: str
    base: int
    exponent: int
    format: Format


_DECIMAL_SUFFIXES = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY_SUFFIXES = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL_SUFFIXES.items()}
_BINARY_BY_EXPONENT = {exponent: suffix for suffix, exponent in _BINARY_SUFFIXES.items()}

# One part more permissive than the expression in the message, as upstream's parser is: the digits may be missing.
_SHAPE = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[+-]?[0-9]+")


def split_quantity(text: str) -> QuantityParts:
    """Take a quantity's text apart; QuantityError says which part is wrong."""
    shape = _SHAPE.fullmatch(text) if text else None
    if shape is None:
        raise QuantityError(_FORMAT_WRONG)
    if len(text) > MAX_TEXT:
        raise QuantityError(NUMERIC_WRONG)
    sign, digits, fraction, suffix = shape.groups(default="")
    base, exponent, notation = _interpret_suffix(suffix)
    number = text[: len(text) - len(suffix)]
    return QuantityParts(sign != "-", number, digits.lstrip("0") or "0", fraction, base, exponent, notation)


def _interpret_suffix(suffix: str) -> tuple[int, int, Format]:
    decimal = _DECIMAL_SUFFIXES.get(suffix)
    if decimal is not None:
        return 10, decimal, Format.DECIMAL_SI
    binary = _BINARY_SUFFIXES.get(suffix)
    if binary is not None:
        return 2, binary, Format.BINARY_SI
    if len(suffix) > 1 and suffix[0] in "eE" and _EXPONENT.fullmatch(suffix, 1):
        exponent = int(suffix[1:])
        if INT64_MIN <= exponent <= INT64_MAX:
            return 10, wrap32(exponent), Format.DECIMAL_EXPONENT
    raise QuantityError(_SUFFIX_WRONG)


def decimal_suffix(exponent: int, notation: Format) -> str:
    """The suffix for ten to the exponent. Where SI has no letter upstream prints none, and so does this."""
    if notation is Format.DECIMAL_SI:
        return _DECIMAL_BY_EXPONENT.get(exponent, "")
    return f"e{exponent}" if exponent else ""


def binary_suffix(exponent: int) -> str:
    """The suffix for two to the exponent; none beyond `Ei`, as upstream."""
    return _BINARY_BY_EXPONENT.get(exponent, "")
