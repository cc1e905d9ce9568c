"""Ordered comparisons: how the values of `Lt` or of a Semver operator are read, compared, and moved.

Kubernetes: parses both sides on every comparison (api/core/v1/toleration.go, apimachinery/pkg/labels).
Differs: the pod's side is read once; a node's side that cannot be read is false, and can be named.
"""

import operator
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.match.numeric import canonical_int64_errors, parse_canonical_int64, parse_int64, why_not_canonical
from moorage.match.semver import SemverError, Version, parse_tolerant, version_or_none
from moorage.model.go.quoting import go_quote

_MAX_INT64, _MIN_INT64 = 2**63 - 1, -(2**63)


class ValueKind(msgspec.Struct, frozen=True):
    """The values that a comparison reads.

    `read` raises ValueError for other texts, of which `complaint` is the predicate of a sentence ("is not …") and
    `details` says more; `errors` are the API server's messages. `step(text, by)` is the nearest value above (1), below
    (-1) or equal (0) to a text in plain form, or None; `distance` tells a small move of a threshold from a large one.
    """

    noun: str
    plural: str
    read: Callable[[str], Any]
    complaint: Callable[[str], str]
    errors: Callable[[str], list[str]]
    step: Callable[[str, int], str | None]
    distance: Callable[[str, str], float]
    details: Callable[[str], str] = lambda text: ""

    def unreadable(self, text: str) -> str | None:
        """Say why the text cannot be compared; None if it can."""
        why = self.why_unreadable(text)
        details = self.details(text) if why else ""
        return f"{go_quote(text)} {why}{details and f': {details}'}" if why else None

    def why_unreadable(self, text: str) -> str | None:
        """Return the predicate of a sentence about a text that cannot be compared; None if it can."""
        try:
            self.read(text)
        except ValueError:
            return self.complaint(text)
        return None


class Comparison(msgspec.Struct, frozen=True):
    """A kind of values and a relation, as printed and as a function with the node's side first."""

    kind: ValueKind
    symbol: str
    holds: Callable[[Any, Any], bool]

    def unreadable(self, text: str) -> str | None:
        return self.kind.unreadable(text)

    def compile(self, wanted: str) -> Callable[[str], bool]:
        """Return the predicate `text OP wanted`; it is false for every text if `wanted` cannot be read."""
        read, holds = self.kind.read, self.holds
        try:
            limit = read(wanted)
        except ValueError:
            return lambda text: False

        def compares(text: str) -> bool:
            try:
                return holds(read(text), limit)
            except ValueError:
                return False

        return compares

    def wanted_for(self, actual: str) -> str | None:
        """Return the nearest threshold for the pod with which `actual` matches; None if there is none."""
        return self.kind.step(actual, 0 if self.holds(0, 0) else 1 if self.holds(0, 1) else -1)

    def actual_for(self, wanted: str) -> str | None:
        """Return the nearest value for the node that matches `wanted`; None if there is none."""
        return self.kind.step(wanted, 0 if self.holds(0, 0) else 1 if self.holds(1, 0) else -1)


# -- integers ---------------------------------------------------------------------------------------------------------


def _integer(text: str) -> int | None:
    try:
        return parse_int64(text)
    except ValueError:
        return None


def _integer_step(text: str, by: int) -> str | None:
    number = _integer(text)
    if number is None or not _MIN_INT64 <= number + by <= _MAX_INT64:
        return None
    return str(number + by)


def _integer_distance(before: str, after: str) -> float:
    first, second = _integer(before), _integer(after)
    return float(abs(second - first)) if first is not None and second is not None else 0.0


# -- versions ---------------------------------------------------------------------------------------------------------


def _version_errors(text: str) -> list[str]:
    try:
        parse_tolerant(text)
    except SemverError as error:
        return [str(error)]
    return []


def _version_step(text: str, by: int) -> str | None:
    """Return a version that people would write: its release or the next patch above, the previous patch below."""
    version = version_or_none(text)
    if version is None:
        return None
    major, minor, patch = version.major, version.minor, version.patch
    if by == 0:
        return str(Version(major, minor, patch, version.pre))
    if by > 0:
        return f"{major}.{minor}.{patch if version.pre else patch + 1}"
    if patch:
        return f"{major}.{minor}.{patch - 1}"
    # Which release precedes x.y.0 is not known; its first pre-release is below it.
    return None if version.pre else f"{major}.{minor}.0-0"


def _version_distance(before: str, after: str) -> float:
    old, new = version_or_none(before), version_or_none(after)
    if old is None or new is None:
        return 0.0
    return abs((new.major - old.major) * 1e12 + (new.minor - old.minor) * 1e6 + (new.patch - old.patch))


CANONICAL_INTEGER = ValueKind(
    "number",
    "whole numbers",
    parse_canonical_int64,
    why_not_canonical,
    canonical_int64_errors,
    _integer_step,
    _integer_distance,
)
#: Any text that strconv.ParseInt reads. Validation does not look at it; the selector's compiler does.
INTEGER = ValueKind(
    "number",
    "whole numbers",
    parse_int64,
    lambda text: "is not a 64-bit integer",
    lambda text: [],
    _integer_step,
    _integer_distance,
)
VERSION = ValueKind(
    "version",
    "versions",
    lambda text: parse_tolerant(text).order_key,
    lambda text: "is not a semantic version",
    _version_errors,
    _version_step,
    _version_distance,
    lambda text: "".join(_version_errors(text)),
)

INTEGER_LT = Comparison(INTEGER, "<", operator.lt)
INTEGER_GT = Comparison(INTEGER, ">", operator.gt)
CANONICAL_LT = Comparison(CANONICAL_INTEGER, "<", operator.lt)
CANONICAL_GT = Comparison(CANONICAL_INTEGER, ">", operator.gt)
VERSION_LT = Comparison(VERSION, "<", operator.lt)
VERSION_GT = Comparison(VERSION, ">", operator.gt)
VERSION_EQ = Comparison(VERSION, "=", operator.eq)


def shown(text: str) -> str:
    """Quote a value for an explanation only if it is empty or not printable."""
    return text if text and text.isprintable() else go_quote(text)


def false_inequality(left: str, symbol: str, right: str) -> str:
    return f"{shown(left)} {symbol} {shown(right)} is false"
