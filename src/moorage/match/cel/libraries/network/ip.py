"""The IP library: `ip(<string>)`, `isIP`, `ip.isCanonical` and the questions one can ask an address.

Kubernetes: apiserver/pkg/cel/library/ip.go and pkg/cel/ip.go. The grammar is `ip_address.py`'s; zones and IPv4-mapped
IPv6 addresses are refused on top of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from moorage.match.cel.functions import row
from moorage.match.cel.libraries.network.ip_address import Address, AddressError, parse_address
from moorage.match.cel.libraries.text.string_costs import READS_TEXT, argument_cost, argument_estimate
from moorage.match.cel.types import IP, Type
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.go.quoting import go_quote


@dataclass(frozen=True, slots=True)
class IPValue(OpaqueValue):
    """A value of type net.IP."""

    cel_type: ClassVar[Type] = IP
    address: Address

    def cel_size(self) -> int:
        return self.address.bit_length // 8


def parse_ip(text: str) -> IPValue:
    """ip(text), with the messages of the CEL function."""
    try:
        address = parse_address(text)
    except AddressError as error:
        raise CelError(f"IP Address {go_quote(text)} parse error during conversion from string: {error}") from None
    if address.zone:
        raise CelError(f"IP address {go_quote(text)} with zone value is not allowed")
    if address.is_4_in_6:
        raise CelError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return IPValue(address)


def _is_ip(text: str) -> bool:
    try:
        parse_ip(text)
    except CelError:
        return False
    return True


def _is_canonical(text: str) -> bool:
    return str(parse_ip(text).address) == text


FUNCTIONS = (
    row("ip(string) -> IP", "string_to_ip", parse_ip, *READS_TEXT),
    row("IP.family() -> int", "ip_family", lambda ip: 4 if ip.address.is_4 else 6),
    row(
        "ip.isCanonical(string) -> bool",
        "ip_is_canonical",
        _is_canonical,
        argument_estimate(0.2),
        argument_cost(0.1, times=2),
    ),
    row("IP.isUnspecified() -> bool", "ip_is_unspecified", lambda ip: ip.address.is_unspecified()),
    row("IP.isLoopback() -> bool", "ip_is_loopback", lambda ip: ip.address.is_loopback()),
    row(
        "IP.isLinkLocalMulticast() -> bool",
        "ip_is_link_local_multicast",
        lambda ip: ip.address.is_link_local_multicast(),
    ),
    row("IP.isLinkLocalUnicast() -> bool", "ip_is_link_local_unicast", lambda ip: ip.address.is_link_local_unicast()),
    row("IP.isGlobalUnicast() -> bool", "ip_is_global_unicast", lambda ip: ip.address.is_global_unicast()),
    row("isIP(string) -> bool", "is_ip", _is_ip, *READS_TEXT),
    row("string(IP) -> string", "ip_to_string", lambda ip: str(ip.address)),
)
