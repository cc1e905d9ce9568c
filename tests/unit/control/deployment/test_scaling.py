"""Another size during a rollout is shared out; one step of a rollout."""

from typing import Any

import pytest
from tests.unit.control.workloads import deployment, replica_set, rolling, seen

from moorage.client.protocol import Object
from moorage.control.deployment.rollout import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    Family,
)


def _set(name: str, size: int, available: int | None = None, most: int = 0, desired: int = 0, **more: Any) -> Object:
    raw = replica_set(name, size)
    image = "new" if name == "new" else name
    raw["spec"]["template"]["metadata"]["labels"] = {"app": "d"}
    raw["spec"]["template"]["spec"]["containers"][0]["image"] = image
    raw["metadata"] |= {"creationTimestamp": f"2026-01-01T00:00:0{more.get('age', 0)}Z", "generation": 1}
    raw["metadata"]["annotations"] = {DESIRED_REPLICAS: str(desired), MAX_REPLICAS: str(most)} if most else {}
    status = {"replicas": more.get("replicas", size), "observedGeneration": more.get("seen", 1)}
    raw["status"] = {**status, "availableReplicas": size if available is None else available}
    return seen(raw)


def _family(replicas: int, surge: int | str, unavailable: int | str, *sets: Object) -> Family:
    return Family(seen(deployment("d", replicas, "new", strategy=rolling(surge, unavailable))), sets)


def _sizes(family: Family) -> list[int]:
    return [family.size(found) for found in sorted(family.all, key=lambda found: found.name)]


@pytest.mark.parametrize(
    ("replicas", "before", "after"),
    [
        (12, (8, 2), (10, 2)),
        (5, (8, 2), (4, 1)),
        (0, (8, 2), (0, 0)),
        (20, (5, 5), (10, 10)),
        (15, (5, 5), (7, 8)),
        (3, (6, 4), (2, 1)),
    ],
)
def test_everybody_gets_a_share(replicas: int, before: tuple[int, int], after: tuple[int, int]) -> None:
    sets = [_set("a", before[0], most=10, desired=10), _set("new", before[1], most=10, desired=10, age=1)]
    family = _family(replicas, 0, 1, *sets)
    assert family.is_scaling()
    assert family.scale()
    assert tuple(_sizes(family)) == after
    assert sum(after) == replicas


def test_the_only_one_gets_everything() -> None:
    family = _family(9, 2, 1, _set("a", 0), _set("new", 3, most=5, desired=3))
    assert family.is_scaling()
    family.scale()
    assert _sizes(family) == [0, 9]


def test_nobody_is_scaled_when_the_size_is_the_same() -> None:
    family = _family(10, 2, 1, _set("a", 8, most=12, desired=10), _set("new", 4, most=12, desired=10))
    assert not family.is_scaling()


def test_once_the_new_one_is_complete_the_old_ones_go() -> None:
    family = _family(3, 2, 1, _set("a", 2, most=5, desired=4), _set("new", 3, most=5, desired=3))
    family.scale()
    assert _sizes(family) == [0, 3]


def test_nobody_grows_before_the_others_have_shrunk() -> None:
    for late in ({"replicas": 9}, {"seen": 0}):
        family = _family(10, 0, 2, _set("a", 8, **late), _set("new", 0))
        assert family.new is not None
        assert not family.grow_new(family.new)
        assert _family(10, 0, 2, _set("a", 8, **late)).initial_size() == 0
        growing = _family(20, 0, 2, _set("a", 8, most=10, desired=10, **late), _set("new", 1, most=10, desired=10))
        assert growing.scale() == []
        assert _sizes(growing) == [8, 1]
    family = _family(10, 0, 2, _set("a", 8), _set("new", 0))
    assert family.new is not None
    assert family.grow_new(family.new)
    assert _sizes(family) == [8, 2]
    assert _family(10, 3, 2, _set("a", 10)).initial_size() == 3


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((10, 10), (3, 0), (8, 3)),  # as many as may be missing
        ((8, 8), (5, 0), None),  # the new ones do not come up: the old ones stay
        ((8, 8), (5, 3), (5, 5)),
        ((8, 10), (5, 3), (5, 5)),  # an old status does not cost more than there is
        ((10, 7), (3, 0), (8, 3)),  # those that are not available go, and count as missing no more
        ((0, 0), (10, 10), None),
    ],
)
def test_old_pods_go_as_far_as_enough_stay_available(
    old: tuple[int, int], new: tuple[int, int], expected: tuple[int, int] | None
) -> None:
    family = _family(10, 3, 2, _set("a", old[0], old[1]), _set("new", new[0], new[1]))
    assert family.new is not None
    assert family.shrink_old(family.new) == (expected is not None)
    assert tuple(_sizes(family)) == (expected or (old[0], new[0]))
