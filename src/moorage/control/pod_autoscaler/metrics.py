"""Compute what each metric of an autoscaler asks for, how it is shown in the status, and how its failure is told.

Kubernetes: computeReplicasForMetric and computeStatusFor… of pkg/controller/podautoscaler/horizontal.go.
"""

from typing import NamedTuple

from moorage.client.protocol import Raw
from moorage.columns.resources import MEMORY
from moorage.control.pod_autoscaler.replicas import Proposal, ReplicaCalculator
from moorage.control.pod_autoscaler.samples import MetricsError
from moorage.match.label_selector import EVERYTHING, Selector, compile_label_selector, go_text
from moorage.match.requirement import SelectorError
from moorage.model.go.quoting import go_quote
from moorage.model.quantity import Format, Quantity
from moorage.model.types.autoscaler import (
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
)
from moorage.model.types.meta import LabelSelector

_VALUE, _AVERAGE = "Value", "AverageValue"


class MetricFailure(Exception):
    """A metric that says nothing. `event` is told with the reason; `str()` is the error of the whole."""

    def __init__(self, reason: str, event: str, error: str) -> None:
        super().__init__(error)
        self.reason, self.event = reason, event


class Computed(NamedTuple):
    """The replicas that a metric asks for, its name in messages, and its entry in the status."""

    replicas: int
    name: str
    status: Raw


def compute_metric(metric: MetricSpec, calculator: ReplicaCalculator) -> Computed:
    """Raises MetricFailure. Which part a metric must have is the API server's business: one without fails alike."""
    if metric.type == "Object" and metric.object is not None:
        return _of_object(metric.object, calculator)
    if metric.type == "Pods" and metric.pods is not None and metric.pods.target.averageValue is not None:
        return _of_pods(metric.pods.metric, metric.pods.target.averageValue, calculator)
    if metric.type == "Resource" and metric.resource is not None:
        resource = metric.resource
        try:
            proposal, name, current = _of_resource(resource.name, resource.target, calculator)
        except MetricsError as error:
            text = f"failed to get {resource.name} resource metric value: {error}"
            raise MetricFailure("FailedGetResourceMetric", str(error), text) from None
        return Computed(
            proposal.replicas, name, {"type": "Resource", "resource": {"name": resource.name, "current": current}}
        )
    if metric.type == "ContainerResource" and metric.containerResource is not None:
        part = metric.containerResource
        try:
            proposal, name, current = _of_resource(part.name, part.target, calculator, part.container)
        except MetricsError as error:
            text = f"failed to get {part.container} container metric value: {error}"
            raise MetricFailure("FailedGetContainerResourceMetric", str(error), text) from None
        source = {"name": part.name, "current": current, "container": part.container}
        return Computed(proposal.replicas, name, {"type": "ContainerResource", "containerResource": source})
    if metric.type == "External" and metric.external is not None:
        return _of_external(metric.external.metric, metric.external.target, calculator)
    text = f"unknown metric source type {go_quote(metric.type)}"
    raise MetricFailure("InvalidMetricSourceType", text, text)


def _selector_of(metric: MetricIdentifier, reason: str, what: str) -> Selector:
    try:
        return compile_label_selector(metric.selector) if metric.selector is not None else EVERYTHING
    except SelectorError as error:
        raise MetricFailure(reason, str(error), f"{what}: {error}") from None


def _of_object(source: ObjectMetricSource, calculator: ReplicaCalculator) -> Computed:
    reason, what = "FailedGetObjectMetric", "failed to get object metric value"
    metric, target, described = source.metric, source.target, source.describedObject
    selector = _selector_of(metric, reason, what)
    is_per_pod = False
    try:
        if target.type == _VALUE and target.value is not None:
            proposal = calculator.for_object(metric.name, target.value.milli_value(), described, selector)
            name, current = f"{described.kind} metric {metric.name}", {"value": _amount(proposal.usage)}
        elif target.type == _AVERAGE and target.averageValue is not None:
            is_per_pod = True
            proposal = calculator.for_object_per_pod(
                metric.name, target.averageValue.milli_value(), described, selector
            )
            name, current = _external_name(metric), {"averageValue": _amount(proposal.usage)}
        else:
            raise MetricsError(
                "invalid object metric source: neither a value target nor an average value target was set"
            )
    except MetricsError as error:
        inner = f"failed to get {metric.name} object metric: {error}" if is_per_pod else str(error)
        raise MetricFailure(reason, str(error), f"{what}: {inner}") from None
    reference = {"kind": described.kind, "name": described.name}
    if described.apiVersion:
        reference["apiVersion"] = described.apiVersion
    shown = {"metric": _identifier(metric), "current": current, "describedObject": reference}
    return Computed(proposal.replicas, name, {"type": "Object", "object": shown})


def _of_pods(metric: MetricIdentifier, target: Quantity, calculator: ReplicaCalculator) -> Computed:
    reason, what = "FailedGetPodsMetric", "failed to get pods metric value"
    selector = _selector_of(metric, reason, what)
    try:
        proposal = calculator.for_pods_metric(metric.name, target.milli_value(), selector)
    except MetricsError as error:
        raise MetricFailure(reason, str(error), f"{what}: {error}") from None
    shown = {"metric": _identifier(metric), "current": {"averageValue": _amount(proposal.usage)}}
    return Computed(proposal.replicas, f"pods metric {metric.name}", {"type": "Pods", "pods": shown})


def _of_resource(
    resource: str, target: MetricTarget, calculator: ReplicaCalculator, container: str = ""
) -> tuple[Proposal, str, Raw]:
    notation = Format.BINARY_SI if resource == MEMORY else Format.DECIMAL_SI
    if target.averageValue is not None:
        try:
            proposal = calculator.for_raw_resource(resource, target.averageValue.milli_value(), container)
        except MetricsError as error:
            raise MetricsError(f"failed to get {resource} usage: {error}") from None
        return proposal, f"{resource} resource", {"averageValue": _amount(proposal.usage, notation)}
    if target.averageUtilization is None:
        text = "neither an average utilization target nor an average value (usage) target was set"
        raise MetricsError(f"invalid resource metric source: {text}")
    try:
        proposal = calculator.for_utilization(resource, target.averageUtilization, container)
    except MetricsError as error:
        raise MetricsError(f"failed to get {resource} utilization: {error}") from None
    name = f"{resource} {'container ' if container else ''}resource utilization (percentage of request)"
    current = {"averageUtilization": proposal.utilization, "averageValue": _amount(proposal.usage, notation)}
    return proposal, name, current


def _of_external(metric: MetricIdentifier, target: MetricTarget, calculator: ReplicaCalculator) -> Computed:
    reason, what = "FailedGetExternalMetric", f"failed to get {metric.name} external metric value"
    shown = {"metric": _identifier(metric)}
    inner = ""
    try:
        if target.averageValue is not None:
            inner = f"failed to get {metric.name} external metric: "
            proposal = calculator.for_external_per_pod(metric.name, target.averageValue.milli_value(), metric.selector)
            shown["current"] = {"averageValue": _amount(proposal.usage)}
        elif target.value is not None:
            inner = f"failed to get external metric {metric.name}: "
            proposal = calculator.for_external(metric.name, target.value.milli_value(), metric.selector)
            shown["current"] = {"value": _amount(proposal.usage)}
        else:
            text = "neither a value target nor an average value target was set"
            raise MetricsError(f"invalid external metric source: {text}")
    except MetricsError as error:
        raise MetricFailure(reason, str(error), f"{what}: {inner}{error}") from None
    return Computed(proposal.replicas, _external_name(metric), {"type": "External", "external": shown})


def _external_name(metric: MetricIdentifier) -> str:
    return f"external metric {metric.name}({go_text(metric.selector)})"


def _identifier(metric: MetricIdentifier) -> Raw:
    shown: Raw = {"name": metric.name}
    if metric.selector is not None:
        shown["selector"] = _selector_document(metric.selector)
    return shown


def _selector_document(selector: LabelSelector) -> Raw:
    expressions = [
        {"key": one.key, "operator": one.operator, **({"values": list(one.values)} if one.values else {})}
        for one in selector.matchExpressions
    ]
    fields = {"matchLabels": dict(selector.matchLabels), "matchExpressions": expressions}
    return {name: value for name, value in fields.items() if value}


def _amount(milli: int, notation: Format = Format.DECIMAL_SI) -> str:
    return str(Quantity.from_milli(milli, notation))
