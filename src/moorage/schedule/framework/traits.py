"""Traits: the few numbers by which a plugin tells slots apart; slots with equal traits are one class.

A zone, the number of matching pods on the host, a raw score: five thousand nodes have a handful of combinations. What
depends on all nodes at once is worked out per class instead of per node.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Trait = NDArray[np.int64]
Traits = Sequence[Trait] | NDArray[np.int64]  # one row per trait
_ROOM = 1 << 62


def distinct(traits: Traits, slots: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The classes among some slots: the index of one slot of each, and for each slot the number of its class."""
    packed = np.zeros(slots, np.int64)
    if slots == 0:
        return packed, packed
    radix = 1
    for trait in traits:
        lowest = int(trait.min())
        span = int(trait.max()) - lowest + 1
        if span == 1:
            continue
        if radix * span >= _ROOM:
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
            radix = int(packed.max()) + 1
        packed = packed * span + (trait - lowest)
        radix *= span
    if radix == 1:
        return np.zeros(1, np.int64), packed
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return first, inverse
