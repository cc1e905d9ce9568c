"""Define what is solved: pods by shape, kinds of node with prices, which takes which, and bounds of pools.

Amounts are integers in the units of the scheduler, kept as floating-point numbers, which are exact up to 2^53. What at
most one pod of a node may have (a host port, a place beside pods like itself) is a resource of which a node has one.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Mask: TypeAlias = NDArray[np.bool_]
#: The most nodes that a pool may start, where nothing else bounds it.
NO_BOUND = float("inf")


class Bound(msgspec.Struct, frozen=True, eq=False):
    """A bound of a pool: the sum over kinds of their shares, times their nodes, is at least and at most this."""

    name: str
    shares: Floats
    most: float = NO_BOUND
    least: float = 0.0


class Problem(msgspec.Struct, frozen=True, eq=False):
    """`numbers[s]` pods of shape s need `amounts[s, r]` each; a node of kind k has `rooms[k, r]` and costs `prices[k]`.

    `takes[s, k]`: a node of kind k may run such pods. `bounds` are those of the pools.
    """

    resources: Sequence[str]
    numbers: Ints
    amounts: Floats
    rooms: Floats
    takes: Mask
    prices: Floats
    bounds: Sequence[Bound] = ()

    @property
    def shapes(self) -> int:
        return len(self.numbers)

    @property
    def kinds(self) -> int:
        return len(self.prices)

    def most_on(self, numbers: Ints | None = None) -> Ints:
        """Return how many pods of each shape fit on an empty node of each kind, and no more than there are."""
        there = self.numbers if numbers is None else numbers
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(
                self.amounts[:, None, :] > 0, np.floor(self.rooms[None, :, :] / self.amounts[:, None, :]), np.inf
            )
        fitting = np.minimum(each.min(axis=2, initial=np.inf), there[:, None])
        return np.where(self.takes, np.maximum(fitting, 0), 0).astype(np.int64)

    def with_numbers(self, numbers: Ints) -> "Problem":
        return msgspec.structs.replace(self, numbers=numbers)

    def with_bounds_left(self, nodes: Ints) -> "Problem":
        """Return what is left of the bounds once there are these nodes of each kind."""
        bounds = [_bound_left(one, float(one.shares @ nodes)) for one in self.bounds]
        return msgspec.structs.replace(self, bounds=bounds)

    def of_kinds(self, kept: Ints) -> "Problem":
        """Return the problem with some of the kinds only."""
        bounds = [Bound(one.name, one.shares[kept], one.most, one.least) for one in self.bounds]
        return msgspec.structs.replace(
            self, rooms=self.rooms[kept], takes=self.takes[:, kept], prices=self.prices[kept], bounds=bounds
        )

    def cost(self, nodes: Ints) -> float:
        return float(self.prices @ nodes)

    def keeps_bounds(self, nodes: Ints) -> bool:
        return all(one.least - 1e-6 <= one.shares @ nodes <= one.most * (1 + 1e-12) + 1e-6 for one in self.bounds)


def _bound_left(one: Bound, used: float) -> Bound:
    return Bound(one.name, one.shares, one.most - used, max(one.least - used, 0.0))


class Pattern(msgspec.Struct, frozen=True):
    """A way to fill a node of a kind: how many pods of which shapes."""

    kind: int
    pods: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, kind: int, numbers: Ints) -> "Pattern":
        return cls(kind, tuple((int(shape), int(numbers[shape])) for shape in np.flatnonzero(numbers)))

    def fits(self, problem: Problem) -> bool:
        used = sum((problem.amounts[shape] * number for shape, number in self.pods), np.zeros(len(problem.resources)))
        return bool(np.all(used <= problem.rooms[self.kind])) and all(problem.takes[s, self.kind] for s, _ in self.pods)


class Mix(msgspec.Struct, frozen=True, eq=False):
    """A number of nodes of each kind, and how they are filled. `left` are pods that no node may take any more."""

    nodes: Ints
    patterns: Mapping[Pattern, int]
    left: Ints

    @property
    def is_whole(self) -> bool:
        return not self.left.any()


def undominated(problem: Problem) -> Ints:
    """Return the kinds that no other one replaces: it costs no more, has no less room, and takes the same pods.

    It also counts no more against the bounds of pools, and as much where a pool has a least number of nodes.
    """
    order = np.lexsort((-problem.rooms.sum(axis=1), problem.prices))
    shares = np.array([one.shares for one in problem.bounds], np.float64).reshape(-1, problem.kinds)
    wanted = np.array([one.least > 0 for one in problem.bounds], np.bool_)
    needed: Mask = (shares[wanted] != 0).any(axis=0)
    # What is replaced has less room and takes fewer pods, or is more of a bound: all in one comparison.
    facts = np.hstack([problem.rooms, problem.takes.T, -shares.T, shares[wanted].T])
    kept: list[int] = []
    best = np.empty((64, facts.shape[1]))
    useful: Mask = np.asarray(problem.most_on().any(axis=0)) | needed
    for kind in order.tolist():
        if not useful[kind] or (best[: len(kept)] >= facts[kind]).all(axis=1).any():
            continue
        if len(kept) == len(best):
            best = np.vstack([best, np.empty_like(best)])
        best[len(kept)] = facts[kind]
        kept.append(kind)
    return np.array(sorted(kept), np.int64)
