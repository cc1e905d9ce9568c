"""Compiled expressions, kept: every distinct text is compiled once for as long as it is in use.

In comes a text; out comes its `Program`, or its issues, which are kept as well. Bounded, the least recently used goes
first; safe to share between threads. Two threads that miss the same text at once compile it twice, and none waits.
Kubernetes: dynamic-resource-allocation/cel/cache.go.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from moorage.match.cel.environment import TAINT_ENVIRONMENT, Environment
from moorage.match.cel.program import Program, compile_expression

if TYPE_CHECKING:
    from moorage.match.cel.parse.syntax import Issue

DEFAULT_CAPACITY = 1024


class ProgramCache:
    """Programs by text, for one environment. `hits`, `misses` and `evictions` count what happened so far."""

    def __init__(self, capacity: int = DEFAULT_CAPACITY, environment: Environment = TAINT_ENVIRONMENT) -> None:
        if capacity < 1:
            raise ValueError("a cache holds at least one program")
        self.capacity = capacity
        self.environment = environment
        self.hits = 0
        self.misses = 0
        self.evictions = 0
        self._programs: OrderedDict[str, Program | list[Issue]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._programs)

    def get(self, source: str) -> Program | list[Issue]:
        """Return the program of a text, compiled now if it is new."""
        with self._lock:
            found = self._programs.get(source)
            if found is not None:
                self._programs.move_to_end(source)
                self.hits += 1
                return found
            self.misses += 1
        made = compile_expression(source, self.environment)
        with self._lock:
            self._programs[source] = made
            self._programs.move_to_end(source)
            if len(self._programs) > self.capacity:
                self._programs.popitem(last=False)
                self.evictions += 1
        return made
