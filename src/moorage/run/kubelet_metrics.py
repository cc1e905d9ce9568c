"""Metrics of the simulated kubelets. Kubernetes: pkg/kubelet/metrics. Differs: sums over all nodes; `kubelet_cel_*`."""

from collections import Counter
from collections.abc import Mapping
from functools import partial

from moorage.run.admission import Admission
from moorage.run.kubelet_state import KubeletState
from moorage.telemetry.metrics import Labels, Metrics

_BASIC = frozenset({"OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods"})
_KNOWN = _BASIC | {"PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported"}


def add_kubelet_metrics(metrics: Metrics, state: KubeletState, admission: Admission) -> None:
    counter, gauge = metrics.counter_function, metrics.gauge_function
    gauge("kubelet_running_pods", "Number of pods that have a running pod sandbox.", lambda: state.running_pods)
    gauge("kubelet_simulated_nodes", "Number of nodes that are simulated.", lambda: len(state.nodes))
    counter("kubelet_started_pods_total", "Cumulative number of pods started.", lambda: state.started)
    said = "Cumulative number pod admission rejections by the Kubelet."
    counter("kubelet_admission_rejections_total", said, partial(_rejections, state), ("reason",))
    for what in ("hits", "misses", "evictions"):
        said = f"The cache of compiled toleration expressions: {what}."
        counter(f"kubelet_cel_cache_{what}_total", said, partial(admission.cached, what))
    said = "Evaluations of toleration expressions that failed."
    counter("kubelet_cel_evaluation_errors_total", said, lambda: admission.evaluation_errors)


def _rejections(state: KubeletState) -> Mapping[Labels, float]:
    """Count rejections by reason; reasons not on Kubernetes' list are grouped."""
    counted: Counter[Labels] = Counter()
    for reason, times in state.refused.items():
        extended = "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"
        counted[(reason if reason in _KNOWN else extended,)] += times
    return counted
