"""Names and addresses: DNS, host aliases, hostnames, IP addresses."""

from typing import Any

import pytest
from tests.unit.admit.pod.manifests import NOT_A_LABEL, NOT_A_SUBDOMAIN, pod_errors

NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
LEADING_ZEROS = "must not have leading 0s"
MAPPED = "must not be an IPv4-mapped IPv6 address"

ADDRESSES = {
    "1.2.3.4": "",
    "0.0.0.0": "",
    "255.255.255.255": "",
    "::": "",
    "::1": "",
    "1::": "",
    "1:2:3:4:5:6:7::": "",
    "::2:3:4:5:6:7:8": "",
    "2001:DB8::ffff": "",
    "1:2:3:4:5:6:7:8": "",
    "1:2:3:4:5:6:1.2.3.4": "",
    "::1.2.3.4": "",
    "64:ff9b::1.2.3.4": "",
    "0000:0001::": "",
    "01.2.3.4": LEADING_ZEROS,
    "1.2.3.00": LEADING_ZEROS,
    "::00001": LEADING_ZEROS,
    "::01.2.3.4": LEADING_ZEROS,
    "::ffff:01.2.3.4": LEADING_ZEROS,
    "::ffff:1.2.3.4": MAPPED,
    "::FFFF:102:304": MAPPED,
    "0:0:0:0:0:ffff:1:2": MAPPED,
    "": NOT_AN_ADDRESS,
    "x": NOT_AN_ADDRESS,
    "1": NOT_AN_ADDRESS,
    ":": NOT_AN_ADDRESS,
    ":::": NOT_AN_ADDRESS,
    "1::2::3": NOT_AN_ADDRESS,
    ":1::2": NOT_AN_ADDRESS,
    "1::2:": NOT_AN_ADDRESS,
    "1:2:3:4:5:6:7": NOT_AN_ADDRESS,
    "1:2:3:4:5:6:7:8:9": NOT_AN_ADDRESS,
    "1:2:3:4:5:6:7::8": NOT_AN_ADDRESS,
    "1:2:3:4:5:6:7:1.2.3.4": NOT_AN_ADDRESS,
    "::1.2.3": NOT_AN_ADDRESS,
    "::1.2.3.4:5": NOT_AN_ADDRESS,
    "::12345": NOT_AN_ADDRESS,
    "::g": NOT_AN_ADDRESS,
    "fe80::1%eth0": NOT_AN_ADDRESS,
    "1.2.3": NOT_AN_ADDRESS,
    "1.2.3.256": NOT_AN_ADDRESS,
    "1.2.3.4.5": NOT_AN_ADDRESS,
    "1..3.4": NOT_AN_ADDRESS,
    "1.2.3.٤": NOT_AN_ADDRESS,
    " 1.2.3.4": NOT_AN_ADDRESS,
    "-1.2.3.4": NOT_AN_ADDRESS,
    "1.2.3.4/8": NOT_AN_ADDRESS,
    "0" * 10_000 + "1.2.3.4": NOT_AN_ADDRESS,
}

DNS: list[tuple[dict[str, Any], list[str]]] = [
    ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"], "searches": [".", "a_b.c."]}}, []),
    ({"dnsPolicy": ""}, ["dnsPolicy: Required value"]),
    (
        {"dnsPolicy": "Odd"},
        [
            'dnsPolicy: Unsupported value: "Odd": '
            'supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"'
        ],
    ),
    ({"dnsPolicy": "None"}, ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
    (
        {"dnsPolicy": "None", "dnsConfig": {"searches": ["_"]}},
        ["dnsConfig.nameservers: Required value: must provide at least one DNS nameserver when `dnsPolicy` is None"],
    ),
    (
        {"dnsConfig": {"nameservers": ["1.1.1.1", "2.2.2.2", "3.3.3.3", "x"], "options": [{"name": "a"}, {}]}},
        [
            'dnsConfig.nameservers: Invalid value: ["1.1.1.1","2.2.2.2","3.3.3.3","x"]: '
            "must not have more than 3 nameservers",
            f'dnsConfig.nameservers[3]: Invalid value: "x": {NOT_AN_ADDRESS}',
            "dnsConfig.options[1]: Required value: must not be empty",
        ],
    ),
]


@pytest.mark.parametrize(("address", "complaint"), ADDRESSES.items())
def test_addresses(address: str, complaint: str) -> None:
    found = pod_errors({"hostAliases": [{"ip": address}]})
    assert found == ([f'spec.hostAliases[0].ip: Invalid value: "{address}": {complaint}'] if complaint else [])


@pytest.mark.parametrize(("spec", "expected"), DNS)
def test_dns(spec: dict[str, Any], expected: list[str]) -> None:
    assert pod_errors(spec) == [f"spec.{error}" for error in expected]


def test_search_domains() -> None:
    shown = "[" + ",".join(['"a"'] * 33) + "]"
    assert pod_errors({"dnsConfig": {"searches": ["a"] * 33}}) == [
        f"spec.dnsConfig.searches: Invalid value: {shown}: must not have more than 32 search paths"
    ]
    long = ".".join(["a" * 60] * 4)
    (found,) = pod_errors({"dnsConfig": {"searches": [long] * 9}})
    assert found.endswith(": must not have more than 2048 characters (including spaces) in the search list")
    (found,) = pod_errors({"dnsConfig": {"searches": ["A."]}})
    assert found.startswith('spec.dnsConfig.searches[0]: Invalid value: "A": a lowercase RFC 1123 subdomain must')


def test_host_aliases() -> None:
    assert pod_errors({"hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a.b", "_"]}]}) == [
        f'spec.hostAliases[0].hostnames[1]: Invalid value: "_": {NOT_A_SUBDOMAIN}'
    ]


def test_hostnames() -> None:
    assert pod_errors({"hostname": "a.b", "subdomain": "_"}) == [
        'spec.hostname: Invalid value: "a.b": must not contain dots',
        f'spec.subdomain: Invalid value: "_": {NOT_A_LABEL}',
    ]
    assert pod_errors({"hostnameOverride": "a.b", "setHostnameAsFQDN": False}) == []
    spec = {"hostnameOverride": "A" * 65, "setHostnameAsFQDN": True, "hostNetwork": True}
    assert pod_errors(spec) == [
        "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        "spec.hostnameOverride: Too long: may not be more than 64 bytes",
        f'spec.hostnameOverride: Invalid value: "{"A" * 65}": {NOT_A_SUBDOMAIN}',
    ]
