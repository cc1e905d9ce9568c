"""Functions on strings: contains, startsWith, endsWith, matches.

Kubernetes: cel-go common/stdlib/standard.go; costs in checker/cost.go and interpreter/runtimecost.go, which disagree on
startsWith and endsWith (the estimate reads the argument, the charge is for the receiver): so do these rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moorage.match.cel.costs import pattern_cost, pattern_estimate, receiver_size_cost
from moorage.match.cel.functions import (
    STRING_FACTOR,
    CallEstimate,
    EstimateContext,
    Function,
    Node,
    actual_size,
    ceil_factor,
    row,
)
from moorage.match.cel.patterns import search

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


def _contains(text: str, part: str) -> bool:
    return part in text


def _matches(text: str, pattern: str) -> bool:
    return search(pattern, text)


TEXT_FUNCTIONS: tuple[Function, ...] = (
    row("string.contains(string) -> bool", "contains_string", _contains, _contains_estimate, _contains_cost),
    row("string.endsWith(string) -> bool", "ends_with_string", str.endswith, _affix_estimate, receiver_size_cost),
    row("string.startsWith(string) -> bool", "starts_with_string", str.startswith, _affix_estimate, receiver_size_cost),
    row("matches(string, string) -> bool", "matches", _matches),
    row("string.matches(string) -> bool", "matches_string", _matches, pattern_estimate, pattern_cost),
)
