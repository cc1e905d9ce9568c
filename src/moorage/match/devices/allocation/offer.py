"""Line up the pools that a node sees as one sequence of devices, with indexes that all searches share.

In: the pools that many nodes see alike, as a `PoolBlock` that the caller keeps, and the node's own. Out: an `Offer`,
whose devices have positions in the order in which they are tried; a search looks at some of them and never lists all.
Kubernetes: the pools and devices that Allocate goes through, for each pod and node again.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from moorage.match.devices.allocation.pools import preference
from moorage.match.devices.description import find_attribute, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from moorage.match.devices.allocation.pools import DevicePool
    from moorage.match.devices.allocation.published import PoolId, PublishedDevice
    from moorage.match.devices.description import AttributeValue

#: Where a device is: which of the node's own pools, and the place there; None for a device that other nodes see, too.
Place = tuple[int, int] | None


class PoolBlock:
    """Pools in order, with their devices in one list and filed by the values of attributes."""

    __slots__ = ("__weakref__", "_having", "begins", "by_id", "devices", "has_invalid", "pools")

    def __init__(self, pools: Iterable[DevicePool]) -> None:
        self.pools = tuple(pools)
        self.devices: tuple[PublishedDevice, ...] = tuple(device for pool in self.pools for device in pool.devices)
        self.begins = list(accumulate((len(pool.devices) for pool in self.pools), initial=0))
        self.by_id: dict[PoolId, DevicePool] = {pool.id: pool for pool in self.pools}
        self.has_invalid = any(pool.invalid for pool in self.pools)
        self._having: dict[str, dict[AttributeValue, list[int]]] = {}

    def having(self, attribute: str, value: AttributeValue, first: int, last: int) -> Sequence[int]:
        """Return the places between two others of the devices whose attribute has this value."""
        filed = self._having.get(attribute)
        if filed is None:
            filed = self._having[attribute] = {}
            for place, device in enumerate(self.devices):
                found = find_attribute(device.device.attributes, device.id[0], attribute)
                if found is not None and (theirs := scalar(found)) is not None:
                    filed.setdefault(theirs, []).append(place)
        places = filed.get(value, ())
        return places[bisect_left(places, first) : bisect_left(places, last)]

    def number(self, place: int) -> int:
        """Return which pool the device at a place is in."""
        return bisect(self.begins, place) - 1


class Segment(NamedTuple):
    """A part of a block, and the position of its first device in the offer."""

    begin: int
    block: PoolBlock
    first: int
    last: int


_NOTHING = PoolBlock(())


class Offer:
    """What one node offers. `own` are the pools that only this node sees, in order, `shared` all others."""

    __slots__ = ("_begins", "_segments", "own", "shared")

    def __init__(self, own: Sequence[DevicePool], shared: PoolBlock = _NOTHING) -> None:
        self.own = own
        self.shared = shared
        self._segments: list[Segment] = []
        self._begins: list[int] = []

    @property
    def segments(self) -> Sequence[Segment]:
        """Return the parts in order, lined up by the first search that asks."""
        if not self._begins:
            self._line_up()
        return self._segments

    @property
    def size(self) -> int:
        """Return how many devices there are."""
        segments = self.segments
        return segments[-1].begin + segments[-1].last - segments[-1].first if segments else 0

    def _line_up(self) -> None:
        shared, first = self.shared, 0
        if shared.pools:
            for pool in self.own:
                last = shared.begins[bisect(shared.pools, preference(pool), key=preference)]
                self._add(shared, first, last)
                self._add(PoolBlock((pool,)))
                first = last
            self._add(shared, first, len(shared.devices))
        else:
            self._add(PoolBlock(self.own))
        self._begins = [segment.begin for segment in self._segments]

    def _add(self, block: PoolBlock, first: int = 0, last: int | None = None) -> None:
        last = len(block.devices) if last is None else last
        if last > first:
            before = self._segments[-1] if self._segments else None
            begin = before.begin + before.last - before.first if before is not None else 0
            self._segments.append(Segment(begin, block, first, last))

    def device(self, position: int) -> PublishedDevice:
        segments = self.segments
        segment = segments[bisect(self._begins, position) - 1] if len(segments) > 1 else segments[0]
        return segment.block.devices[position - segment.begin + segment.first]

    def pool(self, identity: PoolId) -> DevicePool:
        """Return one of the pools; raises KeyError."""
        for pool in self.own:
            if pool.id == identity:
                return pool
        return self.shared.by_id[identity]

    @property
    def pools(self) -> Sequence[DevicePool]:
        """Return all pools in order, which takes as long as there are pools."""
        if self.own and self.shared.pools:
            return sorted((*self.shared.pools, *self.own), key=preference)
        return self.own or self.shared.pools

    @property
    def has_invalid(self) -> bool:
        """Return whether a pool is invalid."""
        return self.shared.has_invalid or any(pool.invalid for pool in self.own)

    def place(self, device: PublishedDevice) -> Place:
        """Return where one of the devices is."""
        identity = device.published.pool
        for number, pool in enumerate(self.own):
            if pool.id == identity:
                return number, pool.devices.index(device)
        return None

    def __iter__(self) -> Iterator[DevicePool]:
        return iter(self.pools)
