"""How amounts go on over time, and which texts say none."""

import pytest

from moorage.usage.courses import CourseError, Trace, read_course, read_trace


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("200m", {0: 0.2, 1e9: 0.2}),
        ("1Gi", {0: 2.0**30}),
        ("steps(0s=100m, 10m=400m, 30m=100m)", {-5: 0.1, 0: 0.1, 599: 0.1, 600: 0.4, 1799: 0.4, 1800: 0.1, 1e6: 0.1}),
        ("steps(60=1,120=2)", {0: 1, 60: 1, 119: 1, 120: 2}),
        ("pulse(2, 4, 10m, 20m)", {0: 2, 599: 2, 600: 4, 1799: 4, 1800: 2}),
        ("pulse(2, 4, 0s, 20m)", {0: 4, 1199: 4, 1200: 2}),
        ("ramp(1, 3, 10m)", {-1: 1, 0: 1, 300: 2, 600: 3, 9999: 3}),
        ("sine(1, 3, 1h)", {0: 1, 900: 2, 1800: 3, 2700: 2, 3600: 1, 5400: 3}),
    ],
)
def test_amount_at_times(text: str, amounts: dict[float, float]) -> None:
    course = read_course(text)
    assert not isinstance(course, Trace)
    assert {time: course.at(time) for time in amounts} == pytest.approx(amounts)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is not an amount"),
        ("-1", "is not an amount"),
        ("two", '"two" is not an amount'),
        ("steps(0s=1", "does not end with a bracket"),
        ("jump(1, 2)", '"jump" is not one of pulse, ramp, sine, steps, trace'),
        ("steps(1)", "TIME=AMOUNT"),
        ("steps(10m=1, 5m=2)", "must grow"),
        ("steps(soon=1)", '"soon" is not a time'),
        ("ramp(1, 2)", "ramp(FIRST, LAST, TIME)"),
        ("ramp(1, 2, 0s)", "more than 0"),
        ("pulse(1, 2, -5s, 10s)", "is not a time"),
        ("trace(name)", "trace(CONFIGMAP/KEY)"),
        ("1" * 5000, "5,000 characters"),
    ],
)
def test_text_that_is_no_course(text: str, why: str) -> None:
    with pytest.raises(CourseError) as refused:
        read_course(text)
    assert why in str(refused.value)


def test_trace_names_its_column() -> None:
    assert read_course("trace(traffic/day.csv, rps)") == Trace("traffic", "day.csv", "rps")
    assert read_course("trace(traffic/day.csv)") == Trace("traffic", "day.csv", "")


CSV = "seconds,cpu,rps\n0,100m,5\n\n60,0.4,10\n1h,1,0\n"


def test_column_of_a_trace() -> None:
    cpu, rps = read_trace(CSV, "cpu"), read_trace(CSV, "rps")
    assert [cpu.at(time) for time in (0, 59, 60, 3599, 3600, 1e6)] == pytest.approx([0.1, 0.1, 0.4, 0.4, 1, 1])
    assert rps.at(61) == 10


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "first line must name the columns"),
        ("when,cpu\n0,1", "first line must name the columns"),
        ("seconds,memory\n0,1", 'no column "cpu"'),
        ("seconds,cpu\n", "0 rows"),
        ("seconds,cpu\n0", "line 2 has no cpu"),
        ("seconds,cpu\n0,much", 'line 2: "much" is not an amount'),
        ("seconds,cpu\n5,1\n5,2", "line 3: times must grow"),
    ],
)
def test_text_that_is_no_trace(text: str, why: str) -> None:
    with pytest.raises(CourseError) as refused:
        read_trace(text, "cpu")
    assert why in str(refused.value)
