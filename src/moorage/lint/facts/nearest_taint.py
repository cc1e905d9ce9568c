"""Find the taint that a toleration just misses, and the threshold, value or effect with which it would match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.meant_words import did_you_mean
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.taint_messages import describe_taint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.model.types.node import Taint
    from moorage.model.types.pod import Toleration


def readable_taints(toleration: Toleration, taints: Sequence[Taint]) -> list[Taint]:
    """Return the taints whose value the toleration can compare."""
    comparison = comparison_of(toleration.operator, TOLERATION)
    return [taint for taint in taints if comparison is None or comparison.unreadable(taint.value) is None]


def nearest_taint(toleration: Toleration, taints: Sequence[Taint]) -> Taint:
    """Return the readable taint that is the smallest move away; those of the toleration's effect come first."""
    comparison = comparison_of(toleration.operator, TOLERATION)
    of_effect = [taint for taint in taints if toleration.effect in ("", taint.effect)] or list(taints)
    if comparison is None:
        return next((taint for taint in taints if taint.value == toleration.value), of_effect[0])
    nearest = comparison.kind.nearest_first(toleration.value, [taint.value for taint in of_effect])[0]
    return next(taint for taint in of_effect if taint.value == nearest)


def how_to_match(toleration: Toleration, nearest: Taint, of_key: Sequence[Taint]) -> str:
    """Say what to write so that the nearest taint matches."""
    if toleration.effect not in ("", nearest.effect):
        return f"write effect: {nearest.effect}, or no effect for all effects"
    comparison = comparison_of(toleration.operator, TOLERATION)
    if comparison is None:
        return did_you_mean(toleration.value, [taint.value for taint in of_key if taint.value])
    threshold = comparison.threshold_for(nearest.value, toleration.value)
    if threshold is None:
        return f'write operator: Equal and value: "{nearest.value}"'
    written = f"{toleration.operator} {threshold}"
    if comparison.symbol in ("<", ">") and comparison.kind.value_of(nearest.value) == comparison.kind.value_of(
        toleration.value
    ):
        return f"{toleration.operator} is strict: write {written} if {describe_taint(nearest)} is meant, too"
    return f"write {written} to match the nearest taint, {describe_taint(nearest)}"
