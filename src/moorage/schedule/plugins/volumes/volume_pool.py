"""The volumes that a claim could be bound to, smallest first, kept up to date as they are taken.

Kubernetes: FindMatchingVolume, which goes through all volumes for each claim and node.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Set
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from moorage.columns.volumes.storage import Storage
from moorage.match.volumes.volume_matching import ClaimMatcher, capacity_of
from moorage.model.types.storage import PersistentVolume
from moorage.schedule.plugins.volumes.volume_topology import EVERYWHERE, VolumeTopology, required_of

_Entry = tuple[int, str]  # capacity and name


class VolumePool:
    """The volumes for one claim: those that name it in claimRef if there are any (`reserved`), else the free ones."""

    def __init__(self, matcher: ClaimMatcher, reserved: bool, topology: VolumeTopology) -> None:
        self.matcher = matcher
        self._accepts: Callable[[PersistentVolume], bool] = matcher.reserved if reserved else matcher.free
        self._topology = topology
        self._by_code: dict[int, list[_Entry]] = {}
        self._place_of: dict[str, tuple[int, _Entry]] = {}

    def fill(self, storage: Storage) -> None:
        self._by_code.clear()
        self._place_of.clear()
        for name in storage.in_class(self.matcher.storage_class):
            volume = storage.volumes[name]
            if self._accepts(volume):
                code = self._topology.code(required_of(volume))
                entry = capacity_of(volume), name
                self._place_of[name] = code, entry
                self._by_code.setdefault(code, []).append(entry)
        for entries in self._by_code.values():
            entries.sort()

    def follow(self, name: str, volume: PersistentVolume | None) -> dict[int, tuple[int, int]]:
        """Take in a changed or deleted volume; return, for the codes concerned, how many there were and are."""
        concerned: dict[int, tuple[int, int]] = {}
        old = self._place_of.pop(name, None)
        if old is not None:
            code, entry = old
            entries = self._by_code[code]
            concerned[code] = len(entries), len(entries) - 1
            del entries[bisect_left(entries, entry)]
            if not entries:
                del self._by_code[code]
        if volume is not None and self._accepts(volume):
            code = self._topology.code(required_of(volume))
            entry = capacity_of(volume), name
            self._place_of[name] = code, entry
            entries = self._by_code.setdefault(code, [])
            concerned[code] = concerned.get(code, (len(entries), 0))[0], len(entries) + 1
            insort(entries, entry)
        return concerned

    def counts(self, capacity: int, most: int) -> NDArray[np.int64]:
        """Return how many volumes each slot can choose from; counts above `most` may be larger or equal to it."""
        counts = np.zeros(capacity, np.int64)
        for code, entries in self._by_code.items():
            few = min(len(entries), most)
            if code == EVERYWHERE:
                counts += few
            else:
                counts[self._topology.slots(code)] += few
        return counts

    def best(self, codes: list[int], taken: Set[str]) -> str | None:
        """Return the smallest free volume that a slot with these codes can reach."""
        best: _Entry | None = None
        for code in codes:
            for entry in self._by_code.get(code, ()):
                if entry[1] not in taken:
                    if best is None or entry < best:
                        best = entry
                    break
        return best[1] if best is not None else None

    def some(self, most: int) -> list[str]:
        """Return a few volumes, each with another node affinity."""
        return [entries[0][1] for entries in islice(self._by_code.values(), most)]

    def __contains__(self, name: str) -> bool:
        return name in self._place_of
