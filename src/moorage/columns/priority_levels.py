"""Add up the requests of the pods of each priority, per slot: what would be free without them.

Only preemption asks, and only then are the slots that changed looked at again: placing pods costs nothing more.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.resources import PODS
from moorage.columns.shape import Shape
from moorage.columns.slots import NamedArrays, SlotArray
from moorage.model.go.integers import add64

_SHAPE = attrgetter("shape")
_FEW = 64
_FEW_ARRAYS = 64
_SHARE = 16  # if more than one slot in this many changed, adding up all is quicker


class PriorityLevels:
    """Sums of requests by priority, slot and resource; `PODS` counts the pods themselves."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._levels: dict[int, NamedArrays] = {}
        self._largest: dict[int, dict[str, int]] = {}
        self._position = -1
        self._needed = 0  # arrays after the last rebuild

    def below(self, priority: int) -> Iterator[tuple[int, Mapping[str, SlotArray]]]:
        """Yield the levels below a priority, lowest first."""
        if min(self._cluster.priorities, default=priority) >= priority:
            return  # whatever changed, it is none of them
        self._catch_up()
        for level in sorted(self._levels):
            if level >= priority:
                return
            yield level, self._levels[level]

    def pods_below(self, priority: int) -> NDArray[np.int64]:
        total = np.zeros(self._cluster.nodes.slots.capacity, np.int64)
        for _, level in self.below(priority):
            total += level[PODS].values
        return total

    def largest_below(self, priority: int) -> dict[str, int]:
        """Return, per resource, the largest request of any pod of lower priority so far."""
        if min(self._cluster.priorities, default=priority) >= priority:
            return {}
        self._catch_up()
        largest: dict[str, int] = {}
        for level, amounts in self._largest.items():
            if level < priority:
                for resource, amount in amounts.items():
                    largest[resource] = max(amount, largest.get(resource, 0))
        return largest

    def _catch_up(self) -> None:
        changes = self._cluster.nodes.changes
        if changes.position == self._position:
            return
        changed = changes.since(self._position)
        self._position = changes.position
        stale = None if changed is None else dict.fromkeys(changed)
        arrays = sum(map(len, self._levels.values()))
        is_crowded = arrays > 2 * self._needed + _FEW_ARRAYS  # with those of priorities and resources that are gone
        if stale is None or is_crowded or len(stale) > _FEW + self._cluster.nodes.slots.capacity // _SHARE:
            self._rebuild()
            return
        for slot in stale:
            self._clear(slot)
            for shape, pods in Counter(map(_SHAPE, self._cluster.pods_on[slot].values())).items():
                for array, amount in self._load(shape):
                    array.values[slot] = add64(array.values.item(slot), pods * amount)

    def _rebuild(self) -> None:
        self._levels.clear()
        self._largest.clear()
        for shape in self._cluster.shapes:
            if not shape.slots:
                continue
            slots = np.fromiter(shape.slots.keys(), np.int64, len(shape.slots))
            pods = np.fromiter(shape.slots.values(), np.int64, len(shape.slots))
            for array, amount in self._load(shape):
                array.values[slots] += pods * amount
        self._needed = sum(map(len, self._levels.values()))

    def _clear(self, slot: int) -> None:
        for level in self._levels.values():
            for array in level.values():
                array.values[slot] = 0

    def _load(self, shape: Shape) -> Iterator[tuple[SlotArray, int]]:
        """Yield what one pod of the shape adds to which arrays."""
        level = self._levels.get(shape.priority)
        if level is None:
            level = self._levels[shape.priority] = NamedArrays(self._cluster.nodes.slots)
        largest = self._largest.setdefault(shape.priority, {PODS: 1})
        yield level[PODS], 1
        for resource, amount in shape.taken.items():
            if amount > largest.get(resource, 0):
                largest[resource] = amount
            yield level[resource], amount
