"""Convert HorizontalPodAutoscalers between version 2 and version 1.

Version 1 has a field for the use of CPU; annotations hold all other metrics, the behaviour and the conditions.
In: raw documents, or parts of them such as merge patches. Out: new documents. Kubernetes: the conversions of
pkg/apis/autoscaling/v1. Differs: a merge patch of the CPU field replaces all metrics.
"""

from typing import Any, Final

import msgspec

from moorage.model.go.quoting import GoStruct, go_json

Raw = dict[str, Any]

METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
STATUSES: Final = "autoscaling.alpha.kubernetes.io/current-metrics"
CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
_ANNOTATIONS: Final = frozenset((METRICS, STATUSES, CONDITIONS, BEHAVIOR))
#: Fields of version 2 that version 1 does not have.
NEWER_FIELDS: Final = (
    ("spec", "metrics"),
    ("spec", "behavior"),
    ("status", "currentMetrics"),
    ("status", "conditions"),
)
_TARGET, _CURRENT = "targetCPUUtilizationPercentage", "currentCPUUtilizationPercentage"


class _Source:
    """How the source of a metric is written: pairs of a field in version 1 and the path in version 2."""

    def __init__(self, **fields: str) -> None:
        self.fields = {name: tuple(path.split(".")) for name, path in fields.items()}

    def to_v1(self, source: Raw, side: str) -> GoStruct:
        fields = {name: _at(source, self._path(path, side)) for name, path in self.fields.items()}
        if isinstance(fields.get("target"), dict):  # an object, in the order of its Go type
            fields["target"] = GoStruct(
                {name: fields["target"].get(name, "") for name in ("kind", "name", "apiVersion")}
            )
        return GoStruct({name: value for name, value in fields.items() if value is not None})

    def to_v2(self, source: Raw, side: str) -> Raw:
        converted: Raw = {}
        for name, path in self.fields.items():
            if source.get(name) is not None:
                *holders, last = self._path(path, side)
                holder = converted
                for step in holders:
                    holder = holder.setdefault(step, {})
                holder[last] = source[name]
        return converted

    @staticmethod
    def _path(path: tuple[str, ...], side: str) -> tuple[str, ...]:
        return tuple(side if step == "*" else step for step in path)


_RESOURCE = {
    "name": "name",
    "targetAverageUtilization": "*.averageUtilization",
    "targetAverageValue": "*.averageValue",
}
_RESOURCE_STATUS = {
    "name": "name",
    "currentAverageUtilization": "*.averageUtilization",
    "currentAverageValue": "*.averageValue",
}
#: By the field that holds the source.
_SOURCES: Final = {
    "object": _Source(
        target="describedObject",
        metricName="metric.name",
        targetValue="*.value",
        selector="metric.selector",
        averageValue="*.averageValue",
    ),
    "pods": _Source(metricName="metric.name", targetAverageValue="*.averageValue", selector="metric.selector"),
    "resource": _Source(**_RESOURCE),
    "containerResource": _Source(**_RESOURCE, container="container"),
    "external": _Source(
        metricName="metric.name",
        metricSelector="metric.selector",
        targetValue="*.value",
        targetAverageValue="*.averageValue",
    ),
}
_STATUSES: Final = {
    "object": _Source(
        target="describedObject",
        metricName="metric.name",
        currentValue="*.value",
        selector="metric.selector",
        averageValue="*.averageValue",
    ),
    "pods": _Source(metricName="metric.name", currentAverageValue="*.averageValue", selector="metric.selector"),
    "resource": _Source(**_RESOURCE_STATUS),
    "containerResource": _Source(**_RESOURCE_STATUS, container="container"),
    "external": _Source(
        metricName="metric.name",
        metricSelector="metric.selector",
        currentValue="*.value",
        currentAverageValue="*.averageValue",
    ),
}


def to_v1(raw: Raw) -> Raw:
    """Return an autoscaler of version 2 in version 1."""
    spec, status = raw.get("spec") or {}, raw.get("status") or {}
    fields, behavior = spec.get("metrics") or [], spec.get("behavior")
    kept: dict[str, str] = {}
    if others := [metric for metric in fields if not _is_cpu(metric)]:
        kept[METRICS] = go_json([_metric_to_v1(metric, _SOURCES, "target") for metric in others])
    if status.get("currentMetrics"):
        current_metrics = [_metric_to_v1(metric, _STATUSES, "current") for metric in status["currentMetrics"]]
        kept[STATUSES] = go_json(current_metrics)
    if behavior is not None:
        kept[BEHAVIOR] = go_json(_internal_behavior(behavior))
    if status.get("conditions"):
        kept[CONDITIONS] = go_json(status["conditions"])
    converted = {**raw, "spec": _without(spec, "metrics", "behavior"), "status": _without(status, *_OF_STATUS)}
    cpu = next((metric["resource"]["target"]["averageUtilization"] for metric in fields if _is_cpu(metric)), None)
    if cpu is not None:
        converted["spec"][_TARGET] = cpu
    for name in ("currentReplicas", "desiredReplicas"):
        converted["status"].setdefault(name, 0)
    used = [_at(metric, ("resource", "current", "averageUtilization")) for metric in status.get("currentMetrics") or ()]
    if used := [percent for percent in used if percent is not None]:
        converted["status"][_CURRENT] = used[-1]
    return _with_annotations(converted, kept)


_OF_STATUS = ("currentMetrics", "conditions")


def from_v1(raw: Raw) -> Raw:
    """Return an autoscaler of version 1, or a part of one, in version 2."""
    converted = dict(raw)
    spec, status = raw.get("spec"), raw.get("status")
    annotations = (raw.get("metadata") or {}).get("annotations") if isinstance(raw.get("metadata"), dict) else None
    annotations = annotations if isinstance(annotations, dict) else {}
    if isinstance(spec, dict):
        converted["spec"] = _spec_from_v1(spec, annotations)
    if isinstance(status, dict):
        converted["status"] = _without(status, _CURRENT, *_OF_STATUS)
        if status.get(_CURRENT) is not None:
            current = {"name": "cpu", "current": {"averageUtilization": status[_CURRENT]}}
            converted["status"]["currentMetrics"] = [{"type": "Resource", "resource": current}]
        if (kept := _decoded(annotations.get(STATUSES))) is not None:
            converted["status"]["currentMetrics"] = [_metric_to_v2(metric, _STATUSES, "current") for metric in kept]
        if (kept := _decoded(annotations.get(CONDITIONS))) is not None:
            converted["status"]["conditions"] = kept
    return _with_annotations(converted, {}) if _ANNOTATIONS.intersection(annotations) else converted


def _spec_from_v1(spec: Raw, annotations: Raw) -> Raw:
    converted = _without(spec, _TARGET, "metrics", "behavior")
    if _TARGET in spec:
        target = {"type": "Utilization", "averageUtilization": spec[_TARGET]}
        cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        converted["metrics"] = None if spec[_TARGET] is None else [cpu]
    if (others := _decoded(annotations.get(METRICS))) is not None:
        metrics = [_metric_to_v2(metric, _SOURCES, "target") for metric in others]
        converted["metrics"] = [*metrics, *(converted.get("metrics") or [])]
    if behavior := _decoded_behavior(annotations.get(BEHAVIOR)):
        converted["behavior"] = behavior
    return converted


def _is_cpu(metric: Raw) -> bool:
    is_resource = metric.get("type") == "Resource" and _at(metric, ("resource", "name")) == "cpu"
    return is_resource and _at(metric, ("resource", "target", "averageUtilization")) is not None


def _metric_to_v1(metric: Raw, sources: dict[str, _Source], side: str) -> GoStruct:
    converted = GoStruct(type=metric.get("type", ""))
    for name, source in sources.items():
        if isinstance(metric.get(name), dict):
            converted[name] = source.to_v1(metric[name], side)
    return converted


def _metric_to_v2(metric: Raw, sources: dict[str, _Source], side: str) -> Raw:
    converted: Raw = {"type": metric.get("type", "")}
    for name, source in sources.items():
        if isinstance(metric.get(name), dict):
            converted[name] = source.to_v2(metric[name], side)
            if side == "target":
                converted[name].setdefault("target", {})["type"] = _target_type(name, converted[name]["target"])
    return converted


def _target_type(name: str, target: Raw) -> str:
    if target.get("averageUtilization") is not None:
        return "Utilization"
    if name in ("resource", "containerResource", "pods") or target.get("value") is None:
        return "AverageValue"
    return "AverageValue" if name == "object" and target.get("averageValue") is not None else "Value"


_RULE_FIELDS = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY_FIELDS = ("type", "value", "periodSeconds")


def _internal_behavior(behavior: Raw) -> GoStruct:
    """Return the behaviour as Go writes the internal type: all fields, with capital letters."""

    def rules(scaling: Raw | None) -> GoStruct | None:
        if scaling is None:
            return None
        policies = scaling.get("policies")
        shown = None if policies is None else [_capitals(policy, _POLICY_FIELDS) for policy in policies]
        return _capitals({**scaling, "policies": shown}, _RULE_FIELDS)

    return GoStruct(ScaleUp=rules(behavior.get("scaleUp")), ScaleDown=rules(behavior.get("scaleDown")))


def _capitals(fields: Raw, names: tuple[str, ...]) -> GoStruct:
    return GoStruct({f"{name[:1].upper()}{name[1:]}": fields.get(name) for name in names})


def _decoded_behavior(text: object) -> Raw | None:
    try:
        behavior = msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
    return _small_letters(behavior) if isinstance(behavior, dict) else None


def _small_letters(decoded: Any) -> Any:
    if isinstance(decoded, dict):
        items = ((name, _small_letters(value)) for name, value in decoded.items() if value is not None)
        return {f"{name[:1].lower()}{name[1:]}": value for name, value in items}
    return [_small_letters(item) for item in decoded] if isinstance(decoded, list) else decoded


def _decoded(text: object) -> list[Raw] | None:
    try:
        decoded = msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
    is_list = isinstance(decoded, list) and all(isinstance(item, dict) for item in decoded)
    return decoded if is_list else None


def _with_annotations(raw: Raw, kept: dict[str, str]) -> Raw:
    metadata = raw.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not kept and not _ANNOTATIONS.intersection(annotations):
        return raw
    others = {name: text for name, text in annotations.items() if name not in _ANNOTATIONS}
    merged = {**metadata, "annotations": {**others, **kept}}
    return {**raw, "metadata": merged if merged["annotations"] else _without(merged, "annotations")}


def _without(raw: Raw, *names: str) -> Raw:
    return {name: value for name, value in raw.items() if name not in names}


def _at(raw: Raw, path: tuple[str, ...]) -> Any:
    value: Any = raw
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
