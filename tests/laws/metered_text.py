"""Count what a function does with a text: lines of Python, and characters that C looks at or copies on its behalf.

A `MeteredText` is a string that charges for its methods, slices, comparisons and conversions by the characters that
they touch, and whose parts are metered again. int() is charged in proportion to the square of the digits.
RE2 is given bytes, and making them is charged with their length, as a search is that reads them once; lines of Python
are counted by a trace function, five operations each. What is put together with "".join() or an f-string is not metered
any more. Time is not looked at.
"""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

_A_LINE = 5
_OF_INT = 64


class Meter:
    """The operations so far."""

    total = 0


def operations(function: Callable[[], Any], refusals: tuple[type[Exception], ...] = ()) -> int:
    """Return how many operations a call takes, which may end with one of the refusals."""
    Meter.total = 0
    before = sys.gettrace()
    sys.settrace(_trace)
    try:
        function()
    except refusals:
        pass
    finally:
        sys.settrace(before)
    return Meter.total


def _trace(frame: FrameType, event: str, argument: Any) -> Any:
    if frame.f_code.co_filename == __file__:
        return None
    Meter.total += _A_LINE
    return _trace


def metered(value: Any) -> Any:
    """Return a text, or what is made of texts, so that it is metered."""
    if type(value) is str:
        return MeteredText(value)
    if type(value) is bytes:
        return MeteredBytes(value)
    if type(value) is tuple or type(value) is list:
        return type(value)(map(metered, value))
    return value


def _length(self: Any, *_: Any) -> int:
    return len(self)


def _one(self: Any, *_: Any) -> int:
    return 1


def _of_argument(self: Any, wanted: Any, *_: Any) -> int:
    return max(map(len, wanted)) if isinstance(wanted, tuple) else len(wanted)


def _between(self: Any, _: Any, start: int = 0, end: int | None = None) -> int:
    return max(0, (len(self) if end is None else min(end, len(self))) - start)


def _charged(plain: Callable[..., Any], price: Callable[..., int]) -> Callable[..., Any]:
    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        Meter.total += price(self, *arguments)
        return metered(plain(self, *arguments, **named))

    return method


def _searched(plain: Callable[..., int]) -> Callable[..., Any]:
    """Charge a search for what it has passed."""

    def method(self: Any, wanted: Any, start: int = 0, end: int | None = None) -> int:
        place = plain(self, wanted, start, len(self) if end is None else end)
        Meter.total += 1 + (place if place >= 0 else len(self)) - min(start, len(self))
        return place

    return method


def _item(plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, key: Any) -> Any:
        part = plain(self, key)
        Meter.total += len(part) + 1 if isinstance(key, slice) else 1
        return metered(part)

    return method


def _equal(plain: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        Meter.total += len(self) if isinstance(other, str | bytes) and len(other) == len(self) else 1
        return plain(self, other)

    return method


_BY_LENGTH = (
    *("__add__", "__bytes__", "__contains__", "__format__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__"),
    *(
        "__mod__",
        "__mul__",
        "__rmul__",
        "__str__",
        "capitalize",
        "casefold",
        "center",
        "decode",
        "encode",
        "expandtabs",
    ),
    *("hex", "isalnum", "isalpha", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric", "isprintable"),
    *("isspace", "istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix"),
    *("replace", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "strip", "swapcase", "title"),
    *("translate", "upper", "zfill"),
)


def _meter(base: type) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        prices = dict.fromkeys(_BY_LENGTH, _length) | {"isascii": _one, "count": _between}
        prices |= {"startswith": _of_argument, "endswith": _of_argument}
        for name, price in prices.items():
            if hasattr(base, name):
                setattr(cls, name, _charged(getattr(base, name), price))
        for name in ("find", "index", "rfind", "rindex"):
            setattr(cls, name, _searched(getattr(base, name)))
        for name in ("__getitem__",):
            setattr(cls, name, _item(getattr(base, name)))
        for name in ("__eq__", "__ne__"):
            setattr(cls, name, _equal(getattr(base, name)))
        return cls

    return decorate


@_meter(str)
class MeteredText(str):
    """A string that charges for what is done with it."""

    def __iter__(self) -> Iterator[str]:
        for character in str.__iter__(self):
            Meter.total += 1
            yield character

    def __radd__(self, other: str) -> "MeteredText":
        Meter.total += len(self) + len(other)
        return MeteredText(str.__add__(other, self))

    def __int__(self) -> int:
        Meter.total += len(self) ** 2 // _OF_INT
        return int(str.__getitem__(self, slice(None)))

    def __float__(self) -> float:
        Meter.total += len(self)
        return float(str.__getitem__(self, slice(None)))


@_meter(bytes)
class MeteredBytes(bytes):
    """The same of bytes."""

    def __iter__(self) -> Iterator[int]:
        for byte in bytes.__iter__(self):
            Meter.total += 1
            yield byte

    def __radd__(self, other: bytes) -> "MeteredBytes":
        Meter.total += len(self) + len(other)
        return MeteredBytes(bytes.__add__(other, self))

    def __int__(self) -> int:
        Meter.total += len(self) ** 2 // _OF_INT
        return int(bytes.__getitem__(self, slice(None)))
