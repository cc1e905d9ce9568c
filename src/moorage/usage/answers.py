"""Answer the metrics APIs: metrics.k8s.io, custom.metrics.k8s.io and external.metrics.k8s.io, by path.

In: the path of a GET with its query. Out: the document, or an ApiError with the words of the servers that usually
answer. Kubernetes: metrics-server; custom-metrics-apiserver, on which metrics adapters are built.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs, unquote

from moorage.match.label_selector import EVERYTHING, Selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, failure, no_such_path
from moorage.model.go.times import time_text
from moorage.model.kinds import Kind
from moorage.model.quantity import Format, Quantity
from moorage.model.text.readers import reads_text
from moorage.model.types.autoscaler import NodeMetrics, PodMetrics
from moorage.model.types.core import ConfigMap
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod
from moorage.usage.annotations import (
    CPU,
    EXTERNAL,
    LOAD,
    METRICS,
    RESOURCES,
    USAGE,
    Series,
    courses_of,
    read_series,
)
from moorage.usage.courses import CourseError
from moorage.usage.meter import WINDOW, Amounts, Meter, PodUsage

Raw = dict[str, Any]
GROUP, CUSTOM_GROUP, EXTERNAL_GROUP = "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"
#: Versions of each group, the preferred one first.
VERSIONS: Final = {GROUP: ("v1beta1",), CUSTOM_GROUP: ("v1beta2", "v1beta1"), EXTERNAL_GROUP: ("v1beta1",)}
NODE_METRICS: Final = Kind(f"{GROUP}/v1beta1", "nodes", NodeMetrics, namespaced=False, verbs=("get", "list"))
POD_METRICS: Final = Kind(f"{GROUP}/v1beta1", "pods", PodMetrics, verbs=("get", "list"))
_NANO, _MILLI = 1e9, 1e3
_ALL = "*"
_WINDOW_TEXT = f"{int(WINDOW)}s"


class MetricsRequest(NamedTuple):
    """A request to a metrics API. `resource` and `name` are of the object that a custom metric is about."""

    group: str
    version: str
    namespace: str
    resource: str
    name: str
    metric: str
    labels: str = ""
    metric_labels: str = ""


@reads_text("/apis/metrics.k8s.io/v1beta1/", "namespaces/", "a/", "?labelSelector=", "&", "%2A", "=", longest=None)
def read_path(target: str) -> MetricsRequest | None:
    """Take a path with its query apart; None if it is not one of an object or a list of a metrics API."""
    path, _, query_text = target.partition("?")
    segments = [unquote(segment) for segment in path.strip("/").split("/")]
    if len(segments) < 4 or segments[0] != "apis" or segments[2] not in VERSIONS.get(segments[1], ()):
        return None
    group, version, rest = segments[1], segments[2], segments[3:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    if group == GROUP and len(rest) <= 2:
        asked = MetricsRequest(group, version, namespace, rest[0], rest[1] if len(rest) == 2 else "", "")
    elif group == EXTERNAL_GROUP and namespace and len(rest) == 1:
        asked = MetricsRequest(group, version, namespace, "", "", rest[0])
    elif group == CUSTOM_GROUP and namespace and len(rest) == 2 and rest[0] == "metrics":
        asked = MetricsRequest(group, version, "", "namespaces", namespace, rest[1])
    elif group == CUSTOM_GROUP and len(rest) == 3:
        asked = MetricsRequest(group, version, namespace, *rest)
    else:
        return None
    query = parse_qs(query_text, keep_blank_values=True) if query_text else {}
    labels, metric_labels = (query.get(name, [""])[0] for name in ("labelSelector", "metricLabelSelector"))
    return asked._replace(labels=labels, metric_labels=metric_labels)


class MetricsApi:
    """The three APIs over one cluster. `kind_of` finds a kind by its group and plural."""

    def __init__(self, meter: Meter, kind_of: Callable[[str, str], Kind | None]) -> None:
        self._meter, self._objects, self._kind_of = meter, meter.objects, kind_of

    def answer(self, asked: MetricsRequest, now: float) -> Raw:
        """Return the document that was asked for. Raises ApiError."""
        if asked.group == CUSTOM_GROUP:
            return self._custom(asked, now)
        if asked.group == EXTERNAL_GROUP:
            return self._external(asked, now)
        if asked.resource not in ("nodes", "pods") or (asked.resource == "nodes" and asked.namespace):
            raise no_such_path()
        kind = NODE_METRICS if asked.resource == "nodes" else POD_METRICS
        items = [*self.usage(kind, asked.namespace, _selector(asked.labels), asked.name, now)]
        type_meta = {"kind": kind.name, "apiVersion": kind.api_version}
        if not asked.name:
            return {"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": {}, "items": items}
        if not items:
            name = f"{asked.namespace}/{asked.name}" if asked.namespace else asked.name
            raise _not_found(f"{kind.name.lower()}.{GROUP}", name)
        return {**type_meta, **items[0]}

    # -- metrics.k8s.io -----------------------------------------------------------------------------------------------

    def usage(self, kind: Kind, namespace: str, selector: Selector, name: str, now: float) -> Iterator[Raw]:
        """Yield what nodes or pods use that are selected, of those of which that is known."""
        if kind is POD_METRICS:
            told: dict[int, list[Raw]] = {}  # of pods that use the same
            for pod, usage in self._pods(namespace, selector, name, now):
                if usage.containers:
                    containers = told.get(id(usage))
                    if containers is None:
                        used = usage.containers.items()
                        containers = [{"name": container, "usage": _usage(of)} for container, of in used]
                        told[id(usage)] = containers
                    yield {**_measured(pod.metadata, now), "containers": containers}
            return
        on_nodes: dict[str, list[Pod]] = {}
        for pod in self._objects.pods(""):
            on_nodes.setdefault(pod.spec.nodeName, []).append(pod)
        for node in self._objects.nodes():
            metadata = node.metadata
            if (not name or metadata.name == name) and selector.match(metadata.labels):
                amounts = self._meter.of_node(node, on_nodes.get(metadata.name, ()), now)
                if amounts is not None:
                    yield {**_measured(metadata, now), "usage": _usage(amounts)}

    def _pods(self, namespace: str, selector: Selector, name: str, now: float) -> Iterator[tuple[Pod, PodUsage]]:
        for pod in self._objects.selected(namespace, selector):
            if name and pod.metadata.name != name:
                continue
            if (usage := self._meter.of_pod(pod, now)) is not None:
                yield pod, usage

    # -- custom.metrics.k8s.io ----------------------------------------------------------------------------------------

    def _custom(self, asked: MetricsRequest, now: float) -> Raw:
        plural, _, group = asked.resource.partition(".")
        kind = self._kind_of(group, plural)
        if kind is None or kind.namespaced is not bool(asked.namespace):
            raise _no_metric(asked.metric, asked.resource)
        found: list[tuple[ObjectMeta, float]] = []
        if _selector(asked.metric_labels).match({}):  # these metrics have no labels
            found = [*self._values(kind, asked, now)]
        if not found:
            raise _no_metric(asked.metric, asked.resource, "" if asked.name == _ALL else asked.name)
        items = [_custom_item(asked, kind, metadata, value, now) for metadata, value in found]
        api_version = f"{CUSTOM_GROUP}/{asked.version}"
        return {"kind": "MetricValueList", "apiVersion": api_version, "metadata": {}, "items": items}

    def _values(self, kind: Kind, asked: MetricsRequest, now: float) -> Iterator[tuple[ObjectMeta, float]]:
        name = "" if asked.name == _ALL else asked.name
        if kind.name == "Pod" and not kind.group:
            for pod, usage in self._pods(asked.namespace, _selector(asked.labels), name, now):
                if asked.metric in usage.metrics:
                    yield pod.metadata, usage.metrics[asked.metric]
            return
        metadata = self._objects.find(kind.api_version, kind.name, asked.namespace, name) if name else None
        if metadata is None:
            return
        seconds = now - self._meter.begun(metadata)
        for measured, amount in self._meter.given(courses_of(metadata, METRICS), asked.namespace, seconds):
            if measured.name == asked.metric and not measured.container:
                yield metadata, amount

    # -- external.metrics.k8s.io --------------------------------------------------------------------------------------

    def _external(self, asked: MetricsRequest, now: float) -> Raw:
        selector, is_known = _selector(asked.labels), False
        items: list[Raw] = []
        for config_map, series in self._series(asked.namespace):
            if series.name != asked.metric:
                continue
            is_known = True
            timed = self._meter.timed(series.course, asked.namespace, series.name)
            if timed is None or not selector.match(series.labels):
                continue
            metadata = config_map.metadata
            value = timed.at(now - self._meter.begun(metadata))
            items.append(
                {
                    "metricName": series.name,
                    "metricLabels": dict(series.labels),
                    "timestamp": time_text(now),
                    "value": _amount(value),
                }
            )
        if not is_known:
            text = f"the server could not find the requested resource (get {asked.metric}.{EXTERNAL_GROUP})"
            raise failure(404, "NotFound", text, {"group": EXTERNAL_GROUP, "kind": asked.metric})
        api_version = f"{EXTERNAL_GROUP}/{asked.version}"
        return {"kind": "ExternalMetricValueList", "apiVersion": api_version, "metadata": {}, "items": items}

    def _series(self, namespace: str) -> Iterator[tuple[ConfigMap, Series]]:
        for config_map in self._objects.config_maps(namespace):
            if config_map.metadata.labels.get(EXTERNAL) != "true":
                continue
            for text in config_map.data.values():
                try:
                    yield from ((config_map, series) for series in read_series(text))
                except CourseError:
                    continue

    # -- discovery ----------------------------------------------------------------------------------------------------

    def resources(self, group: str, version: str) -> Raw:
        """Return the list of resources of a group whose resources are the metrics that there are."""
        entries = self._external_names() if group == EXTERNAL_GROUP else self._custom_names()
        listed = [
            {
                "name": name,
                "singularName": "",
                "namespaced": is_namespaced,
                "kind": "ExternalMetricValueList" if group == EXTERNAL_GROUP else "MetricValueList",
                "verbs": ["get"],
            }
            for name, is_namespaced in sorted(set(entries))
        ]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}",
            "resources": listed,
        }

    def _external_names(self) -> Iterator[tuple[str, bool]]:
        return ((series.name, True) for _, series in self._series(""))

    def _custom_names(self) -> Iterator[tuple[str, bool]]:
        for pod in self._objects.pods(""):
            owner = self._meter.loaded(pod)
            for metadata, annotation in ((pod.metadata, USAGE), (owner, LOAD)):
                for measured in courses_of(metadata, annotation) if metadata is not None else ():
                    if measured.name not in RESOURCES:
                        yield f"pods/{measured.name}", True


def _measured(metadata: ObjectMeta, now: float) -> Raw:
    """Return the beginning of a document about what was measured of an object."""
    told: Raw = {"name": metadata.name}
    if metadata.namespace:
        told["namespace"] = metadata.namespace
    told["creationTimestamp"] = time_text(now)
    if metadata.labels:
        told["labels"] = dict(metadata.labels)
    return {"metadata": told, "timestamp": time_text(now), "window": _WINDOW_TEXT}


def _usage(amounts: Amounts) -> dict[str, str]:
    return {
        resource: str(_nano(amount) if resource == CPU else Quantity.from_int(round(amount), Format.BINARY_SI))
        for resource, amount in sorted(amounts.items())
    }


def _nano(amount: float) -> Quantity:
    return Quantity(round(amount * _NANO), -9, Format.DECIMAL_SI)


def _amount(amount: float) -> str:
    return str(Quantity.from_milli(round(amount * _MILLI)))


def _custom_item(asked: MetricsRequest, kind: Kind, metadata: ObjectMeta, value: float, now: float) -> Raw:
    described: Raw = {"kind": kind.name}
    if metadata.namespace:
        described["namespace"] = metadata.namespace
    # A core object's group is empty, and stays before the slash.
    described |= {"name": metadata.name, "apiVersion": f"{kind.group}/{kind.version}"}
    metric: Raw = (
        {"metricName": asked.metric}
        if asked.version == "v1beta1"
        else {"metric": {"name": asked.metric, "selector": None}}
    )
    return {"describedObject": described, **metric, "timestamp": time_text(now), "value": _amount(value)}


def _selector(text: str) -> Selector:
    try:
        return parse_selector(text) if text else EVERYTHING
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


def _not_found(resource: str, name: str) -> ApiError:
    plural, _, group = resource.partition(".")
    return failure(404, "NotFound", f'{resource} "{name}" not found', {"name": name, "group": group, "kind": plural})


def _no_metric(metric: str, resource: str, name: str = "") -> ApiError:
    text = f"the server could not find the metric {metric} for {resource}{f' {name}' if name else ''}"
    return failure(404, "NotFound", text)
