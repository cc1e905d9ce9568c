import pytest

from moorage.schedule.queue_timers import Backoff


@pytest.mark.parametrize(
    ("failures", "seconds"), [(0, 0.0), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 10.0), (6, 10.0), (10**9, 10.0)]
)
def test_doubles_up_to_the_limit(failures: int, seconds: float) -> None:
    assert Backoff().seconds(failures) == seconds


def test_limit_below_the_first() -> None:
    assert Backoff(initial=5.0, longest=3.0).seconds(1) == 3.0
