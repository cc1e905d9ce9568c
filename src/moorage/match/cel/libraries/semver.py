"""The semver library, version 1: `semver(<string>[, normalize])`, `isSemver`, comparisons and parts.

Kubernetes: apiserver/pkg/cel/library/semverlib.go and pkg/cel/semver.go. Strict unless `normalize` is true. Normalizing
forgives a leading `v`, missing parts and leading zeros, but no spaces: it is not `parse_tolerant`. Build metadata does
not count in `==`; parts beyond int64 wrap around.
"""

from __future__ import annotations

from typing import ClassVar

from moorage.match.cel.costs import READS_TEXT
from moorage.match.cel.functions import row, succeeds
from moorage.match.cel.types import SEMVER, Type
from moorage.match.cel.values import CelError, OpaqueValue
from moorage.match.semver import SemverError, Version, normalized, parse


class SemverValue(OpaqueValue):
    """A value of type kubernetes.Semver; equal by precedence."""

    __slots__ = ("version",)
    cel_type: ClassVar[Type] = SEMVER

    def __init__(self, version: Version) -> None:
        self.version = version

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemverValue) and self.version.compare(other.version) == 0

    def __hash__(self) -> int:
        return hash(self.version.order_key)


def _semver(text: str, normalize: bool = False) -> SemverValue:
    try:
        return SemverValue(parse(normalized(text.removeprefix("v"), "short") if normalize else text))
    except SemverError as error:
        raise CelError(str(error)) from None


def _int64(number: int) -> int:
    return number if number < 2**63 else number - 2**64


FUNCTIONS = (
    row("semver(string) -> Semver", "string_to_semver", _semver, *READS_TEXT),
    row("semver(string, bool) -> Semver", "string_bool_to_semver", _semver, *READS_TEXT),
    row("isSemver(string) -> bool", "is_semver_string", succeeds(_semver), *READS_TEXT),
    row("isSemver(string, bool) -> bool", "is_semver_string_bool", succeeds(_semver), *READS_TEXT),
    row(
        "Semver.isGreaterThan(Semver) -> bool", "semver_is_greater_than", lambda a, b: a.version.compare(b.version) > 0
    ),
    row("Semver.isLessThan(Semver) -> bool", "semver_is_less_than", lambda a, b: a.version.compare(b.version) < 0),
    row("Semver.compareTo(Semver) -> int", "semver_compare_to", lambda a, b: a.version.compare(b.version)),
    row("Semver.major() -> int", "semver_major", lambda v: _int64(v.version.major)),
    row("Semver.minor() -> int", "semver_minor", lambda v: _int64(v.version.minor)),
    row("Semver.patch() -> int", "semver_patch", lambda v: _int64(v.version.patch)),
)
