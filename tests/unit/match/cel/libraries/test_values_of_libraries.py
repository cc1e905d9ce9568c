"""Addresses, networks, URLs, quantities, versions, formats: what CEL sees of them."""

from typing import Any

import pytest
from tests.unit.match.cel.libraries.calls import call, cost, estimate

from moorage.match.cel.functions import Argument, Function, Interval
from moorage.match.cel.libraries import authz, ip_address, named_format, quantity_and_semver, url_value
from moorage.match.cel.types import STRING
from moorage.match.cel.values import OPTIONAL_NONE, CelError, CelMap, OptionalValue, equal

ALL: tuple[Function, ...] = (
    *ip_address.FUNCTIONS,
    *url_value.FUNCTIONS,
    *quantity_and_semver.FUNCTIONS,
    *named_format.FUNCTIONS,
    *authz.FUNCTIONS,
)


def _ip(text: str) -> Any:
    return call(ALL, "string_to_ip", text)


def _cidr(text: str) -> Any:
    return call(ALL, "string_to_cidr", text)


def _url(text: str) -> Any:
    return call(ALL, "string_to_url", text)


def _quantity(text: str) -> Any:
    return call(ALL, "string_to_quantity", text)


def _semver(text: str, normalize: bool = False) -> Any:
    return call(ALL, "string_bool_to_semver", text, normalize)


@pytest.mark.parametrize(
    ("overload_id", "values", "result"),
    [
        ("ip_family", (_ip("::1"),), 6),
        ("ip_family", (_ip("1.2.3.4"),), 4),
        ("ip_is_canonical", ("::0001",), False),
        ("ip_is_canonical", ("127.0.0.1",), True),
        ("ip_is_unspecified", (_ip("::"),), True),
        ("ip_is_loopback", (_ip("127.0.0.1"),), True),
        ("ip_is_link_local_multicast", (_ip("224.0.0.1"),), True),
        ("ip_is_link_local_unicast", (_ip("fe80::1"),), True),
        ("ip_is_global_unicast", (_ip("8.8.8.8"),), True),
        ("is_ip", ("::ffff:1.2.3.4",), False),
        ("is_ip", ("fe80::1%eth0",), False),
        ("is_ip", ("1.2.3.4",), True),
        ("ip_to_string", (_ip("2001:DB8::1"),), "2001:db8::1"),
        ("cidr_contains_ip_string", (_cidr("10.0.0.1/8"), "10.9.9.9"), True),
        ("cidr_contains_ip_ip", (_cidr("10.0.0.0/24"), _ip("10.0.1.7")), False),
        ("cidr_contains_cidr_string", (_cidr("10.0.0.0/8"), "10.1.0.0/16"), True),
        ("cidr_contains_cidr", (_cidr("10.0.0.0/16"), _cidr("10.0.0.0/8")), False),
        ("cidr_ip", (_cidr("10.1.0.0/16"),), _ip("10.1.0.0")),
        ("cidr_prefix_length", (_cidr("::1/128"),), 128),
        ("cidr_masked", (_cidr("10.1.2.3/8"),), _cidr("10.0.0.0/8")),
        ("is_cidr", ("10.0.0.0/8",), True),
        ("is_cidr", ("::ffff:1.2.3.4/120",), False),
        ("cidr_to_string", (_cidr("10.0.0.1/8"),), "10.0.0.1/8"),
        ("url_get_scheme", (_url("HTTPS://a.b"),), "https"),
        ("url_get_host", (_url("https://[::1]:80/"),), "[::1]:80"),
        ("url_get_hostname", (_url("https://[::1]:80/"),), "::1"),
        ("url_get_port", (_url("https://a.b:80"),), "80"),
        ("url_get_escaped_path", (_url("https://a.b/x y#f"),), "/x%20y"),
        ("url_get_query", (_url("https://a.b/?k=v&k=w"),), CelMap({"k": ["v", "w"]}.items())),
        ("is_url_string", ("a b",), False),
        ("is_url_string", ("/a",), True),
        ("is_quantity_string", ("1Ki",), True),
        ("is_quantity_string", ("one",), False),
        ("quantity_sign", (_quantity("-1"),), -1),
        ("quantity_is_greater_than", (_quantity("1Gi"), _quantity("1G")), True),
        ("quantity_is_less_than", (_quantity("1Gi"), _quantity("1G")), False),
        ("quantity_compare_to", (_quantity("1000m"), _quantity("1")), 0),
        ("quantity_get_float", (_quantity("500m"),), 0.5),
        ("quantity_get_int", (_quantity("1k"),), 1000),
        ("quantity_is_integer", (_quantity("9999999999999999999"),), False),
        ("quantity_add", (_quantity("1"), _quantity("2")), _quantity("3")),
        ("quantity_add_int", (_quantity("1"), 2), _quantity("3")),
        ("quantity_sub", (_quantity("1"), _quantity("2")), _quantity("-1")),
        ("quantity_sub_int", (_quantity("1"), 2), _quantity("-1")),
        ("is_semver_string", ("v1.2.3",), False),
        ("is_semver_string_bool", ("v1", True), True),
        ("semver_is_greater_than", (_semver("1.2.3"), _semver("1.2.3-rc.1")), True),
        ("semver_is_less_than", (_semver("1.2.3-rc.2"), _semver("1.2.3-rc.10")), True),
        ("semver_compare_to", (_semver("1.2.3+a"), _semver("1.2.3+b")), 0),
        ("semver_major", (_semver("18446744073709551615.2.3"),), -1),
        ("semver_minor", (_semver("1.2.3"),), 2),
        ("semver_patch", (_semver("1.2.3"),), 3),
        ("format-named", ("bogus",), OPTIONAL_NONE),
        ("format-named", ("uuid",), OptionalValue.of(named_format.FORMATS["uuid"])),
        ("format.date", (), named_format.FORMATS["date"]),
    ],
)
def test_results(overload_id: str, values: tuple[Any, ...], result: Any) -> None:
    found = call(ALL, overload_id, *values)
    assert equal(found, result)
    assert type(found) is type(result)


_TWICE = "network address parse error during conversion from string: " * 2


@pytest.mark.parametrize(
    ("overload_id", "values", "message"),
    [
        (
            "string_to_ip",
            ("95.5",),
            'IP Address "95.5" parse error during conversion from string: ParseAddr("95.5"): IPv4 address too short',
        ),
        ("string_to_ip", ("fe80::1%e",), 'IP address "fe80::1%e" with zone value is not allowed'),
        ("string_to_ip", ("::ffff:1.2.3.4",), 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "ip_is_canonical",
            ("bad",),
            'IP Address "bad" parse error during conversion from string: ParseAddr("bad"): unable to parse IP',
        ),
        ("string_to_cidr", ("bad/8",), _TWICE + 'netip.ParsePrefix("bad/8"): ParseAddr("bad"): unable to parse IP'),
        (
            "string_to_cidr",
            ("::ffff:1.2.3.4/96",),
            "network address parse error during conversion from string: "
            'IPv4-mapped IPv6 address "::ffff:1.2.3.4/96" is not allowed',
        ),
        ("cidr_contains_ip_string", (_cidr("10.0.0.0/8"), "bad"), "no such overload"),
        ("cidr_contains_cidr_string", (_cidr("10.0.0.0/8"), "bad"), _TWICE + "netip.ParsePrefix(\"bad\"): no '/'"),
        (
            "string_to_url",
            ("bad url",),
            'URL parse error during conversion from string: parse "bad url": invalid URI for request',
        ),
        (
            "string_to_quantity",
            ("bad",),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("quantity_get_int", (_quantity("500m"),), "cannot convert value to integer"),
        ("string_to_semver", ("1.2",), "No Major.Minor.Patch elements found"),
        ("string_bool_to_semver", ("1.0+b", True), "short version cannot contain PreRelease/Build meta data"),
        ("string_bool_to_semver", ("", True), 'strconv.ParseUint: parsing "": invalid syntax'),
        ("string_bool_to_semver", (" 1.2.3", True), 'Invalid character(s) found in major number "0 1"'),
    ],
)
def test_errors(overload_id: str, values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError) as caught:
        call(ALL, overload_id, *values)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("v1.2.3", "1.2.3"),
        ("01.02.03", "1.2.3"),
        ("1.2", "1.2.0"),
        ("v1", "1.0.0"),
        ("00", "0.0.0"),
        ("1.2.03-rc.1+b", "1.2.3-rc.1+b"),
        ("1.2.0-x", "1.2.0-x"),
    ],
)
def test_normalizing(text: str, strict: str) -> None:
    assert str(_semver(text, True).content) == strict


def test_equal_values_hash_alike() -> None:
    for first, second in [
        (_semver("1.2.3+a"), _semver("1.2.3")),
        (_url("HTTP://a"), _url("http://a")),
        (_quantity("1000m"), _quantity("1")),
        (named_format.FORMATS["date"], call(ALL, "format.date")),
    ]:
        assert first == second
        assert hash(first) == hash(second)
    assert _url("http://a") != _url("http://b")
    assert _ip("::1") != _cidr("::1/128")
    assert _semver("1.2.3") != _quantity("1")


_SUBDOMAIN = "a lowercase RFC 1123 subdomain must consist of"


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("dns1123Label", "ok", None),
        ("dns1123Label", "No", "a lowercase RFC 1123 label must consist of"),
        ("dns1123Subdomain", "a.b", None),
        ("dns1123Subdomain", "a_b", _SUBDOMAIN),
        ("dns1035Label", "1a", "a DNS-1035 label must consist of"),
        ("qualifiedName", "example.com/x", None),
        ("qualifiedName", "/x", "prefix part must be non-empty"),
        ("dns1123LabelPrefix", "abc-", None),
        ("dns1123LabelPrefix", "-", "a lowercase RFC 1123 label must consist of"),
        ("dns1123SubdomainPrefix", "a.b-", None),
        ("dns1035LabelPrefix", "abc-", None),
        ("labelValue", "", None),
        ("labelValue", "-", "a valid label must be an empty string or consist of"),
        ("uri", "http://a", None),
        ("uri", "a", 'parse "a": invalid URI for request'),
        ("uuid", "123E4567-e89b-12d3-a456-426614174000", None),
        ("uuid", "123", "does not match the UUID format"),
        ("byte", "aGVsbG8=", None),
        ("byte", "", "invalid base64"),
        ("byte", "abc", "invalid base64"),
        ("date", "2020-02-29", None),
        ("date", "0000-02-29", None),
        ("date", "2021-02-29", "invalid date"),
        ("date", "2021-2-9", "invalid date"),
        ("datetime", "2021-01-01T00:00:00Z", None),
        ("datetime", "2021-01-01t23:59:59.123+01:00", None),
        ("datetime", "2021-01-01T24:00:00Z", "invalid datetime"),
        ("datetime", "2021-01-01T00:00:00", "invalid datetime"),
        ("datetime", "2021-01-01", "invalid datetime"),
    ],
)
def test_formats(name: str, text: str, complaint: str | None) -> None:
    found = call(ALL, "format-validate", call(ALL, f"format.{name}"), text)
    if complaint is None:
        assert found == OPTIONAL_NONE
    else:
        assert found.value[0].startswith(complaint)


@pytest.mark.parametrize(
    ("overload_id", "values", "expected"),
    [
        ("string_to_ip", ("1.2.3.4",), 1),
        ("ip_is_canonical", ("127.0.0.1",), 2),
        ("cidr_ip", (_cidr("::/0"),), 1),
        ("cidr_contains_ip_string", (_cidr("10.0.0.0/8"), "10.1.1.1.1.1"), 3),
        ("cidr_contains_ip_ip", (_cidr("2001:db8::/128"), _ip("::1")), 4),
        ("cidr_contains_ip_ip", (_cidr("0.0.0.0/0"), _ip("1.1.1.1")), 0),
        ("cidr_contains_cidr_string", (_cidr("10.0.0.0/8"), "10.1.0.0/16"), 5),
        ("cidr_contains_cidr", (_cidr("10.0.0.0/8"), _cidr("10.1.0.0/16")), 3),
        ("string_to_url", ("https://a.b",), 2),
        ("is_url_string", ("https://a.b",), 1),
        ("string_to_semver", ("",), 0),
        ("format-validate", (named_format.FORMATS["date"], "x" * 10), 36),
        ("format-validate", (named_format.FORMATS["uri"], ""), 276),
        ("format-validate", (CelError("failed"), "x"), 1),
    ],
)
def test_costs(overload_id: str, values: tuple[Any, ...], expected: int) -> None:
    assert cost(ALL, overload_id, *values) == expected


@pytest.mark.parametrize(
    ("overload_id", "nodes", "expected"),
    [
        ("string_to_ip", 1, (0, 7)),
        ("ip_is_canonical", 1, (0, 13)),
        ("cidr_contains_ip_string", 2, (1, 11)),
        ("cidr_contains_ip_ip", 2, (1, 4)),
        ("cidr_contains_cidr_string", 2, (3, 14)),
        ("cidr_contains_cidr", 2, (3, 7)),
        ("string_bool_to_semver", 2, (0, 7)),
        ("format-validate", 2, (0, 224)),
        ("format-named", 1, (1, 1)),
        ("pathcheck_check", 2, (350000, 350000)),
        ("authorizer_fieldselector", 2, (10, 1617)),
    ],
)
def test_estimates(overload_id: str, nodes: int, expected: tuple[int, int]) -> None:
    text = Argument(STRING, Interval(0, 63))
    assert estimate(ALL, overload_id, *[text] * nodes).cost == expected


def test_the_size_of_a_url_is_that_of_its_text() -> None:
    assert estimate(ALL, "string_to_url", Argument(STRING, Interval(2, 63))).result_size == (2, 63)
