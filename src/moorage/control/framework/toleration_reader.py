"""Compile tolerations under one controller's gates, with its own bounded cache of expressions (KEP-5500).

Taint values that cannot be compared and expressions that fail are logged once each and counted.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from moorage.control.framework.controller import ControllerContext
from moorage.match.operators import TOLERATION, comparison_of
from moorage.match.taint_messages import TolerationLog
from moorage.match.tolerations import ProgramCache, TolerationSet
from moorage.model.gates import TAINT_TOLERATION_CEL
from moorage.model.types.node import Taint

_REMEMBERED = 4096


class TolerationReader:
    """Gates, cache, counters and log of one controller. `metric` is the prefix of the metrics' names.

    An expensive expression is waited for, also if the pod's budget has to be renewed first: until its answer is known,
    nothing is created, deleted or evicted.
    """

    def __init__(self, context: ControllerContext, component: str, metric: str, spoken: str) -> None:
        self.gates, metrics = context.gates, context.metrics
        has_programs = self.gates.enabled(TAINT_TOLERATION_CEL)
        self.programs = ProgramCache(evaluations=context.evaluations, patiently=True) if has_programs else None
        self.evaluation_errors = 0
        self._log = TolerationLog(component, _REMEMBERED)
        for what in ("hits", "misses", "evictions"):
            said = f"The {spoken} controller's cache of compiled toleration expressions: {what}."
            metrics.counter_function(f"{metric}_cel_cache_{what}_total", said, partial(self._count, what))
        metrics.counter_function(
            f"{metric}_cel_evaluation_errors_total",
            f"Evaluations of toleration expressions that failed in the {spoken} controller.",
            lambda: float(self.evaluation_errors),
        )

    def tell_unreadable(
        self, tolerations: TolerationSet, taints: Iterable[Taint], where: Mapping[str, str], **about: str
    ) -> None:
        """Log which taints of a node or device (`where`) cannot be compared; `about` names the affected object."""
        for matcher in tolerations.matchers:
            comparison = comparison_of(matcher.toleration.operator, TOLERATION)
            if comparison is None:
                continue
            for taint in taints:
                why = matcher.unreadable(taint)
                noun = comparison.kind.noun
                if why is not None and self._log.is_new(*where.values(), taint.key, taint.value, noun):
                    self._log.unreadable(noun, taint, why, dict(where), **about)

    def evaluation_failed(self, expression: str, taint: Taint, error: str) -> None:
        """Count and log a failed expression: a callback for `match`."""
        self.evaluation_errors += 1
        self._log.expression_failed(expression, taint, error)

    def _count(self, what: str) -> float:
        return float(getattr(self.programs, what)) if self.programs is not None else 0.0
