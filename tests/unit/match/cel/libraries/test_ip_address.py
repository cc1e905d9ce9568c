"""The grammar of addresses and networks, and Go's words for what is outside it."""

import pytest

from moorage.match.cel.libraries.ip_address import AddressError, Prefix, parse_address, parse_prefix


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0"),
        ("::", "::"),
        ("::1", "::1"),
        ("::0001", "::1"),
        ("2001:DB8::ABCD", "2001:db8::abcd"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:102:304"),
        ("fe80::1%eth0", "fe80::1%eth0"),
    ],
)
def test_addresses_print_canonically(text: str, canonical: str) -> None:
    assert str(parse_address(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unable to parse IP"),
        ("2", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("95.5", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("1.02.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        (".1.2.3", 'IPv4 field must have at least one digit (at ".1.2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("v6.1.0", 'unexpected character (at "v6.1.0")'),
        ("1.2.3.4é", 'unexpected character (at "é")'),
        ("::1%", "zone must be a non-empty string"),
        (":::1", 'each colon-separated field must have at least one digit (at ":1")'),
        (":1", 'each colon-separated field must have at least one digit (at ":1")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2:1.2.3.4", 'embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")'),
        (
            "::1:2:3:4:5:6:7:1.2.3.4",
            'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
        ),
        ("1:g", 'each colon-separated field must have at least one digit (at "g")'),
        ("1:2g", 'unexpected character, want colon (at "g")'),
        ("1:2:", 'colon must be followed by more characters (at ":")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3", "address string too short"),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("::ffff:1.2.3.256", "IPv4 field has value >255"),
    ],
)
def test_invalid_addresses_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {message}'


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("0.0.0.0", "unspecified"),
        ("::", "unspecified"),
        ("127.9.9.9", "loopback"),
        ("::1", "loopback"),
        ("224.0.0.1", "link-local-multicast"),
        ("224.0.1.1", ""),
        ("ff02::1", "link-local-multicast"),
        ("ff12::1", "link-local-multicast"),
        ("fd00::1", "global"),
        ("169.254.1.1", "link-local-unicast"),
        ("fe80::1", "link-local-unicast"),
        ("10.0.0.1", "global"),
        ("255.255.255.255", ""),
        ("2001:db8::abcd", "global"),
        ("ff00::1", ""),
    ],
)
def test_address_predicates(text: str, properties: str) -> None:
    address = parse_address(text)
    found = {
        "unspecified": address.is_unspecified(),
        "loopback": address.is_loopback(),
        "link-local-multicast": address.is_link_local_multicast(),
        "link-local-unicast": address.is_link_local_unicast(),
        "global": address.is_global_unicast(),
    }
    assert ",".join(name for name, holds in found.items() if holds) == properties


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "no '/'"),
        ("bad/8", 'ParseAddr("bad"): unable to parse IP'),
        ("fe80::1%eth0/8", "IPv6 zones cannot be present in a prefix"),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/+8", 'bad bits after slash: "+8"'),
        ("10.0.0.0/x", 'bad bits after slash: "x"'),
        ("10.0.0.0/99999999999999999999", 'bad bits after slash: "99999999999999999999"'),
        ("10.0.0.0/9300000000000000000", 'bad bits after slash: "9300000000000000000"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
    ],
)
def test_invalid_networks_are_refused(text: str, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        parse_prefix(text)
    assert str(caught.value) == f'netip.ParsePrefix("{text}"): {message}'


@pytest.mark.parametrize(
    ("network", "address", "inside"),
    [
        ("10.0.0.0/8", "10.255.0.1", True),
        ("10.1.2.3/8", "10.255.0.1", True),
        ("10.0.0.0/8", "11.0.0.0", False),
        ("0.0.0.0/0", "255.1.1.1", True),
        ("::/0", "1.1.1.1", False),
        ("2001:db8::/32", "2001:db8:1::1", True),
        ("2001:db8::/32", "2001:db9::1", False),
    ],
)
def test_containment(network: str, address: str, inside: bool) -> None:
    assert parse_prefix(network).contains(parse_address(address)) is inside


def test_networks_overlap_when_the_shorter_one_covers_the_other() -> None:
    wide, narrow, other, six = map(parse_prefix, ("10.0.0.0/8", "10.1.0.0/16", "11.0.0.0/8", "::/0"))
    assert wide.overlaps(narrow)
    assert narrow.overlaps(wide)
    assert not narrow.overlaps(other)
    assert not wide.overlaps(six)
    assert parse_prefix("0.0.0.0/0").overlaps(other)


def test_masking_clears_host_bits() -> None:
    masked = parse_prefix("10.1.2.3/8").masked()
    assert masked == Prefix(parse_address("10.0.0.0"), 8)
    assert str(masked) == "10.0.0.0/8"
