"""A bounded cache of compiled toleration expressions (KEP-5500). CEL, which is large, is imported by the first one."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moorage.match.cel import Issue, Program

DEFAULT_CAPACITY = 1024


class ProgramCache:
    """Programs by text. `hits`, `misses` and `evictions` count what happened so far."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        if capacity < 1:
            raise ValueError("a cache holds at least one program")
        self.capacity = capacity
        self.hits = 0
        self.misses = 0
        self.evictions = 0
        self._programs: OrderedDict[str, Program | list[Issue]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._programs)

    def get(self, source: str) -> Program | list[Issue]:
        with self._lock:
            found = self._programs.get(source)
            if found is not None:
                self._programs.move_to_end(source)
                self.hits += 1
                return found
            self.misses += 1
        from moorage.match.cel import compile_expression, taint_environment

        made = compile_expression(source, taint_environment())
        with self._lock:
            self._programs[source] = made
            self._programs.move_to_end(source)
            if len(self._programs) > self.capacity:
                self._programs.popitem(last=False)
                self.evictions += 1
        return made
