"""Do long work in steps, between which others may work: a generator that yields wherever it may pause.

What it returns is the result. Steps are meant to take much less than a millisecond each.
"""

import asyncio
from collections.abc import Generator, Iterable, Iterator
from time import perf_counter
from typing import TypeVar

Result = TypeVar("Result")
Item = TypeVar("Item")
Steps = Generator[None, None, Result]

#: How long to work before others may.
SLICE_SECONDS = 0.002
_AT_ONCE = 32


def finish(steps: Steps[Result]) -> Result:
    """Take all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: Result = done.value
            return result


async def take_turns(steps: Steps[Result]) -> Result:
    """Take all steps; other tasks work every two milliseconds."""
    until = perf_counter() + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as done:
            result: Result = done.value
            return result
        if perf_counter() >= until:
            await asyncio.sleep(0)
            until = perf_counter() + SLICE_SECONDS


def in_parts(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in lists that are worked on in one step each."""
    part: list[Item] = []
    for item in items:
        part.append(item)
        if len(part) == _AT_ONCE:
            yield part
            part = []
    if part:
        yield part
