"""Semantic versions: text → Version with a sort key, or the parser's own words for why not.

Kubernetes: github.com/blang/semver v4, `ParseTolerant` for tolerations and node affinity, `Parse` for CEL.
Differs: the comparison is a tuple, `Version.order_key`, computed once; build metadata is no part of it.
"""

from typing import TypeAlias

import msgspec

from moorage.match.numeric import NumberError, parse_uint64
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length
from moorage.model.text.readers import reads_text

#: Unicode's White_Space, which Go's TrimSpace trims; Python's `strip()` would take four control characters more.
GO_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_DIGITS = frozenset("0123456789")
_SURELY_FITS = 18  # digits
_ALPHANUMERIC = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")

_PreReleaseKey: TypeAlias = tuple[int, int, str]
OrderKey: TypeAlias = tuple[int, int, int, bool, tuple[_PreReleaseKey, ...]]


class SemverError(ValueError):
    """A text that is no semantic version; `str()` is what the real parser says."""


class Version(msgspec.Struct, frozen=True):
    """A version taken apart. `==` compares every part; precedence is `compare` and `order_key`."""

    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    @property
    def order_key(self) -> OrderKey:
        """Sorts as semver.org's precedence: a release above its pre-releases, numbers below words, no build."""
        pre = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not pre, pre)

    def compare(self, other: "Version") -> int:
        """-1, 0 or 1, as this version is below, level with or above the other."""
        if self.pre or other.pre:
            mine, theirs = self.order_key, other.order_key
            return (mine > theirs) - (mine < theirs)
        release, others = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        return (release > others) - (release < others)

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(map(str, self.pre))
        if self.build:
            text += "+" + ".".join(self.build)
        return text


@reads_text("1", "0", ".", "-", "+", "a", "v", " ", raises=SemverError)
def parse_tolerant(text: str) -> Version:
    """Parse as tolerations and node affinity do: spaces, one leading `v`, short forms, leading zeros are forgiven."""
    trimmed = text.strip(GO_SPACE).removeprefix("v")
    return _plain_release(trimmed) or parse(normalized(trimmed, "Short"))


def version_or_none(text: str) -> Version | None:
    try:
        return parse_tolerant(text)
    except SemverError:
        return None


def normalized(text: str, short: str) -> str:
    """Forgive leading zeros and missing parts; `short` starts the message that refuses `1.2-rc`."""
    parts = text.split(".", 2)
    parts = [_without_leading_zeros(part) if byte_length(part) > 1 else part for part in parts]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise SemverError(f"{short} version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


@reads_text("1", "0", ".", "-", "+", "a", raises=SemverError)
def parse(text: str) -> Version:
    """Parse strictly, as CEL's `semver(text)` does."""
    if (plain := _plain_release(text)) is not None:
        return plain
    if not text:
        raise SemverError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise SemverError("No Major.Minor.Patch elements found")
    major = _number(parts[0], "major")
    minor = _number(parts[1], "minor")
    rest, plus, build_text = parts[2].partition("+")
    patch_text, dash, pre_text = rest.partition("-")
    patch = _number(patch_text, "patch")
    pre = tuple(map(_pre_release_part, pre_text.split("."))) if dash else ()
    build = tuple(map(_build_part, build_text.split("."))) if plus else ()
    return Version(major, minor, patch, pre, build)


def _plain_release(text: str) -> Version | None:
    """Return what nearly all versions are: three numbers that surely fit."""
    parts = text.split(".", 3)
    if len(parts) != 3 or not text.isascii():
        return None
    for part in parts:
        if not part.isdigit() or len(part) > _SURELY_FITS or _has_leading_zero(part):
            return None
    major, minor, patch = map(int, parts)
    return Version(major, minor, patch)


def _without_leading_zeros(part: str) -> str:
    stripped = part.lstrip("0")
    return stripped if stripped and stripped[0] in _DIGITS else "0" + stripped


def _number(text: str, which: str) -> int:
    if not _DIGITS.issuperset(text):
        raise SemverError(f"Invalid character(s) found in {which} number {go_quote(text)}")
    if _has_leading_zero(text):
        raise SemverError(f"{which.capitalize()} number must not contain leading zeroes {go_quote(text)}")
    return _uint64(text)


def _pre_release_part(text: str) -> int | str:
    if not text:
        raise SemverError("Prerelease is empty")
    if _DIGITS.issuperset(text):
        if _has_leading_zero(text):
            raise SemverError(f"Numeric PreRelease version must not contain leading zeroes {go_quote(text)}")
        return _uint64(text)
    if not _ALPHANUMERIC.issuperset(text):
        raise SemverError(f"Invalid character(s) found in prerelease {go_quote(text)}")
    return text


def _build_part(text: str) -> str:
    if not text:
        raise SemverError("Build meta data is empty")
    if not _ALPHANUMERIC.issuperset(text):
        raise SemverError(f"Invalid character(s) found in build meta data {go_quote(text)}")
    return text


def _has_leading_zero(text: str) -> bool:
    return len(text) > 1 and text[0] == "0"


def _uint64(text: str) -> int:
    try:
        return parse_uint64(text)
    except NumberError as error:
        raise SemverError(str(error)) from None
