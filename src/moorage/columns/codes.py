"""Number the distinct values that are in use, so that arrays can hold them, and forget a value with its last user.

The code of a forgotten value is used again for another one. Answers that are kept by code are therefore read through a
`CodeReader`, which tells which codes got a value since it was last asked: only those are evaluated.
"""

from collections.abc import Hashable
from collections.abc import Set as AbstractSet
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from moorage.columns.slots import Column, SlotArray
from moorage.model.types.node import Taint

T = TypeVar("T", bound=Hashable)
TaintSet = tuple[Taint, ...]
ABSENT = 0
_FORGOTTEN = -1


class Interner(Generic[T]):
    """Gives each distinct value a code, in order of first appearance; for tables that are begun again when long."""

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


class Codes(Generic[T]):
    """Distinct values with a code for each. Code 0 is the first value's for ever.

    `serial` moves when a code gets a value; `len` is the length of an array with an element for each code.
    """

    __slots__ = ("_free", "_given", "_users", "code_of", "serial", "values")

    def __init__(self, first: T) -> None:
        self.values: list[T] = [first]
        self.code_of: dict[T, int] = {first: 0}
        self.serial = 0
        self._users = [1]
        self._free: list[int] = []
        self._given: NDArray[np.int64] = np.zeros(8, np.int64)  # the serial at which each code got its value

    def take(self, value: T) -> int:
        """Return the code of a value that has one more user now."""
        code = self.code_of.get(value)
        if code is not None:
            self._users[code] += 1
            return code
        self.serial += 1
        if self._free:
            code = self._free.pop()
            self.values[code], self._users[code] = value, 1
        else:
            code = len(self.values)
            self.values.append(value)
            self._users.append(1)
            if code == len(self._given):
                self._given = np.concatenate([self._given, np.zeros_like(self._given)])
        self.code_of[value] = code
        self._given[code] = self.serial
        return code

    def give_back(self, code: int) -> None:
        """Count one user of a code less, and forget its value with the last one."""
        self._users[code] -= 1
        if not self._users[code]:
            del self.code_of[self.values[code]]
            self.values[code] = self.values[0]
            self._given[code] = _FORGOTTEN
            self._free.append(code)

    def given_since(self, serial: int) -> list[int]:
        """Return the codes in use that got their values after a serial."""
        codes: list[int] = np.flatnonzero(self._given[: len(self.values)] > serial).tolist()
        return codes

    @property
    def in_use(self) -> int:
        """Return how many values have a code."""
        return len(self.code_of)

    def __len__(self) -> int:
        return len(self.values)


class CodeReader:
    """What one keeper of answers has read of `Codes`: nothing at first."""

    __slots__ = ("_codes", "_serial")

    def __init__(self, codes: Codes[Any]) -> None:
        self._codes = codes
        self._serial = -1

    @property
    def is_behind(self) -> bool:
        return self._serial != self._codes.serial

    def unread(self) -> list[int]:
        """Return the codes that got a value since `done` was called."""
        return self._codes.given_since(self._serial)

    def done(self) -> None:
        self._serial = self._codes.serial


def resized(answers: Column, size: int) -> Column:
    """Return answers by code with room for more codes."""
    if len(answers) >= size:
        return answers
    larger = np.zeros(size + len(answers), answers.dtype)
    larger[: len(answers)] = answers
    return larger


class TaintSets:
    """Distinct lists of taints that nodes have, each in its node's order; code 0 is the empty list."""

    __slots__ = ("codes", "sets")

    def __init__(self) -> None:
        self.codes: Codes[tuple[tuple[str, str, str], ...]] = Codes(())
        self.sets: list[TaintSet] = [()]

    def take(self, taints: TaintSet) -> int:
        """Return the code of a list that one more node has."""
        before = self.codes.serial
        code = self.codes.take(tuple((taint.key, taint.value, taint.effect) for taint in taints))
        if self.codes.serial != before:
            if code == len(self.sets):
                self.sets.append(taints)
            self.sets[code] = taints
        return code

    def give_back(self, code: int) -> None:
        self.codes.give_back(code)
        if not self.codes.values[code]:
            self.sets[code] = ()


class LabelColumn:
    """The values of one label key, and each slot's code; code 0 is a node without the label."""

    __slots__ = ("__weakref__", "_codes", "_members", "key", "values")

    def __init__(self, key: str, codes: SlotArray) -> None:
        self.key = key
        self.values: Codes[str | None] = Codes(None)
        self._codes = codes
        self._members: dict[int, set[int]] | None = None

    @property
    def codes(self) -> NDArray[np.int32]:
        return self._codes.values

    def set(self, slot: int, value: str | None) -> bool:
        """Set a node's value; return whether it changed."""
        old = self._codes.values.item(slot)
        if self.values.values[old] == value:
            return False
        code = ABSENT if value is None else self.values.take(value)
        self._codes.values[slot] = code
        if self._members is not None:
            self._leave(slot, old)
            if code != ABSENT:
                self._members.setdefault(code, set()).add(slot)
        if old != ABSENT:
            self.values.give_back(old)
        return True

    def _leave(self, slot: int, code: int) -> None:
        members = self._members.get(code) if self._members is not None else None
        if members is not None:
            members.discard(slot)
            if not members and self._members is not None:
                del self._members[code]

    def members(self, code: int) -> AbstractSet[int]:
        """Return the slots that have a value; kept from the first call on."""
        if self._members is None:
            self._members = {}
            for slot, of_slot in enumerate(self._codes.values.tolist()):
                if of_slot != ABSENT:
                    self._members.setdefault(of_slot, set()).add(slot)
        return self._members.get(code, set())
