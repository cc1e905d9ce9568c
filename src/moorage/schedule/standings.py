"""Sort feasible slots into classes of equal traits, each class with its best slot in front.

A slot has a key (its score by itself, then its tie number) and traits. A slot that changes costs O(log n). Only the
best slots of a class wait in its heap, those whose key is not below the class's floor; the others are looked at when
the heap is empty, so a shape with few pods never pays for sorting thousands of nodes.
"""

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from moorage.schedule.framework.wide import Traits, distinct

_SLOT_BITS = 24
_SLOT_MASK = (1 << _SLOT_BITS) - 1
_NONE = -1
_ROOM = 64  # for classes
_LINE = 64  # of a class that wait in its heap, at least,
_SHARE = 32  # and one in this many

Array = NDArray[np.int64]


class Standings:
    """The classes. `put` and `remove` change one slot; call `settle` before reading anything."""

    def __init__(self) -> None:
        self.rebuild(np.zeros(0, np.bool_), np.zeros(0, np.int64), ())

    def rebuild(self, left: NDArray[np.bool_], keys: Array, traits: Traits) -> None:
        slots = left.nonzero()[0]
        chosen = [trait[slots] for trait in traits]
        first, classes = distinct(chosen, len(slots))
        count = len(first)
        room = 2 * count + _ROOM
        self._traits = np.zeros((len(traits), room), np.int64)
        for row, trait in zip(self._traits, chosen, strict=True):
            row[:count] = trait[first]
        self._codes: dict[tuple[int, ...], int] = {
            tuple(column): code for code, column in enumerate(self._traits[:, :count].T.tolist())
        }
        # For each trait, whether some class differs in it from the first one: what all share tells nothing about them.
        self._sample = next(iter(self._codes), None)
        self.varies = [bool((row != row[0]).any()) for row in self._traits[:, :count]] if count else []
        self._key_at = keys
        self._class_at = np.full(len(left), _NONE, np.int64)
        self._class_at[slots] = classes
        self._sizes = np.zeros(room, np.int64)
        self._tops = np.full(room, _NONE, np.int64)
        self._floors = [0] * count
        self._heaps: list[list[int]] = [[] for _ in first]
        self._moved: set[int] = set()
        self._unused: list[int] = []  # numbers of empty classes
        self._line_up(slots, classes, count)

    def _line_up(self, slots: Array, classes: Array, count: int) -> None:
        if count == 0:
            return
        sizes = np.bincount(classes, minlength=count)
        self._sizes[:count] = sizes
        ordered = slots[np.argsort(classes, kind="stable")] if count > 1 else slots
        end = 0
        for code, size in enumerate(sizes.tolist()):
            begin, end = end, end + size
            self._fill(code, ordered[begin:end])
            self._tops[code] = -(self._heaps[code][0] >> _SLOT_BITS)

    def _fill(self, code: int, members: Array) -> None:
        """Put the best slots of a class into its heap."""
        keys = self._key_at[members]
        line = max(_LINE, len(members) // _SHARE)
        floor = 0
        if len(members) > line:
            floor = int(np.partition(keys, len(members) - line)[len(members) - line])
            members, keys = members[keys >= floor], keys[keys >= floor]
        heap = [(-key << _SLOT_BITS) | slot for key, slot in zip(keys.tolist(), members.tolist(), strict=True)]
        heapify(heap)
        self._heaps[code] = heap
        self._floors[code] = floor

    # -- one slot -----------------------------------------------------------------------------------------------

    def put(self, slot: int, key: int, traits: tuple[int, ...]) -> None:
        """Set a feasible slot's key and traits."""
        old = self._class_at.item(slot)
        code = self._codes.get(traits)
        if code is None:
            code = self._new_class(traits)
        if code == old:
            if key == self._key_at.item(slot):
                return
        else:
            if old != _NONE:
                self._sizes[old] -= 1
                self._moved.add(old)
            self._sizes[code] += 1
            self._class_at[slot] = code
        self._key_at[slot] = key
        self._moved.add(code)
        if key >= self._floors[code]:
            heap = self._heaps[code]
            heappush(heap, (-key << _SLOT_BITS) | slot)
            if len(heap) > 2 * _LINE and len(heap) > 2 * self._sizes[code]:
                self._sweep(code)

    def remove(self, slot: int) -> None:
        """Take out a slot that is not feasible any more."""
        old = self._class_at.item(slot)
        if old != _NONE:
            self._class_at[slot] = _NONE
            self._sizes[old] -= 1
            self._moved.add(old)

    def put_many(self, slots: Array, feasible: NDArray[np.bool_], keys: Array) -> Array:
        """Set the keys of many slots whose traits are the same as before; return those that have to be `put`."""
        classes = self._class_at[slots]
        had_class = classes != _NONE
        for slot in slots[had_class & ~feasible].tolist():
            self.remove(slot)
        stay = had_class & feasible
        self._key_at[slots[stay]] = keys[stay]
        for code in set(classes[stay].tolist()):
            # Only the best one waits in the heap; the others are looked at when it has gone.
            members = np.where(self._class_at == code, self._key_at, _NONE)
            best = int(members.argmax())
            self._floors[code] = key = int(members.item(best))
            self._heaps[code] = [(-key << _SLOT_BITS) | best]
            self._moved.add(code)
        new: Array = slots[feasible & ~had_class]
        return new

    def _new_class(self, traits: tuple[int, ...]) -> int:
        if self._unused:
            code = self._unused.pop()
        else:
            code = len(self._heaps)
            self._heaps.append([])
            self._floors.append(0)
        self._codes[traits] = code
        if code == len(self._sizes):
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._tops = np.concatenate([self._tops, np.full_like(self._tops, _NONE)])
            self._traits = np.concatenate([self._traits, np.zeros_like(self._traits)], axis=1)
        self._traits[:, code] = traits
        if self._sample is None:
            self._sample, self.varies = traits, [False] * len(traits)
        for row, (expected, trait) in enumerate(zip(self._sample, traits, strict=True)):
            if expected != trait:
                self.varies[row] = True
        return code

    def _is_current(self, entry: int, code: int) -> bool:
        slot = entry & _SLOT_MASK
        return self._class_at.item(slot) == code and self._key_at.item(slot) == -(entry >> _SLOT_BITS)

    def _sweep(self, code: int) -> None:
        """Drop entries that later ones have superseded."""
        heap = [entry for entry in set(self._heaps[code]) if self._is_current(entry, code)]
        heapify(heap)
        self._heaps[code] = heap

    # -- all classes --------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Find the best slot of each class that changed."""
        for code in self._moved:
            heap = self._heaps[code]
            while heap and not self._is_current(heap[0], code):
                heappop(heap)
            if not heap and self._sizes[code]:
                self._fill(code, (self._class_at == code).nonzero()[0])
                heap = self._heaps[code]
            if heap:
                self._tops[code] = -(heap[0] >> _SLOT_BITS)
            else:
                self._disband(code)
        self._moved.clear()

    def _disband(self, code: int) -> None:
        """Free the number of an empty class."""
        self._tops[code] = _NONE
        self._floors[code] = 0
        del self._codes[tuple(self._traits[:, code].tolist())]
        self._unused.append(code)

    @property
    def traits(self) -> Array:
        """Return one row per trait, one column per class."""
        return self._traits[:, : len(self._heaps)]

    @property
    def sizes(self) -> Array:
        return self._sizes[: len(self._heaps)]

    @property
    def tops(self) -> Array:
        """Return the key of each class's best slot; negative if it has none."""
        return self._tops[: len(self._heaps)]

    def front(self, code: int) -> int:
        """Return the best slot of a class that has one."""
        return self._heaps[code][0] & _SLOT_MASK
