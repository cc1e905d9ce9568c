"""What the NoExecute taints of a node mean for a pod: `match.taint_eviction`, asked once per distinct case.

In: taints, a pod. Out: an `Eviction`. Tolerations are compiled under the controller manager's own gates, expressions
in a cache of their own, which is bounded as everything here is. What cannot be compared is told in the log, once for
each node and taint, with the first pod that was affected; failed expressions are told and counted. Kubernetes:
GetMatchingTolerations, as pkg/controller/tainteviction calls it. Next: `controller`.
"""

from functools import partial

from moorage.client.protocol import Object
from moorage.match.taint_eviction import Eviction, decide_eviction
from moorage.match.tolerations import ORDERED_OPERATORS, TolerationSet, compile_tolerations, describe_taint
from moorage.model.gates import TAINT_TOLERATION_CEL, TAINT_TOLERATION_COMPARISON_OPERATORS, GateSet
from moorage.model.pod import Pod
from moorage.model.scheduling import Taint, Toleration
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_LOG = get_logger("taint-eviction-controller")
_REMEMBERED = 4096
Taints = tuple[Taint, ...]
Tolerations = tuple[Toleration, ...]


class Judge:
    """See the module."""

    def __init__(self, gates: GateSet, metrics: Metrics) -> None:
        self._gates = gates
        self._programs = None
        if gates.enabled(TAINT_TOLERATION_CEL):
            # CEL is large: it is imported only where expressions count for anything.
            from moorage.match.cel import ProgramCache

            self._programs = ProgramCache()
        self._compiled: dict[Tolerations, TolerationSet] = {}
        self._decided: dict[tuple[Taints, Tolerations], tuple[Eviction, TolerationSet]] = {}
        self._told: set[tuple[str, ...]] = set()
        self.evaluation_errors = 0
        for what in ("hits", "misses", "evictions"):
            said = f"The taint-eviction controller's cache of compiled toleration expressions: {what}."
            metrics.counter_function(
                f"taint_eviction_controller_cel_cache_{what}_total", said, partial(self._count, what)
            )
        metrics.counter_function(
            "taint_eviction_controller_cel_evaluation_errors_total",
            "Evaluations of toleration expressions that failed in the taint-eviction controller.",
            lambda: float(self.evaluation_errors),
        )

    def decide(self, taints: Taints, pod: Object, node: str) -> Eviction:
        """When the pod has to go. `taints` are the node's NoExecute taints."""
        view: Pod = pod.view
        case = (taints, tuple(view.spec.tolerations))
        decided = self._decided.get(case)
        if decided is None:
            if len(self._decided) >= _REMEMBERED:
                self._decided.clear()
            tolerations = self._compile(case[1])
            decided = decide_eviction(taints, tolerations), tolerations
            self._decided[case] = decided
        eviction, tolerations = decided
        if not eviction.all_tolerated:
            self._tell_unreadable(taints, tolerations, pod, node)
        return eviction

    def _compile(self, tolerations: Tolerations) -> TolerationSet:
        compiled = self._compiled.get(tolerations)
        if compiled is None:
            if len(self._compiled) >= _REMEMBERED:
                self._compiled.clear()
            compiled = compile_tolerations(tolerations, self._gates, self._programs, self._evaluation_failed)
            self._compiled[tolerations] = compiled
        return compiled

    def _tell_unreadable(self, taints: Taints, tolerations: TolerationSet, pod: Object, node: str) -> None:
        for matcher in tolerations.matchers:
            row = ORDERED_OPERATORS.get(matcher.toleration.operator)
            if row is None:
                continue
            for taint in taints:
                why = matcher.unreadable(taint)
                if why is None or not self._is_new(node, taint.key, taint.value, row.gate.name):
                    continue
                facts = {"node": node, "taint": f"{describe_taint(taint)}:{taint.effect}", "pod": pod.key, "err": why}
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
