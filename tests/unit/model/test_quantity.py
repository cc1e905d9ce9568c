import math
from typing import Any

import pytest

from moorage.model.quantity import MAX_DIGITS, MAX_TEXT, ZERO, Format, Quantity, QuantityError, parse_quantity

FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
INT64_MAX = 2**63 - 1


@pytest.mark.parametrize(
    ("text", "canonical", "notation", "value", "milli"),
    [
        ("0", "0", Format.DECIMAL_SI, 0, 0),
        ("500m", "500m", Format.DECIMAL_SI, 1, 500),
        ("1000m", "1", Format.DECIMAL_SI, 1, 1000),
        ("-1500m", "-1500m", Format.DECIMAL_SI, -2, -1500),
        ("1.5Gi", "1536Mi", Format.BINARY_SI, 1610612736, 1610612736000),
        ("1024Mi", "1Gi", Format.BINARY_SI, 1 << 30, 1000 << 30),
        ("0.5Ki", "512", Format.BINARY_SI, 512, 512000),
        ("0.0005Ki", "512m", Format.DECIMAL_SI, 1, 512),
        ("1e3", "1e3", Format.DECIMAL_EXPONENT, 1000, 1000000),
        ("1E3", "1E3", Format.DECIMAL_EXPONENT, 1000, 1000000),
        ("1E", "1E", Format.DECIMAL_SI, 10**18, 0),
        ("1.500", "1.500", Format.DECIMAL_SI, 2, 1500),  # upstream takes the text for canonical
        ("+1", "+1", Format.DECIMAL_SI, 1, 1000),
        ("0.0000000001", "1n", Format.DECIMAL_SI, 1, 1),  # finer than nano is rounded up
        ("1000E", "1", Format.DECIMAL_SI, 0, 0),  # no letter beyond E: upstream prints none
        ("99999999999Gi", "9223372036854775807", Format.BINARY_SI, INT64_MAX, -1000),  # capped
        (".", "0", Format.DECIMAL_SI, 0, 0),
    ],
)
def test_parses_prints_and_rounds_as_kubernetes(
    text: str, canonical: str, notation: Format, value: int, milli: int
) -> None:
    quantity = parse_quantity(text)
    assert (str(quantity), quantity.format, quantity.value(), quantity.milli_value()) == (
        canonical,
        notation,
        value,
        milli,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORMAT_WRONG),
        (" 1", FORMAT_WRONG),
        ("abc", FORMAT_WRONG),
        ("1.2.3", FORMAT_WRONG),
        ("1K", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1e99999999999999999999", "unable to parse quantity's suffix"),
        (".e-10", "unable to parse numeric part of quantity"),
        ("1" * (MAX_TEXT + 1), "unable to parse numeric part of quantity"),
    ],
)
def test_refuses_with_the_message_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "canonical", "value"),
    [
        ("1e2147483647", "10e2147483646", 0),
        ("1e-2147483648", "1e-9", 1),
        ("12345678901234567890e2000000000", "1234567890123456789e2000000001", 0),
        ("1e4294967296", "1e4294967296", 1),  # upstream keeps the low 32 bits of an exponent
        ("0e2147483647", "0", 0),
        ("46457087064952998419e400", "464570870649529984190e399", 0),  # the low 64 bits
        ("1" * 4001 + "e400", "1" * 4001 + "0e399", 0),  # beyond what is multiplied out, the same
    ],
)
def test_huge_exponents_are_answered_without_being_multiplied_out(text: str, canonical: str, value: int) -> None:
    quantity = parse_quantity(text)
    assert (str(quantity), quantity.value()) == (canonical, value)
    assert quantity.compare(quantity) == 0
    assert isinstance(hash(quantity), int)


def test_sums_with_too_many_digits_are_refused() -> None:
    with pytest.raises(QuantityError, match=f"more than {MAX_DIGITS} digits"):
        parse_quantity("1Ki").add(parse_quantity("1e2147483647"))


@pytest.mark.parametrize(
    ("a", "b", "total", "difference"),
    [
        ("1", "1m", "1001m", "999m"),
        ("1Gi", "1Mi", "1025Mi", "1023Mi"),
        ("0", "1Gi", "1Gi", "-1Gi"),  # a zero takes over the other's format
        ("0Ki", "1500m", "1500m", "-1500m"),
        ("1Ki", "1m", "1024001m", "1023999m"),
        ("9223372036854775807", "1", "9223372036854775808", "9223372036854775806"),
    ],
)
def test_adds_and_subtracts(a: str, b: str, total: str, difference: str) -> None:
    assert str(parse_quantity(a).add(parse_quantity(b))) == total
    assert str(parse_quantity(a).sub(parse_quantity(b))) == difference


def test_equal_amounts_are_equal_and_hash_alike_however_written() -> None:
    same = [parse_quantity(text) for text in ("1", "1000m", "1e0", "1.0", "0.001k", "1000000000n")]
    assert len(set(same)) == 1
    assert parse_quantity("1Ki") > parse_quantity("1k")
    assert parse_quantity("1") != "1"


@pytest.mark.parametrize(
    ("text", "whole"), [("1k", 1000), ("1000m", None), ("1.5", None), ("1e19", None), ("8Ei", None), ("0", 0)]
)
def test_as_int64_gives_up_where_kubernetes_does(text: str, whole: int | None) -> None:
    assert parse_quantity(text).as_int64() == whole
    assert parse_quantity(text).is_integer() is (whole is not None)


def test_approximate_floats() -> None:
    assert parse_quantity("1500m").as_approximate_float() == 1.5
    assert parse_quantity("2Gi").as_approximate_float() == 2.0**31
    assert math.isinf(parse_quantity("1e400").as_approximate_float())
    assert parse_quantity("-" + "9" * 400).as_approximate_float() == -math.inf


def test_quantities_are_immutable_and_show_themselves() -> None:
    quantity: Any = parse_quantity("1Gi")
    with pytest.raises(AttributeError):
        quantity.mantissa = 2
    assert repr(quantity) == "Quantity('1Gi')"
    assert ZERO.is_zero()
    assert str(Quantity.from_milli(1500)) == "1500m"
    assert str(Quantity.from_int(2048, Format.BINARY_SI)) == "2Ki"
