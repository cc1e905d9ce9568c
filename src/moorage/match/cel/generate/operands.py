"""Describe a value before it is computed: the expression that has it, its type, its bounds, whether it can fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moorage.match.cel.functions import Overload
from moorage.match.cel.types import DYN, MAP, Type, TypeKind, list_of
from moorage.match.cel.values import INT_MAX, INT_MIN, MAX_RESULT_SIZE, CelMap, UInt

NOT_LITERAL: Any = object()

#: The Python types of values of these kinds, which can be told apart by `type(value)`.
PYTHON_TYPES: dict[TypeKind, type] = {
    TypeKind.BOOL: bool,
    TypeKind.BYTES: bytes,
    TypeKind.DOUBLE: float,
    TypeKind.INT: int,
    TypeKind.LIST: list,
    TypeKind.MAP: CelMap,
    TypeKind.STRING: str,
    TypeKind.UINT: UInt,
}
#: Kinds whose values are compared by Python's operators if both are of the same kind.
SCALARS = frozenset((TypeKind.BOOL, TypeKind.BYTES, TypeKind.DOUBLE, TypeKind.INT, TypeKind.STRING, TypeKind.UINT))

Bounds = tuple[int, int]
ANY_INT: Bounds = (INT_MIN, INT_MAX)
ANY_SIZE: Bounds = (0, MAX_RESULT_SIZE)


@dataclass(frozen=True, slots=True)
class Operand:
    """A Python expression without side effects.

    `known` is a type the value surely has (the checker's may be wrong about values that came by way of dyn): of a list
    also its elements, unless they are dyn. `bounds` are those of an int, or of the ints in a list. If it `fails`, the
    value may be a CelError. `stable` values are the same throughout a call of the generated function, `hoisted` ones
    computed before everything else. `simple` tells a name or a number from a larger expression.
    """

    text: str
    known: Type | None = None
    bounds: Bounds = ANY_INT
    fails: bool = False
    stable: bool = False
    hoisted: bool = False
    simple: bool = True
    literal: Any = NOT_LITERAL

    @property
    def is_literal(self) -> bool:
        return self.literal is not NOT_LITERAL

    def is_a(self, *kinds: TypeKind) -> bool:
        """Return whether the value is surely of one of these kinds, and no error."""
        return self.known is not None and not self.fails and self.known.kind in kinds


def certain(type_: Type) -> Type | None:
    """Return the type of a function's result as far as it can be relied on: a scalar, or a list of scalars."""
    if type_.kind in SCALARS:
        return type_
    if type_.kind is TypeKind.LIST and type_.parameters and type_.parameters[0].kind in SCALARS:
        return type_
    return None


def element_of(known: Type | None) -> Type | None:
    """Return the type that the elements of a list surely have."""
    if known is None or known.kind is not TypeKind.LIST or not known.parameters:
        return None
    element = known.parameters[0]
    return element if element.kind in PYTHON_TYPES else None


def shallow(type_: Type) -> Type:
    """Return what is known of a value whose Python type is that of a CEL type: nothing of what it contains."""
    return list_of(DYN) if type_.kind is TypeKind.LIST else MAP if type_.kind is TypeKind.MAP else type_


def result_bounds(overload: Overload) -> Bounds:
    """Return the bounds of the ints that a function returns."""
    return ANY_SIZE if overload.id == "lists_range" else ANY_INT
