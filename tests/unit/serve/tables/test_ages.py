import pytest

from moorage.serve.tables.columns import Ages, human_duration, moment

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1.9, "0s"),
        (-0.5, "0s"),
        (0, "0s"),
        (0.99, "0s"),
        (2 * MINUTE - 1, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 1, "2m1s"),
        (10 * MINUTE - 1, "9m59s"),
        (10 * MINUTE, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"),
        (8 * HOUR - 1, "7h59m"),
        (8 * HOUR, "8h"),
        (2 * DAY - 1, "47h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY - 1, "7d23h"),
        (8 * DAY, "8d"),
        (2 * YEAR - 1, "729d"),
        (2 * YEAR, "2y"),
        (2 * YEAR + DAY, "2y1d"),
        (8 * YEAR - 1, "7y364d"),
        (8 * YEAR, "8y"),
        (80 * YEAR, "80y"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("1970-01-01T00:00:00.250000Z", 0.25),
        ("1970-01-01T00:01:00", 60.0),
        ("yesterday", None),
        ("", None),
        (None, None),
        (5, None),
        ("0001-01-01T00:00:00Z", -62135596800.0),
    ],
)
def test_moments(text: object, seconds: float | None) -> None:
    assert moment(text) == seconds


def test_ages_are_as_of_one_moment() -> None:
    ages = Ages(1000.0)
    assert [ages.since("1970-01-01T00:16:00Z"), ages.since("1970-01-01T00:16:00Z")] == ["40s", "40s"]
    assert [ages.since(None), ages.since("soon"), ages.since(7)] == ["<unknown>"] * 3
