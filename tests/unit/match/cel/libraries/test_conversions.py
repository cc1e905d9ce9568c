"""Conversions: what reads, what prints, and what does neither."""

import math
from typing import Any

import pytest

from moorage.match.cel import CelError, Environment, Program, compile_expression, types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS
from moorage.match.cel.libraries.conversions import format_double
from moorage.match.cel.values import Duration, Timestamp, UInt

ENVIRONMENT = Environment(KUBERNETES_FUNCTIONS, variables={"x": types.DYN}, homogeneous=False)


def convert(function: str, value: Any) -> Any:
    program = compile_expression(f"{function}(x)", ENVIRONMENT)
    assert isinstance(program, Program)
    return program.run({"x": value})


@pytest.mark.parametrize(
    ("function", "value", "want"),
    [
        ("int", "+5", 5),
        ("int", "-9223372036854775808", -(2**63)),
        ("int", 3.99, 3),
        ("int", -3.99, -3),
        ("int", UInt(7), 7),
        ("int", Timestamp(-1), -1),
        ("int", Duration(5), 5),
        ("uint", "18446744073709551615", UInt(2**64 - 1)),
        ("uint", 3.0, UInt(3)),
        ("double", "1e3", 1000.0),
        ("double", "-Inf", -math.inf),
        ("double", "0x1p4", 16.0),
        ("double", 2**53 + 1, float(2**53)),
        ("bool", "True", True),
        ("bool", "f", False),
        ("string", True, "true"),
        ("string", -7, "-7"),
        ("string", UInt(7), "7"),
        ("string", b"\xc3\xa9", "é"),
        ("string", Duration(1_500_000_000), "1.5s"),
        ("string", Duration(-1), "-0.000000001s"),
        ("string", Duration(3_600_000_000_000), "3600s"),
        ("string", Timestamp(1_500_000_000), "1970-01-01T00:00:01.5Z"),
        ("string", Timestamp(0, 3600), "1970-01-01T01:00:00+01:00"),
        ("string", Timestamp(0, -5400), "1969-12-31T22:30:00-01:30"),
        ("bytes", "é", b"\xc3\xa9"),
        ("timestamp", 60, Timestamp(60_000_000_000)),
        ("type", 1, types.INT),
        ("dyn", "a", "a"),
    ],
)
def test_values(function: str, value: Any, want: Any) -> None:
    got = convert(function, value)
    assert got == want
    assert type(got) is type(want)


@pytest.mark.parametrize(
    ("function", "value", "error"),
    [
        ("int", "1_000", "type conversion error from 'string' to 'int'"),
        ("int", " 1", "type conversion error from 'string' to 'int'"),
        ("int", "٣", "type conversion error from 'string' to 'int'"),
        ("int", "9" * 5000, "type conversion error from 'string' to 'int'"),
        ("int", "9223372036854775808", "type conversion error from 'string' to 'int'"),
        ("int", 2.0**63, "integer overflow"),
        ("int", -(2.0**63), "integer overflow"),
        ("int", math.nan, "integer overflow"),
        ("int", UInt(2**63), "integer overflow"),
        ("uint", "+1", "type conversion error from 'string' to 'uint'"),
        ("uint", -1, "unsigned integer overflow"),
        ("uint", 2.0**64, "unsigned integer overflow"),
        ("double", "1e999", "type conversion error from 'string' to 'double'"),
        ("double", "0x1p9999", "type conversion error from 'string' to 'double'"),
        ("double", "1.2.3", "type conversion error from 'string' to 'double'"),
        ("bool", "yes", "type conversion error from 'string' to 'bool'"),
        ("string", b"\xff", "invalid UTF-8 in bytes, cannot convert to string"),
        ("duration", "1d", "type conversion error from 'string' to 'google.protobuf.Duration'"),
        ("duration", 5, "type conversion error from 'int' to 'google.protobuf.Duration'"),
        ("timestamp", "2020", "type conversion error from 'string' to 'google.protobuf.Timestamp'"),
        ("timestamp", 253402300800, "timestamp overflow"),
        ("string", [], "no such overload: string(list)"),
    ],
)
def test_failures(function: str, value: Any, error: str) -> None:
    with pytest.raises(CelError) as raised:
        convert(function, value)
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (123456.0, "123456"),
        (1234567.0, "1.234567e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (0.00001234, "1.234e-05"),
        (-12.5, "-12.5"),
        (1e-320, "1e-320"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_print_as_in_go(value: float, text: str) -> None:
    assert format_double(value) == text
