"""Keep what was compiled from stored objects for as long as their views are in use.

A stored object that changes gets another view, so that nothing kept is ever out of date.
"""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

Source = TypeVar("Source")
Compiled = TypeVar("Compiled")


class Kept(Generic[Source, Compiled]):
    """What was compiled from views, by their identity: comparing whole views would cost more. Threads may share it."""

    __slots__ = ("_compile", "_kept")

    def __init__(self, compile_: Callable[[Source], Compiled]) -> None:
        self._compile = compile_
        self._kept: dict[int, tuple[weakref.ref[Source], Compiled]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, source: Source) -> Compiled:
        """Return what is compiled from a view, whose class must allow weak references."""
        entry = self._kept.get(id(source))
        if entry is not None:
            return entry[1]
        key = id(source)
        compiled = self._compile(source)
        self._kept[key] = (weakref.ref(source, lambda _: self._forget(key)), compiled)
        return compiled

    def _forget(self, key: int) -> None:
        self._kept.pop(key, None)
