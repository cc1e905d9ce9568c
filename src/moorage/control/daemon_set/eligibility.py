"""Templates of DaemonSets, compiled under the controller manager's gates.

In: DaemonSets. Out: `DaemonTemplate`s that say which nodes fit. Expressions are compiled in a cache of their own, which
is bounded; what fails when it is evaluated is told in the log, once for each expression and taint, and counted; so is a
taint whose value cannot be compared. Kubernetes: NodeShouldRunDaemonPod; expressions are ours. Next: `tracker`.
"""

from functools import partial

from moorage.match.daemon_pods import DaemonTemplate
from moorage.match.tolerations import ORDERED_OPERATORS, describe_taint
from moorage.model.gates import TAINT_TOLERATION_CEL, TAINT_TOLERATION_COMPARISON_OPERATORS, GateSet
from moorage.model.node import Node
from moorage.model.pod import PodSpec
from moorage.model.scheduling import Taint
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_LOG = get_logger("daemonset-controller")
_REMEMBERED = 4096


class Eligibility:
    """See the module."""

    def __init__(self, gates: GateSet, metrics: Metrics) -> None:
        self._gates = gates
        self._programs = None
        if gates.enabled(TAINT_TOLERATION_CEL):
            # CEL is large: it is imported only where expressions count for anything.
            from moorage.match.cel import ProgramCache

            self._programs = ProgramCache()
        self._told: set[tuple[str, ...]] = set()
        self.evaluation_errors = 0
        for what in ("hits", "misses", "evictions"):
            said = f"The DaemonSet controller's cache of compiled toleration expressions: {what}."
            metrics.counter_function(f"daemonset_controller_cel_cache_{what}_total", said, partial(self._count, what))
        metrics.counter_function(
            "daemonset_controller_cel_evaluation_errors_total",
            "Evaluations of toleration expressions that failed in the DaemonSet controller.",
            lambda: float(self.evaluation_errors),
        )

    def compile(self, spec: PodSpec) -> DaemonTemplate:
        return DaemonTemplate(spec, self._gates, self._programs, self._evaluation_failed)

    def tell_unreadable(self, template: DaemonTemplate, node: Node, daemon_set: str) -> None:
        """Say in the log which of the node's taints should be compared and cannot."""
        for matcher in template.tolerations.matchers:
            operator = matcher.toleration.operator
            row = ORDERED_OPERATORS.get(operator)
            if row is None:
                continue
            for taint in node.spec.taints:
                why = matcher.unreadable(taint)
                if why is None or not self._is_new(node.metadata.name, taint.key, taint.value, operator):
                    continue
                said = f"{describe_taint(taint)}:{taint.effect}"
                facts = {"node": node.metadata.name, "taint": said, "daemonset": daemon_set, "err": why}
                if row.gate is TAINT_TOLERATION_COMPARISON_OPERATORS:
                    _LOG.warning("failed to parse taint value as integer for numeric comparison", **facts)
                else:
                    _LOG.error("failed to parse taint value as semantic version", **facts)

    def _evaluation_failed(self, expression: str, taint: Taint, error: str) -> None:
        self.evaluation_errors += 1
        if self._is_new("expression", expression, taint.key, taint.value, taint.effect):
            said = f"{describe_taint(taint)}:{taint.effect}"
            message = "A toleration's expression failed: the taint is not tolerated"
            _LOG.error(message, expression=expression, taint=said, err=error)

    def _is_new(self, *facts: str) -> bool:
        if facts in self._told:
            return False
        if len(self._told) >= _REMEMBERED:
            self._told.clear()
        self._told.add(facts)
        return True

    def _count(self, what: str) -> float:
        return float(getattr(self._programs, what)) if self._programs is not None else 0.0
