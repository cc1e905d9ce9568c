"""Compute from metrics how many replicas a workload should have, before any bound is applied.

Kubernetes: pkg/controller/podautoscaler/replica_calculator.go, with its int64 and float64 arithmetic.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from moorage.control.pod_autoscaler.pod_groups import Groups, Readiness, count_ready, group_pods, requests_of
from moorage.control.pod_autoscaler.samples import (
    MetricsError,
    MetricsReader,
    PodSample,
    Samples,
    Usage,
    external_values,
    object_value,
    pod_samples,
    resource_samples,
    usage_of_requests,
    usage_of_target,
)
from moorage.match.label_selector import EVERYTHING, Selector, compile_label_selector, go_text
from moorage.match.requirement import SelectorError
from moorage.model.go.floats import ceil, divide, float_to_int32
from moorage.model.go.integers import INT32_MAX, INT64_MAX, add64, divide64, float_to_int64, wrap64
from moorage.model.types.autoscaler import CrossVersionObjectReference
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import Pod

#: Missing pods count as using all that they request, where the target is not more than that.
_ALL = 100


class Tolerances(NamedTuple):
    """How far usage may be from its target without any change, as fractions of it."""

    down: float
    up: float

    def allow(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class Proposal(NamedTuple):
    """The replicas that one metric asks for, and the usage that is reported: in thousandths, and in percent."""

    replicas: int
    usage: int
    utilization: int = 0


class ScaledWorkload(NamedTuple):
    """A workload as the calculator sees it. `pods` are those of its selector, in its namespace."""

    namespace: str
    selector: Selector
    pods: Sequence[Pod]
    spec_replicas: int
    status_replicas: int


class ReplicaCalculator(NamedTuple):
    """Everything that is the same for all metrics of an autoscaler. All methods raise MetricsError."""

    target: ScaledWorkload
    reader: MetricsReader
    tolerances: Tolerances
    readiness: Readiness
    now: float

    # -- metrics of pods ----------------------------------------------------------------------------------------------

    def for_utilization(self, resource: str, percent: int, container: str = "") -> Proposal:
        """Compute from what pods use of their requests."""
        samples = self._resource_samples(resource, container)
        pods = self._pods()
        groups = self._grouped(samples, resource)
        requests = requests_of(pods, container, resource)

        def fill(name: str) -> int:
            return divide64(wrap64(requests[name] * max(_ALL, percent)), 100)

        return self._propose(samples, groups, lambda some: usage_of_requests(some, requests, percent), fill)

    def for_raw_resource(self, resource: str, target: int, container: str = "") -> Proposal:
        samples = self._resource_samples(resource, container)
        return self._for_plain(samples, target, resource)

    def for_pods_metric(self, metric: str, target: int, metric_selector: Selector = EVERYTHING) -> Proposal:
        try:
            samples = pod_samples(self.reader, metric, self.target.selector, metric_selector)
        except MetricsError as error:
            raise MetricsError(f"unable to get metric {metric}: {error}") from None
        return self._for_plain(samples, target, "")

    def _for_plain(self, samples: Samples, target: int, resource: str) -> Proposal:
        self._pods()
        groups = self._grouped(samples, resource)
        return self._propose(samples, groups, lambda some: usage_of_target(some, target), lambda name: target)

    def _resource_samples(self, resource: str, container: str) -> Samples:
        try:
            return resource_samples(self.reader, resource, self.target.selector, container)
        except MetricsError as error:
            raise MetricsError(f"unable to get metrics for resource {resource}: {error}") from None

    def _pods(self) -> Sequence[Pod]:
        if not self.target.pods:
            raise MetricsError("no pods returned by selector while calculating replica count")
        return self.target.pods

    def _grouped(self, samples: Samples, resource: str) -> Groups:
        """Group the pods, and drop the samples of those that do not count."""
        groups = group_pods(self.target.pods, samples, resource, self.readiness, self.now)
        for name in groups.ignored | groups.unready:
            samples.pop(name, None)
        if not samples:
            raise MetricsError("did not receive metrics for targeted pods (pods might be unready)")
        return groups

    def _propose(
        self, samples: Samples, groups: Groups, usage_of: Callable[[Samples], Usage], fill: Callable[[str], int]
    ) -> Proposal:
        """Compute the replicas; pods without a sample are assumed to use what makes the change smallest."""
        current = self.target.spec_replicas
        first = usage_of(samples)
        unchanged = Proposal(current, first.average, first.utilization)
        scales_up_unready = bool(groups.unready) and first.ratio > 1.0
        if not scales_up_unready and not groups.missing:
            if self.tolerances.allow(first.ratio):
                return unchanged
            return unchanged._replace(replicas=float_to_int32(ceil(first.ratio * float(groups.counted))))
        if first.ratio < 1.0:
            samples.update((name, PodSample(fill(name))) for name in groups.missing)
        elif first.ratio > 1.0:
            samples.update((name, PodSample(0)) for name in groups.missing)
        if scales_up_unready:
            samples.update((name, PodSample(0)) for name in groups.unready)
        ratio = usage_of(samples).ratio
        if self.tolerances.allow(ratio) or (first.ratio < 1.0 < ratio) or (ratio < 1.0 < first.ratio):
            return unchanged
        replicas = float_to_int32(ceil(ratio * float(len(samples))))
        if (ratio < 1.0 and replicas > current) or (ratio > 1.0 and replicas < current):
            return unchanged
        return unchanged._replace(replicas=replicas)

    # -- metrics of something else ------------------------------------------------------------------------------------

    def for_object(
        self,
        metric: str,
        target: int,
        reference: CrossVersionObjectReference,
        metric_selector: Selector = EVERYTHING,
    ) -> Proposal:
        usage = self._object_value(metric, reference, metric_selector)
        return Proposal(self._by_ratio(divide(float(usage), float(target))), usage)

    def for_object_per_pod(
        self,
        metric: str,
        target: int,
        reference: CrossVersionObjectReference,
        metric_selector: Selector = EVERYTHING,
    ) -> Proposal:
        usage = self._object_value(metric, reference, metric_selector)
        replicas = self.target.status_replicas
        if not self.tolerances.allow(divide(float(usage), float(target) * float(replicas))):
            replicas = float_to_int32(ceil(divide(float(usage), float(target))))
        return Proposal(replicas, self._per_pod(usage))

    def _object_value(self, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector) -> int:
        try:
            return object_value(self.reader, metric, reference, metric_selector)
        except MetricsError as error:
            where = f"{reference.kind} on {self.target.namespace} {reference.name}"
            raise MetricsError(f"unable to get metric {metric}: {where}/{error}") from None

    def for_external(self, metric: str, target: int, selector: LabelSelector | None = None) -> Proposal:
        usage = 0
        for value in self._external_values(metric, selector):
            if value > 0 and usage > INT64_MAX - value:
                usage = INT64_MAX
                break
            usage = add64(usage, value)
        return Proposal(self._by_ratio(divide(float(usage), float(target))), usage)

    def for_external_per_pod(self, metric: str, target: int, selector: LabelSelector | None = None) -> Proposal:
        usage = 0
        for value in self._external_values(metric, selector):
            usage = add64(usage, value)
            if usage < 0:  # taken for an overflow
                usage = INT64_MAX
                break
        replicas = self.target.status_replicas
        if not self.tolerances.allow(divide(float(usage), float(target) * float(replicas))):
            replicas = _capped(ceil(divide(float(usage), float(target))))
        return Proposal(replicas, INT64_MAX if float(usage) >= float(INT64_MAX) else self._per_pod(usage))

    def _external_values(self, metric: str, selector: LabelSelector | None) -> list[int]:
        try:
            # An absent selector is not one that selects nothing here: every value of the metric counts.
            compiled = compile_label_selector(selector) if selector is not None else EVERYTHING
        except SelectorError as error:
            raise MetricsError(str(error)) from None
        try:
            return external_values(self.reader, metric, compiled)
        except MetricsError as error:
            where = f"{self.target.namespace}/{metric}/{go_text(selector)}"
            raise MetricsError(f"unable to get external metric {where}: {error}") from None

    def _by_ratio(self, ratio: float) -> int:
        if self.target.spec_replicas == 0:
            return float_to_int32(ceil(ratio))
        if self.tolerances.allow(ratio):
            return self.target.spec_replicas
        try:
            ready = count_ready(self._pods())
        except MetricsError as error:
            raise MetricsError(f"unable to calculate ready pods: {error}") from None
        product = ratio * float(ready)
        return INT32_MAX if product > INT32_MAX else float_to_int32(ceil(product))

    def _per_pod(self, usage: int) -> int:
        return float_to_int64(ceil(divide(float(usage), float(self.target.status_replicas))))


def _capped(replicas: float) -> int:
    return INT32_MAX if replicas > INT32_MAX else float_to_int32(replicas)
