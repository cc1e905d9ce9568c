"""Classes of slots and their best, after anything that happens to slots."""

from random import Random

import numpy as np
import pytest

from moorage.schedule import standings
from moorage.schedule.framework.wide import distinct
from moorage.schedule.standings import Standings


def test_distinct_packs_what_fits_and_what_does_not() -> None:
    wide = [np.array([0, 1 << 40, 0, 5], np.int64), np.array([7, 7, 7, -(1 << 40)], np.int64)]
    first, classes = distinct([*wide, np.array([1, 1, 1, 1], np.int64)], 4)
    assert len(first) == 3
    assert classes[0] == classes[2]
    assert len({int(c) for c in classes}) == 3
    assert [int(classes[index]) for index in first] == [0, 1, 2]


def test_nothing_is_in_no_class_and_everything_without_traits_in_one() -> None:
    assert [len(array) for array in distinct([], 0)] == [0, 0]
    first, classes = distinct([], 3)
    assert (first.tolist(), classes.tolist()) == ([0], [0, 0, 0])


def best_of_each(kept: dict[int, tuple[int, tuple[int, ...]]]) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """By traits: how many slots, the best key, and its slot."""
    found: dict[tuple[int, ...], tuple[int, int, int]] = {}
    for slot, (key, traits) in kept.items():
        size, best, front = found.get(traits, (0, -1, -1))
        found[traits] = (size + 1, *max((best, front), (key, slot)))
    return found


def as_found(classes: Standings) -> dict[tuple[int, ...], tuple[int, int, int]]:
    classes.settle()
    columns = zip(classes.traits.T.tolist(), classes.sizes.tolist(), classes.tops.tolist(), strict=True)
    return {
        tuple(traits): (size, top, classes.front(code)) for code, (traits, size, top) in enumerate(columns) if top >= 0
    }


@pytest.mark.parametrize("line", [1, 3, 64])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_each_class_is_in_front(line: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standings, "_LINE", line)
    random = Random(seed)
    slots = 40

    def some() -> tuple[int, tuple[int, ...]]:
        return random.getrandbits(40), (random.randint(0, 1), random.randint(5, 7))

    kept = {slot: some() for slot in range(slots) if random.random() < 0.8}
    left = np.array([slot in kept for slot in range(slots)])
    keys = np.array([kept.get(slot, (0,))[0] for slot in range(slots)], np.int64)
    rows = [np.array([kept[slot][1][row] if slot in kept else 0 for slot in range(slots)], np.int64) for row in (0, 1)]
    classes = Standings()
    classes.rebuild(left, keys, rows)
    assert as_found(classes) == best_of_each(kept)
    for _ in range(200):
        slot = random.randrange(slots)
        if random.random() < 0.3:
            kept.pop(slot, None)
            classes.remove(slot)
        else:
            kept[slot] = some() if random.random() < 0.7 else kept.get(slot, some())
            classes.put(slot, *kept[slot])
        if random.random() < 0.5:
            assert as_found(classes) == best_of_each(kept)


def test_a_slot_that_swings_to_and_fro_does_not_fill_the_heap() -> None:
    classes = Standings()
    classes.rebuild(np.array([True, True]), np.array([5, 9], np.int64), [])
    for turn in range(1000):
        classes.put(0, 5 + turn % 2, ())
    classes.settle()
    assert len(classes._heaps[0]) < 200
    assert classes.front(0) == 1


def test_numbers_of_classes_are_used_again() -> None:
    classes = Standings()
    classes.rebuild(np.array([True, True]), np.array([5, 9], np.int64), [np.array([0, 0], np.int64)])
    for turn in range(100):
        classes.put(0, 5, (turn,))
        classes.settle()
    assert len(classes.tops) <= 3
    assert classes.varies == [True]
