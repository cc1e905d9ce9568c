"""One label key of all nodes as a column of codes; code 0 is a node without the label."""

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from moorage.columns.interning import Interner
from moorage.columns.slots import SlotArray

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
