"""Operators that do not need all of their arguments (`&&`, `||`, orValue, `in` constants), and comprehensions.

A step that fails does not end a loop: the error becomes the accumulated value, as in cel-go, and is raised when the
value is used. Lists and maps are accumulated in place. The clock is looked at on the way.
Kubernetes: cel-go interpreter/interpretable.go (evalAnd, evalOr, evalSetMembership, evalFold), cel/library.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from moorage.match.cel.evaluate.steps import COST_LIMIT, UNSET, Run, State, charge, check_clock, kept
from moorage.match.cel.standard.conversions import show_value
from moorage.match.cel.values import (
    CelError,
    CelMap,
    Duration,
    OptionalValue,
    Timestamp,
    UInt,
    equal,
    require_result_size,
)


def build_logical(left: Run, right: Run, decisive: bool) -> Run:
    """Build `&&` (`decisive` is false) or `||` (true): decisive wins over everything, an error over the other value."""

    def left_failed(state: State, error: CelError) -> Any:
        try:
            b = right(state)
        except CelError as other:
            kept(other)
            raise error from None
        if b is decisive:
            return decisive
        raise error

    def run(state: State) -> Any:
        try:
            a = left(state)
        except CelError as error:
            return left_failed(state, kept(error))
        if a is decisive:
            return a
        if a is not True and a is not False:
            return left_failed(state, CelError("no such overload"))
        b = right(state)
        if b is True or b is False:
            return b
        raise CelError("no such overload")

    return run


def build_not_strictly_false(arg: Run) -> Run:
    """Return whether a loop goes on: after anything but a plain false."""

    def run(state: State) -> Any:
        try:
            value = arg(state)
        except CelError as error:
            kept(error)
            value = True
        state[0] += 1
        if state[0] > COST_LIMIT:
            charge(state, 0)
        return value is not False

    return run


def build_or_else(optional: Run, otherwise: Run, unwrap: bool) -> Run:
    """`or` and `orValue`: the alternative is evaluated only if needed, and the call costs nothing."""

    def run(state: State) -> Any:
        value = optional(state)
        present = getattr(value, "present", None)
        if present is None:
            return value
        if not present:
            return otherwise(state)
        return value.value if unwrap else value

    return run


def build_in_constants(item: Run, constants: list[Any]) -> Run:
    """`x in [constants]`: a look-up that costs nothing beyond x."""
    if all(type(constant) is str for constant in constants):
        strings = frozenset(constants)

        def run_strings(state: State) -> Any:
            value = item(state)
            return type(value) is str and value in strings

        return run_strings

    def run(state: State) -> Any:
        value = item(state)
        return any(equal(value, constant) for constant in constants)

    return run


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


def build_binding(slot: int, result: Run) -> Run:
    """Build a named value: the slot is emptied, and filled when it is first read."""

    def run(state: State) -> Any:
        state[slot] = UNSET
        return result(state)

    return run


def build_loop(
    range_: Run,
    slots: tuple[int, int | None],
    accumulator: int,
    make_init: Callable[[], Any],
    condition: Run,
    step: Run,
    result: Run,
) -> Run:
    """Return a loop; `slots` are those of the one or two variables."""
    first, second = slots

    def run(state: State) -> Any:
        items: Any = range_(state)
        state[accumulator] = make_init()
        check_clock(state)
        pairs = _elements(items) if second is None else _pairs(items)
        for count, (key, value) in enumerate(pairs, 1):
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
                state[accumulator] = kept(error)
            if not count & _CLOCK_MASK:
                check_clock(state)
        return result(state)

    return run


def _elements(items: Any) -> Iterable[tuple[Any, None]]:
    if type(items) is list or type(items) is CelMap:
        return ((item, None) for item in items)
    raise CelError(f"got '{_go_name(items)}', expected iterable type")


def _pairs(items: Any) -> Iterable[tuple[Any, Any]]:
    if type(items) is list:
        return enumerate(items)
    if type(items) is CelMap:
        return items.items()
    raise CelError(f"unsupported comprehension range type: {_go_name(items)}")


def _go_name(value: Any) -> str:
    return _GO_NAMES.get(type(value), "*types.Type")


def append_in_place(items: list[Any], added: list[Any]) -> list[Any]:
    """`accumulator + [element]`, in place."""
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
