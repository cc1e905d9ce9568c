import math

import pytest

from moorage.model.go.integers import (
    INT64_MAX,
    INT64_MIN,
    fits_int64,
    pow10_float,
    pow10_int64,
    read_int,
    scale_down,
    scale_up,
    wrap32,
    wrap64,
)


def test_wrapping() -> None:
    assert [wrap32(number) for number in (2**31, -(2**31) - 1, 2**32, 5)] == [-(2**31), 2**31 - 1, 0, 5]
    assert [wrap64(number) for number in (2**63, -(2**63) - 1, 2**64, -5)] == [INT64_MIN, INT64_MAX, 0, -5]
    assert fits_int64(INT64_MAX)
    assert not fits_int64(INT64_MAX + 1)


@pytest.mark.parametrize(
    ("base", "scale", "result"),
    [
        (5, 0, (5, True)),
        (5, 3, (5000, True)),
        (5, 18, (5 * 10**18, True)),
        (10, 18, (0, False)),
        (INT64_MAX, 1, (-10, False)),  # one multiplication: the overflowed product is handed out
        (INT64_MAX, 4, (0, False)),  # several: nothing is
        (INT64_MIN, 1, (0, False)),
        (0, 2**31, (0, True)),
        (1, 2**31, (0, False)),
    ],
)
def test_scaling_up_overflows_as_kubernetes_does(base: int, scale: int, result: tuple[int, bool]) -> None:
    assert scale_up(base, scale) == result


@pytest.mark.parametrize(
    ("base", "scale", "result"),
    [
        (1500, 3, (2, False)),
        (-1500, 3, (-2, False)),
        (2000, 3, (2, True)),
        (1, 100, (1, False)),
        (-1, 2**31, (-1, False)),
        (0, 2**31, (0, True)),
    ],
)
def test_scaling_down_rounds_away_from_zero(base: int, scale: int, result: tuple[int, bool]) -> None:
    assert scale_down(base, scale) == result


def test_powers_of_ten() -> None:
    assert pow10_float(3) == 1000.0
    assert pow10_float(-3) == 0.001
    assert pow10_float(308) == 1e308
    assert math.isinf(pow10_float(309))
    assert pow10_float(-324) == 0.0
    assert pow10_int64(18) == 10**18
    assert pow10_int64(19) == INT64_MIN


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("0" * 5000 + "7", 7),
        ("9223372036854775807", INT64_MAX),
        ("-9223372036854775808", INT64_MIN),
        ("9223372036854775808", None),
        ("1" * 5000, None),
        ("", None),
        ("-", None),
        ("1_0", None),
        (" 1", None),
        ("٣", None),
    ],
)
def test_integers_of_any_length_are_read_or_refused(text: str, number: int | None) -> None:
    assert read_int(text) == number


def test_integers_are_read_within_a_range() -> None:
    assert [read_int(text, 0, 255) for text in ("-1", "0", "255", "256")] == [None, 0, 255, None]
