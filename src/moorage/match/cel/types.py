"""Define the types of CEL, and decide whether a value of one type may stand where another is expected.

Out: the `Type` algebra, the constants that declarations are written with, and `Bindings` of type
variables. A `Type` is also a run-time value (`type(1) == int`), compared by name alone as cel-go does.
Kubernetes: cel-go common/types/types.go and checker/types.go; the named types are those of apiserver/pkg/cel.
Differs: no protobuf messages and no wrapper types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum


class TypeKind(Enum):
    """The families of types; the checker's rules are stated per family."""

    ANY = "any"
    BOOL = "bool"
    BYTES = "bytes"
    DOUBLE = "double"
    DURATION = "duration"
    DYN = "dyn"
    ERROR = "error"
    INT = "int"
    LIST = "list"
    MAP = "map"
    NULL = "null"
    OPAQUE = "opaque"
    STRING = "string"
    STRUCT = "struct"
    TIMESTAMP = "timestamp"
    TYPE = "type"
    TYPE_PARAM = "type_param"
    UINT = "uint"
    UNSPECIFIED = "unspecified"

    # Enum hashes by name, in Python; by identity it is as right and much quicker, and kinds are looked up all the time.
    __hash__ = object.__hash__


class Type:
    """One type: a kind, a run-time name, and parameters (element of a list, key and value of a map, …).

    Two types are `==` when kind, name and parameters agree. `str(t)` renders as cel-go's checker does in its messages:
    `list(int)`, `map(string, dyn)`, `optional_type(string)`, `null`, `timestamp`, `kubernetes.Taint`.
    """

    __slots__ = ("_hash", "has_type_param", "kind", "name", "parameters")

    def __init__(self, kind: TypeKind, name: str, parameters: tuple[Type, ...] = ()) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        self.has_type_param: bool = kind is TypeKind.TYPE_PARAM or any(p.has_type_param for p in parameters)
        self._hash = hash((kind, name, parameters))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Type):
            return self is other
        return self.kind is other.kind and self.name == other.name and self.parameters == other.parameters

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        fixed = _DISPLAY_NAMES.get(self.kind)
        if fixed is not None:
            return fixed
        if not self.parameters:
            return self.name
        return f"{self.name}({', '.join(map(str, self.parameters))})"

    def __repr__(self) -> str:
        return f"Type({self})"

    @property
    def declared_name(self) -> str:
        """Return the type by its run-time names: `google.protobuf.Duration` where `str()` says `duration`."""
        if not self.parameters:
            return f"<{self.name}>" if self.kind is TypeKind.TYPE_PARAM else self.name
        return f"{self.name}({', '.join(parameter.declared_name for parameter in self.parameters)})"

    @property
    def is_optional(self) -> bool:
        return self.kind is TypeKind.OPAQUE and self.name == "optional_type"

    @property
    def is_dyn(self) -> bool:
        """Return whether the type is only known when the expression runs."""
        return self.kind is TypeKind.DYN or self.kind is TypeKind.ANY


_DISPLAY_NAMES = {
    TypeKind.ANY: "any",
    TypeKind.DURATION: "duration",
    TypeKind.ERROR: "!error!",
    TypeKind.NULL: "null",
    TypeKind.TIMESTAMP: "timestamp",
}

ANY = Type(TypeKind.ANY, "google.protobuf.Any")
BOOL = Type(TypeKind.BOOL, "bool")
BYTES = Type(TypeKind.BYTES, "bytes")
DOUBLE = Type(TypeKind.DOUBLE, "double")
DURATION = Type(TypeKind.DURATION, "google.protobuf.Duration")
DYN = Type(TypeKind.DYN, "dyn")
ERROR = Type(TypeKind.ERROR, "error")
INT = Type(TypeKind.INT, "int")
NULL = Type(TypeKind.NULL, "null_type")
STRING = Type(TypeKind.STRING, "string")
TIMESTAMP = Type(TypeKind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = Type(TypeKind.TYPE, "type")
UINT = Type(TypeKind.UINT, "uint")


def list_of(element: Type) -> Type:
    return Type(TypeKind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type(TypeKind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type(TypeKind.OPAQUE, "optional_type", (value,))


def type_of(value: Type) -> Type:
    return Type(TypeKind.TYPE, "type", (value,))


def type_param(name: str) -> Type:
    """Return a type variable, `T` in `list(T) + list(T) -> list(T)`."""
    return Type(TypeKind.TYPE_PARAM, name)


def opaque(name: str, *parameters: Type) -> Type:
    """Return an abstract type without fields, such as net.IP."""
    return Type(TypeKind.OPAQUE, name, parameters)


def struct(name: str) -> Type:
    """Return an object type; its fields, if any, are declared by the environment."""
    return Type(TypeKind.STRUCT, name)


T = type_param("T")
LIST = list_of(DYN)
MAP = map_of(DYN, DYN)
OPTIONAL = optional_of(DYN)

# The types Kubernetes adds. IP and CIDR are opaque, the others objects without fields: it shows in messages.
IP = opaque("net.IP")
CIDR = opaque("net.CIDR")
URL = struct("kubernetes.URL")
QUANTITY = struct("kubernetes.Quantity")
SEMVER = struct("kubernetes.Semver")
FORMAT = struct("kubernetes.NamedFormat")
AUTHORIZER = struct("kubernetes.authorization.Authorizer")
PATH_CHECK = struct("kubernetes.authorization.PathCheck")
GROUP_CHECK = struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK = struct("kubernetes.authorization.ResourceCheck")
DECISION = struct("kubernetes.authorization.Decision")
AUTHORIZATION = (AUTHORIZER, PATH_CHECK, GROUP_CHECK, RESOURCE_CHECK, DECISION)

_CONSTANTS = [type_ for type_ in globals().values() if isinstance(type_, Type)]
_NOT_NAMEABLE = (TypeKind.ANY, TypeKind.DYN, TypeKind.ERROR, TypeKind.STRUCT, TypeKind.TYPE_PARAM)
#: The types that are values in an expression, such as `int` or `net.IP`.
NAMEABLE = {type_.name: type_ for type_ in _CONSTANTS if type_.kind not in _NOT_NAMEABLE}
_PARAMETRIC: dict[str, tuple[int, Callable[..., Type]]] = {
    "list": (1, list_of),
    "map": (2, map_of),
    "optional_type": (1, optional_of),
    "type": (1, type_of),
}
_NAMED = {str(type_).rpartition(".")[2]: type_ for type_ in _CONSTANTS}
_NAMED |= {"list": LIST, "map": MAP, "optional_type": OPTIONAL} | {name: type_param(name) for name in "AKV"}
_NAME = re.compile("|".join(re.escape(name) for name in sorted(_NAMED, key=len, reverse=True) if "(" not in name))


def leading_type(text: str) -> tuple[Type | None, str]:
    """Split off the type that a text starts with, such as `map(string, list(URL))`; None if it starts with none."""
    lexeme = _NAME.match(text)
    if lexeme is None:
        return None, text
    name, rest = lexeme[0], text[lexeme.end() :]
    if name not in _PARAMETRIC or not rest.startswith("("):
        return _NAMED[name], rest
    arity, make = _PARAMETRIC[name]
    parameters: list[Type] = []
    rest = rest[1:]
    while rest and not rest.startswith(")"):
        parameter, rest = leading_type(rest)
        if parameter is None:
            return None, text
        parameters.append(parameter)
        rest = rest.removeprefix(", ")
    return (make(*parameters), rest[1:]) if rest and len(parameters) == arity else (None, text)


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


def assign(bindings: Bindings, given: Type, expected: Type) -> bool:
    """Bind what makes `given` assignable to `wanted`; returns whether it is."""
    return bindings.keep(_assignable(bindings, given, expected))


def assign_all(bindings: Bindings, given: Sequence[Type], expected: Sequence[Type]) -> bool:
    """Bind what makes each type given assignable to the one wanted in its place; returns whether all of them are."""
    if len(given) != len(expected):
        return False
    for given_type, expected_type in zip(given, expected, strict=True):
        if not _assignable(bindings, given_type, expected_type):
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


def _assignable(bindings: Bindings, given: Type, expected: Type) -> bool:
    given_kind = given.kind
    wanted_kind = expected.kind
    if wanted_kind is TypeKind.TYPE_PARAM:
        valid, bound = _bind(bindings, given, expected)
        if valid:
            return True
        if bound:
            return False
    if given_kind is TypeKind.TYPE_PARAM:
        return _bind(bindings, expected, given)[0]
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
        if given.name != expected.name or len(given.parameters) != len(expected.parameters):
            return False
        return all(_assignable(bindings, a, b) for a, b in zip(given.parameters, expected.parameters, strict=True))
    return given == expected


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
