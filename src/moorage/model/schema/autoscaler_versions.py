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
        found = {name: _at(source, self._path(path, side)) for name, path in self.fields.items()}
        if isinstance(found.get("target"), dict):  # an object, in the order of its Go type
            found["target"] = GoStruct({name: found["target"].get(name, "") for name in ("kind", "name", "apiVersion")})
        return GoStruct({name: value for name, value in found.items() if value is not None})

    def to_v2(self, source: Raw, side: str) -> Raw:
        made: Raw = {}
        for name, path in self.fields.items():
            if source.get(name) is not None:
                *holders, last = self._path(path, side)
                holder = made
                for step in holders:
                    holder = holder.setdefault(step, {})
                holder[last] = source[name]
        return made

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
    metrics, behavior = spec.get("metrics") or [], spec.get("behavior")
    kept: dict[str, str] = {}
    if others := [metric for metric in metrics if not _is_cpu(metric)]:
        kept[METRICS] = go_json([_metric_to_v1(metric, _SOURCES, "target") for metric in others])
    if status.get("currentMetrics"):
        found = [_metric_to_v1(metric, _STATUSES, "current") for metric in status["currentMetrics"]]
        kept[STATUSES] = go_json(found)
    if behavior is not None:
        kept[BEHAVIOR] = go_json(_internal_behavior(behavior))
    if status.get("conditions"):
        kept[CONDITIONS] = go_json(status["conditions"])
    made = {**raw, "spec": _without(spec, "metrics", "behavior"), "status": _without(status, *_OF_STATUS)}
    cpu = next((metric["resource"]["target"]["averageUtilization"] for metric in metrics if _is_cpu(metric)), None)
    if cpu is not None:
        made["spec"][_TARGET] = cpu
    for name in ("currentReplicas", "desiredReplicas"):
        made["status"].setdefault(name, 0)
    used = [_at(metric, ("resource", "current", "averageUtilization")) for metric in status.get("currentMetrics") or ()]
    if used := [percent for percent in used if percent is not None]:
        made["status"][_CURRENT] = used[-1]
    return _with_annotations(made, kept)


_OF_STATUS = ("currentMetrics", "conditions")


def from_v1(raw: Raw) -> Raw:
    """Return an autoscaler of version 1, or a part of one, in version 2."""
    made = dict(raw)
    spec, status = raw.get("spec"), raw.get("status")
    annotations = (raw.get("metadata") or {}).get("annotations") if isinstance(raw.get("metadata"), dict) else None
    annotations = annotations if isinstance(annotations, dict) else {}
    if isinstance(spec, dict):
        made["spec"] = _spec_from_v1(spec, annotations)
    if isinstance(status, dict):
        made["status"] = _without(status, _CURRENT, *_OF_STATUS)
        if status.get(_CURRENT) is not None:
            current = {"name": "cpu", "current": {"averageUtilization": status[_CURRENT]}}
            made["status"]["currentMetrics"] = [{"type": "Resource", "resource": current}]
        if (found := _decoded(annotations.get(STATUSES))) is not None:
            made["status"]["currentMetrics"] = [_metric_to_v2(metric, _STATUSES, "current") for metric in found]
        if (found := _decoded(annotations.get(CONDITIONS))) is not None:
            made["status"]["conditions"] = found
    return _with_annotations(made, {}) if _ANNOTATIONS.intersection(annotations) else made


def _spec_from_v1(spec: Raw, annotations: Raw) -> Raw:
    made = _without(spec, _TARGET, "metrics", "behavior")
    if _TARGET in spec:
        target = {"type": "Utilization", "averageUtilization": spec[_TARGET]}
        cpu = {"type": "Resource", "resource": {"name": "cpu", "target": target}}
        made["metrics"] = None if spec[_TARGET] is None else [cpu]
    if (others := _decoded(annotations.get(METRICS))) is not None:
        found = [_metric_to_v2(metric, _SOURCES, "target") for metric in others]
        made["metrics"] = [*found, *(made.get("metrics") or [])]
    if behavior := _decoded_behavior(annotations.get(BEHAVIOR)):
        made["behavior"] = behavior
    return made


def _is_cpu(metric: Raw) -> bool:
    is_resource = metric.get("type") == "Resource" and _at(metric, ("resource", "name")) == "cpu"
    return is_resource and _at(metric, ("resource", "target", "averageUtilization")) is not None


def _metric_to_v1(metric: Raw, sources: dict[str, _Source], side: str) -> GoStruct:
    made = GoStruct(type=metric.get("type", ""))
    for name, source in sources.items():
        if isinstance(metric.get(name), dict):
            made[name] = source.to_v1(metric[name], side)
    return made


def _metric_to_v2(metric: Raw, sources: dict[str, _Source], side: str) -> Raw:
    made: Raw = {"type": metric.get("type", "")}
    for name, source in sources.items():
        if isinstance(metric.get(name), dict):
            made[name] = source.to_v2(metric[name], side)
            if side == "target":
                made[name].setdefault("target", {})["type"] = _target_type(name, made[name]["target"])
    return made


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

    def rules(found: Raw | None) -> GoStruct | None:
        if found is None:
            return None
        policies = found.get("policies")
        shown = None if policies is None else [_capitals(policy, _POLICY_FIELDS) for policy in policies]
        return _capitals({**found, "policies": shown}, _RULE_FIELDS)

    return GoStruct(ScaleUp=rules(behavior.get("scaleUp")), ScaleDown=rules(behavior.get("scaleDown")))


def _capitals(found: Raw, names: tuple[str, ...]) -> GoStruct:
    return GoStruct({f"{name[:1].upper()}{name[1:]}": found.get(name) for name in names})


def _decoded_behavior(text: object) -> Raw | None:
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
    return _small_letters(found) if isinstance(found, dict) else None


def _small_letters(found: Any) -> Any:
    if isinstance(found, dict):
        items = ((name, _small_letters(value)) for name, value in found.items() if value is not None)
        return {f"{name[:1].lower()}{name[1:]}": value for name, value in items}
    return [_small_letters(item) for item in found] if isinstance(found, list) else found


def _decoded(text: object) -> list[Raw] | None:
    try:
        found = msgspec.json.decode(text) if isinstance(text, str) else None
    except msgspec.DecodeError:
        return None
    is_list = isinstance(found, list) and all(isinstance(item, dict) for item in found)
    return found if is_list else None


def _with_annotations(raw: Raw, kept: dict[str, str]) -> Raw:
    metadata = raw.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not kept and not _ANNOTATIONS.intersection(annotations):
        return raw
    others = {name: text for name, text in annotations.items() if name not in _ANNOTATIONS}
    made = {**metadata, "annotations": {**others, **kept}}
    return {**raw, "metadata": made if made["annotations"] else _without(made, "annotations")}


def _without(raw: Raw, *names: str) -> Raw:
    return {name: value for name, value in raw.items() if name not in names}


def _at(raw: Raw, path: tuple[str, ...]) -> Any:
    value: Any = raw
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
