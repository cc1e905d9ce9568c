"""Distinct values as small integers, so that arrays can hold them."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from moorage.model.types.node import Taint

TaintSet = tuple[Taint, ...]
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


class TaintSets:
    """Distinct lists of taints, each in its node's order; code 0 is the empty list."""

    __slots__ = ("_by_key", "sets")

    def __init__(self) -> None:
        self.sets: list[TaintSet] = []
        self._by_key: Interner[tuple[tuple[str, str, str], ...]] = Interner()
        self.intern(())

    def intern(self, taints: TaintSet) -> int:
        code = self._by_key.intern(tuple((taint.key, taint.value, taint.effect) for taint in taints))
        if code == len(self.sets):
            self.sets.append(taints)
        return code
