"""Which overload fits the values at hand? Asked only where types were not known before evaluation.

In come a function and its arguments as values; out comes the overload, or cel-go's "no such overload" in the words it
has for that kind of function. Kubernetes: cel-go common/decls/decls.go and interpreter/interpretable.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.standard.operators import NEGATE_DURATION
from moorage.match.cel.types import Kind, Type
from moorage.match.cel.values import CelError, OpaqueValue, OptionalValue, type_of_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.match.cel.functions import Overload

_ANYTHING = frozenset((Kind.TYPE_PARAM, Kind.DYN, Kind.ANY))
_NUMBERS = frozenset((Kind.INT, Kind.UINT, Kind.DOUBLE))
_COMPARABLE = _NUMBERS | {Kind.BOOL, Kind.BYTES, Kind.DURATION, Kind.STRING, Kind.TIMESTAMP}
# Functions cel-go implements once for all their overloads, with the types that know the operation.
_SINGLETONS: dict[str, frozenset[Kind] | None] = {
    "_+_": _NUMBERS | {Kind.BYTES, Kind.DURATION, Kind.LIST, Kind.STRING, Kind.TIMESTAMP},
    "_-_": _NUMBERS | {Kind.DURATION, Kind.TIMESTAMP},
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset((Kind.INT, Kind.UINT)),
    "-_": frozenset((Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT)),
    "_<_": _COMPARABLE,
    "_<=_": _COMPARABLE,
    "_>_": _COMPARABLE,
    "_>=_": _COMPARABLE,
    "size": frozenset((Kind.BYTES, Kind.LIST, Kind.MAP, Kind.STRING)),
    "matches": frozenset((Kind.STRING,)),
    "!_": None,
    "@in": None,
    "type": None,
    "dyn": None,
    "_==_": None,
    "_!=_": None,
    # Their only overload trusts the checker.
    "contains": None,
    "startsWith": None,
    "endsWith": None,
}
# Types whose methods cel-go asks when the operator itself is of no help.
_RECEIVERS = frozenset((Kind.STRING, Kind.DURATION, Kind.TIMESTAMP))


def is_singleton(function: str) -> bool:
    """Whether cel-go has one implementation for all overloads, which changes how failed arguments are treated."""
    return function in _SINGLETONS


def accepts(type_: Type, value: Any) -> bool:
    """Return whether a value may be passed for a parameter of this type, looking no deeper than the value itself."""
    kind = type_.kind
    if kind in _ANYTHING:
        return True
    if kind is Kind.OPAQUE and type_.name == "optional_type":
        return isinstance(value, OptionalValue)
    if kind is Kind.OPAQUE or kind is Kind.STRUCT:
        return isinstance(value, OpaqueValue) and value.cel_type.name == type_.name
    return type_of_value(value).kind is kind


def choose(function: str, overloads: Sequence[Overload], args: Sequence[Any]) -> Overload:
    """Return the first overload that accepts the values."""
    for overload in overloads:
        if len(overload.params) == len(args) and all(map(accepts, overload.params, args)):
            return overload
    if function == "-_" and accepts(NEGATE_DURATION.params[0], args[0]):
        return NEGATE_DURATION
    raise no_such_overload(function, args)


def no_such_overload(function: str, args: Sequence[Any]) -> CelError:
    """Return the error for values no overload accepts."""
    if function not in _SINGLETONS:
        names = ", ".join(type_of_value(arg).name for arg in args)
        return CelError(f"no such overload: {function}({names})")
    knows = _SINGLETONS[function]
    first = type_of_value(args[0]).kind
    if knows is None or first in knows or first in _RECEIVERS:
        return CelError("no such overload")
    return CelError(f"no such overload: {function}")
