"""Small problems of fitting nodes to pods, and their answers by trying everything."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from moorage.capacity.fitting.model.problem import Bound, Problem

MANY = 5_000


def problem(
    numbers: Sequence[int],
    amounts: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[int]],
    prices: Sequence[float],
    takes: Sequence[Sequence[bool]] | None = None,
    bounds: Sequence[Bound] = (),
) -> Problem:
    shape = len(numbers), len(prices)
    return Problem(
        [f"r{index}" for index in range(len(rooms[0]))],
        np.array(numbers, np.int64),
        np.array(amounts, np.float64),
        np.array(rooms, np.float64),
        np.ones(shape, np.bool_) if takes is None else np.array(takes, np.bool_),
        np.array(prices, np.float64),
        tuple(bounds),
    )


def packs(world: Problem, nodes: Sequence[int]) -> bool:
    """Whether all pods fit on the nodes, by trying every place of every pod."""
    rooms = [(kind, list(world.rooms[kind])) for kind, number in enumerate(nodes) for _ in range(number)]
    pods = [shape for shape, number in enumerate(world.numbers) for _ in range(number)]

    def place(index: int) -> bool:
        if index == len(pods):
            return True
        tried: set[tuple[int, tuple[float, ...]]] = set()
        for kind, room in rooms:
            state = kind, tuple(room)
            amounts = world.amounts[pods[index]]
            if state in tried or not world.takes[pods[index], kind]:
                continue
            tried.add(state)
            if all(need <= left for need, left in zip(amounts, room, strict=True)):
                room[:] = [left - need for need, left in zip(amounts, room, strict=True)]
                if place(index + 1):
                    return True
                room[:] = list(state[1])
        return False

    return place(0)


def cheapest(world: Problem) -> float | None:
    """Return the cost of the cheapest mix, by trying all of them in the order of their cost; None if there is none."""
    most = int(world.numbers.sum()) + int(sum(one.least for one in world.bounds))
    heap: list[tuple[float, tuple[int, ...], int]] = [(0.0, (0,) * world.kinds, 0)]
    for _ in range(MANY):
        if not heap:
            return None
        cost, nodes, first = heapq.heappop(heap)
        kept = all(one.least <= one.shares @ np.array(nodes) <= one.most for one in world.bounds)
        if kept and packs(world, nodes):
            return cost
        if sum(nodes) < most:
            for kind in range(first, world.kinds):
                more = tuple(number + (index == kind) for index, number in enumerate(nodes))
                heapq.heappush(heap, (cost + float(world.prices[kind]), more, kind))
    raise AssertionError("the world is too large to try everything")
