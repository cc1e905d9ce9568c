"""Implement `<string>.format([…])`: the clauses, how each renders its argument, and which types each accepts.

Kubernetes: cel-go ext/formatting.go, which versions 1 to 3 of the strings library share. Fixed-point and scientific
numbers are printed for en_US there, with thousands separators, `∞`, and `1.5×10⁰³`; the precision of `%e` is taken
for a width. Lists and maps print as CEL literals.
Differs: results are capped in size, and a precision beyond 255 prints the digits the number has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.match.cel.libraries.conversions import TO_STRING
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import CelError, CelMap, Duration, Timestamp, UInt, require_result_size, type_of_value
from moorage.model.go.integers import read_int
from moorage.model.go.quoting import go_quote
from moorage.model.text.readers import reads_text

_DEFAULT_PRECISION = 6
_LARGEST_NUMBER = 1_000_000  # larger widths and precisions are refused by Go's formatter
_MAX_DIGITS = 1100  # a double has no more digits after the point
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_INTEGERS = frozenset({TypeKind.INT, TypeKind.UINT})
_NOT_PRINTED = {TypeKind.ANY, TypeKind.DYN, TypeKind.ERROR, TypeKind.OPAQUE, TypeKind.STRUCT, TypeKind.TYPE_PARAM}
_STRING_KINDS = frozenset(TypeKind) - _NOT_PRINTED


class FormatError(Exception):
    """A format string or an argument that does not fit; `str(error)` is cel-go's text."""


class Clause(NamedTuple):
    """`%.3f`: the letter, and the precision if one was written."""

    verb: str
    precision: int | None


class Verb(NamedTuple):
    """One kind of clause: the types it takes, what it says about any other, and how it renders."""

    accepts: frozenset[TypeKind]
    complaint: str
    render: Callable[[Any, Clause], str]


def format_string(text: str, arguments: list[Any]) -> str:
    def render(index: int, clause: Clause) -> str:
        try:
            return VERBS[clause.verb].render(arguments[index], clause)
        except FormatError as error:
            raise FormatError(f"error during formatting: {error}") from None

    try:
        return interpolate(text, len(arguments), render, arguments_first=True)
    except FormatError as error:
        raise CelError(str(error)) from None


def interpolate(text: str, argument_count: int, render: Callable[[int, Clause], str], *, arguments_first: bool) -> str:
    """Replace each clause by what `render` makes of the argument in turn; `%%` stands for a percent sign.

    When running, a missing argument is noticed before anything is read of its clause; when checking, after.
    """
    out: list[str] = []
    size = used = position = 0
    while True:
        percent = text.find("%", position)
        if percent < 0:
            out.append(text[position:])
            require_result_size(size + len(out[-1]))
            return "".join(out)
        out.append(text[position:percent])
        if text.startswith("%%", percent):
            out.append("%")
            position = percent + 2
        else:
            if arguments_first and used >= argument_count:
                raise FormatError(f"index {used} out of range")
            if percent + 1 >= len(text):
                raise FormatError("unexpected end of string")
            if used >= argument_count:
                raise FormatError(f"index {used} out of range")
            clause, position = _read_clause(text, percent + 1)
            out.append(render(used, clause))
            used += 1
        size += len(out[-2]) + len(out[-1])
        require_result_size(size)


def refusal(verb: str, type_name: str) -> FormatError:
    """Return what a clause says about an argument of a type it does not take."""
    return FormatError(f"{VERBS[verb].complaint}, was given {type_name}")


def _read_clause(text: str, position: int) -> tuple[Clause, int]:
    precision: int | None = None
    try:
        if text[position] == ".":
            precision, position = _read_precision(text, position + 1)
        verb = text[position]
        if verb not in VERBS:
            # Go looks at single bytes here, and prints one as if it were a code point.
            raise FormatError(f'unrecognized formatting clause "{chr(verb.encode("utf-8", "surrogatepass")[0])}"')
    except FormatError as error:
        raise FormatError(f"could not parse formatting clause: {error}") from None
    return Clause(verb, precision), position + 1


@reads_text("1", "0", "f", ".", arguments=(0,), raises=FormatError)
def _read_precision(text: str, start: int) -> tuple[int, int]:
    end = start
    while end < len(text) and text[end] in "0123456789":
        end += 1
    digits = text[start:end]
    if end >= len(text):
        raise FormatError("error while parsing precision: could not find end of precision specifier")
    precision = read_int(digits)
    if precision is None:
        reason = "value out of range" if digits else "invalid syntax"
        raise FormatError(
            "error while parsing precision: error while converting precision to integer: "
            f"strconv.Atoi: parsing {go_quote(digits)}: {reason}"
        )
    return precision, end


def _type_name(value: Any) -> str:
    return type_of_value(value).name


def _string(value: Any, _clause: Clause | None = None) -> str:
    if value is None:
        return "null"
    kind = type(value)
    if isinstance(value, list):
        return _list(value)
    if kind is CelMap:
        return _map(value)
    if type_of_value(value).kind not in _STRING_KINDS:
        raise refusal("s", _type_name(value))
    return _converted(value)


def _converted(value: Any) -> str:
    """Return what string() makes of a scalar, and the name of a type."""
    if isinstance(value, Type):
        return value.name
    try:
        return TO_STRING[type(value)](value)
    except CelError as error:
        raise FormatError(f"could not convert argument {go_quote(str(error))} to string") from None


def _list(items: list[Any]) -> str:
    return "[" + ", ".join(map(_literal, items)) + "]"


def _map(entries: CelMap) -> str:
    pairs = []
    for key, value in entries.items():
        if type(key) not in (str, bool, int, UInt):
            raise FormatError(f"no formatting function for map key of type {_type_name(key)}")
        pairs.append((_literal(key), _literal(value)))
    return "{" + ", ".join(f"{key}:{value}" for key, value in sorted(pairs, key=lambda pair: pair[0])) + "}"


def _literal(value: Any) -> str:
    """Return a member of a list or map, as it would be written in CEL."""
    kind = type(value)
    if kind is str:
        return go_quote(value)
    if kind is bytes:
        return f"b{go_quote(_string(value))}"
    if kind is float:
        return _plain_double(value)
    if kind is Duration:
        return f"duration({go_quote(_string(value))})"
    if kind is Timestamp:
        return f"timestamp({go_quote(_string(value))})"
    if type_of_value(value).kind not in _STRING_KINDS:
        raise FormatError(f"no formatting function for {_type_name(value)}")
    return _string(value)


def _plain_double(value: float) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"+Inf"' if value > 0 else '"-Inf"'
    return f"{value:.6f}"


def _integer(base: str, *types: type) -> Callable[[Any, Clause], str]:
    def render(value: Any, clause: Clause) -> str:
        if type(value) not in types:
            raise refusal(clause.verb, _type_name(value))
        return format(int(value), base)

    return render


def _hexadecimal(value: Any, clause: Clause) -> str:
    if type(value) is str:
        text = value.encode("utf-8", "surrogatepass").hex()
    elif type(value) is bytes:
        text = value.hex()
    elif type(value) in (int, UInt):
        text = f"{int(value):x}"
    else:
        raise refusal(clause.verb, _type_name(value))
    return text.upper() if clause.verb == "X" else text


def _number(value: Any, clause: Clause) -> float:
    """Doubles, and the three strings that name what no literal can."""
    if type(value) is float:
        return value
    if type(value) is str and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    raise refusal(clause.verb, _type_name(value))


def _special(number: float) -> str | None:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return None


def _fixed_point(value: Any, clause: Clause) -> str:
    number = _number(value, clause)
    precision = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    if precision > _LARGEST_NUMBER:
        return f"%!(BADPREC){_special(number) or f'{number:,.6f}'}"
    special = _special(number)
    if special is not None:
        return special
    text = f"{number:,.{min(precision, _MAX_DIGITS)}f}"
    surplus = len(text) - (text.find(".") + 1 + (precision & 0xFF))
    if precision > 0xFF and surplus > 0:
        text = text[:-surplus] + text[-surplus:].rstrip("0")
    return text


def _scientific(value: Any, clause: Clause) -> str:
    number = _number(value, clause)
    width = _DEFAULT_PRECISION if clause.precision is None else clause.precision
    text = _special(number)
    if text is None:
        mantissa, _, exponent = f"{number:.6e}".partition("e")
        text = f"{mantissa}×10{exponent.lstrip('+').translate(_SUPERSCRIPTS)}"
    if width > _LARGEST_NUMBER:
        return f"%!(BADWIDTH){text}"
    return text.rjust(width & 0xFFFF)


_DOUBLES = frozenset({TypeKind.DOUBLE, TypeKind.STRING})
_HEX = Verb(
    _INTEGERS | {TypeKind.STRING, TypeKind.BYTES},
    "only integers, byte buffers, and strings can be formatted as hex",
    _hexadecimal,
)
VERBS = {
    "s": Verb(
        _STRING_KINDS,
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, "
        "and timestamps",
        _string,
    ),
    "d": Verb(_INTEGERS, "decimal clause can only be used on integers", _integer("d", int, UInt)),
    "f": Verb(_DOUBLES, "fixed-point clause can only be used on doubles", _fixed_point),
    "e": Verb(_DOUBLES, "scientific clause can only be used on doubles", _scientific),
    "b": Verb(
        _INTEGERS | {TypeKind.BOOL},
        "only integers and bools can be formatted as binary",
        _integer("b", int, UInt, bool),
    ),
    "x": _HEX,
    "X": _HEX,
    "o": Verb(_INTEGERS, "octal clause can only be used on integers", _integer("o", int, UInt)),
}
