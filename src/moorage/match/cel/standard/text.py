"""Functions on strings: contains, startsWith, endsWith, matches.

Kubernetes: cel-go common/stdlib/standard.go; costs in checker/cost.go and interpreter/runtimecost.go, which disagree on
startsWith and endsWith (the estimate reads the argument, the charge is for the receiver): so do these rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.functions import (
    ONE,
    REGEX_FACTOR,
    STRING_FACTOR,
    CallEstimate,
    EstimateContext,
    Function,
    Node,
    Overload,
    actual_size,
    ceil_factor,
)
from moorage.match.cel.patterns import search
from moorage.match.cel.standard.rows import function, overload, receiver_size_cost
from moorage.match.cel.types import BOOL, STRING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _affix_estimate(context: EstimateContext, _: Node | None, args: Sequence[Node]) -> CallEstimate:
    return CallEstimate(context.size(args[0]).by_factor(STRING_FACTOR))


def _contains_estimate(context: EstimateContext, target: Node | None, args: Sequence[Node]) -> CallEstimate:
    assert target is not None
    text = context.size(target).by_factor(STRING_FACTOR)
    return CallEstimate(text.times(context.size(args[0]).by_factor(STRING_FACTOR)))


def _contains_cost(args: Sequence[Any]) -> int:
    return ceil_factor(actual_size(args[0]), STRING_FACTOR) * ceil_factor(actual_size(args[1]), STRING_FACTOR)


def _matches_estimate(context: EstimateContext, target: Node | None, args: Sequence[Node]) -> CallEstimate:
    assert target is not None
    text = context.size(target).plus(ONE).by_factor(STRING_FACTOR)
    return CallEstimate(text.times(context.size(args[0]).by_factor(REGEX_FACTOR)))


def matches_cost(args: Sequence[Any]) -> int:
    """Return the length of the text times that of the pattern, each by its factor."""
    return ceil_factor(actual_size(args[0]) + 1, STRING_FACTOR) * ceil_factor(actual_size(args[1]), REGEX_FACTOR)


def _contains(text: str, part: str) -> bool:
    return part in text


def _matches(text: str, pattern: str) -> bool:
    return search(pattern, text)


_TWO_STRINGS = (STRING, STRING)

TEXT_FUNCTIONS: tuple[Function, ...] = (
    function(
        "contains",
        Overload(
            "contains_string",
            _TWO_STRINGS,
            BOOL,
            _contains,
            member=True,
            estimate=_contains_estimate,
            cost=_contains_cost,
        ),
    ),
    function(
        "endsWith",
        Overload(
            "ends_with_string",
            _TWO_STRINGS,
            BOOL,
            str.endswith,
            member=True,
            estimate=_affix_estimate,
            cost=receiver_size_cost,
        ),
    ),
    function(
        "startsWith",
        Overload(
            "starts_with_string",
            _TWO_STRINGS,
            BOOL,
            str.startswith,
            member=True,
            estimate=_affix_estimate,
            cost=receiver_size_cost,
        ),
    ),
    function(
        "matches",
        overload("matches", _TWO_STRINGS, BOOL, _matches),
        Overload(
            "matches_string",
            _TWO_STRINGS,
            BOOL,
            _matches,
            member=True,
            estimate=_matches_estimate,
            cost=matches_cost,
        ),
    ),
)
