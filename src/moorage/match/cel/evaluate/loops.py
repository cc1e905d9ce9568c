"""Evaluate comprehensions: the loops that macros become, and the values that cel.bind names.

A step that fails does not end a loop: the error becomes the accumulated value, as in cel-go, and is raised when the
value is used. Lists and maps are accumulated in place. The clock is looked at on the way. A loop that turns out to be
long goes on as generated Python (moorage.match.cel.generate), which answers and charges exactly as the closures here.
Kubernetes: cel-go interpreter/interpretable.go (evalFold).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from moorage.match.cel.evaluate.steps import UNSET, EvaluationStep, Run, State, check_clock, kept, without_traceback
from moorage.match.cel.libraries.conversions import show_value
from moorage.match.cel.values import CelError, CelMap, Duration, OptionalValue, Timestamp, UInt, require_result_size

# Go's names of the types that cannot be looped over.
_GO_NAMES = {
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    type(None): "types.Null",
    Duration: "types.Duration",
    Timestamp: "types.Timestamp",
    OptionalValue: "*types.Optional",
}
_CLOCK_MASK = 3
# Elements that a loop has seen, in all evaluations, before generating code pays off.
LONG = 250

#: A generated loop: from the state and the elements to the result.
GeneratedLoop = Callable[[State, Any], Any]


class BindingStep(EvaluationStep):
    """A named value: the slot is emptied, and filled when it is first read."""

    __slots__ = ("slot",)

    def __init__(self, slot: int, result: Run) -> None:
        self.slot = slot

        def run(state: State) -> Any:
            state[slot] = UNSET
            return result(state)

        super().__init__(run)


class LoopStep(EvaluationStep):
    """A loop over `slots`, those of the one or two variables and of the accumulator.

    `generate` makes the function that runs the loop once it is found to be long, or None if it cannot.
    """

    __slots__ = (
        "accumulator",
        "condition",
        "first",
        "generate",
        "generated",
        "init",
        "result",
        "second",
        "seen",
        "step",
    )

    def __init__(
        self,
        range_: Run,
        slots: tuple[int, int | None, int],
        make_init: Callable[[], Any],
        condition: Run,
        step: Run,
        result: Run,
    ) -> None:
        self.first, self.second, self.accumulator = slots
        self.init = make_init
        self.condition = condition
        self.step = step
        self.result = result
        self.generate: Callable[[], GeneratedLoop | None] | None = None
        self.generated: GeneratedLoop | None = None
        self.seen = 0

        def run(state: State) -> Any:
            items = range_(state)
            if self.generated is not None:
                return self.generated(state, items)
            generate = self.generate
            if generate is not None and type(items) in (list, CelMap):
                self.seen += len(items)
                if self.seen > LONG:
                    self.generated, self.generate = generated, _ = generate(), None
                    if generated is not None:
                        return generated(state, items)
            return self.fold(state, items)

        super().__init__(run)

    def fold(self, state: State, items: Any) -> Any:
        """Run the loop over a value that was computed for its range."""
        state[self.accumulator] = self.init()
        check_clock(state)
        self._iterate(state, elements(items) if self.second is None else pairs(items))
        return self.result(state)

    def resume(self, state: State, accumulated: Any, current: Any, rest: Iterator[Any]) -> Any:
        """Continue a loop that stands at an element (or pair); return what it accumulates, which may be an error."""
        state[self.accumulator] = accumulated
        remaining = chain((current,), rest)
        self._iterate(state, remaining if self.second is not None else ((item, None) for item in remaining))
        return state[self.accumulator]

    def _iterate(self, state: State, remaining: Iterable[tuple[Any, Any]]) -> None:
        first, second, accumulator = self.first, self.second, self.accumulator
        condition, step = self.condition, self.step
        for count, (key, value) in enumerate(remaining, 1):
            state[first] = key
            if second is not None:
                state[second] = value
            try:
                if condition(state) is False:
                    break
            except CelError as error:
                kept(error)
            try:
                state[accumulator] = step(state)
            except CelError as error:
                state[accumulator] = without_traceback(kept(error))
            if not count & _CLOCK_MASK:
                check_clock(state)


def elements(items: Any) -> Iterable[tuple[Any, None]]:
    if isinstance(items, list) or type(items) is CelMap:
        return ((item, None) for item in items)
    raise CelError(f"got '{_go_name(items)}', expected iterable type")


def pairs(items: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(items, list):
        return enumerate(items)
    if type(items) is CelMap:
        return items.items()
    raise CelError(f"unsupported comprehension range type: {_go_name(items)}")


def _go_name(value: Any) -> str:
    return _GO_NAMES.get(type(value), "*types.Type")


def append_in_place(items: list[Any], added: list[Any]) -> list[Any]:
    """Compute `accumulator + [element]` in place."""
    require_result_size(len(items) + len(added))
    items.extend(added)
    return items


def insert_in_place(entries: CelMap, *values: Any) -> CelMap:
    """Insert into the map being accumulated, in place: a key and a value, or all entries of a map."""
    added = [(values[0], values[1])] if len(values) == 2 else _entries_of(values[0])
    for key, value in added:
        if key in entries:
            raise CelError(f"insert failed: key {show_value(key)} already exists")
        entries.insert_in_place(key, value)
    return entries


def _entries_of(value: Any) -> list[tuple[Any, Any]]:
    if type(value) is CelMap:
        return value.items()
    raise CelError("no such overload: cel.@mapInsert(map, dyn)")
