"""Compute with the values that a label of a pool's nodes may have: sets, their complements, and bounds of integers.

Kubernetes: Karpenter's pkg/scheduling/requirement.go. `Lt 5` and `Gt 5` are bounds of integers; a label that must not
be there is the empty set. Differs: bounds are Python's integers, so `Gt` the highest one needs no special case.
"""

from collections.abc import Sequence

import msgspec

from moorage.model.go.integers import INT64_MAX, INT64_MIN, read_int

IN, NOT_IN, EXISTS, DOES_NOT_EXIST = "In", "NotIn", "Exists", "DoesNotExist"
GT, LT, GTE, LTE = "Gt", "Lt", "Gte", "Lte"
BOUNDS = (GT, LT, GTE, LTE)
OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST, *BOUNDS)


class LabelValues(msgspec.Struct, frozen=True):
    """A set of values: those of `values`, or if `excludes` all but those, within the bounds."""

    values: frozenset[str] = frozenset()
    excludes: bool = False
    lowest: int | None = None
    highest: int | None = None

    def has(self, value: str) -> bool:
        return (value in self.values) is not self.excludes and self._is_within(value)

    def _is_within(self, value: str) -> bool:
        if self.lowest is None and self.highest is None:
            return True
        number = read_int(value, INT64_MIN, INT64_MAX)
        if number is None:
            return False
        return (self.lowest is None or number >= self.lowest) and (self.highest is None or number <= self.highest)

    def __and__(self, other: "LabelValues") -> "LabelValues":
        lowest = max((each for each in (self.lowest, other.lowest) if each is not None), default=None)
        highest = min((each for each in (self.highest, other.highest) if each is not None), default=None)
        if lowest is not None and highest is not None and lowest > highest:
            return NOTHING
        if self.excludes and other.excludes:
            return LabelValues(self.values | other.values, True, lowest, highest)
        listed, rest = (other, self) if self.excludes else (self, other)
        return LabelValues(frozenset(value for value in listed.values if listed.has(value) and rest.has(value)))

    @property
    def is_empty(self) -> bool:
        return not self.excludes and not self.values

    @property
    def listed(self) -> tuple[str, ...]:
        """Every value, in order; empty if all but some values are meant."""
        return () if self.excludes else tuple(sorted(self.values))

    def __str__(self) -> str:
        parts = []
        if not self.excludes:
            parts.append("in " + ", ".join(self.listed) if self.values else "absent")
        elif self.values:
            parts.append("not in " + ", ".join(sorted(self.values)))
        if self.lowest is not None:
            parts.append(f">= {self.lowest}")
        if self.highest is not None:
            parts.append(f"<= {self.highest}")
        return " and ".join(parts) or "any"


NOTHING = LabelValues()
ANYTHING = LabelValues(excludes=True)


def only(*values: str) -> LabelValues:
    return LabelValues(frozenset(values))


def values_of(operator: str, values: Sequence[str]) -> LabelValues:
    """Return the set that a requirement means, whose operator and number of values were checked."""
    if operator == IN:
        return only(*values)
    if operator == NOT_IN:
        return LabelValues(frozenset(values), excludes=True)
    if operator == EXISTS:
        return ANYTHING
    if operator == DOES_NOT_EXIST:
        return NOTHING
    bound = int(values[0])
    if operator in (GT, GTE):
        return LabelValues(excludes=True, lowest=bound + (operator == GT))
    return LabelValues(excludes=True, highest=bound - (operator == LT))
