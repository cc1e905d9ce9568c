"""The IP and CIDR libraries: `ip(<string>)`, `cidr(<string>)`, and questions about addresses and networks.

Kubernetes: apiserver/pkg/cel/library/ip.go and cidr.go, pkg/cel/ip.go and cidr.go. The grammar is `ip_address.py`'s;
zones and IPv4-mapped IPv6 addresses are refused on top of it. As upstream, a text that is no network is reported with
the same words twice over, and a text that is no address makes `containsIP` fail as "no such overload".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from moorage.match.cel.costs import READS_TEXT, argument_cost, argument_estimate
from moorage.match.cel.functions import (
    ONE,
    STRING_FACTOR,
    CallEstimate,
    Interval,
    actual_size,
    ceil_factor,
    row,
    succeeds,
)
from moorage.match.cel.libraries.network.ip_address import Address, AddressError, Prefix, parse_address, parse_prefix
from moorage.match.cel.types import CIDR, IP, Type
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.go.quoting import go_quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.match.cel.functions import Cost, Estimate, EstimateContext, Node

_PARSE_ERROR = "network address parse error during conversion from string: "
# An address has 4 or 16 bytes; the estimate counts them as if they were characters.
_ADDRESS_BYTES = Interval(4, 16)


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


def _is_canonical(text: str) -> bool:
    return str(parse_ip(text).address) == text


@dataclass(frozen=True, slots=True)
class CIDRValue(OpaqueValue):
    """A value of type net.CIDR."""

    cel_type: ClassVar[Type] = CIDR
    prefix: Prefix

    def cel_size(self) -> int:
        return (self.prefix.bits + 7) // 8


def parse_cidr(text: str) -> CIDRValue:
    """cidr(text), with the messages of the CEL function."""
    try:
        prefix = parse_prefix(text)
    except AddressError as error:
        raise CelError(f"{_PARSE_ERROR}{_PARSE_ERROR}{error}") from None
    if prefix.address.is_4_in_6:
        raise CelError(f"{_PARSE_ERROR}IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CIDRValue(prefix)


def _contains_ip(cidr: CIDRValue, ip: IPValue) -> bool:
    return cidr.prefix.contains(ip.address)


def _contains_ip_text(cidr: CIDRValue, text: str) -> bool:
    try:
        ip = parse_ip(text)
    except CelError:
        raise CelError("no such overload") from None
    return _contains_ip(cidr, ip)


def _contains_cidr(cidr: CIDRValue, other: CIDRValue) -> bool:
    return cidr.prefix.overlaps(other.prefix) and cidr.prefix.bits <= other.prefix.bits


def _contains_cidr_text(cidr: CIDRValue, text: str) -> bool:
    return _contains_cidr(cidr, parse_cidr(text))


def _containment(*, network: bool, text: bool) -> tuple[Estimate, Cost]:
    """Return both costs of comparing two addresses; a network is masked first, a text is parsed first."""

    def estimate(context: EstimateContext, _receiver: Node | None, arguments: Sequence[Node]) -> CallEstimate | None:
        if not arguments:
            return None
        cost = _ADDRESS_BYTES.plus(_ADDRESS_BYTES).by_factor(STRING_FACTOR)
        if network:
            cost = cost.plus(_ADDRESS_BYTES.by_factor(STRING_FACTOR)).plus(ONE)
        if text:
            cost = cost.plus(context.size(arguments[0]).by_factor(STRING_FACTOR))
        return CallEstimate(cost)

    def charge(values: Sequence[Any]) -> int:
        size = actual_size(values[0])
        total = ceil_factor(size + size, STRING_FACTOR)
        if network:
            total += ceil_factor(size, STRING_FACTOR) + 1
        if text:
            total += ceil_factor(actual_size(values[1]), STRING_FACTOR)
        return total

    return estimate, charge


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
    row("isIP(string) -> bool", "is_ip", succeeds(parse_ip), *READS_TEXT),
    row("string(IP) -> string", "ip_to_string", lambda ip: str(ip.address)),
    row("cidr(string) -> CIDR", "string_to_cidr", parse_cidr, *READS_TEXT),
    row(
        "CIDR.containsIP(string) -> bool",
        "cidr_contains_ip_string",
        _contains_ip_text,
        *_containment(network=False, text=True),
    ),
    row("CIDR.containsIP(IP) -> bool", "cidr_contains_ip_ip", _contains_ip, *_containment(network=False, text=False)),
    row(
        "CIDR.containsCIDR(string) -> bool",
        "cidr_contains_cidr_string",
        _contains_cidr_text,
        *_containment(network=True, text=True),
    ),
    row(
        "CIDR.containsCIDR(CIDR) -> bool", "cidr_contains_cidr", _contains_cidr, *_containment(network=True, text=False)
    ),
    row("CIDR.ip() -> IP", "cidr_ip", lambda cidr: IPValue(cidr.prefix.address)),
    row("CIDR.prefixLength() -> int", "cidr_prefix_length", lambda cidr: cidr.prefix.bits),
    row("CIDR.masked() -> CIDR", "cidr_masked", lambda cidr: CIDRValue(cidr.prefix.masked())),
    row("isCIDR(string) -> bool", "is_cidr", succeeds(parse_cidr), *READS_TEXT),
    row("string(CIDR) -> string", "cidr_to_string", lambda cidr: str(cidr.prefix)),
)
