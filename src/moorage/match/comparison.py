"""Read and compare the values of `Lt` and of the Semver operators, and say which values a comparison accepts.

A gap is how far a node is from what a pod asks for, one number for each objection: 0 is near, 1 is far. A value that
cannot be compared is further away than any that can, and a label or toleration that is not there is the furthest.

Kubernetes: parses both sides on every comparison (api/core/v1/toleration.go, apimachinery/pkg/labels).
Differs: the pod's side is read once; a node's side that cannot be read is false, and is named (`Unreadable`) in the
same words by FailedScheduling, `plan`, `explain`, log lines, the metric and the Event about the node.
"""

import operator
from collections.abc import Callable, Iterable
from math import log1p
from typing import Any, NamedTuple, TypeAlias

import msgspec

from moorage.match.intervals import INTEGERS, VERSIONS, Intervals, Scale, above, below, exactly, related
from moorage.match.numeric import canonical_int64_errors, parse_canonical_int64, parse_int64, why_not_canonical
from moorage.match.semver import SemverError, parse_tolerant
from moorage.model.go.quoting import go_quote

#: Why something does not match, and how far it is from matching.
Objection: TypeAlias = tuple[str, float]
#: The gap of a value that is another one, and cannot be moved towards the right one.
DIFFERS = 0.9
#: The gap of what is not there at all, and of objections of which nothing can be measured.
ABSENT = 1.0
_ONE_MINOR_VERSION = log1p(1e6)


class ValueKind(msgspec.Struct, frozen=True):
    """The values that a comparison reads.

    `read` raises ValueError for other texts, of which `complaint` is the predicate of a sentence ("is not …") and
    `details` says more; `errors` are the API server's messages. What was read is a value on the `scale`. A text that
    cannot be read is in no interval.
    """

    noun: str
    plural: str
    read: Callable[[str], Any]
    complaint: Callable[[str], str]
    errors: Callable[[str], list[str]]
    scale: Scale
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

    def value_of(self, text: str) -> Any:
        """Return the value on the scale; None if the text cannot be read."""
        try:
            return self.read(text)
        except ValueError:
            return None

    def contains(self, accepted: Intervals, text: str) -> bool:
        value = self.value_of(text)
        return value is not None and accepted.contains(value)

    def nearest(self, accepted: Intervals, *texts: str) -> str | None:
        """Return the value inside that is nearest to the first text that can be read, in its spelling."""
        for text in texts:
            value = self.value_of(text)
            if value is not None:
                found = accepted.nearest(value)
                return None if found is None else text if found == value else self.scale.write(found, text)
        return None

    def around(self, text: str) -> list[str]:
        """Return the text's value in plain form, and the nearest values below and above it; none if it has no value."""
        value = self.value_of(text)
        if value is None:
            return []
        near = (below(self.scale, value), exactly(self.scale, value), above(self.scale, value))
        return [self.scale.write(one.nearest(value), "") for one in near if not one.is_empty]

    def nearest_first(self, now: str, texts: Iterable[str]) -> list[str]:
        """Sort texts that can be read by how large a change of `now` they are; leave them as they are if it cannot."""
        value = self.value_of(now)
        return list(texts) if value is None else sorted(texts, key=lambda text: self._distance(value, text))

    def _distance(self, value: Any, text: str) -> Any:
        return self.scale.distance(value, self.read(text))

    def move(self, before: str, after: str) -> float:
        """Return how far apart two texts are, to tell a small change from a large one; 0 if one cannot be read."""
        first, second = self.value_of(before), self.value_of(after)
        return 0.0 if first is None or second is None else self.scale.move(first, second)


def amount_gap(has: int, needs: int) -> float:
    """Return the part of a request that is missing: 0.5 if 8 of 16 are free."""
    return (needs - has) / needs if needs > 0 else ABSENT


def value_gap(kind: ValueKind, wanted: str, actual: str) -> float:
    """Return how far a value is from the threshold that it does not meet."""
    threshold, value = kind.value_of(wanted), kind.value_of(actual)
    if threshold is None or value is None:
        return DIFFERS
    move = kind.scale.move(threshold, value)
    if isinstance(threshold, int):
        return DIFFERS * move / (move + max(1, abs(threshold)))
    far = log1p(move)
    return DIFFERS * far / (far + _ONE_MINOR_VERSION)


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

    def accepted(self, wanted: str) -> Intervals:
        """Return the values of the node's side that match; none if `wanted` cannot be read."""
        return self._related(wanted, self.holds)

    def accepting(self, actual: str) -> Intervals:
        """Return the values of the pod's side with which `actual` matches; none if that cannot be read."""
        return self._related(actual, lambda wanted, given: self.holds(given, wanted))

    def _related(self, text: str, holds: Callable[[Any, Any], bool]) -> Intervals:
        value, scale = self.kind.value_of(text), self.kind.scale
        return Intervals(scale) if value is None else related(scale, value, holds)

    def threshold_for(self, actual: str, now: str) -> str | None:
        """Return the threshold that is the smallest change of `now` and matches `actual`; None if there is none."""
        return self.kind.nearest(self.accepting(actual), now, actual)


def _version_errors(text: str) -> list[str]:
    try:
        parse_tolerant(text)
    except SemverError as error:
        return [str(error)]
    return []


CANONICAL_INTEGER = ValueKind(
    "number",
    "whole numbers",
    parse_canonical_int64,
    why_not_canonical,
    canonical_int64_errors,
    INTEGERS,
)
#: Any text that strconv.ParseInt reads. Validation does not look at it; the selector's compiler does.
INTEGER = ValueKind(
    "number",
    "whole numbers",
    parse_int64,
    lambda text: "is not a 64-bit integer",
    lambda text: [],
    INTEGERS,
)
VERSION = ValueKind(
    "version",
    "versions",
    lambda text: parse_tolerant(text).order_key,
    lambda text: "is not a semantic version",
    _version_errors,
    VERSIONS,
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


def true_inequality(left: str, symbol: str, right: str) -> str:
    return f"{shown(left)} {symbol} {shown(right)} is true"


# -- values that cannot be read ----------------------------------------------------------------------------------------

#: Where a value is, and what stands for the operator of an expression.
TAINT_VALUE, LABEL_VALUE, DEVICE_TAINT_VALUE = "taint", "label", "device-taint"
EXPRESSION = "expression"
#: Characters of an error: a reason of FailedScheduling has to be short, and the same for many nodes.
_MAX_ERROR = 120
_CUT = "..."


class Unreadable(NamedTuple):
    """A value of a node that an operator cannot compare, or for which an expression fails.

    `why` is a predicate ("is not a semantic version"), or the error of the expression.
    """

    source: str
    key: str
    value: str
    operator: str
    why: str

    @property
    def obstacle(self) -> str:
        """Write the parenthesis of a reason in FailedScheduling."""
        if self.operator == EXPRESSION:
            return f"the expression failed: {cut_error(self.why)}"
        return f"{{{self.key}: {self.value}}} {self.why}"

    @property
    def sentence(self) -> str:
        """Write `taint load=high is not a 64-bit integer`, for the Event about a node."""
        subject = f"{self.source} {shown(self.key)}{self.value and f'={shown(self.value)}'}"
        if self.operator == EXPRESSION:
            return f"{subject} makes a toleration's expression fail ({cut_error(self.why)})"
        return f"{subject} {self.why}"


def unreadable_value(source: str, key: str, value: str, operator: str, kind: ValueKind) -> Unreadable | None:
    """Describe a value that the operator cannot compare; None if it can."""
    why = kind.why_unreadable(value)
    return Unreadable(source, key, value, operator, why) if why else None


def cut_error(error: str) -> str:
    """Shorten the text of an error to one line of bounded length."""
    line = " ".join(error[: 4 * _MAX_ERROR].split())
    return line if len(line) <= _MAX_ERROR else line[: _MAX_ERROR - len(_CUT)] + _CUT


def with_obstacle(reason: str, why: str | None) -> str:
    """Write a reason of FailedScheduling, and in parentheses what keeps values from being compared."""
    return f"{reason} ({why})" if why else reason
