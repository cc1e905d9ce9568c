import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.model.go.times import (
    MICRO_TIME_PATTERN,
    TIME_PATTERN,
    DurationError,
    duration_text,
    parse_duration,
    time_complaint,
)

LAYOUT = "2006-01-02T15:04:05Z07:00"

TIMES = [
    "2024-01-01T00:00:00Z",
    "2024-02-29T23:59:59.123456789123Z",
    "2000-02-29T00:00:00,5Z",
    "0000-02-29T00:00:00Z",
    "2024-01-01T1:00:00+24:60",
    "2024-12-31T00:00:00-01:30",
]
NOT_TIMES = {
    "": ("", "2006"),
    "1Gi": ("1Gi", "2006"),
    "20x4-01-01T00:00:00Z": ("20x4-01-01T00:00:00Z", "2006"),
    "2024": ("", "-"),
    "2024-1-01T00:00:00Z": ("1-01T00:00:00Z", "01"),
    "2024-01-1T00:00:00Z": ("1T00:00:00Z", "02"),
    "2024-01-01": ("", "T"),
    "2024-01-01 00:00:00Z": (" 00:00:00Z", "T"),
    "2024-01-01T00:0:00Z": ("0:00Z", "04"),
    "2024-01-01T00:00:00": ("", "Z07:00"),
    "2024-01-01T00:00:00.": (".", "Z07:00"),
    "2024-01-01T00:00:00x01:00": ("x01:00", "Z07:00"),
    "2024-01-01T00:00:00+0100": ("+0100", "Z07:00"),
}
OUT_OF_RANGE = {
    "2024-00-01T00:00:00Z": "month out of range",
    "2024-01-00T00:00:00Z": "day out of range",
    "2023-02-29T00:00:00Z": "day out of range",
    "1900-02-29T00:00:00Z": "day out of range",
    "2024-04-31T00:00:00Z": "day out of range",
    "2024-01-01T24:00:00Z": "hour out of range",
    "2024-01-01T00:60:00Z": "minute out of range",
    "2024-01-01T00:00:60Z": "second out of range",
    "2024-01-01T00:00:00+25:00": "time zone offset hour out of range",
    "2024-01-01T00:00:00+24:61": "time zone offset minute out of range",
    '2024-01-01T00:00:00Zé"\n': 'extra text: "\\xc3\\xa9\\"\\x0a"',
}


@pytest.mark.parametrize("text", TIMES)
def test_times(text: str) -> None:
    assert time_complaint(text) is None
    assert re.search(TIME_PATTERN, text)


@pytest.mark.parametrize(("text", "stumbled"), NOT_TIMES.items())
def test_text_that_is_no_time(text: str, stumbled: tuple[str, str]) -> None:
    rest, wanted = stumbled
    assert time_complaint(text) == f'parsing time "{text}" as "{LAYOUT}": cannot parse "{rest}" as "{wanted}"'
    assert not re.search(TIME_PATTERN, text)


@pytest.mark.parametrize(("text", "complaint"), OUT_OF_RANGE.items())
def test_times_that_do_not_exist(text: str, complaint: str) -> None:
    found = time_complaint(text)
    assert found is not None
    assert found.endswith(f": {complaint}")
    assert not re.search(TIME_PATTERN, text)


@pytest.mark.parametrize("text", ["2024-01-01T00:00:00.000000Z", "2024-01-01T00:00:00,123456+01:00"])
def test_times_with_microseconds(text: str) -> None:
    assert time_complaint(text, micro=True) is None
    assert re.search(MICRO_TIME_PATTERN, text)


@pytest.mark.parametrize(
    ("text", "rest", "wanted"),
    [
        ("2024-01-01T00:00:00Z", "Z", ".000000"),
        ("2024-01-01T00:00:00.5Z", ".5Z", ".000000"),
        ("2024-01-01T00:00:00.1234567Z", "7Z", "Z07:00"),
    ],
)
def test_microseconds_have_six_digits(text: str, rest: str, wanted: str) -> None:
    layout = "2006-01-02T15:04:05.000000Z07:00"
    found = time_complaint(text, micro=True)
    assert found == f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{wanted}"'
    assert not re.search(MICRO_TIME_PATTERN, text)


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
def test_invalid_durations_are_refused(text: str, expected: str) -> None:
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
def test_written_durations_can_be_parsed(nanoseconds: int) -> None:
    assert parse_duration(duration_text(nanoseconds)) == nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0" * 5000 + "1s", 1_000_000_000),
        ("0s" * 5000, 0),
        ("-9223372036854775808ns", -(2**63)),
        ("0.9223372036854775807s", 922_337_203),
        ("0.00000000000000000001h", 0),
        ("." + "0" * 400 + "1h", 0),
    ],
)
def test_long_durations_are_read(text: str, nanoseconds: int) -> None:
    assert parse_duration(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1" * 5000, "invalid duration"),  # Go gives up on the number before it misses the unit
        ("1" * 5000 + "s", "invalid duration"),
        ("9223372036854775808x", "unknown unit"),
        ("9223372036854775809x", "invalid duration"),
        ("9223372036854775808ns", "invalid duration"),
        ("2562048h", "invalid duration"),
        ("1.", "missing unit"),
    ],
)
def test_durations_that_do_not_fit_are_refused_in_the_words_of_go(text: str, why: str) -> None:
    with pytest.raises(DurationError, match=f"time: {why}"):
        parse_duration(text)
