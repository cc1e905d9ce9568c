"""What metrics APIs answer, as the replica calculator uses it, and the errors of their answers.

Kubernetes: pkg/controller/podautoscaler/metrics (client.go, utilization.go).
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from moorage.match.label_selector import Selector
from moorage.model.go.floats import divide
from moorage.model.go.integers import add64, divide64, wrap32, wrap64
from moorage.model.go.times import DurationError, parse_duration, seconds_of
from moorage.model.quantity import Quantity
from moorage.model.types.autoscaler import CrossVersionObjectReference, PodMetrics

_NANOSECONDS = 1e9


class MetricsError(Exception):
    """A metric that cannot be had, or not be used. `str()` is what the controller says of it."""


class PodSample(NamedTuple):
    """What one pod uses, in thousandths, as of a time, over the window before it."""

    value: int
    timestamp: float = 0.0
    window: float = 0.0


class PodValue(NamedTuple):
    """The value of a custom metric of one pod."""

    pod: str
    value: Quantity
    timestamp: float = 0.0
    window: float = 60.0


#: Samples by the names of pods.
Samples = dict[str, PodSample]


class MetricsReader(Protocol):
    """The metrics APIs in the namespace of one autoscaler. Each raises MetricsError with the API's refusal."""

    def of_resources(self, selector: Selector) -> Sequence[PodMetrics]: ...
    def of_pods(self, metric: str, selector: Selector, metric_selector: Selector) -> Sequence[PodValue]: ...
    def of_object(self, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector) -> Quantity: ...
    def external(self, metric: str, metric_selector: Selector) -> Sequence[Quantity]: ...


def resource_samples(reader: MetricsReader, resource: str, selector: Selector, container: str) -> Samples:
    """Return what pods use of a resource, or one container of them; pods of which that is not known are left out."""
    try:
        answered = reader.of_resources(selector)
    except MetricsError as error:
        raise MetricsError(f"unable to fetch metrics from resource metrics API: {error}") from None
    if not answered:
        raise MetricsError("no metrics returned from resource metrics API")
    samples: Samples = {}
    known: dict[tuple[int, str | None], PodSample | None] = {}  # of containers that several pods share
    for metrics in answered:
        like = id(metrics.containers), metrics.timestamp
        if like not in known:
            value = _of_container(metrics, resource, container) if container else _of_all(metrics, resource)
            timestamp, window = seconds_of(metrics.timestamp) or 0.0, _window_of(metrics.window)
            known[like] = None if value is None else PodSample(value, timestamp, window)
        sample = known[like]
        if sample is not None:
            samples[metrics.metadata.name] = sample
    return samples


def _window_of(text: str) -> float:
    try:
        return parse_duration(text) / _NANOSECONDS if text else 0.0
    except DurationError:
        return 0.0


def _of_container(metrics: PodMetrics, resource: str, container: str) -> int | None:
    found = next((one for one in metrics.containers if one.name == container), None)
    amount = found.usage.get(resource) if found is not None else None
    return None if amount is None else amount.milli_value()


def _of_all(metrics: PodMetrics, resource: str) -> int | None:
    total = 0
    for container in metrics.containers:
        if resource not in container.usage:
            return None
        total = add64(total, container.usage[resource].milli_value())
    return total if metrics.containers else None


def pod_samples(reader: MetricsReader, metric: str, selector: Selector, metric_selector: Selector) -> Samples:
    """Return the values of a custom metric of pods."""
    try:
        values = reader.of_pods(metric, selector, metric_selector)
    except MetricsError as error:
        raise MetricsError(f"unable to fetch metrics from custom metrics API: {error}") from None
    if not values:
        raise MetricsError("no metrics returned from custom metrics API")
    return {one.pod: PodSample(one.value.milli_value(), one.timestamp, one.window) for one in values}


def object_value(
    reader: MetricsReader, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector
) -> int:
    try:
        return reader.of_object(metric, reference, metric_selector).milli_value()
    except MetricsError as error:
        raise MetricsError(f"unable to fetch metrics from custom metrics API: {error}") from None


def external_values(reader: MetricsReader, metric: str, metric_selector: Selector) -> list[int]:
    try:
        values = reader.external(metric, metric_selector)
    except MetricsError as error:
        raise MetricsError(f"unable to fetch metrics from external metrics API: {error}") from None
    if not values:
        raise MetricsError("no metrics returned from external metrics API")
    return [value.milli_value() for value in values]


class Usage(NamedTuple):
    """Usage over target, and what it comes from. Without requests `utilization` is 0."""

    ratio: float
    average: int
    utilization: int = 0


def usage_of_requests(samples: Samples, requests: Mapping[str, int], target: int) -> Usage:
    """Return the usage of the pods whose requests are known, in whole percent of their requests."""
    used, requested, pods = 0, 0, 0
    for name, sample in samples.items():
        if name in requests:
            used, requested, pods = add64(used, sample.value), add64(requested, requests[name]), pods + 1
    if requested == 0:
        raise MetricsError("no metrics returned matched known pods")
    utilization = wrap32(divide64(wrap64(used * 100), requested))
    return Usage(divide(float(utilization), float(target)), divide64(used, pods), utilization)


def usage_of_target(samples: Samples, target: int) -> Usage:
    """Return the average usage of all pods in the samples, also of those that do not exist."""
    used = 0
    for sample in samples.values():
        used = add64(used, sample.value)
    average = divide64(used, len(samples))
    return Usage(divide(float(average), float(target)), average)
