"""Validate HorizontalPodAutoscalers.

In: views. Out: field errors. Kubernetes: ValidateHorizontalPodAutoscaler and its updates, their strategy.
"""

from moorage.admit.kinds.fields import validate_not_negative
from moorage.admit.kinds.network.ingress import validate_path_segment
from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import validate_dns_label, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import validate_container_resource_name
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.raw import Raw
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.gates import HPA_CONFIGURABLE_TOLERANCE, HPA_SCALE_TO_ZERO, GateSet
from moorage.model.types import autoscaler as views

_MAX_WINDOW, _MAX_PERIOD = 3600, 1800
_SELECTS = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_MISSING = "must populate information for the given metric source"
_NO_RESOURCE_TARGET = "must set either a target raw value or a target utilization"
_BOTH_RESOURCE_TARGETS = "may not set both a target raw value and a target utilization"


def validate_autoscaler(autoscaler: views.HorizontalPodAutoscaler, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(autoscaler.metadata, "metadata")
    yield from _validate_spec(autoscaler.spec, None, options.gates)


def validate_autoscaler_update(
    new: views.HorizontalPodAutoscaler, old: views.HorizontalPodAutoscaler, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec(new.spec, old.spec, options.gates)


def _validate_spec(
    spec: views.HorizontalPodAutoscalerSpec, old: views.HorizontalPodAutoscalerSpec | None, gates: GateSet
) -> FieldErrors:
    least, most = spec.minReplicas, spec.maxReplicas
    was_zero = old is not None and old.minReplicas == 0
    lowest = 0 if was_zero or gates.enabled(HPA_SCALE_TO_ZERO) else 1
    if least is not None and least < lowest:
        yield field.invalid("spec.minReplicas", least, f"must be greater than or equal to {lowest}")
    if most == 0:
        yield field.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        yield field.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield field.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.scaleTargetRef
    is_known = old is not None and _type_of(old.scaleTargetRef) == _type_of(target)
    yield from _validate_reference(
        target, "spec.scaleTargetRef", is_known=is_known, needs_group=target.kind != "ReplicationController"
    )
    yield from _validate_metrics(spec, old)
    if spec.behavior is not None:
        yield from _validate_rules(spec.behavior.scaleUp, "spec.behavior.scaleUp")
        yield from _validate_rules(spec.behavior.scaleDown, "spec.behavior.scaleDown")


def _type_of(reference: views.CrossVersionObjectReference) -> tuple[str, str]:
    return reference.apiVersion, reference.kind


def _validate_reference(
    reference: views.CrossVersionObjectReference, path: str, *, is_known: bool, needs_group: bool
) -> FieldErrors:
    yield from validate_path_segment(reference.kind, f"{path}.kind")
    yield from validate_path_segment(reference.name, f"{path}.name")
    complaint = "" if is_known else _version_complaint(reference.apiVersion, needs_group=needs_group)
    if complaint:
        yield field.invalid(f"{path}.apiVersion", reference.apiVersion, complaint)


def _version_complaint(api_version: str, *, needs_group: bool) -> str:
    if api_version.count("/") > 1:
        return f"unexpected GroupVersion string: {api_version}"
    group = api_version.partition("/")[0] if "/" in api_version else ""
    return "apiVersion must specify API group" if needs_group and not group else ""


def _validate_metrics(
    spec: views.HorizontalPodAutoscalerSpec, old: views.HorizontalPodAutoscalerSpec | None
) -> FieldErrors:
    described = [metric.object.describedObject for metric in (old.metrics if old else ()) if metric.object is not None]
    is_known = any(_version_complaint(one.apiVersion, needs_group=False) for one in described)
    for index, metric in enumerate(spec.metrics):
        yield from _validate_metric(metric, f"spec.metrics[{index}]", is_known)
    if spec.minReplicas == 0 and not any(metric.type in ("Object", "External") for metric in spec.metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield field.forbidden("spec.metrics", detail)


def _validate_metric(metric: views.MetricSpec, path: str, is_known: bool) -> FieldErrors:
    if not metric.type:
        yield field.required(f"{path}.type", "must specify a metric source type")
    unsupported = field.not_supported(f"{path}.type", AsJSON(metric.type), _SOURCES)
    if metric.type not in _SOURCES:
        yield unsupported
    given = [name for name in ("object", "external", "pods", "resource", "containerResource") if getattr(metric, name)]
    if given:
        yield from _validate_source(metric, given[0], f"{path}.{given[0]}", is_known)
    expected = _SOURCES.get(metric.type, "")
    if not expected:
        yield unsupported
    elif expected not in given:
        yield field.required(f"{path}.{expected}", _MISSING)
    if len(given) != 1:
        others = (name for name in given if name != expected)
        yield from (field.forbidden(f"{path}.{name}", "must populate the given metric source only") for name in others)


def _validate_source(metric: views.MetricSpec, name: str, path: str, is_known: bool) -> FieldErrors:
    if name == "object" and metric.object is not None:
        yield from _validate_reference(
            metric.object.describedObject, f"{path}.describedObject", is_known=is_known, needs_group=False
        )
        yield from _validate_identifier(metric.object.metric, f"{path}.metric")
        yield from _validate_target(metric.object.target, f"{path}.target")
        if metric.object.target.value is None and metric.object.target.averageValue is None:
            yield field.required(f"{path}.target.averageValue", "must set either a target value or averageValue")
    elif name == "external" and metric.external is not None:
        yield from _validate_external(metric.external, path)
    elif name == "pods" and metric.pods is not None:
        yield from _validate_identifier(metric.pods.metric, f"{path}.metric")
        yield from _validate_target(metric.pods.target, f"{path}.target")
        if metric.pods.target.averageValue is None:
            yield field.required(f"{path}.target.averageValue", "must specify a positive target averageValue")
    else:
        yield from _validate_resource(metric, path)


def _validate_external(source: views.ExternalMetricSource, path: str) -> FieldErrors:
    yield from _validate_identifier(source.metric, f"{path}.metric")
    yield from _validate_target(source.target, f"{path}.target")
    value, average = source.target.value, source.target.averageValue
    if value is None and average is None:
        detail = "must set either a target value for metric or a per-pod target"
        yield field.required(f"{path}.target.averageValue", detail)
    if value is not None and average is not None:
        detail = "may not set both a target value for metric and a per-pod target"
        yield field.forbidden(f"{path}.target.value", detail)


def _validate_resource(metric: views.MetricSpec, path: str) -> FieldErrors:
    source, of_container = metric.resource, metric.containerResource
    if source is None and of_container is None:
        return
    name, target = (source.name, source.target) if source is not None else ("", views.MetricTarget())
    if source is None and of_container is not None:
        name, target = of_container.name, of_container.target
    if not name:
        yield field.required(f"{path}.name", "must specify a resource name")
    elif source is None:
        yield from validate_container_resource_name(name, f"{path}.name")
    if source is None and of_container is not None:
        if of_container.container:
            yield from validate_dns_label(of_container.container, f"{path}.container")
        else:
            yield field.required(f"{path}.container", "must specify a container")
    yield from _validate_target(target, f"{path}.target")
    if target.averageUtilization is None and target.averageValue is None:
        yield field.required(f"{path}.target.averageUtilization", _NO_RESOURCE_TARGET)
    if target.averageUtilization is not None and target.averageValue is not None:
        yield field.forbidden(f"{path}.target.averageValue", _BOTH_RESOURCE_TARGETS)


def _validate_identifier(identifier: views.MetricIdentifier, path: str) -> list[FieldError]:
    if not identifier.name:
        return [field.required(f"{path}.name", "must specify a metric name")]
    return validate_path_segment(identifier.name, f"{path}.name")


def _validate_target(target: views.MetricTarget, path: str) -> FieldErrors:
    if not target.type:
        yield field.required(f"{path}.type", "must specify a metric target type")
    if target.type not in _TARGETS:
        detail = "must be either Utilization, Value, or AverageValue"
        yield field.invalid(f"{path}.type", AsJSON(target.type), detail)
    for name, amount in (("value", target.value), ("averageValue", target.averageValue)):
        if amount is not None and amount.sign() != 1:
            yield field.invalid(f"{path}.{name}", AsJSON(str(amount)), "must be positive")
    if target.averageUtilization is not None and target.averageUtilization < 1:
        yield field.invalid(f"{path}.averageUtilization", target.averageUtilization, "must be greater than 0")


def _validate_rules(rules: views.HPAScalingRules | None, path: str) -> FieldErrors:
    if rules is None:
        return
    window = rules.stabilizationWindowSeconds
    if window is not None and window < 0:
        yield field.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _MAX_WINDOW:
        detail = f"must be less than or equal to {_MAX_WINDOW}"
        yield field.invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    yield from field.one_of(rules.selectPolicy, _SELECTS, f"{path}.selectPolicy")
    if not rules.policies:
        yield field.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules.policies):
        yield from _validate_policy(policy, f"{path}.policies[{index}]")
    if rules.tolerance is not None and rules.tolerance.sign() < 0:
        yield field.invalid(f"{path}.tolerance", str(rules.tolerance), "must be greater than or equal to 0")


def _validate_policy(policy: views.HPAScalingPolicy, path: str) -> FieldErrors:
    if policy.type not in _POLICY_TYPES:
        yield field.not_supported(f"{path}.type", AsJSON(policy.type), _POLICY_TYPES)
    for name, value in (("value", policy.value), ("periodSeconds", policy.periodSeconds)):
        if value <= 0:
            yield field.invalid(f"{path}.{name}", value, "must be greater than zero")
    if policy.periodSeconds > _MAX_PERIOD:
        detail = f"must be less than or equal to {_MAX_PERIOD}"
        yield field.invalid(f"{path}.periodSeconds", policy.periodSeconds, detail)


def _validate_status(
    new: views.HorizontalPodAutoscaler, old: views.HorizontalPodAutoscaler, gates: GateSet
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    for name in ("currentReplicas", "desiredReplicas"):
        yield from validate_not_negative(getattr(new.status, name), f"status.{name}")


def _prepare(new: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin the status empty, and drop tolerances where their gate is off, unless the old object has one."""
    strategies.prepare_first_status(new, old, gates)
    if gates.enabled(HPA_CONFIGURABLE_TOLERANCE) or (old is not None and any(_tolerant(old))):
        return
    for rules in _tolerant(new):
        del rules["tolerance"]


def _tolerant(raw: Raw) -> list[Raw]:
    """Return the rules that have a tolerance."""
    behavior = (raw.get("spec") or {}).get("behavior") or {}
    rules = [behavior.get(name) or {} for name in ("scaleUp", "scaleDown")]
    return [one for one in rules if one.get("tolerance") is not None]


ROWS: Rows = {
    views.HorizontalPodAutoscaler: KindRow(
        validate_autoscaler,
        validate_autoscaler_update,
        defaults.default_autoscaler,
        _prepare,
        validate_status=_validate_status,
    ),
}
