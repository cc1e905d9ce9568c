"""Grow arrays with one element per node slot together.

A slot is a node's index for as long as it lives; a removed node's slot is used again. An array that is used no more
is forgotten.
"""

from typing import Any
from weakref import WeakSet, ref

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]


class SlotArray:
    """One growing array, `values`, by slot."""

    __slots__ = ("__weakref__", "_fill", "values")

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

    def forget_unused(self) -> None:
        """Forget arrays that have no value anywhere and that are held nowhere else."""
        for name in [name for name, array in self.items() if (array.values == self._fill).all()]:
            array = ref(self.pop(name))
            if (held := array()) is not None:
                self[name] = held


class Slots:
    """The slots in use, and the arrays that must have room for them."""

    def __init__(self, capacity: int = 64) -> None:
        self.capacity = capacity
        self._free: list[int] = []
        self._next = 0
        self._arrays: WeakSet[SlotArray] = WeakSet()

    def array(self, dtype: Any, fill: int = 0) -> SlotArray:
        array = SlotArray(self.capacity, dtype, fill)
        self._arrays.add(array)
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
