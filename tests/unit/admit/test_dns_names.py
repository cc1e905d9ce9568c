"""DNS names as field errors."""

import pytest

from moorage.admit.metadata import mask_trailing_dash, validate_dns_label, validate_dns_subdomain


@pytest.mark.parametrize("name", ["a", "a" * 63, "0-9"])
def test_good_labels(name: str) -> None:
    assert validate_dns_label(name, "x") == []
    assert validate_dns_subdomain(f"{name}.{name}", "x") == []


def test_each_complaint_is_an_error_of_its_own() -> None:
    long = "A" * 300
    assert [str(error).split(" (")[0] for error in validate_dns_subdomain(long, "spec.x")] == [
        f'spec.x: Invalid value: "{long}": must be no more than 253 characters',
        f'spec.x: Invalid value: "{long}": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric '
        "characters, '-' or '.', and must start and end with an alphanumeric character",
    ]
    assert [str(error) for error in validate_dns_label("a.b", "x")] == [
        'x: Invalid value: "a.b": must not contain dots'
    ]


@pytest.mark.parametrize(
    ("prefix", "masked"), [("", ""), ("-", "-"), ("a-", "a"), ("ab-", "aa"), ("ab", "ab"), ("a_-", "aa")]
)
def test_a_prefix_may_end_in_a_dash(prefix: str, masked: str) -> None:
    assert mask_trailing_dash(prefix) == masked
