"""What somebody probably meant."""

from __future__ import annotations

import pytest

from moorage.lint.hints import canonical_number, nearest_version
from moorage.lint.rules.compared_values import is_distribution_build
from moorage.match.semver import parse


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("007", "7"),
        ("-007", "-7"),
        ("+5", "5"),
        ("-0", "0"),
        ("00", "0"),
        ("1,000", "1000"),
        ("5.00", "5"),
        ("2E+3", "2000"),
        ("9223372036854775808", None),
        ("1e99", None),
        ("5.5", None),
        ("five", None),
        ("", None),
        ("٣", None),
        ("0" * 200 + "1", None),
    ],
)
def test_canonical_number(text: str, number: str | None) -> None:
    assert canonical_number(text) == number


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("containerd://2.1.4", "2.1.4"),
        ("v1.2.3.4", "1.2.3"),
        ("1.2-rc1", "1.2.0-rc1"),
        ("1.2.3-01", "1.2.3"),
        ("kernel 6", "6.0.0"),
        ("1.2.3", None),
        ("latest", None),
        ("9" * 50, None),
        ("", None),
    ],
)
def test_nearest_version(text: str, version: str | None) -> None:
    assert nearest_version(text) == version


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("5.15.0-91-generic", True),
        ("5.15.0-91", True),
        ("1.30.5-gke.1", True),
        ("1.0.0-custom", True),
        ("1.0.0-rc.1", False),
        ("1.0.0-RC1", False),
        ("1.0.0-beta-2", False),
        ("1.0.0-0", False),
        ("1.0.0-0.20240101", False),
        ("1.0.0", False),
        ("1.0.0+91", False),
    ],
)
def test_is_distribution_build(version: str, expected: bool) -> None:
    assert is_distribution_build(parse(version)) is expected
