"""Durations as Go reads and writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.model.go.durations import DurationError, duration_text, parse_duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0),
        ("+0", 0),
        ("0s", 0),
        ("15s", 15 * SECOND),
        ("1.5s", 3 * SECOND // 2),
        (".5s", SECOND // 2),
        ("1.s", SECOND),
        ("-2m", -120 * SECOND),
        ("1h30m0.5s", 5400 * SECOND + SECOND // 2),
        ("1us2µs3μs4ns", 6004),
        ("100ms", SECOND // 10),
        ("9223372036s", 9223372036 * SECOND),
    ],
)
def test_reading(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        ("s", 'time: invalid duration "s"'),
        (".s", 'time: invalid duration ".s"'),
        ("abc", 'time: invalid duration "abc"'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("1s 2s", 'time: unknown unit "s " in duration "1s 2s"'),
        ("9223372037s", 'time: invalid duration "9223372037s"'),
    ],
)
def test_what_is_no_duration(text: str, expected: str) -> None:
    with pytest.raises(DurationError) as error:
        parse_duration(text)
    assert str(error.value) == expected


@pytest.mark.parametrize(
    ("nanoseconds", "expected"),
    [
        (0, "0s"),
        (1, "1ns"),
        (1100, "1.1µs"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (245 * SECOND, "4m5s"),
        (245 * SECOND + 1_000_000, "4m5.001s"),
        (18367 * SECOND + 1_000_000, "5h6m7.001s"),
        (3600 * SECOND, "1h0m0s"),
        (-1_500_000_000, "-1.5s"),
    ],
)
def test_writing(nanoseconds: int, expected: str) -> None:
    assert duration_text(nanoseconds) == expected


@given(st.integers(-(2**62), 2**62))
def test_what_is_written_can_be_read(nanoseconds: int) -> None:
    assert parse_duration(duration_text(nanoseconds)) == nanoseconds
