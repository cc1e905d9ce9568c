"""Tell whether a value of one type may stand where another is wanted, binding type variables on the way.

Kubernetes: cel-go checker/types.go. Differs: no wrapper types.
"""

from __future__ import annotations

from collections.abc import Sequence

from moorage.match.cel.types import DYN, Type, TypeKind


class Bindings:
    """What type variables stand for. An assignment that fails takes back what it bound on the way."""

    __slots__ = ("_bound", "_undo")

    def __init__(self) -> None:
        self._bound: dict[str, Type] = {}
        self._undo: list[tuple[str, Type | None]] = []

    def get(self, name: str) -> Type | None:
        return self._bound.get(name)

    def bind(self, name: str, type_: Type) -> None:
        self._undo.append((name, self._bound.get(name)))
        self._bound[name] = type_

    def keep(self, succeeded: bool) -> bool:
        """Keep what was bound since the last call, or take it back."""
        if succeeded:
            self._undo.clear()
        while self._undo:
            name, before = self._undo.pop()
            if before is None:
                del self._bound[name]
            else:
                self._bound[name] = before
        return succeeded


_NULLABLE = frozenset(
    (TypeKind.OPAQUE, TypeKind.STRUCT, TypeKind.ANY, TypeKind.DURATION, TypeKind.TIMESTAMP, TypeKind.NULL)
)
_WILDCARDS = frozenset((TypeKind.DYN, TypeKind.ANY, TypeKind.ERROR))
_CONTAINERS = frozenset((TypeKind.OPAQUE, TypeKind.LIST, TypeKind.MAP))


def assign(bindings: Bindings, given: Type, wanted: Type) -> bool:
    """Bind what makes `given` assignable to `wanted`; returns whether it is."""
    return bindings.keep(_assignable(bindings, given, wanted))


def assign_all(bindings: Bindings, given: Sequence[Type], wanted: Sequence[Type]) -> bool:
    """Bind what makes each type given assignable to the one wanted in its place; returns whether all of them are."""
    if len(given) != len(wanted):
        return False
    for one, other in zip(given, wanted, strict=True):
        if not _assignable(bindings, one, other):
            return bindings.keep(False)
    return bindings.keep(True)


def substitute(bindings: Bindings | dict[str, Type], type_: Type, free_to_dyn: bool = False) -> Type:
    """Return the type with bound type variables replaced; free ones become dyn if asked for."""
    if not type_.has_type_param:
        return type_
    if type_.kind is TypeKind.TYPE_PARAM:
        bound = bindings.get(type_.name)
        if bound is not None:
            return substitute(bindings, bound, free_to_dyn)
        return DYN if free_to_dyn else type_
    parameters = tuple(substitute(bindings, parameter, free_to_dyn) for parameter in type_.parameters)
    return Type(type_.kind, type_.name, parameters)


def most_general(first: Type, second: Type) -> Type:
    """Return the less specific of two types that unify."""
    return first if _less_specific(first, second) else second


def _assignable(bindings: Bindings, given: Type, wanted: Type) -> bool:
    given_kind = given.kind
    wanted_kind = wanted.kind
    if wanted_kind is TypeKind.TYPE_PARAM:
        valid, bound = _bind(bindings, given, wanted)
        if valid:
            return True
        if bound:
            return False
    if given_kind is TypeKind.TYPE_PARAM:
        return _bind(bindings, wanted, given)[0]
    if given_kind in _WILDCARDS or wanted_kind in _WILDCARDS:
        return True
    if given_kind is TypeKind.NULL:
        return wanted_kind in _NULLABLE
    if wanted_kind is TypeKind.NULL:
        return given_kind in _NULLABLE
    if given_kind is not wanted_kind:
        return False
    if given_kind is TypeKind.TYPE:
        return True
    if given_kind in _CONTAINERS:
        if given.name != wanted.name or len(given.parameters) != len(wanted.parameters):
            return False
        return all(_assignable(bindings, a, b) for a, b in zip(given.parameters, wanted.parameters, strict=True))
    return given == wanted


def _bind(bindings: Bindings, type_: Type, variable: Type) -> tuple[bool, bool]:
    """Bind a variable to a type if nothing speaks against it: (whether it fits, whether it was bound before)."""
    if type_ == variable:
        return True, True
    bound = bindings.get(variable.name)
    if bound is not None:
        if type_ == bound:
            return True, True
        if _assignable(bindings, type_, bound):
            general = most_general(type_, bound)
            if not _occurs(bindings, variable, general):
                bindings.bind(variable.name, general)
            return True, True
        return False, True
    if not _occurs(bindings, variable, type_):
        bindings.bind(variable.name, type_)
        return True, False
    return False, False


def _occurs(bindings: Bindings, variable: Type, within: Type) -> bool:
    if variable == within:
        return True
    if within.kind is TypeKind.TYPE_PARAM:
        bound = bindings.get(within.name)
        return bound is not None and _occurs(bindings, variable, bound)
    return any(_occurs(bindings, variable, parameter) for parameter in within.parameters)


def _less_specific(first: Type, second: Type) -> bool:
    if first.is_dyn or first.kind is TypeKind.TYPE_PARAM:
        return True
    if second.is_dyn or second.kind is TypeKind.TYPE_PARAM or first.kind is not second.kind:
        return False
    if first.kind in _CONTAINERS:
        if first.name != second.name or len(first.parameters) != len(second.parameters):
            return False
        return all(_less_specific(a, b) for a, b in zip(first.parameters, second.parameters, strict=True))
    return first.kind is TypeKind.TYPE or first == second
