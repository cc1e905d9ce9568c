"""Choose the overload of a function by the values it is called with, where the types are not known before.

Kubernetes: cel-go common/decls/decls.go and IsAssignableRuntimeType of common/types/types.go, for which the first
element of a list or a map stands for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from moorage.match.cel.functions import Overload
from moorage.match.cel.libraries.operators import NEGATE_DURATION
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import CelError, CelMap, OpaqueValue, OptionalValue, type_of_value

ANYTHING = frozenset((TypeKind.TYPE_PARAM, TypeKind.DYN, TypeKind.ANY))
_CONTAINERS = frozenset((TypeKind.LIST, TypeKind.MAP))
_NUMBERS = frozenset((TypeKind.INT, TypeKind.UINT, TypeKind.DOUBLE))
_COMPARABLE = _NUMBERS | {TypeKind.BOOL, TypeKind.BYTES, TypeKind.DURATION, TypeKind.STRING, TypeKind.TIMESTAMP}
# Functions cel-go implements once for all their overloads, with the types that know the operation. It changes how
# failed arguments are treated.
SINGLETONS: dict[str, frozenset[TypeKind] | None] = {
    "_+_": _NUMBERS | {TypeKind.BYTES, TypeKind.DURATION, TypeKind.LIST, TypeKind.STRING, TypeKind.TIMESTAMP},
    "_-_": _NUMBERS | {TypeKind.DURATION, TypeKind.TIMESTAMP},
    "_*_": _NUMBERS,
    "_/_": _NUMBERS,
    "_%_": frozenset((TypeKind.INT, TypeKind.UINT)),
    "-_": frozenset((TypeKind.BOOL, TypeKind.DOUBLE, TypeKind.DURATION, TypeKind.INT)),
    "_<_": _COMPARABLE,
    "_<=_": _COMPARABLE,
    "_>_": _COMPARABLE,
    "_>=_": _COMPARABLE,
    "size": frozenset((TypeKind.BYTES, TypeKind.LIST, TypeKind.MAP, TypeKind.STRING)),
    "matches": frozenset((TypeKind.STRING,)),
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
_RECEIVERS = frozenset((TypeKind.STRING, TypeKind.DURATION, TypeKind.TIMESTAMP))


def accepts(type_: Type, value: Any) -> bool:
    """Return whether a value may be passed for a parameter of this type; of a list or map the first element counts."""
    kind = type_.kind
    if kind in ANYTHING:
        return True
    if type_.is_optional:
        return isinstance(value, OptionalValue)
    if kind is TypeKind.OPAQUE or kind is TypeKind.STRUCT:
        return isinstance(value, OpaqueValue) and value.cel_type.name == type_.name
    if type_of_value(value).kind is not kind:
        return False
    return not _has_elements(type_) or _accepts_elements(type_, value)


def _has_elements(type_: Type) -> bool:
    """Return whether a type says what the elements of its values are."""
    return type_.kind in _CONTAINERS and any(parameter.kind not in ANYTHING for parameter in type_.parameters)


def _accepts_elements(type_: Type, value: Any) -> bool:
    if not value:
        return True
    first = value.items()[0] if isinstance(value, CelMap) else value[:1]
    return all(map(accepts, type_.parameters, first))


def accepts_type(type_: Type, known: Type) -> bool:
    """Return whether any value of a known type would be accepted; only for types that Python's types tell apart."""
    return type_.kind in ANYTHING or (type_.kind is known.kind and not type_.is_optional and not _has_elements(type_))


def choose(function: str, overloads: Sequence[Overload], args: Sequence[Any]) -> Overload:
    for overload in overloads:
        if len(overload.params) == len(args) and all(map(accepts, overload.params, args)):
            return overload
    if function == "-_" and accepts(NEGATE_DURATION.params[0], args[0]):
        return NEGATE_DURATION
    raise no_such_overload(function, args)


def no_such_overload(function: str, args: Sequence[Any]) -> CelError:
    if function not in SINGLETONS:
        names = ", ".join(type_of_value(arg).name for arg in args)
        return CelError(f"no such overload: {function}({names})")
    knows = SINGLETONS[function]
    first = type_of_value(args[0]).kind
    if knows is None or first in knows or first in _RECEIVERS:
        return CelError("no such overload")
    return CelError(f"no such overload: {function}")


def is_surely_accepted(param: Type, type_: Type) -> bool:
    """Return whether every value of a type may be passed for a parameter, so that nothing is left to choose."""
    if param.kind in ANYTHING:
        return True
    if param.kind is not type_.kind or param.name != type_.name:
        return False
    return not _has_elements(param) or all(map(is_surely_accepted, param.parameters, type_.parameters))


def dispatching(function: str, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """Return the implementation that chooses by the values; the choice is remembered by their Python types."""
    chosen: dict[tuple[type, ...], Callable[..., Any]] = {}
    is_shallow = not any(_has_elements(param) for overload in overloads for param in overload.params)

    def call(*args: Any) -> Any:
        kinds = tuple(map(type, args))
        implementation = chosen.get(kinds)
        if implementation is None:
            implementation = choose(function, overloads, args).implementation
            if is_shallow and not any(isinstance(arg, OpaqueValue) for arg in args):  # types differ within a class
                chosen[kinds] = implementation
        return implementation(*args)

    return call
