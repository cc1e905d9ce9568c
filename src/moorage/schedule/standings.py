"""All slots that are left, in classes of equal traits, each class with its best slot in front.

In: for every slot its key (what it scores by itself, then its tie number) and its traits; later the same for single
slots. Out: per class its traits, and the key of its best slot. Whoever knows what a class is worth as a whole then
compares classes and not nodes. A slot that changes costs O(log n). Next: `candidates`, which judges the classes.
"""

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from moorage.schedule.traits import Traits, distinct

_SLOT_BITS = 24
_SLOT_MASK = (1 << _SLOT_BITS) - 1
_NONE = -1
_SLACK = 64


class Standings:
    """The classes. `put` and `remove` change one slot; `settle` must come before anything is read."""

    __slots__ = (
        "_class_at",
        "_codes",
        "_entry_at",
        "_heaps",
        "_moved",
        "_sample",
        "_sizes",
        "_tops",
        "_traits",
        "_unused",
        "varies",
    )

    def __init__(self) -> None:
        self.rebuild(np.zeros(0, np.bool_), np.zeros(0, np.int64), ())

    def rebuild(self, left: NDArray[np.bool_], keys: NDArray[np.int64], traits: Traits) -> None:
        """Begin anew with the slots that are left."""
        slots = np.flatnonzero(left)
        chosen = [trait[slots] for trait in traits]
        first, classes = distinct(chosen, len(slots))
        room = 2 * len(first) + _SLACK
        self._traits = np.zeros((len(traits), room), np.int64)
        for row, trait in zip(self._traits, chosen, strict=True):
            row[: len(first)] = trait[first]
        self._codes: dict[tuple[int, ...], int] = {
            tuple(column): code for code, column in enumerate(self._traits[:, : len(first)].T.tolist())
        }
        # For each trait, whether some class differs in it from the first one: what all share tells nothing about them.
        self._sample = next(iter(self._codes), None)
        self.varies = [bool((row != row[0]).any()) for row in self._traits[:, : len(first)]] if len(first) else []
        entries = [(-key << _SLOT_BITS) | slot for key, slot in zip(keys[slots].tolist(), slots.tolist(), strict=True)]
        self._heaps: list[list[int]] = [[] for _ in first]
        self._entry_at: list[int | None] = [None] * len(left)
        self._class_at: list[int] = [_NONE] * len(left)
        for slot, code, entry in zip(slots.tolist(), classes.tolist(), entries, strict=True):
            self._heaps[code].append(entry)
            self._entry_at[slot] = entry
            self._class_at[slot] = code
        for heap in self._heaps:
            heapify(heap)
        self._sizes = np.zeros(room, np.int64)
        self._tops = np.full(room, _NONE, np.int64)
        if len(first):
            self._sizes[: len(first)] = np.bincount(classes, minlength=len(first))
            self._tops[: len(first)] = [-(heap[0] >> _SLOT_BITS) for heap in self._heaps]
        self._moved: set[int] = set()
        self._unused: list[int] = []  # numbers of classes that nobody is in any more

    # -- one slot -----------------------------------------------------------------------------------------------

    def put(self, slot: int, key: int, traits: tuple[int, ...]) -> None:
        """The slot is left, with this key and these traits."""
        entry = (-key << _SLOT_BITS) | slot
        old = self._class_at[slot]
        code = self._codes.get(traits)
        if code is None:
            code = self._new_class(traits)
        if code == old and entry == self._entry_at[slot]:
            return
        if code != old:
            if old != _NONE:
                self._sizes[old] -= 1
                self._moved.add(old)
            self._sizes[code] += 1
            self._class_at[slot] = code
        self._entry_at[slot] = entry
        self._moved.add(code)
        heap = self._heaps[code]
        heappush(heap, entry)
        if len(heap) > _SLACK and len(heap) > 2 * self._sizes[code]:
            self._sweep(code)

    def remove(self, slot: int) -> None:
        """The slot is out."""
        old = self._class_at[slot]
        if old != _NONE:
            self._class_at[slot] = _NONE
            self._sizes[old] -= 1
            self._moved.add(old)

    def _new_class(self, traits: tuple[int, ...]) -> int:
        if self._unused:
            code = self._unused.pop()
        else:
            code = len(self._heaps)
            self._heaps.append([])
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
        return self._class_at[slot] == code and self._entry_at[slot] == entry

    def _sweep(self, code: int) -> None:
        """Drop entries that later ones have superseded."""
        heap = [entry for entry in set(self._heaps[code]) if self._is_current(entry, code)]
        heapify(heap)
        self._heaps[code] = heap

    # -- all classes --------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Find the best slot of each class in which something moved."""
        for code in self._moved:
            heap = self._heaps[code]
            while heap and not self._is_current(heap[0], code):
                heappop(heap)
            if heap:
                self._tops[code] = -(heap[0] >> _SLOT_BITS)
            else:
                self._tops[code] = _NONE
                del self._codes[tuple(self._traits[:, code].tolist())]
                self._unused.append(code)
        self._moved.clear()

    @property
    def traits(self) -> NDArray[np.int64]:
        """One row per trait, one column per class."""
        return self._traits[:, : len(self._heaps)]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many slots each class has."""
        return self._sizes[: len(self._heaps)]

    @property
    def tops(self) -> NDArray[np.int64]:
        """The key of each class's best slot; negative if it has none."""
        return self._tops[: len(self._heaps)]

    def front(self, code: int) -> int:
        """The best slot of a class that has one."""
        return self._heaps[code][0] & _SLOT_MASK
