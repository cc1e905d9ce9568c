"""Compile tolerations under one controller's gates, with its own bounded cache of expressions (KEP-5500).

Taint values that cannot be compared and expressions that fail are logged once each and counted.
"""

from collections.abc import Iterable, Mapping
from functools import partial

from moorage.control.framework.controller import ControllerContext
from moorage.match.comparison import Unreadable
from moorage.match.taint_messages import UnreadableValues, taint_facts
from moorage.match.tolerations import ProgramCache, TolerationSet
from moorage.model.gates import TAINT_TOLERATION_CEL
from moorage.model.types.node import Taint


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
        self._values = UnreadableValues(component, metrics, metric)
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
        """Report which taints of a node or device (`where`) cannot be compared; `about` names the affected object."""
        for taint in taints:
            for matcher in tolerations.matchers:
                found = matcher.unreadable(taint)
                if found is not None:
                    shape = tuple(where.values())
                    self._values.tell(found, where, shape, **taint_facts(taint, matcher.toleration), **about)

    def tell_unreadable_label(self, found: Unreadable, where: Mapping[str, str], **about: str) -> None:
        """Report a label of a node that node affinity cannot compare."""
        self._values.tell(found, where, tuple(where.values()), **about)

    def evaluation_failed(self, expression: str, taint: Taint, error: str) -> None:
        """Count a failed expression: a callback for `match`. `tell_unreadable` names pod and node."""
        self.evaluation_errors += 1

    def _count(self, what: str) -> float:
        return float(getattr(self.programs, what)) if self.programs is not None else 0.0
