"""Ask the API server what a decision about an autoscaler depends on: the target's Scale, and its metrics.

Kubernetes: the scale client, and the REST clients of metrics in pkg/controller/podautoscaler/metrics/client.go.
Differs: each metrics API is asked in its newest version, without looking which ones there are; a second metric of the
same resource is not asked for again.
"""

from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, urlencode

import msgspec

from moorage.client.http_wire import object_path
from moorage.client.protocol import Raw
from moorage.control.framework.actions import Answers, Question
from moorage.control.pod_autoscaler.decision import CannotScale
from moorage.control.pod_autoscaler.samples import MetricsError, PodValue
from moorage.control.pod_autoscaler.targets import group_of
from moorage.match.label_selector import EVERYTHING, Selector, compile_label_selector, parse_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError
from moorage.model.go.quoting import go_quote
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.quantity import Quantity, QuantityError, parse_quantity
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.autoscaler import CrossVersionObjectReference, HorizontalPodAutoscaler, PodMetrics
from moorage.model.types.meta import LabelSelector, ObjectMeta
from moorage.model.types.request import Scale

KindOf = Callable[[str, str], Kind | None]
_RESOURCES, _CUSTOM = "/apis/metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2"
_EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_WINDOW = 60.0


def scale_question(kind: Kind, namespace: str, name: str) -> Question | None:
    """Ask for a Scale; None if no object can have this name."""
    try:
        return Question(KINDS.HORIZONTAL_POD_AUTOSCALER, path=object_path(kind, name, namespace, "scale"))
    except ApiError:
        return None


def read_scale(answers: Answers, question: Question | None) -> Scale:
    """Return the answered Scale. Raises CannotScale."""
    document = _document(answers, question) if question is not None else {}
    if document.get("kind") != "Scale":
        raise CannotScale(_message(document), "")
    try:
        scale: Scale = convert_view(document, Scale)
    except ConversionError as error:
        raise CannotScale(str(error.problems[0].reason), "") from None
    return scale


def metric_questions(autoscaler: HorizontalPodAutoscaler, scale: Scale, kind_of: KindOf) -> Iterator[Question]:
    """Yield what is to be asked for the metrics of an autoscaler; nothing for those that cannot be asked for."""
    paths = Paths(autoscaler.metadata.namespace, kind_of)
    try:
        selector = parse_selector(scale.status.selector) if scale.status.selector else None
    except SelectorError:
        selector = None
    if selector is None:
        return
    for spec in autoscaler.spec.metrics:
        try:
            if spec.type in ("Resource", "ContainerResource"):
                yield _ask(paths.of_resources(selector))
            elif spec.type == "Pods" and spec.pods is not None:
                metric = spec.pods.metric
                yield _ask(paths.of_pods(metric.name, selector, _compiled(metric.selector)))
            elif spec.type == "Object" and spec.object is not None:
                metric = spec.object.metric
                yield _ask(paths.of_object(metric.name, spec.object.describedObject, _compiled(metric.selector)))
            elif spec.type == "External" and spec.external is not None:
                metric = spec.external.metric
                yield _ask(paths.external(metric.name, _compiled(metric.selector)))
        except (SelectorError, MetricsError):
            continue


def _compiled(selector: LabelSelector | None) -> Selector:
    return EVERYTHING if selector is None else compile_label_selector(selector)


def _ask(path: str) -> Question:
    return Question(KINDS.HORIZONTAL_POD_AUTOSCALER, path=path)


class Paths:
    """The paths of metrics in a namespace."""

    def __init__(self, namespace: str, kind_of: KindOf) -> None:
        self._namespace, self._kind_of = namespace, kind_of

    def of_resources(self, selector: Selector) -> str:
        return f"{_RESOURCES}/namespaces/{self._namespace}/pods{_query(labelSelector=str(selector))}"

    def of_pods(self, metric: str, selector: Selector, metric_selector: Selector) -> str:
        query = _query(labelSelector=str(selector), metricLabelSelector=str(metric_selector))
        return f"{_CUSTOM}/namespaces/{self._namespace}/pods/%2A/{quote(metric, safe='')}{query}"

    def of_object(self, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector) -> str:
        """Raises MetricsError."""
        group = group_of(reference.apiVersion) or ""
        kind = self._kind_of(group, reference.kind)
        if kind is None:
            raise MetricsError(f"no matches for kind {go_quote(reference.kind)} in group {go_quote(group)}")
        name, query = quote(metric, safe=""), _query(metricLabelSelector=str(metric_selector))
        if kind is KINDS.NAMESPACE:
            return f"{_CUSTOM}/namespaces/{self._namespace}/metrics/{name}{query}"
        resource = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        place = f"namespaces/{self._namespace}/{resource}" if kind.namespaced else resource
        return f"{_CUSTOM}/{place}/{quote(reference.name, safe='')}/{name}{query}"

    def external(self, metric: str, metric_selector: Selector) -> str:
        query = _query(labelSelector=str(metric_selector))
        return f"{_EXTERNAL}/namespaces/{self._namespace}/{quote(metric, safe='')}{query}"


def _query(**parameters: str) -> str:
    given = {name: value for name, value in parameters.items() if value}
    return f"?{urlencode(given)}" if given else ""


class AnsweredMetrics:
    """The metrics APIs as they have answered."""

    def __init__(self, answers: Answers, namespace: str, kind_of: KindOf) -> None:
        self._answers, self._paths = answers, Paths(namespace, kind_of)

    def of_resources(self, selector: Selector) -> Sequence[PodMetrics]:
        known: dict[int, PodMetrics] = {}  # in a simulation, pods that use the same share what is told of them
        found: list[PodMetrics] = []
        try:
            for item in self._items(self._paths.of_resources(selector)):
                containers = item.get("containers")
                like = known.get(id(containers))
                if like is None:
                    like = known[id(containers)] = convert_view(item, PodMetrics)
                    found.append(like)
                else:
                    metadata = convert_view({"name": item["metadata"]["name"]}, ObjectMeta)
                    found.append(msgspec.structs.replace(like, metadata=metadata))
        except ConversionError as error:
            raise MetricsError(str(error.problems[0].reason)) from None
        return found

    def of_pods(self, metric: str, selector: Selector, metric_selector: Selector) -> Sequence[PodValue]:
        items = self._items(self._paths.of_pods(metric, selector, metric_selector))
        return [
            PodValue(
                (item.get("describedObject") or {}).get("name", ""),
                _quantity(item),
                seconds_of(item.get("timestamp")) or 0.0,
                float(_WINDOW if item.get("windowSeconds") is None else item["windowSeconds"]),
            )
            for item in items
        ]

    def of_object(self, metric: str, reference: CrossVersionObjectReference, metric_selector: Selector) -> Quantity:
        items = self._items(self._paths.of_object(metric, reference, metric_selector))
        if len(items) != 1:
            raise MetricsError(f"got {len(items)} results" if items else "no results")
        return _quantity(items[0])

    def external(self, metric: str, metric_selector: Selector) -> Sequence[Quantity]:
        return [_quantity(item) for item in self._items(self._paths.external(metric, metric_selector))]

    def _items(self, path: str) -> list[Raw]:
        document = _document(self._answers, _ask(path))
        if document.get("kind") == "Status":
            raise MetricsError(_message(document))
        items = document.get("items") or []
        return [item for item in items if isinstance(item, dict)]


def _quantity(item: Raw) -> Quantity:
    try:
        return parse_quantity(str(item.get("value", "")))
    except QuantityError as error:
        raise MetricsError(str(error)) from None


def _document(answers: Answers, question: Question | None) -> Raw:
    found = answers.get(question, ()) if question is not None else ()
    return found[0].raw if found else {"kind": "Status", "message": "the server could not be asked"}


def _message(document: Raw) -> str:
    return str(document.get("message") or "the server rejected our request for an unknown reason")
