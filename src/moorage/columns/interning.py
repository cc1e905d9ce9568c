"""Number distinct values, so that arrays can hold them: in general, and the values of one label key of all nodes.

Code 0 of a label column is a node without the label.
"""

from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.slots import SlotArray
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
