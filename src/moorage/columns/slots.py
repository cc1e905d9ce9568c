"""Grow arrays with one element per node slot together, and number distinct values so that arrays can hold them.

A slot is a node's index for as long as it lives; a removed node's slot is used again. A label column has the codes of
one label key of all nodes; code 0 is a node without the label.
"""

from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.model.types.node import Taint

Column = NDArray[Any]


class SlotArray:
    """One growing array, `values`, by slot."""

    __slots__ = ("_fill", "values")

    def __init__(self, capacity: int, dtype: Any, fill: int) -> None:
        self._fill = fill
        self.values: Column = np.full(capacity, fill, dtype=dtype)

    def grow(self, capacity: int) -> None:
        old = self.values
        self.values = np.full(capacity, self._fill, dtype=old.dtype)
        self.values[: len(old)] = old


class NamedArrays(dict[str, SlotArray]):
    """Arrays of integers by name, each made on first use."""

    def __init__(self, slots: "Slots", fill: int = 0) -> None:
        self._slots = slots
        self._fill = fill

    def __missing__(self, name: str) -> SlotArray:
        array = self[name] = self._slots.array(np.int64, self._fill)
        return array


class Slots:
    """The slots in use, and the arrays that must have room for them."""

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self._free: list[int] = []
        self._next = 0
        self._arrays: list[SlotArray] = []

    def array(self, dtype: Any, fill: int = 0) -> SlotArray:
        array = SlotArray(self.capacity, dtype, fill)
        self._arrays.append(array)
        return array

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        if self._next == self.capacity:
            self.capacity *= 2
            for array in self._arrays:
                array.grow(self.capacity)
        self._next += 1
        return self._next - 1

    def give_back(self, slot: int) -> None:
        self._free.append(slot)


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


ABSENT = 0


class LabelColumn:
    """The values of one label key, interned, and each slot's code."""

    __slots__ = ("_codes", "_members", "key", "values")

    def __init__(self, key: str, codes: SlotArray) -> None:
        self.key = key
        self.values: Interner[str | None] = Interner(None)
        self._codes = codes
        self._members: dict[int, set[int]] | None = None

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._codes.values

    def set(self, slot: int, value: str | None) -> bool:
        """Set a node's value; return whether the slot's code changed."""
        code = ABSENT if value is None else self.values.intern(value)
        old = int(self._codes.values[slot])
        if old == code:
            return False
        self._codes.values[slot] = code
        if self._members is not None:
            self._members.get(old, set()).discard(slot)
            if code != ABSENT:
                self._members.setdefault(code, set()).add(slot)
        return True

    def members(self, code: int) -> AbstractSet[int]:
        """Return the slots that have a value; kept from the first call on."""
        if self._members is None:
            self._members = {}
            for slot, of_slot in enumerate(self._codes.values.tolist()):
                if of_slot != ABSENT:
                    self._members.setdefault(of_slot, set()).add(slot)
        return self._members.get(code, set())
