"""The syntax of names, at its edges."""

from collections.abc import Callable

import pytest

from moorage.model import names

NAME_63 = "a" * 63
GOOD: list[tuple[Callable[[str], list[str]], list[str]]] = [
    (names.label_key_errors, ["a", "A.b_c-9", "example.com/a", NAME_63, "a" * 253 + "/a"]),
    (names.label_value_errors, ["", "a", "5", "v1.2.3", NAME_63, "A_b.c"]),
    (names.dns1123_label_errors, ["a", "9", "a-b", NAME_63]),
    (names.dns1123_subdomain_errors, ["a", "a.b", "9-a.b", "a" * 253]),
    (names.dns1123_subdomain_with_underscore_errors, ["a", "_a.b_c"]),
    (names.dns1035_label_errors, ["a", "a-9"]),
    (names.port_name_errors, ["http", "a-1", "a" * 15]),
    (names.relaxed_environment_name_errors, ["A", "1", "a b", "~"]),
    (names.http_header_name_errors, ["X-Forwarded-For"]),
    (names.config_key_errors, ["a.b", ".hidden", "A_B"]),
    (names.percent_errors, ["0%", "93%"]),
]
BAD: list[tuple[Callable[[str], list[str]], str, list[str]]] = [
    (names.label_key_errors, "", ["name part must be non-empty", "name part must consist"]),
    (names.label_key_errors, "/a", ["prefix part must be non-empty"]),
    (names.label_key_errors, "a/", ["name part must be non-empty", "name part must consist"]),
    (names.label_key_errors, "a/b/c", ["a valid label key must consist"]),
    (names.label_key_errors, "A_b/c", ["prefix part a lowercase RFC 1123 subdomain"]),
    (names.label_key_errors, "a" * 64, ["name part must be no more than 63 bytes"]),
    (names.label_key_errors, "a\n", ["name part must consist"]),
    (names.label_key_errors, "a" * 254 + "/a", ["prefix part must be no more than 253 bytes"]),
    (names.label_value_errors, "-a", ["a valid label must be an empty string"]),
    (names.label_value_errors, "a\n", ["a valid label must be an empty string"]),
    (names.label_value_errors, "é" * 40, ["must be no more than 63 bytes", "a valid label"]),
    (names.dns1123_label_errors, "a.b", ["must not contain dots"]),
    (names.dns1123_label_errors, "A", ["a lowercase RFC 1123 label"]),
    (names.dns1123_label_errors, "a" * 64, ["must be no more than 63 characters"]),
    (names.dns1123_subdomain_errors, "a..b", ["a lowercase RFC 1123 subdomain"]),
    (names.dns1123_subdomain_errors, "a" * 254, ["must be no more than 253 characters"]),
    (names.dns1123_subdomain_with_underscore_errors, "A", ["a lowercase RFC 1123 subdomain must"]),
    (names.dns1035_label_errors, "9a", ["a DNS-1035 label"]),
    (names.port_name_errors, "", ["must contain only", "must contain at least one letter"]),
    (names.port_name_errors, "-a--b", ["must not contain consecutive hyphens", "must not begin or end"]),
    (names.port_name_errors, "a" * 16, ["must be no more than 15 characters"]),
    (names.relaxed_environment_name_errors, "", ["environment variable name must be non-empty"]),
    (names.relaxed_environment_name_errors, "a=b", ["a valid environment variable name"]),
    (names.http_header_name_errors, "a:b", ["a valid HTTP header"]),
    (names.config_key_errors, "..", ["must not be '..'"]),
    (names.config_key_errors, "..a", ["must not start with '..'"]),
    (names.config_key_errors, "a/b", ["a valid config key"]),
    (names.percent_errors, "x%", ["a valid percent string"]),
]


@pytest.mark.parametrize(("errors", "text"), [(check, text) for check, texts in GOOD for text in texts])
def test_accepted(errors: Callable[[str], list[str]], text: str) -> None:
    assert errors(text) == []


@pytest.mark.parametrize(("errors", "text", "beginnings"), BAD)
def test_refused(errors: Callable[[str], list[str]], text: str, beginnings: list[str]) -> None:
    complaints = errors(text)
    assert len(complaints) == len(beginnings)
    for complaint, beginning in zip(complaints, beginnings, strict=True):
        assert complaint.startswith(beginning)


def test_a_regex_without_examples_is_named_all_the_same() -> None:
    assert names.regex_error("must be so", "[a]") == "must be so (regex used for validation is '[a]')"


def test_ranges() -> None:
    assert names.port_number_errors(0) == ["must be between 1 and 65535, inclusive"]
    assert names.in_range_errors(5, 1, 5) == []
