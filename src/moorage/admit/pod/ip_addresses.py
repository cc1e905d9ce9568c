"""Validate IP addresses and ranges in fields that are older than strict parsing.

The errors tell nonsense from text that programs read in different ways. Kubernetes: IsValidIPForLegacyField and
IsValidCIDRForLegacyField (apimachinery, util/validation/ip.go) on top of ParseIPSloppy and ParseCIDRSloppy, with
StrictIPCIDRValidation on as in 1.36; for newer fields IsValidIP and IsValidCIDR, which want one form of many.
"""

import ipaddress
from functools import lru_cache

from moorage.model.field_error import FieldError, invalid
from moorage.model.text.readers import reads_text

_NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_LEADING_ZEROS = "must not have leading 0s"
_MAPPED = "must not be an IPv4-mapped IPv6 address"
_NOT_A_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_MAPPED_PREFIX = bytes(10) + b"\xff\xff"
_DECIMAL = frozenset("0123456789")
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
_LONGEST = 200  # of what can be an address even with many zeros in front; longer text is not worth parsing


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", arguments=("",), longest=200)
def validate_ip_address(value: str, path: str) -> list[FieldError]:
    complaint = _complaint(value) if len(value) <= _LONGEST else _NOT_AN_ADDRESS
    return [invalid(path, value, complaint)] if complaint else []


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", longest=200)
def is_ip_address(value: str) -> bool:
    """True also for an address with leading zeros."""
    return len(value) <= _LONGEST and _complaint(value) != _NOT_AN_ADDRESS


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", longest=200)
def address_errors(value: str) -> list[str]:
    """Return what is wrong with an address that must be in canonical form."""
    if len(value) > _LONGEST or (complaint := _complaint(value)) == _NOT_AN_ADDRESS:
        return [_NOT_AN_ADDRESS]
    if complaint:
        return [complaint]
    canonical = str(ipaddress.ip_address(value))
    return [] if canonical == value else [f'must be in canonical form ("{canonical}")']


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", longest=200)
def canonical_cidr_errors(value: str) -> list[str]:
    """Return what is wrong with a range that must be in canonical form."""
    if errors := validate_cidr(value, ""):
        return [error.detail for error in errors]
    canonical = str(ipaddress.ip_network(value))
    return [] if canonical == value else [f'must be in canonical form ("{canonical}")']


def is_strict_subnet(inner: tuple[bytes, int], outer: tuple[bytes, int]) -> bool:
    """Return whether a parsed range lies in another one that is larger."""
    address, length = inner
    whole, size = outer
    if len(address) != len(whole) or size >= length:
        return False
    kept = _mask(size, len(whole))
    return all(one & bits == other & bits for one, other, bits in zip(address, whole, kept, strict=True))


@reads_text("0", "1", "255", ".", ":", "::", "/", "%", "f", "x", arguments=("",), longest=200)
def validate_cidr(value: str, path: str) -> list[FieldError]:
    parsed = parse_cidr(value)
    if parsed is None:
        return [invalid(path, value, _NOT_A_CIDR)]
    address, length = parsed
    written = _complaint(value.partition("/")[0])
    if written == _LEADING_ZEROS or (value.partition("/")[2].startswith("0") and not value.endswith("/0")):
        return [invalid(path, value, f"{_LEADING_ZEROS} in IP or prefix length")]
    if written:
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if any(octet & ~kept for octet, kept in zip(address, _mask(length, len(address)), strict=True)):
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def parse_cidr(value: str) -> tuple[bytes, int] | None:
    """Return the octets of the address and the length of the prefix, or None; with leading zeros if need be."""
    written, slash, prefix = value.partition("/")
    if not slash or len(value) > _LONGEST or not prefix or not _DECIMAL.issuperset(prefix):
        return None
    octets = _octets(written)
    if octets is None:
        groups = _ipv6_groups(written) if ":" in written else None
        if groups is None:
            return None
        octets = [octet for group in groups for octet in (group >> 8, group & 255)]
    return (bytes(octets), int(prefix)) if int(prefix) <= 8 * len(octets) else None


def cidr_family(address: bytes, length: int) -> int:
    """4 or 6. A mapped IPv4 address is one of version 4, if the prefix leaves the mapping visible."""
    mapped = len(address) == 16 and address[:12] == _MAPPED_PREFIX and length >= 96
    return 4 if len(address) == 4 or mapped else 6


def _mask(length: int, octets: int) -> bytes:
    bits = 8 * octets
    return ((1 << bits) - (1 << bits - length)).to_bytes(octets, "big")


@lru_cache(maxsize=256)
def _complaint(value: str) -> str:
    dot, colon = value.find("."), value.find(":")
    if dot >= 0 and (colon < 0 or dot < colon):
        octets = _octets(value)
        if octets is None:
            return _NOT_AN_ADDRESS
        return "" if _is_strict_ipv4(value) else _LEADING_ZEROS
    groups = _ipv6_groups(value) if colon >= 0 else None
    if groups is None:
        return _NOT_AN_ADDRESS
    if not all(_is_strict_ipv4(group) if "." in group else len(group) <= 4 for group in value.split(":")):
        return _LEADING_ZEROS
    return _MAPPED if groups[:6] == [0, 0, 0, 0, 0, 0xFFFF] else ""


def _octets(text: str) -> list[int] | None:
    parts = text.split(".")
    if len(parts) != 4 or not all(part and _DECIMAL.issuperset(part) for part in parts):
        return None
    octets = [int(part) for part in parts]
    return octets if max(octets) <= 255 else None


def _is_strict_ipv4(text: str) -> bool:
    return all(part == "0" or not part.startswith("0") for part in text.split("."))


def _ipv6_groups(text: str) -> list[int] | None:
    """Return the eight 16-bit groups; `::` stands for at least one group of zeros, IPv4 may stand at the end."""
    if text.count("::") > 1 or ":::" in text:
        return None
    front_text, ellipsis, back_text = text.partition("::")
    front = _group_list(front_text, may_end_in_ipv4=not ellipsis)
    back = _group_list(back_text, may_end_in_ipv4=True) if ellipsis else []
    if front is None or back is None:
        return None
    missing = 8 - len(front) - len(back)
    if missing < 1 if ellipsis else missing != 0:
        return None
    return front + [0] * missing + back


def _group_list(text: str, *, may_end_in_ipv4: bool) -> list[int] | None:
    if not text:
        return []
    parts = text.split(":")
    groups: list[int] = []
    for index, part in enumerate(parts):
        if "." in part:
            octets = _octets(part)
            if not may_end_in_ipv4 or index != len(parts) - 1 or octets is None:
                return None
            groups += [octets[0] << 8 | octets[1], octets[2] << 8 | octets[3]]
        elif not part or not _HEXADECIMAL.issuperset(part) or int(part, 16) > 0xFFFF:
            return None
        else:
            groups.append(int(part, 16))
    return groups
