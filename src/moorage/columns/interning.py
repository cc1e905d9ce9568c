"""Distinct values as small integers, so that arrays can hold them."""

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Gives each distinct value a code, in order of first appearance."""

    __slots__ = ("code_of", "values")

    def __init__(self, *first: T) -> None:
        self.values: list[T] = []
        self.code_of: dict[T, int] = {}
        for value in first:
            self.intern(value)

    def intern(self, value: T) -> int:
        code = self.code_of.get(value)
        if code is None:
            code = self.code_of[value] = len(self.values)
            self.values.append(value)
        return code

    def __len__(self) -> int:
        return len(self.values)
