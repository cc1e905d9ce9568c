"""Ordered comparisons: the rows behind `Lt`, `Gt`, `SemverLt`, `SemverGt`, `SemverEq`.

In: an operator's row and the text on the pod's side. Out: a predicate over the text on the node's side (a taint's or a
label's value) that cannot fail, and the inequality in words.
Kubernetes: parses both sides on every comparison (api/core/v1/toleration.go, apimachinery/pkg/labels).
Differs: the pod's side is read once; a node's side that cannot be read is false, and can be named.
"""

import operator
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.match.numeric import parse_canonical_int64, parse_int64, why_not_canonical
from moorage.match.semver import SemverError, parse_tolerant
from moorage.model.go.quoting import go_quote


def _version_key(text: str) -> Any:
    return parse_tolerant(text).order_key


def _not_an_integer(text: str) -> str:
    return f"{go_quote(text)} is not a 64-bit integer"


def _not_canonical(text: str) -> str:
    return f"{go_quote(text)} {why_not_canonical(text)}"


def _not_a_version(text: str) -> str:
    try:
        parse_tolerant(text)
    except SemverError as error:
        return f"{go_quote(text)} is not a semantic version: {error}"
    return ""


class ValueKind(msgspec.Struct, frozen=True):
    """What both sides of a comparison are: how to read one (ValueError if it is none), and how to say it is none."""

    read: Callable[[str], Any]
    complaint: Callable[[str], str]


CANONICAL_INTEGER = ValueKind(parse_canonical_int64, _not_canonical)
INTEGER = ValueKind(parse_int64, _not_an_integer)
VERSION = ValueKind(_version_key, _not_a_version)


class Comparison(msgspec.Struct, frozen=True):
    """One row: the kind of values, the relation as printed, and the relation itself, node's side first."""

    kind: ValueKind
    symbol: str
    holds: Callable[[Any, Any], bool]

    def unreadable(self, text: str) -> str | None:
        """Why the text cannot be compared, or None if it can."""
        try:
            self.kind.read(text)
        except ValueError:
            return self.kind.complaint(text)
        return None

    def compile(self, wanted: str) -> Callable[[str], bool]:
        """The predicate `text OP wanted`; it is false for every text if `wanted` itself cannot be read."""
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


INTEGER_LT = Comparison(INTEGER, "<", operator.lt)
INTEGER_GT = Comparison(INTEGER, ">", operator.gt)
CANONICAL_LT = Comparison(CANONICAL_INTEGER, "<", operator.lt)
CANONICAL_GT = Comparison(CANONICAL_INTEGER, ">", operator.gt)
VERSION_LT = Comparison(VERSION, "<", operator.lt)
VERSION_GT = Comparison(VERSION, ">", operator.gt)
VERSION_EQ = Comparison(VERSION, "=", operator.eq)


def shown(text: str) -> str:
    """A value as explanations print it: as it is, but an empty one is to be seen and a line break not to break it."""
    return text if text and text.isprintable() else go_quote(text)


def false_inequality(left: str, symbol: str, right: str) -> str:
    return f"{shown(left)} {symbol} {shown(right)} is false"
