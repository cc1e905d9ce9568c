"""IP addresses and networks with the grammar, texts and tests of Go's `net/netip`.

In: text. Out: `Address` and `Prefix` values, or `AddressError` with Go's own words. Python's `ipaddress` is not used:
it accepts and refuses other texts, and says so in other words. Kubernetes: the CEL functions `ip()` and `cidr()` rest
on netip.
"""

from __future__ import annotations

from dataclasses import dataclass

from moorage.model.go.quoting import go_quote as quote

_DECIMAL = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class AddressError(ValueError):
    """A text that is no address or network; `str(error)` is Go's message."""


@dataclass(frozen=True, slots=True)
class Address:
    """One IPv4 (32 bit) or IPv6 (128 bit) address; the zone only ever belongs to IPv6."""

    bit_length: int
    number: int
    zone: str = ""

    @property
    def is_4(self) -> bool:
        return self.bit_length == 32

    @property
    def is_4_in_6(self) -> bool:
        return self.bit_length == 128 and self.number >> 32 == 0xFFFF

    def __str__(self) -> str:
        if self.is_4:
            return _dotted(self.number)
        zone = f"%{self.zone}" if self.zone else ""
        if self.is_4_in_6:
            return f"::ffff:{_dotted(self.number & 0xFFFFFFFF)}{zone}"
        return _colon_separated(self.number) + zone

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
class Prefix:
    """A network: an address, whose host bits may be set, and how many leading bits count."""

    address: Address
    bits: int

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def masked(self) -> Prefix:
        return Prefix(_keep_leading(self.address, self.bits), self.bits)

    def contains(self, address: Address) -> bool:
        if address.zone or address.bit_length != self.address.bit_length:
            return False
        return (self.address.number ^ address.number) >> (self.address.bit_length - self.bits) == 0

    def overlaps(self, other: Prefix) -> bool:
        if self.address.bit_length != other.address.bit_length:
            return False
        bits = min(self.bits, other.bits)
        return _keep_leading(self.address, bits) == _keep_leading(other.address, bits)


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


def _keep_leading(address: Address, bits: int) -> Address:
    host_bits = address.bit_length - bits
    return Address(address.bit_length, address.number >> host_bits << host_bits)


def _dotted(number: int) -> str:
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _colon_separated(number: int) -> str:
    """Lower-case groups, the first longest run of at least two zero groups written as `::`."""
    groups = [number >> shift & 0xFFFF for shift in range(112, -16, -16)]
    best_start = best_length = 0
    index = 0
    while index < 8:
        end = index
        while end < 8 and groups[end] == 0:
            end += 1
        if end - index >= 2 and end - index > best_length:
            best_start, best_length = index, end - index
        index = max(end, index + 1)
    texts = [f"{group:x}" for group in groups]
    if not best_length:
        return ":".join(texts)
    return ":".join(texts[:best_start]) + "::" + ":".join(texts[best_start + best_length :])


def _error(whole: str, reason: str, at: str = "") -> AddressError:
    position = f" (at {quote(at)})" if at else ""
    return AddressError(f"ParseAddr({quote(whole)}): {reason}{position}")


def _prefix_error(whole: str, reason: str) -> AddressError:
    return AddressError(f"netip.ParsePrefix({quote(whole)}): {reason}")
