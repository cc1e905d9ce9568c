import pytest

from moorage.admit.kinds.fields import int_or_percent_value


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        ("25%", 25),
        ("0%", 0),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("007", 7),
        ("0" * 30 + "7", 7),
        ("x", 0),
        ("", 0),
        ("-", 0),
        ("--5", 0),
        ("-5%", 0),
        ("٥", 0),
    ],
)
def test_shares_that_are_text_are_numbers_too(value: int | str, number: int) -> None:
    assert int_or_percent_value(value) == number
