"""The pattern by which views are checked and the parser that explains must agree on what a time is."""

import re
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.model.go.times import TIME_PATTERN, time_complaint

_DIGITS = st.integers(0, 62).map(lambda number: f"{number:02}")
_MONTHS = st.sampled_from(["00", "01", "02", "02", "04", "12", "13"])
_DAYS = st.sampled_from(["00", "01", "28", "29", "30", "31", "32"])
_YEARS = st.sampled_from(["2023", "2024", "1900", "2000", "0000"])
_ZONES = st.one_of(st.just("Z"), st.tuples(st.sampled_from("+-"), _DIGITS, st.just(":"), _DIGITS).map("".join))
TIMES = st.builds(
    lambda year, month, day, hour, minute, second, fraction, zone, tail: (
        f"{year}-{month}-{day}T{hour}:{minute}:{second}{fraction}{zone}{tail}"
    ),
    _YEARS,
    _MONTHS,
    _DAYS,
    st.sampled_from(["00", "7", "19", "23", "24"]),
    st.sampled_from(["00", "59", "60"]),
    st.sampled_from(["00", "59", "60"]),
    st.sampled_from(["", "", ".5", ",5", "."]),
    _ZONES,
    st.sampled_from(["", "", "x", "\n"]),
)


Complain = Callable[[str], str | None]


def pattern_law(complain: Complain) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(TIMES | st.text())
    def law(text: str) -> None:
        assert (complain(text) is None) == bool(re.search(TIME_PATTERN, text))

    return law


def test_the_pattern_matches_times_only_and_all() -> None:
    pattern_law(time_complaint)()


def test_the_law_notices_a_reader_without_a_calendar() -> None:
    assert_notices(pattern_law(lambda text: None if "-31T" in text else time_complaint(text)))
