"""Durations, timestamps, calendars and time zones."""

import pytest

from moorage.match.cel.libraries.calendar import (
    civil_from_days,
    days_from_civil,
    format_timestamp,
    moment,
    offset_in_zone,
    parse_duration,
    parse_timestamp,
)
from moorage.match.cel.values import CelError, Timestamp

_SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("+0", 0),
        ("1s", _SECOND),
        ("-1.5h", -5400 * _SECOND),
        ("1h2m3s4ms5us6ns", 3723 * _SECOND + 4_005_006),
        ("1µs1μs", 2_000),
        (".5s", _SECOND // 2),
        ("1.s", _SECOND),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("9223372036854775808ns", None),
        ("99999999h", None),
        ("", None),
        ("-", None),
        ("1", None),
        (".s", None),
        ("1 s", None),
        ("1d", None),
    ],
)
def test_durations(text: str, nanos: int | None) -> None:
    duration = parse_duration(text)
    assert (None if duration is None else duration.nanos) == nanos


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
        ("2024-02-29T12:00:00+05:30", "2024-02-29T12:00:00+05:30"),
        ("2024-02-29T1:00:00,25Z", "2024-02-29T01:00:00.25Z"),
        ("2023-02-29T00:00:00Z", None),
        ("2023-13-01T00:00:00Z", None),
        ("2023-01-01T24:00:00Z", None),
        ("2023-01-01 00:00:00Z", None),
        ("2023-01-01T00:00:00", None),
        ("2023-01-01T00:00:00+25:00", None),
    ],
)
def test_timestamps(text: str, printed: str | None) -> None:
    timestamp = parse_timestamp(text)
    assert (None if timestamp is None else format_timestamp(timestamp)) == printed


def test_years_out_of_range_overflow() -> None:
    with pytest.raises(CelError, match="timestamp overflow"):
        parse_timestamp("0000-12-31T23:59:59Z")


def test_days_and_dates_are_inverse() -> None:
    for days in (*range(-800_000, 3_000_000, 9973), 0, 59, 60, 11016, 11017):
        assert days_from_civil(*civil_from_days(days)) == days


def test_a_moment_knows_its_weekday_and_day_of_the_year() -> None:
    at = moment(Timestamp(0), 0)
    assert (at.year, at.month, at.day, at.weekday, at.day_of_year) == (1970, 1, 1, 4, 0)
    assert moment(Timestamp(-1), 0)[:3] == (1969, 12, 31)
    assert moment(Timestamp(0), -3600).hour == 23


@pytest.mark.parametrize(
    ("zone", "seconds"),
    [("", 0), ("UTC", 0), ("+01:30", 5400), ("-01:30", -5400), ("02:00", 7200), ("Europe/Berlin", 3600)],
)
def test_offsets(zone: str, seconds: int) -> None:
    assert offset_in_zone(Timestamp(0), zone) == seconds


@pytest.mark.parametrize(
    ("zone", "error"),
    [
        ("Nowhere/City", "unknown time zone Nowhere/City"),
        ("../etc/passwd", "unknown time zone ../etc/passwd"),
        ("x:00", 'strconv.Atoi: parsing "x": invalid syntax'),
    ],
)
def test_unknown_time_zones_are_refused(zone: str, error: str) -> None:
    with pytest.raises(CelError) as raised:
        offset_in_zone(Timestamp(0), zone)
    assert str(raised.value) == error


def test_first_and_last_timestamps_have_offsets() -> None:
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"):
        timestamp = parse_timestamp(text)
        assert timestamp is not None
        assert isinstance(offset_in_zone(timestamp, "America/New_York"), int)
