"""One label key of all nodes as a column of codes: the domain that each node belongs to.

Code 0 means that the node does not have the label. A predicate over the label's value is evaluated once per code and
spread over the nodes with `column.spread(answers)`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from moorage.columns.interning import Interner
from moorage.columns.slots import SlotArray

ABSENT = 0


class LabelColumn:
    """The values of one label key, interned, and each slot's code."""

    __slots__ = ("_codes", "key", "values")

    def __init__(self, key: str, codes: SlotArray) -> None:
        self.key = key
        self.values: Interner[str | None] = Interner(None)
        self._codes = codes

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._codes.values

    def set(self, slot: int, value: str | None) -> bool:
        """Note a node's value; True if the slot's code changed."""
        code = ABSENT if value is None else self.values.intern(value)
        if self._codes.values[slot] == code:
            return False
        self._codes.values[slot] = code
        return True

    def spread(self, predicate: Callable[[str | None], int]) -> NDArray[np.int64]:
        """The predicate's answer for every slot, evaluated once per distinct value."""
        answers = np.fromiter((predicate(value) for value in self.values.values), np.int64, len(self.values))
        return answers[self._codes.values]
