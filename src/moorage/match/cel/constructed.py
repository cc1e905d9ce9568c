"""Define the object types that an expression may construct: `Object.spec{replicas: 3}`.

An environment has a function that finds such a type by its name, so that there may be endlessly many of them.
Kubernetes: apiserver/pkg/cel/common/typeprovider.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from moorage.match.cel.types import Type
from moorage.match.cel.values import OpaqueValue, equal


class ConstructedType(Protocol):
    """A type with fields, and how a value of it is made."""

    @property
    def type(self) -> Type: ...

    def field(self, name: str) -> Type | None:
        """Return the type of a field; None if there is no such field."""
        ...

    def construct(self, fields: dict[str, Any]) -> ConstructedValue:
        """Return the value that has these fields. Raises CelError."""
        ...


FindType = Callable[[str], ConstructedType | None]


class ConstructedValue(OpaqueValue):
    """A value that an expression has constructed: its type and the fields that were given."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, type_: Type, fields: dict[str, Any]) -> None:
        self.cel_type = type_
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstructedValue) or self.cel_type != other.cel_type:
            return False
        if self.fields.keys() != other.fields.keys():
            return False
        return all(equal(value, other.fields[name]) for name, value in self.fields.items())

    def __hash__(self) -> int:
        return hash((self.cel_type, len(self.fields)))

    def is_zero(self) -> bool:
        return not self.fields


class FieldedValue(ConstructedValue):
    """A value whose fields an expression can also select: `patch.path`, `has(patch.value)`."""

    __slots__ = ()

    def has_field(self, name: Any) -> bool:
        """Return whether a field is set. Raises CelError if there is no such field."""
        raise NotImplementedError

    def get_field(self, name: Any) -> Any:
        """Return the value of a field. Raises CelError if there is none."""
        raise NotImplementedError
