"""Count reconciliations and computed metrics under Kubernetes' names. Kubernetes: pkg/controller/podautoscaler/monitor.

Differs: the seconds of a metric are an equal share of those of its reconciliation.
"""

from collections.abc import Callable

from moorage.control.pod_autoscaler.decision import ScalingDecision
from moorage.model.types.meta import ObjectMeta
from moorage.telemetry.metrics import Metrics, exponential_buckets

_PREFIX = "horizontal_pod_autoscaler_controller"
_BUCKETS = exponential_buckets(0.001, 2, 15)
_SPEC_ERROR = "invalid API version in scale target reference"


class AutoscalerMetrics:
    """The metrics of the controller."""

    def __init__(self, metrics: Metrics, count: Callable[[], int]) -> None:
        labels = ("action", "error")
        self._total = metrics.counter(
            f"{_PREFIX}_reconciliations_total", "Number of reconciliations of HPA controller.", labels
        )
        about = "The time(seconds) that the HPA controller takes to reconcile once."
        self._seconds = metrics.histogram(f"{_PREFIX}_reconciliation_duration_seconds", about, labels, _BUCKETS)
        self._metric_total = metrics.counter(
            f"{_PREFIX}_metric_computation_total", "Number of metric computations.", (*labels, "metric_type")
        )
        about = "The time(seconds) that the HPA controller takes to calculate one metric."
        self._metric_seconds = metrics.histogram(
            f"{_PREFIX}_metric_computation_duration_seconds", about, (*labels, "metric_type"), _BUCKETS
        )
        metrics.gauge_function(
            f"{_PREFIX}_num_horizontal_pod_autoscalers", "Current number of controlled HPA objects.", count
        )
        about = "Current desired replica count for HPA objects."
        self._desired = metrics.gauge(f"{_PREFIX}_desired_replicas", about, ("namespace", "hpa_name"))

    def observe(
        self, metadata: ObjectMeta, current: int, before: int, decision: ScalingDecision, seconds: float
    ) -> None:
        """Count a reconciliation of an autoscaler whose target had `current` replicas, and `before` by its status."""
        outcome = decision.outcome
        error = "none" if not outcome.error else "internal"
        if outcome.error.startswith(_SPEC_ERROR) or (
            outcome.error and any(one.is_spec_wrong for one in decision.metrics)
        ):
            error = "spec"
        action = "none" if decision.replicas is None else _action(decision.replicas, current)
        self._total.labels(action, error).inc()
        self._seconds.labels(action, error).observe(seconds)
        for one in decision.metrics:
            failed = "spec" if one.is_spec_wrong else "internal"
            labels = ("none", failed) if one.replicas is None else (_action(one.replicas, before), "none")
            self._metric_total.labels(*labels, one.type).inc()
            self._metric_seconds.labels(*labels, one.type).observe(seconds / len(decision.metrics))
        if outcome.is_final:
            desired = current if decision.replicas is None else decision.replicas
            self._desired.labels(metadata.namespace, metadata.name).set(desired)

    def forget(self, namespace: str, name: str) -> None:
        self._desired.forget(namespace, name)


def _action(replicas: int, current: int) -> str:
    return "scale_up" if replicas > current else "scale_down" if replicas < current else "none"
