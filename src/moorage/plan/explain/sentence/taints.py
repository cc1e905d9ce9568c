"""Tell which taints a pod does not tolerate, and how near they are to what it does tolerate."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from moorage.match.comparison import Comparison
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.tolerations import TolerationMatcher, TolerationSet
from moorage.model.types.node import Taint
from moorage.model.well_known import taints
from moorage.plan.explain.sentence.causes import CORDONED, Cause, Value
from moorage.plan.explain.sentence.words import KeyNames, Where, adjective, capital, listed, nearest_text, value_text

_OTHERS = ("has taints that it does not tolerate", "have taints that it does not tolerate")


class Tolerance(StrEnum):
    """What the pod's tolerations have to do with a taint that none of them matches."""

    NONE = "which it does not tolerate"
    OTHER_EFFECT = "which it tolerates for another effect only"
    THRESHOLD = "threshold"
    EQUAL = "equal"
    EXPRESSION = "for which its expression is false"
    NEVER = "never"
    SEVERAL = "which none of its tolerations for it matches"


class Untolerated(Cause, frozen=True):
    """A key of taints; values of nodes are the taint's value.

    `operator` and `wanted` are those of the toleration of a threshold, or the values of tolerations that are `EQUAL`;
    `why` says what keeps the toleration from being compared at all.
    """

    excludes = True

    name: str
    key: str
    tolerance: Tolerance
    operator: str = ""
    wanted: tuple[str, ...] = ()
    why: str = ""

    def alone(self, values: Sequence[Value], where: Where) -> str:
        comparison = self._comparison
        if comparison is not None:
            return f"Tolerates {self.name} {self._threshold(comparison)}; {self._best(comparison, values, where)}"
        if self.tolerance is Tolerance.EQUAL:
            has = listed(_different(values), "or")
            return f"Tolerates {self.name}={self._values}; {where.every} has {has}"
        if self.tolerance is Tolerance.NEVER:
            return f"Its toleration for {self.name} does not count: {self.why}"
        return capital(f"{where.every} has the taint {self._taint(values)}, {self.tolerance}")

    def but_for(self, values: Sequence[Value]) -> str:
        comparison = self._comparison
        if comparison is not None:
            best = nearest_text(comparison, self.wanted[0], [one.value for one in values])
            word = adjective(comparison.symbol, comparison.kind)
            several = sum(one.nodes for one in values) > 1
            has = (f"the {word} is {best}" if several else f"has {best}") if best else "no value to compare"
            return f"{self.name} (tolerates {self._threshold(comparison)}, {has})"
        if self.tolerance is Tolerance.EQUAL:
            return f"the taint {self.name} (tolerates {self._values}, has {listed(_different(values), 'or')})"
        about = {Tolerance.NONE: "", Tolerance.NEVER: f" ({self.why})"}.get(self.tolerance, f", {self.tolerance}")
        return f"the taint {self._taint(values)}{about}"

    def of_others(self, nodes: int) -> str:
        return _OTHERS[nodes > 1]

    @property
    def _comparison(self) -> Comparison | None:
        return comparison_of(self.operator, TOLERATION) if self.tolerance is Tolerance.THRESHOLD else None

    def _threshold(self, comparison: Comparison) -> str:
        return f"{comparison.symbol} {value_text(self.wanted[0], comparison.kind)}"

    def _best(self, comparison: Comparison, values: Sequence[Value], where: Where) -> str:
        best = nearest_text(comparison, self.wanted[0], [one.value for one in values])
        if not best:
            return f"{where.no} has a value that can be compared"
        return where.value(adjective(comparison.symbol, comparison.kind), best)

    @property
    def _values(self) -> str:
        return listed([value_text(one) for one in self.wanted], "or")

    def _taint(self, values: Sequence[Value]) -> str:
        has = {one.value for one in values}
        value = has.pop() if len(has) == 1 else ""
        return f"{self.name}={value_text(value)}" if value else self.name


def taint_causes(
    tolerations: TolerationSet, untolerated: Sequence[Taint], names: KeyNames
) -> Iterator[tuple[Cause, Any]]:
    """Yield a cause for each taint, with its value."""
    for taint in untolerated:
        if taint.key == taints.UNSCHEDULABLE:
            yield CORDONED, None
        else:
            yield _cause(tolerations, taint, names), taint.value


def _cause(tolerations: TolerationSet, taint: Taint, names: KeyNames) -> Untolerated:
    concerning = [one for one in tolerations.matchers if one.concerns(taint)]
    comparing = [one for one in concerning if one.never is None]
    name = names.name(taint.key)
    if concerning and not comparing:
        return Untolerated(name, taint.key, Tolerance.NEVER, why=concerning[0].never or "")
    if not concerning:
        other = any(one.toleration.key == taint.key for one in tolerations.matchers)
        return Untolerated(name, taint.key, Tolerance.OTHER_EFFECT if other else Tolerance.NONE)
    if all(one.toleration.expression for one in comparing):
        return Untolerated(name, taint.key, Tolerance.EXPRESSION)
    operators = [comparison_of(one.toleration.operator, TOLERATION) for one in comparing]
    if len(comparing) == 1 and operators[0] is not None:
        return _threshold(comparing[0], operators[0], taint, names)
    if not any(operators) and not any(one.toleration.expression for one in comparing):
        wanted = tuple(sorted({one.toleration.value for one in comparing}))
        return Untolerated(name, taint.key, Tolerance.EQUAL, wanted=wanted)
    return Untolerated(name, taint.key, Tolerance.SEVERAL)


def _threshold(matcher: TolerationMatcher, comparison: Comparison, taint: Taint, names: KeyNames) -> Untolerated:
    name = names.name(taint.key, is_version=comparison.kind.noun == "version")
    toleration = matcher.toleration
    return Untolerated(name, taint.key, Tolerance.THRESHOLD, toleration.operator, (toleration.value,))


def _different(values: Sequence[Value]) -> list[str]:
    """Return the values of the taint, the commonest first."""
    nodes: dict[str, int] = {}
    for one in values:
        nodes[one.value] = nodes.get(one.value, 0) + one.nodes
    return [value_text(text) for text in sorted(nodes, key=lambda text: (-nodes[text], text))]
