"""Answer requests to the metrics APIs, over HTTP and from components in this process, and list their metrics.

Kubernetes: the aggregator passes them on to metrics-server and to metrics adapters.
"""

from functools import lru_cache
from typing import Any

import msgspec

from moorage.model.api_error import bad_request, method_not_supported, no_such_path
from moorage.model.kinds import Kind, Ref
from moorage.model.types.autoscaler import PodMetrics
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.options import list_options, query_of
from moorage.serve.requests.rendering import Renderer, as_yaml, json_response, negotiate
from moorage.serve.resources.selector_parameters import field_terms
from moorage.serve.resources.usage import StoredObjects, metrics_api
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.reading import Page
from moorage.store.protocol import Stored
from moorage.usage.answers import (
    CUSTOM_GROUP,
    EXTERNAL_GROUP,
    GROUP,
    NODE_METRICS,
    POD_METRICS,
    MetricsRequest,
    read_path,
)

Raw = dict[str, Any]
#: Where the paths of the metrics APIs begin.
USAGE_PATHS = tuple(f"/apis/{group}/" for group in (GROUP, CUSTOM_GROUP, EXTERNAL_GROUP))
#: So many are measured within some milliseconds.
_FEW_PODS = 500
_FIELDS = ("metadata.name", "metadata.namespace")
_encode = msgspec.json.Encoder().encode


async def usage(api: Api, asked: MetricsRequest) -> Raw:
    """Return the document of a metrics API that was asked for; of many pods, a thread makes it. Raises ApiError."""
    objects = StoredObjects(api.store, api.resources, asked.namespace)
    answer = metrics_api(objects, api.resources).answer
    if len(objects) > _FEW_PODS:
        return await api.long_work.run(answer, asked, api.clock())
    return answer(asked, api.clock())


async def answer_usage(api: Api, request: Request) -> Response | None:
    """Answer a request below `USAGE_PATHS`; None if discovery has the answer. Raises ApiError."""
    if request.path.strip("/").count("/") == 2:
        group, version = request.path.strip("/").split("/")[1:]
        if group == GROUP:
            return None
        if version not in api.resources.groups[group]:
            raise no_such_path()
        everything = metrics_api(StoredObjects(api.store, api.resources, ""), api.resources)
        return json_response(await api.long_work.run(everything.resources, group, version))
    asked = read_path(request.target)
    if asked is None:
        raise no_such_path()
    if request.method not in ("GET", "HEAD"):
        raise method_not_supported()
    form = negotiate(request.headers.get("accept", ""))
    if asked.group != GROUP:
        response = json_response(await usage(api, asked))
    else:
        document = await usage(api, asked)
        response = Response(200, await api.long_work.run(_rendered, api, asked, request, document))
    return as_yaml(response) if form.is_yaml else response


def _rendered(api: Api, asked: MetricsRequest, request: Request, document: Raw) -> bytes:
    """Render what nodes or pods use as an object, a list or a table."""
    kind = NODE_METRICS if asked.resource == "nodes" else POD_METRICS
    include: Any = request.query.get("includeObject") or "Metadata"
    renderer = Renderer(kind, negotiate(request.headers.get("accept", "")), include, api.clock())
    if asked.name:
        return renderer.object(_stored(kind, document))
    if list_options(query_of(request)).watch:
        raise method_not_supported()
    wanted = field_terms(request.query.get("fieldSelector"))
    if unknown := next((field for field, _, _ in wanted if field not in _FIELDS), ""):
        raise bad_request(f"field label not supported: {unknown}")
    items = [
        item
        for item in document["items"]
        if all(
            (item["metadata"].get(field.rpartition(".")[2], "") == value) is is_equal
            for field, is_equal, value in wanted
        )
    ]
    return renderer.page(Page([_stored(kind, item) for item in items], api.store.revision))


def _stored(kind: Kind, document: Raw) -> Stored:
    """Return a document as if it were stored, which it never was."""
    return Stored("", _encode({**document, "kind": kind.name, "apiVersion": kind.api_version}), 0, 0)


def ref_of(asked: MetricsRequest) -> tuple[Ref, str]:
    """Return what a request is about, and its subresource, as rights to it are written."""
    if asked.group == GROUP:
        kind = NODE_METRICS if asked.resource == "nodes" else POD_METRICS
        return Ref(kind, asked.namespace, asked.name), ""
    if asked.group == EXTERNAL_GROUP:
        return Ref(_kind(asked.group, asked.version, asked.metric, True), asked.namespace, ""), ""
    if asked.resource == "namespaces":
        return Ref(_kind(asked.group, asked.version, "metrics", True), asked.name, asked.metric), ""
    kind = _kind(asked.group, asked.version, asked.resource, bool(asked.namespace))
    return Ref(kind, asked.namespace, asked.name), asked.metric


@lru_cache(maxsize=256)
def _kind(group: str, version: str, plural: str, is_namespaced: bool) -> Kind:
    return Kind(f"{group}/{version}", plural, PodMetrics, namespaced=is_namespaced, verbs=("get",))
