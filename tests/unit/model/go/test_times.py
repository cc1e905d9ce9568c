import re

import pytest

from moorage.model.go.times import MICRO_TIME_PATTERN, TIME_PATTERN, time_complaint

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
