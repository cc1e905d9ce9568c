"""Parse, compare and add resource quantities such as `500m`, `1.5Gi`, `2e3`, with Kubernetes' exact arithmetic.

Kubernetes: apimachinery/pkg/api/resource. As there, a quantity is either a small number (an int64 times a power of
ten) or a big one (any integer over a power of ten, at most nano precision), because rounding and overflow of `value`
and `milli_value` depend on which it is. Sums by resource name follow component-helpers/resource. Differs: huge
exponents are answered at once instead of being multiplied out, sums of more than MAX_DIGITS digits are refused, and
text longer than MAX_TEXT is refused as not numeric.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import total_ordering
from typing import NamedTuple

from moorage.model.go.integers import (
    INT64_MAX,
    INT64_MIN,
    fits_int64,
    pow10_float,
    pow10_int64,
    read_int,
    scale_down,
    scale_up,
    wrap32,
    wrap64,
)
from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short

MAX_TEXT = 4096
#: The largest value that can be counted in thousandths.
MAX_MILLI_VALUE = INT64_MAX // 1000

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
_SHAPE = Pattern(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")


def split_quantity(text: str) -> QuantityParts:
    """Take a quantity's text apart; QuantityError says which part is wrong."""
    shape = _SHAPE.fullmatch(text) if text else None
    if shape is None:
        raise QuantityError(_FORMAT_WRONG)
    if len(text) > MAX_TEXT:
        raise QuantityError(NUMERIC_WRONG)
    sign, digits, fraction, suffix = shape.groups()
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
    if len(suffix) > 1 and suffix[0] in "eE" and (exponent := read_int(suffix[1:])) is not None:
        return 10, wrap32(exponent), Format.DECIMAL_EXPONENT
    raise QuantityError(_SUFFIX_WRONG)


def decimal_suffix(exponent: int, notation: Format) -> str:
    """Return the suffix for ten to the exponent. Where SI has no letter upstream prints none, and so does this."""
    if notation is Format.DECIMAL_SI:
        return _DECIMAL_BY_EXPONENT.get(exponent, "")
    return f"e{exponent}" if exponent else ""


MAX_DIGITS = MAX_TEXT + 104  # Python prints integers of 4,300 digits and no longer

_NANO = -9
_SMALL_DIGITS = 18  # decimal digits that surely fit an int64
_SMALL_BINARY_DIGITS = 15


@total_ordering
class Quantity:
    """An amount: `mantissa` times ten to the `exponent`. `big` tells which of upstream's two representations it has."""

    __slots__ = ("_text", "big", "exponent", "format", "mantissa")

    mantissa: int
    exponent: int
    format: Format
    big: bool
    _text: str

    def __init__(self, mantissa: int, exponent: int, notation: Format, big: bool = False, text: str = "") -> None:
        assign = object.__setattr__
        assign(self, "mantissa", mantissa)
        assign(self, "exponent", exponent)
        assign(self, "format", notation)
        assign(self, "big", big)
        assign(self, "_text", text)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"quantities are immutable: {name}")

    @classmethod
    def from_int(cls, value: int, notation: Format = Format.DECIMAL_SI) -> "Quantity":
        return cls(value, 0, notation)

    @classmethod
    def from_milli(cls, value: int, notation: Format = Format.DECIMAL_SI) -> "Quantity":
        return cls(value, -3, notation)

    # -- what it is --------------------------------------------------------------------------------------------

    def sign(self) -> int:
        return (self.mantissa > 0) - (self.mantissa < 0)

    def is_zero(self) -> bool:
        return self.mantissa == 0

    def value(self) -> int:
        """Return the amount rounded up to an integer, in an int64 that overflows as upstream's does."""
        return self._scaled_value(0)

    def milli_value(self) -> int:
        """Return a thousand times the amount, rounded up, in an int64 that overflows as upstream's does."""
        return self._scaled_value(-3)

    def as_int64(self) -> int | None:
        """Return the amount as an int64, or None where upstream's AsInt64 gives up (also for `1000m`)."""
        if self.big or self.exponent < 0:
            return None
        result, fits = scale_up(self.mantissa, self.exponent)
        return result if fits else None

    def is_integer(self) -> bool:
        return self.as_int64() is not None

    def as_approximate_float(self) -> float:
        try:
            base = float(self.mantissa)
        except OverflowError:
            base = float("inf") * self.sign()
        return base if self.exponent == 0 else base * pow10_float(self.exponent)

    # -- comparing ---------------------------------------------------------------------------------------------

    def compare(self, other: "Quantity") -> int:
        """Return -1, 0 or 1, without ever multiplying out a huge exponent."""
        a, b = self.mantissa, other.mantissa
        if self.exponent == other.exponent:
            return (a > b) - (a < b)
        mine, theirs = self.sign(), other.sign()
        if mine != theirs or mine == 0:
            return (mine > theirs) - (mine < theirs)
        digits, others = len(str(abs(a))) + self.exponent, len(str(abs(b))) + other.exponent
        if digits != others:
            return mine if digits > others else -mine
        lowest = min(self.exponent, other.exponent)
        a *= int(10 ** (self.exponent - lowest))
        b *= int(10 ** (other.exponent - lowest))
        return (a > b) - (a < b)

    def is_larger_than(self, other: "Quantity") -> bool:
        """Return whether it is farther from zero."""
        mine = Quantity(abs(self.mantissa), self.exponent, self.format)
        return mine.compare(Quantity(abs(other.mantissa), other.exponent, other.format)) > 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __lt__(self, other: "Quantity") -> bool:
        return self.compare(other) < 0

    def __gt__(self, other: "Quantity") -> bool:
        return self.compare(other) > 0

    def __hash__(self) -> int:
        digits, zeros = _strip_factors(self.mantissa, 10)
        return hash((digits, self.exponent + zeros if digits else 0))

    # -- arithmetic --------------------------------------------------------------------------------------------

    def add(self, other: "Quantity") -> "Quantity":
        return self._plus(other, other.mantissa)

    def sub(self, other: "Quantity") -> "Quantity":
        return self._plus(other, -other.mantissa if other.big else wrap64(-other.mantissa))

    def _plus(self, other: "Quantity", addend: int) -> "Quantity":
        """Return the sum with `addend` at other's exponent. A zero takes over the other's format."""
        notation = other.format if self.mantissa == 0 else self.format
        if not self.big and not other.big:
            small = self._plus_small(other.exponent, addend, notation)
            if small is not None:
                return small
        lowest = min(self.exponent, other.exponent)
        for mantissa, exponent in ((self.mantissa, self.exponent), (addend, other.exponent)):
            if mantissa and len(str(abs(mantissa))) + exponent - lowest > MAX_DIGITS:
                raise QuantityError(f"the sum of {self} and {other} has more than {MAX_DIGITS} digits")
        mine = self.mantissa and self.mantissa * 10 ** (self.exponent - lowest)
        theirs = addend and addend * 10 ** (other.exponent - lowest)
        return Quantity(mine + theirs, lowest, notation, big=True)

    def _plus_small(self, exponent: int, addend: int, notation: Format) -> "Quantity | None":
        if addend == 0:
            return Quantity(self.mantissa, self.exponent, notation)
        if self.mantissa == 0:
            return Quantity(addend, exponent, notation)
        lowest = min(self.exponent, exponent)
        mine, mine_fits = scale_up(self.mantissa, self.exponent - lowest)
        theirs, theirs_fit = scale_up(addend, exponent - lowest)
        total = mine + theirs
        if not (mine_fits and theirs_fit and fits_int64(total)):
            return None
        return Quantity(total, lowest, notation)

    def _scaled_value(self, exponent: int) -> int:
        distance = self.exponent - exponent
        if not self.big:
            if distance < 0:
                return scale_down(self.mantissa, -distance)[0]
            return scale_up(self.mantissa, distance)[0]
        if distance == 0:
            return wrap64(self.mantissa)
        if distance > 0:
            return wrap64(wrap64(self.mantissa) * pow10_int64(distance))
        if self.mantissa < INT64_MAX and -distance < 19:
            # A negative number beyond int64 overflows here before the division, and zero is rounded towards: both as
            # upstream, where rounding up adds one to the truncated quotient.
            low, divisor = wrap64(self.mantissa), int(10**-distance)
            truncated = abs(low) // divisor * (1 if low > 0 else -1)
            return truncated + (low % divisor != 0)
        quotient, remainder = divmod(self.mantissa, 10**-distance)
        return wrap64(wrap64(quotient) + (remainder != 0))

    # -- printing ----------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        """The canonical text (or, as upstream, the text it was parsed from where that was found good enough)."""
        if not self._text:
            object.__setattr__(self, "_text", self._canonical())
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _canonical(self) -> str:
        if self.mantissa == 0:
            return "0"
        if self.format is Format.BINARY_SI and not self._within_1024():
            whole = self._as_whole_number()
            if whole is not None:
                amount, times = _strip_factors(whole, 1024)
                return f"{amount}{_BINARY_BY_EXPONENT.get(times * 10, '')}"  # none beyond Ei, as upstream
        notation = Format.DECIMAL_SI if self.format is Format.BINARY_SI else self.format
        amount, zeros = _strip_factors(self.mantissa, 10)
        exponent = wrap32(self.exponent + zeros)
        while exponent % 3:
            amount, exponent = amount * 10, wrap32(exponent - 1)
            if not self.big and exponent == 2**31 - 1 and fits_int64(amount):
                break  # upstream's int64 path decides once by how much to multiply, before the exponent overflows
        return f"{amount}{decimal_suffix(exponent, notation)}"

    def _within_1024(self) -> bool:
        return Quantity(-1024, 0, self.format).compare(self) < 0 and self.compare(Quantity(1024, 0, self.format)) < 0

    def _as_whole_number(self) -> int | None:
        if self.exponent >= 0:
            return self.mantissa * int(10**self.exponent)
        quotient, remainder = divmod(self.mantissa, int(10**-self.exponent))
        return None if remainder else quotient


def _strip_factors(number: int, factor: int) -> tuple[int, int]:
    """Divide by the factor as often as it goes; the number that remains, and how often it went."""
    times = 0
    while number and number % factor == 0 and number != INT64_MIN:
        number //= factor
        times += 1
    return number, times


@reads_text("1", "0", ".", "-", "e", "E", "Ki", "m", raises=QuantityError, longest=MAX_TEXT)
@remember_short(8192)
def parse_quantity(text: str) -> Quantity:
    """Parse as ParseQuantity does. Raises QuantityError with its message."""
    if text == "0":
        return ZERO
    parts = split_quantity(text)
    return _parse_small(text, parts) or _parse_big(parts)


def _parse_small(text: str, parts: QuantityParts) -> Quantity | None:
    """Return the quantity as an int64 and a scale, or None if it needs the big representation."""
    digits = parts.whole + parts.fraction
    if parts.base == 10:
        scale, factor = wrap32(parts.exponent - len(parts.fraction)), 1
        if len(digits) > _SMALL_DIGITS or scale < _NANO:
            return None
        # Upstream keeps the text as the canonical one if it looks canonical, which is a little too often.
        keep_text = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    else:
        scale, factor = 0, 2**parts.exponent
        if parts.fraction or len(digits) + parts.exponent * 3 // 10 + 1 > _SMALL_BINARY_DIGITS:
            return None
        keep_text = int(digits) & 7 != 0
    amount = int(digits) * factor
    return Quantity(amount if parts.positive else -amount, scale, parts.format, text=text if keep_text else "")


def _parse_big(parts: QuantityParts) -> Quantity:
    """Return the quantity as an integer of any size over at most ten to the ninth, rounded away from zero."""
    digits = parts.number.lstrip("+-").replace(".", "")
    if not digits:
        raise QuantityError(NUMERIC_WRONG)
    amount, notation = int(digits), parts.format
    if parts.base == 10:
        exponent = wrap32(parts.exponent - len(parts.fraction))
    else:
        amount, exponent = amount << parts.exponent, -len(parts.fraction)
    if amount:
        amount, exponent = _round_up_to_nano(amount, exponent)
    if notation is Format.BINARY_SI:
        if amount > INT64_MAX * 10**-exponent:
            amount, exponent = INT64_MAX, 0
        elif 0 < amount < 10**-exponent:
            notation = Format.DECIMAL_SI
    return Quantity(amount if parts.positive else -amount, exponent, notation, big=True)


def _round_up_to_nano(amount: int, exponent: int) -> tuple[int, int]:
    if exponent >= _NANO:
        factors = exponent - _NANO
        if factors > MAX_DIGITS - len(str(amount)):
            # Multiplied out it would only be longer, but for the low 64 bits, which `value` is made of: they are zero.
            factors = 64
        return amount * 10**factors, exponent - factors
    excess = _NANO - exponent
    if excess > MAX_TEXT:
        return 1, _NANO
    quotient, remainder = divmod(amount, 10**excess)
    return quotient + (remainder != 0), _NANO


ZERO = Quantity(0, 0, Format.DECIMAL_SI, text="0")


ResourceAmounts = dict[str, Quantity]


def total_amounts(
    containers: Iterable[Mapping[str, Quantity]], init_containers: Iterable[tuple[bool, Mapping[str, Quantity]]]
) -> ResourceAmounts:
    """Return what containers need together: regular ones and sidecars (True) at once, or an init container in turn."""
    total: ResourceAmounts = {}
    for amounts in containers:
        add_amounts(total, amounts)
    sidecars: ResourceAmounts = {}
    during_init: ResourceAmounts = {}
    for is_sidecar, amounts in init_containers:
        if is_sidecar:
            add_amounts(total, amounts)
            add_amounts(sidecars, amounts)
            raise_amounts(during_init, sidecars)
        else:
            alone = dict(amounts)
            add_amounts(alone, sidecars)
            raise_amounts(during_init, alone)
    raise_amounts(total, during_init)
    return total


def add_amounts(total: ResourceAmounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        total[name] = _sum(total[name], amount) if name in total else amount


def _sum(amount: Quantity, other: Quantity) -> Quantity:
    """Add; return the greater of amounts too far apart to write out their sum, which is the same for all purposes."""
    try:
        return amount.add(other)
    except QuantityError:
        return max(amount, other)


def difference(amount: Quantity, other: Quantity) -> Quantity:
    """Subtract; of amounts too far apart to write out their difference, the smaller counts as nothing."""
    try:
        return amount.sub(other)
    except QuantityError:
        negative = Quantity(-other.mantissa, other.exponent, other.format, big=True)
        return amount if amount.is_larger_than(other) else negative


def raise_amounts(total: ResourceAmounts, amounts: Mapping[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in total or amount > total[name]:
            total[name] = amount
