"""Compile tolerations under one controller's gates, with its own bounded cache of expressions (KEP-5500).

Taint values that cannot be compared and expressions that fail are logged once each and counted.
"""

from collections.abc import Iterable
from functools import partial

from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.tolerations import TolerationSet, describe_taint
from moorage.model.gates import TAINT_TOLERATION_CEL, GateSet
from moorage.model.types.node import Taint
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_REMEMBERED = 4096


class TolerationReader:
    """Gates, cache, counters and log of one controller. `metric` is the prefix of the metrics' names."""

    def __init__(self, gates: GateSet, metrics: Metrics, component: str, metric: str, spoken: str) -> None:
        self.gates = gates
        self.programs = None
        if gates.enabled(TAINT_TOLERATION_CEL):
            # CEL is large: import it only if the gate is on.
            from moorage.match.cel import ProgramCache

            self.programs = ProgramCache()
        self.evaluation_errors = 0
        self._log = get_logger(component)
        self._told: set[tuple[str, ...]] = set()
        for what in ("hits", "misses", "evictions"):
            said = f"The {spoken} controller's cache of compiled toleration expressions: {what}."
            metrics.counter_function(f"{metric}_cel_cache_{what}_total", said, partial(self._count, what))
        metrics.counter_function(
            f"{metric}_cel_evaluation_errors_total",
            f"Evaluations of toleration expressions that failed in the {spoken} controller.",
            lambda: float(self.evaluation_errors),
        )

    def tell_unreadable(self, tolerations: TolerationSet, taints: Iterable[Taint], node: str, **about: str) -> None:
        """Log which taints of a node cannot be compared; `about` names the affected object."""
        for matcher in tolerations.matchers:
            comparison = comparison_of(matcher.toleration.operator, TOLERATION)
            if comparison is None:
                continue
            for taint in taints:
                why = matcher.unreadable(taint)
                if why is None or not self._is_new(node, taint.key, taint.value, comparison.kind.noun):
                    continue
                kind = {"node": node, "taint": _shown(taint), **about, "err": why}
                if comparison.kind.noun == "number":
                    self._log.warning("failed to parse taint value as integer for numeric comparison", **kind)
                else:
                    self._log.error("failed to parse taint value as semantic version", **kind)

    def evaluation_failed(self, expression: str, taint: Taint, error: str) -> None:
        """Count and log a failed expression: a callback for `match`."""
        self.evaluation_errors += 1
        if self._is_new("expression", expression, taint.key, taint.value, taint.effect):
            message = "A toleration's expression failed: the taint is not tolerated"
            self._log.error(message, expression=expression, taint=_shown(taint), err=error)

    def _is_new(self, *kind: str) -> bool:
        if kind in self._told:
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(kind)
        return True

    def _count(self, what: str) -> float:
        return float(getattr(self.programs, what)) if self.programs is not None else 0.0


def _shown(taint: Taint) -> str:
    return f"{describe_taint(taint)}:{taint.effect}"
