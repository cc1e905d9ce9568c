"""The walk over all containers finds what grows wherever it is kept, and names the path to it."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial

import msgspec
import pytest
from tests.container_sizes import container_sizes, growing


class _Slotted:
    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept: list[int] = []


class _Struct(msgspec.Struct):
    kept: deque[int]


class _Owner:
    """Keeps a number wherever an object can keep one."""

    def __init__(self) -> None:
        self.attribute: set[int] = set()
        self.slotted = _Slotted()
        self.struct = _Struct(deque())
        self.nested: dict[str, dict[int, int]] = {"a": {}}
        enclosed: list[int] = []
        self.function: Callable[[int], None] = lambda number: enclosed.append(number)
        bound: list[int] = []
        self.partial = partial(bound.append)
        self.arguments = partial(_append, [])
        self.generator = self._generate()
        next(self.generator)

    def _generate(self) -> Iterator[None]:
        local: list[int] = []
        while True:
            local.append(len(local))
            yield


def _append(kept: list[int], number: int) -> None:
    kept.append(number)


KEEPERS: dict[str, Callable[[_Owner, int], object]] = {
    "owner.attribute": lambda owner, number: owner.attribute.add(number),
    "owner.slotted.kept": lambda owner, number: owner.slotted.kept.append(number),
    "owner.struct.kept": lambda owner, number: owner.struct.kept.append(number),
    "owner.nested[*]": lambda owner, number: owner.nested["a"].update({number: number}),
    "owner.nested": lambda owner, number: owner.nested.update({str(number): {}}),
    "owner.function<enclosed>": lambda owner, number: owner.function(number),
    "owner.arguments()[*]": lambda owner, number: owner.arguments(number),
    "owner.generator._generate:local": lambda owner, number: next(owner.generator),
}


@pytest.mark.parametrize("path", KEEPERS)
def test_what_grows_is_named(path: str) -> None:
    owner = _Owner()
    before = container_sizes({"owner": owner})
    for number in range(5):
        KEEPERS[path](owner, number)
    assert growing(before, container_sizes({"owner": owner}), 5) == {
        path: (before.get(path, 0), before.get(path, 0) + 5)
    }


def test_what_stays_is_not_named() -> None:
    owner = _Owner()
    before = container_sizes({"owner": owner})
    assert growing(before, container_sizes({"owner": owner}), 1) == {}
