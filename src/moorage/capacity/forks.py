"""Play many changes, each in a fork of one settled cluster: what a single plan would say, in milliseconds.

A fork shares the memory of the cluster and may spoil its copy, so that nothing has to be undone; as many run at once as
there are processors.
"""

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any, TypeVar

import msgspec

from moorage.plan.input.inventory import Inventory
from moorage.plan.simulation.forked import Copy, in_fork
from moorage.plan.simulation.simulation import Simulation

_MAX_WORKERS = 8
#: One worker plays this many before the others are waited for.
_AT_ONCE = 25
_T = TypeVar("_T")


def can_fork() -> bool:
    return hasattr(os, "fork")


def play_each(
    simulation: Simulation,
    items: Sequence[_T],
    play: Callable[[_T], Any],
    tick: Callable[[], None] = lambda: None,
    workers: int | None = None,
) -> list[Any]:
    """Return what `play` returns for each item in a fork of its own; it must be plain data. Raises CopyFailed.

    The simulation stays as it is. `tick` is called for each item that is played.
    """
    if not simulation.stopped:  # what each fork would have to do first
        simulation.controllers.start_collectors()
        simulation.work()
        simulation.scheduling.catch_up()
    number = workers or min(_MAX_WORKERS, _processors())
    played: dict[int, Any] = {}
    gc.collect()
    gc.freeze()  # a collection would copy the memory that forks share
    try:
        for batch in _batches(len(items), number):
            for index, result in _in_forks(batch, lambda index: play(items[index])):
                played[index] = result
                tick()
    finally:
        gc.unfreeze()
    return [played[index] for index in range(len(items))]


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _batches(number: int, workers: int) -> Iterator[list[list[int]]]:
    """Yield what the workers do next, by index, until all is done."""
    step = workers * _AT_ONCE
    for start in range(0, number, step):
        part = range(start, min(start + step, number))
        yield [list(part[worker::workers]) for worker in range(workers) if part[worker::workers]]


def _in_forks(batch: list[list[int]], play: Callable[[int], Any]) -> Iterator[tuple[int, Any]]:
    """Play items in as many processes as there are lists, each item in a fork of its own."""

    def play_all(indexes: list[int]) -> list[Any]:
        return [in_fork(lambda index=index: play(index)) for index in indexes]  # type: ignore[misc]

    with ExitStack() as stack:
        copies: list[Copy] = []
        for indexes in batch:
            copies.append(stack.enter_context(closing(Copy(play_all))))
            copies[-1].start(indexes)  # before the next one is forked, which would keep the question open
        for copy, indexes in zip(copies, batch, strict=True):
            yield from zip(indexes, copy.result(), strict=True)


def fresh_inventory(inventory: Inventory) -> Inventory:
    """Return an inventory that can be planned without a trace in the other one."""
    made = inventory.copy(with_notes=True)
    made.items = {key: msgspec.structs.replace(item) for key, item in inventory.items.items()}
    return made
