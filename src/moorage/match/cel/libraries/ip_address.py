"""Implement the IP and CIDR libraries: `ip(<string>)`, `cidr(<string>)`, and tests of addresses and networks.

Grammar, texts and tests are those of Go's `net/netip`: Python's `ipaddress` accepts and refuses other texts, and says
so in other words. Zones and IPv4-mapped IPv6 addresses are refused on top of it. As upstream, a text that is no network
is reported with the same words twice over, and a text that is no address makes `containsIP` fail as "no such overload".
Kubernetes: apiserver/pkg/cel/library/ip.go and cidr.go, pkg/cel/ip.go and cidr.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from moorage.match.cel.functions import (
    ONE,
    READS_TEXT,
    STRING_FACTOR,
    Argument,
    CallEstimate,
    Cost,
    Estimate,
    Interval,
    actual_size,
    argument_cost,
    argument_estimate,
    ceil_factor,
    row,
    succeeds,
)
from moorage.match.cel.types import CIDR, IP
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.model.go.quoting import go_quote as quote
from moorage.model.text.readers import reads_text

_PARSE_ERROR = "network address parse error during conversion from string: "
# An address has 4 or 16 bytes; the estimate counts them as if they were characters.
_ADDRESS_BYTES = Interval(4, 16)
_DECIMAL = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class AddressError(ValueError):
    """A text that is no address or network; `str(error)` is Go's message."""


@dataclass(frozen=True, slots=True)
class Address(OpaqueValue):
    """One IPv4 (32 bit) or IPv6 (128 bit) address, a value of type net.IP; the zone only ever belongs to IPv6."""

    cel_type = IP
    bit_length: int
    number: int
    zone: str = ""

    def cel_size(self) -> int:
        return self.bit_length // 8

    @property
    def is_4(self) -> bool:
        return self.bit_length == 32

    @property
    def is_4_in_6(self) -> bool:
        return self.bit_length == 128 and self.number >> 32 == 0xFFFF

    def __str__(self) -> str:
        if self.is_4:
            return str(IPv4Address(self.number))
        zone = f"%{self.zone}" if self.zone else ""
        if self.is_4_in_6:
            return f"::ffff:{IPv4Address(self.number & 0xFFFFFFFF)}{zone}"
        return f"{IPv6Address(self.number)}{zone}"

    def is_unspecified(self) -> bool:
        return self.number == 0 and not self.zone

    def is_loopback(self) -> bool:
        plain = self._unmapped()
        return plain.number >> 24 == 127 if plain.is_4 else plain.number == 1

    def is_multicast(self) -> bool:
        plain = self._unmapped()
        return plain.number >> 28 == 0xE if plain.is_4 else plain.number >> 120 == 0xFF

    def is_link_local_multicast(self) -> bool:
        plain = self._unmapped()
        return plain.number >> 8 == 0xE00000 if plain.is_4 else (plain.number >> 112) & 0xFF0F == 0xFF02

    def is_link_local_unicast(self) -> bool:
        plain = self._unmapped()
        return plain.number >> 16 == 0xA9FE if plain.is_4 else (plain.number >> 112) & 0xFFC0 == 0xFE80

    def is_global_unicast(self) -> bool:
        plain = self._unmapped()
        if plain.is_4 and plain.number in (0, 0xFFFFFFFF):
            return False
        return not (
            (not plain.is_4 and plain.is_unspecified())
            or plain.is_loopback()
            or plain.is_multicast()
            or plain.is_link_local_unicast()
        )

    def _unmapped(self) -> Address:
        return Address(32, self.number & 0xFFFFFFFF) if self.is_4_in_6 else self


@dataclass(frozen=True, slots=True)
class Prefix(OpaqueValue):
    """A network, a value of type net.CIDR: an address, whose host bits may be set, and how many leading bits count."""

    cel_type = CIDR
    address: Address
    bits: int

    def cel_size(self) -> int:
        return (self.bits + 7) // 8

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def masked(self) -> Prefix:
        host_bits = self.address.bit_length - self.bits
        kept = Address(self.address.bit_length, self.address.number >> host_bits << host_bits)
        return Prefix(kept, self.bits)

    def contains(self, address: Address) -> bool:
        if address.zone or address.bit_length != self.address.bit_length:
            return False
        return (self.address.number ^ address.number) >> (self.address.bit_length - self.bits) == 0

    def overlaps(self, other: Prefix) -> bool:
        return Prefix(self.address, min(self.bits, other.bits)).contains(other.address)


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", raises=AddressError)
def parse_address(text: str) -> Address:
    """Return the address in `text`. The first `.`, `:` or `%` decides which grammar applies."""
    for char in text:
        if char == ".":
            return Address(32, _parse_dotted(text, text))
        if char == ":":
            return _parse_colon_separated(text)
        if char == "%":
            raise _error(text, "missing IPv6 address")
    raise _error(text, "unable to parse IP")


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", raises=AddressError)
def parse_prefix(text: str) -> Prefix:
    """Return the network in `text`, `<address>/<bits>`; zones are not allowed."""
    head, slash, bits_text = text.rpartition("/")
    if not slash:
        raise _prefix_error(text, "no '/'")
    try:
        address = parse_address(head)
    except AddressError as error:
        raise _prefix_error(text, str(error)) from None
    if address.zone:
        raise _prefix_error(text, "IPv6 zones cannot be present in a prefix")
    decimal = bits_text != "" and _DECIMAL.issuperset(bits_text)
    if not decimal or len(bits_text) > 19 or (len(bits_text) > 1 and bits_text[0] == "0"):
        raise _prefix_error(text, f"bad bits after slash: {quote(bits_text)}")
    bits = int(bits_text)
    if bits > address.bit_length:
        # Go's Atoi refuses what int64 cannot hold before anyone asks for the range.
        reason = "prefix length out of range" if bits < 1 << 63 else f"bad bits after slash: {quote(bits_text)}"
        raise _prefix_error(text, reason)
    return Prefix(address, bits)


def _parse_dotted(whole: str, part: str) -> int:
    """Four decimal octets in `part`; errors quote `whole`, of which `part` is the end."""
    number = octet = digits = dots = 0
    for index, char in enumerate(part):
        if char in _DECIMAL:
            if digits == 1 and octet == 0:
                raise _error(whole, "IPv4 field has octet with leading zero")
            octet = octet * 10 + int(char)
            digits += 1
            if octet > 255:
                raise _error(whole, "IPv4 field has value >255")
        elif char == ".":
            if index == 0 or index == len(part) - 1 or part[index - 1] == ".":
                raise _error(whole, "IPv4 field must have at least one digit", part[index:])
            if dots == 3:
                raise _error(whole, "IPv4 address too long")
            number = number << 8 | octet
            dots += 1
            octet = digits = 0
        else:
            raise _error(whole, "unexpected character", part[index:])
    if dots < 3:
        raise _error(whole, "IPv4 address too short")
    return number << 8 | octet


def _parse_colon_separated(whole: str) -> Address:
    rest, percent, zone = whole.partition("%")
    if percent and not zone:
        raise _error(whole, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
        if not rest:
            return Address(128, 0, zone)
    while len(groups) < 8:
        width = _group_width(whole, rest)
        if rest[width : width + 1] == ".":
            if ellipsis < 0 and len(groups) != 6:
                raise _error(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest)
            if len(groups) > 6:
                reason = "too many hex fields to fit an embedded IPv4 at the end of the address"
                raise _error(whole, reason, rest)
            embedded = _parse_dotted(whole, rest)
            groups += [embedded >> 16, embedded & 0xFFFF]
            rest = ""
            break
        groups.append(int(rest[:width], 16))
        rest = rest[width:]
        if not rest:
            break
        if rest[0] != ":":
            raise _error(whole, "unexpected character, want colon", rest)
        if len(rest) == 1:
            raise _error(whole, "colon must be followed by more characters", rest)
        rest = rest[1:]
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _error(whole, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
            if not rest:
                break
    if rest:
        raise _error(whole, "trailing garbage after address", rest)
    if len(groups) < 8:
        if ellipsis < 0:
            raise _error(whole, "address string too short")
        groups[ellipsis:ellipsis] = [0] * (8 - len(groups))
    elif ellipsis >= 0:
        raise _error(whole, "the :: must expand to at least one field of zeros")
    number = 0
    for group in groups:
        number = number << 16 | group
    return Address(128, number, zone)


def _group_width(whole: str, rest: str) -> int:
    """Return how many hexadecimal digits `rest` starts with: one to four, or an error."""
    width = 0
    while width < len(rest) and rest[width] in _HEXADECIMAL:
        width += 1
        if width > 4:
            raise _error(whole, "each group must have 4 or less digits", rest)
    if width == 0:
        raise _error(whole, "each colon-separated field must have at least one digit", rest)
    return width


def _error(whole: str, reason: str, at: str = "") -> AddressError:
    position = f" (at {quote(at)})" if at else ""
    return AddressError(f"ParseAddr({quote(whole)}): {reason}{position}")


def _prefix_error(whole: str, reason: str) -> AddressError:
    return AddressError(f"netip.ParsePrefix({quote(whole)}): {reason}")


def _ip(text: str) -> Address:
    try:
        address = parse_address(text)
    except AddressError as error:
        raise CelError(f"IP Address {quote(text)} parse error during conversion from string: {error}") from None
    if address.zone:
        raise CelError(f"IP address {quote(text)} with zone value is not allowed")
    if address.is_4_in_6:
        raise CelError(f"IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return address


def _cidr(text: str) -> Prefix:
    try:
        prefix = parse_prefix(text)
    except AddressError as error:
        raise CelError(f"{_PARSE_ERROR}{_PARSE_ERROR}{error}") from None
    if prefix.address.is_4_in_6:
        raise CelError(f"{_PARSE_ERROR}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    return prefix


def _contains_ip(network: Prefix, text: str) -> bool:
    try:
        return network.contains(_ip(text))
    except CelError:
        raise CelError("no such overload") from None


def _contains_network(network: Prefix, other: Prefix) -> bool:
    return network.overlaps(other) and network.bits <= other.bits


def _containment(*, network: bool, text: bool) -> tuple[Estimate, Cost]:
    """Return both costs of comparing two addresses; a network is masked first, a text is parsed first."""

    def estimate(_: Argument, other: Argument) -> CallEstimate:
        cost = _ADDRESS_BYTES.plus(_ADDRESS_BYTES).by_factor(STRING_FACTOR)
        if network:
            cost = cost.plus(_ADDRESS_BYTES.by_factor(STRING_FACTOR)).plus(ONE)
        return CallEstimate(cost.plus(other.size.by_factor(STRING_FACTOR)) if text else cost)

    def charge(values: Sequence[Any]) -> int:
        size = actual_size(values[0])
        total = ceil_factor(size + size, STRING_FACTOR)
        if network:
            total += ceil_factor(size, STRING_FACTOR) + 1
        if text:
            total += ceil_factor(actual_size(values[1]), STRING_FACTOR)
        return total

    return estimate, charge


_TWICE = (argument_estimate(0.2), argument_cost(0.1, times=2))
_IP_TEXT, _IP = _containment(network=False, text=True), _containment(network=False, text=False)
_CIDR_TEXT, _CIDR = _containment(network=True, text=True), _containment(network=True, text=False)

FUNCTIONS = (
    row("ip(string) -> IP", "string_to_ip", _ip, *READS_TEXT),
    row("IP.family() -> int", "ip_family", lambda ip: 4 if ip.is_4 else 6),
    row("ip.isCanonical(string) -> bool", "ip_is_canonical", lambda text: str(_ip(text)) == text, *_TWICE),
    row("IP.isUnspecified() -> bool", "ip_is_unspecified", Address.is_unspecified),
    row("IP.isLoopback() -> bool", "ip_is_loopback", Address.is_loopback),
    row("IP.isLinkLocalMulticast() -> bool", "ip_is_link_local_multicast", Address.is_link_local_multicast),
    row("IP.isLinkLocalUnicast() -> bool", "ip_is_link_local_unicast", Address.is_link_local_unicast),
    row("IP.isGlobalUnicast() -> bool", "ip_is_global_unicast", Address.is_global_unicast),
    row("isIP(string) -> bool", "is_ip", succeeds(_ip), *READS_TEXT),
    row("string(IP) -> string", "ip_to_string", str),
    row("cidr(string) -> CIDR", "string_to_cidr", _cidr, *READS_TEXT),
    row("CIDR.containsIP(string) -> bool", "cidr_contains_ip_string", _contains_ip, *_IP_TEXT),
    row("CIDR.containsIP(IP) -> bool", "cidr_contains_ip_ip", Prefix.contains, *_IP),
    row(
        "CIDR.containsCIDR(string) -> bool",
        "cidr_contains_cidr_string",
        lambda cidr, text: _contains_network(cidr, _cidr(text)),
        *_CIDR_TEXT,
    ),
    row("CIDR.containsCIDR(CIDR) -> bool", "cidr_contains_cidr", _contains_network, *_CIDR),
    row("CIDR.ip() -> IP", "cidr_ip", lambda cidr: cidr.address),
    row("CIDR.prefixLength() -> int", "cidr_prefix_length", lambda cidr: cidr.bits),
    row("CIDR.masked() -> CIDR", "cidr_masked", Prefix.masked),
    row("isCIDR(string) -> bool", "is_cidr", succeeds(_cidr), *READS_TEXT),
    row("string(CIDR) -> string", "cidr_to_string", str),
)
