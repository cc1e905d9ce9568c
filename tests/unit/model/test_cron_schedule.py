"""When schedules are due."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.model.cron_schedule import ScheduleError, parse_schedule


def _times(schedule: str, after: str, count: int = 3, zone: str = "") -> list[str]:
    parsed = parse_schedule(schedule, zone)
    at: float | None = datetime.fromisoformat(after).timestamp()
    found = []
    for _ in range(count):
        assert at is not None
        at = parsed.next_after(at)
        assert at is not None
        found.append(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    return found


@pytest.mark.parametrize(
    ("schedule", "after", "times"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:01:00Z", "2026-01-01T00:02:00Z"]),
        ("*/15 * * * *", "2026-01-01T00:50:30Z", ["2026-01-01T01:00:00Z", "2026-01-01T01:15:00Z"]),
        ("30 6-16/4 * * mon-fri", "2026-01-02T14:31:00Z", ["2026-01-05T06:30:00Z", "2026-01-05T10:30:00Z"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("0 0 13 * 5", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"]),
        ("0 0 */2 * 5", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]),
        ("@monthly", "2026-12-31T23:59:59Z", ["2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"]),
        ("@every 1h30m", "2026-01-01T00:00:10Z", ["2026-01-01T01:30:10Z", "2026-01-01T03:00:10Z"]),
        ("TZ=Asia/Tokyo 0 9 * * *", "2026-01-01T00:00:00Z", ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z"]),
    ],
)
def test_the_next_times_are_found(schedule: str, after: str, times: list[str]) -> None:
    assert _times(schedule, after, len(times)) == times


def test_an_hour_that_a_day_does_not_have_is_left_out_and_one_that_it_has_twice_comes_twice() -> None:
    assert _times("30 2 * * *", "2026-03-28T12:00:00Z", 2, "Europe/Berlin") == [
        "2026-03-30T00:30:00Z",
        "2026-03-31T00:30:00Z",
    ]
    assert _times("30 2 * * *", "2026-10-24T12:00:00Z", 3, "Europe/Berlin") == [
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:30:00Z",
        "2026-10-26T01:30:00Z",
    ]


@pytest.mark.parametrize("schedule", ["59 23 31 2 *", ", * * * *", "* , * * *", "* * * , *", "* * , * *"])
def test_a_schedule_that_is_never_due_does_not_take_long_to_say_so(schedule: str) -> None:
    assert parse_schedule(schedule, "America/New_York").next_after(1_767_225_600.0) is None


@pytest.mark.parametrize(
    ("schedule", "zone", "text"),
    [
        ("TZ=Nowhere * * * * *", "", "provided bad location Nowhere: unknown time zone Nowhere"),
        ("* * * * *", "Nowhere", "unknown time zone Nowhere"),
        ("@every 99999999999h", "", "failed to parse duration"),
        ("@every " + "1" * 5_000 + "s", "", "time: invalid duration"),
        ("@every " + "0s" * 5_000 + "x", "", "time: unknown unit"),
        ("@every 5", "", "time: missing unit in duration"),
    ],
)
def test_what_cannot_be_read_says_so(schedule: str, zone: str, text: str) -> None:
    with pytest.raises(ScheduleError, match=text):
        parse_schedule(schedule, zone)


_FIELDS = (
    st.sampled_from(["*", "*/7", "5", "0,30"]),
    st.sampled_from(["*", "3", "*/5", "22-23"]),
    st.sampled_from(["*", "1", "28-31", "*/2"]),
    st.sampled_from(["*", "2", "jan,jul"]),
    st.sampled_from(["*", "0", "1-5"]),
)


@settings(deadline=None)
@given(st.tuples(*_FIELDS), st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)))
def test_it_is_the_first_minute_that_matches_all_fields(fields: tuple[str, ...], after: datetime) -> None:
    start = after.replace(tzinfo=UTC)
    schedule = parse_schedule(" ".join(fields))
    found = schedule.next_after(start.timestamp())
    if found is None:
        return
    limit = datetime.fromtimestamp(found, UTC)
    at = start.replace(second=0, microsecond=0) + timedelta(minutes=1)
    minutes, hours, _, months, _ = (field.numbers for field in schedule.fields)
    while not (at.minute in minutes and at.hour in hours and at.month in months and schedule._has_day(at)):
        whole_day = timedelta(days=1) if at.hour == 0 == at.minute else timedelta(minutes=1)
        skips = at.month not in months or not schedule._has_day(at)
        at += whole_day if skips else timedelta(minutes=1)
    assert at == limit
