"""How many too many, how many too few."""

import pytest
from tests.unit.control.workloads import deployment, rolling, seen

from moorage.control.deployment.rollout import Bounds, bounds_of
from moorage.control.framework.workloads import scaled


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (10, 3, 2, (3, 2)),
        (2, 0, "1%", (0, 1)),
        (1, 0, "1%", (0, 1)),
        (2, "1%", "25%", (1, 0)),
        (1, "1%", 0, (1, 0)),
        (3, 0, 5, (0, 3)),
        (0, "25%", "25%", (0, 0)),
    ],
)
def test_surge_is_rounded_up_and_unavailability_down(
    replicas: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    bounds = bounds_of(seen(deployment("d", replicas, strategy=rolling(surge, unavailable))).view)
    assert bounds == Bounds(replicas, *expected)
    assert (bounds.max_pods, bounds.min_available) == (replicas + expected[0], replicas - expected[1])


def test_recreate_has_neither() -> None:
    assert bounds_of(seen(deployment("d", 5, strategy={"type": "Recreate"})).view) == Bounds(5, 0, 0)


@pytest.mark.parametrize("text", ["", "%", "5", "-5%", "five%", "9" * 50 + "%"])
def test_what_cannot_be_read_is_none(text: str) -> None:
    assert scaled(text, 10, up=True) == 0
