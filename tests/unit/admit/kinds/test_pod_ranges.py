"""The address ranges of a node's pods."""

import pytest
from tests.unit.admit.objects import Raw, complaints, node

NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
LEADING_ZEROS = "must not have leading 0s in IP or prefix length"
MAPPED = "must not have an IPv4-mapped IPv6 address"
BEYOND = "must not have bits set beyond the prefix length"
ONE_EACH = "may specify no more than one CIDR for each IP family"
NO_DUAL_STACK = "Internal error: invalid PodCIDRs. failed to check with dual stack with error"

RANGES = {
    "10.0.0.0/24": "",
    "0.0.0.0/0": "",
    "::/0": "",
    "fd00::/64": "",
    "": NOT_A_CIDR,
    "10.0.0.0": NOT_A_CIDR,
    "10.0.0.0/": NOT_A_CIDR,
    "10.0.0.0/33": NOT_A_CIDR,
    "10.0.0.0/8/8": NOT_A_CIDR,
    "10.0.0.0/-8": NOT_A_CIDR,
    "10.0.0/8": NOT_A_CIDR,
    "10.0.0.1/24": BEYOND,
    "fd00::1/64": BEYOND,
    "010.0.0.0/8": LEADING_ZEROS,
    "10.0.0.0/08": LEADING_ZEROS,
    "0fd00::/8": LEADING_ZEROS,
    "::ffff:1.2.3.4/128": MAPPED,
}


@pytest.mark.parametrize(("written", "complaint"), RANGES.items())
def test_ranges(written: str, complaint: str) -> None:
    expected = [f'spec.podCIDRs[0]: Invalid value: "{written}": {complaint}'] if complaint else []
    assert complaints(node(podCIDRs=[written])) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # The older field is the first of the ranges; where the two differ, it is the only one.
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["x"]}, []),
        ({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}, [ONE_EACH]),
        ({"podCIDR": "", "podCIDRs": ["10.0.0.0/24"]}, []),
        ({"podCIDRs": ["10.0.0.0/24", "fd00::/64", "fd01::/64"]}, [ONE_EACH]),
        (
            {"podCIDRs": ["fd00::/64", "x"]},
            [NOT_A_CIDR, f"{NO_DUAL_STACK}:invalid CIDR[1]: <nil> (invalid CIDR address: x)", ONE_EACH],
        ),
        # What is mapped counts as version 4, unless the prefix is too short to tell.
        ({"podCIDRs": ["::ffff:1.2.3.4/128", "10.0.0.0/8"]}, [MAPPED, ONE_EACH]),
        ({"podCIDRs": ["::ffff:1.2.3.4/64", "10.0.0.0/8"]}, [MAPPED]),
    ],
)
def test_several_ranges(spec: Raw, expected: list[str]) -> None:
    found = complaints(node(**spec))
    assert len(found) == len(expected)
    assert all(text.endswith(end) for text, end in zip(found, expected, strict=True))
