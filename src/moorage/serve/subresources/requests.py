"""Answer requests to subresources that are no part of their object: binding, eviction, scale, finalize, token.

`SUBRESOURCES` has a function for each. Kubernetes: the subresources of pkg/registry.
"""

from collections.abc import Awaitable, Callable

from moorage.admit.raw import Raw
from moorage.model.api_error import bad_request
from moorage.model.kinds import BINDING, EVICTION, SCALE, Kind
from moorage.serve.access.requesters import restrict_request
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.decoding import check_kind, decode_body, decode_object
from moorage.serve.requests.options import WriteOptions, query_of, write_options
from moorage.serve.requests.rendering import As, json_response, negotiate, warning_headers
from moorage.serve.resources.served import Target
from moorage.serve.subresources.connecting import WANTED, refuse_container
from moorage.serve.subresources.pods import bind, evict
from moorage.serve.subresources.scale import get_scale, patch_scale_and_warn, put_scale_body
from moorage.serve.tables.render import render_table
from moorage.serve.tokens.requests import answer_token_request
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.deleting import finalize
from moorage.serve.verbs.patching import APPLY, duplicate_warnings, read_patch

Subresource = Callable[[Api, Target, Request, str], Awaitable[Response]]

_SUCCESS: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def _bind(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions", user=request.user)
    document = {"metadata": {"name": target.name}, **await body_of(api, request, BINDING)}
    check_kind(document, BINDING)
    restrict_request(api, target, request, document)
    warnings = await bind(api, target.namespace, target.name, document, options)
    return json_response(_SUCCESS, 201, warning_headers(warnings))


async def _evict(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions", user=request.user)
    document = {"metadata": {"name": target.name}, **await body_of(api, request, EVICTION)}
    if document.get("apiVersion") == "policy/v1beta1":
        document["apiVersion"] = EVICTION.api_version  # older clients', and the same
    check_kind(document, EVICTION)
    restrict_request(api, target, request, document)
    warnings = await evict(api, target.namespace, target.name, document, options)
    return json_response(_SUCCESS, 201, warning_headers(warnings))


async def _scale(api: Api, target: Target, request: Request, manager: str) -> Response:
    if target.verb == "get":
        scale = await get_scale(api, target.ref)
        if negotiate(request.headers.get("accept", "")).shows is As.TABLE:
            revision = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
            return json_response(render_table(SCALE, [scale], api.clock(), metadata=revision))
        return json_response(scale)
    restrict_request(api, target, request, {})
    if target.verb == "patch":
        patch = await api.long_work.read(read_patch, request.body, request.headers.get("content-type", ""))
        applies = patch.patch_type == APPLY
        options = write_options(query_of(request), manager, "PatchOptions", applies=applies, user=request.user)
        if patch.patch_type == APPLY:
            duplicate_warnings(patch.duplicates, options.validation)
        scale, warnings = await patch_scale_and_warn(api, target.ref, patch, options)
        return json_response(scale, headers=warning_headers(warnings))
    options = write_options(query_of(request), manager, "UpdateOptions", user=request.user)
    content_type = request.headers.get("content-type", "")
    scale, warnings = await put_scale_body(api, target.ref, request.body, content_type, options)
    return json_response(scale, headers=warning_headers(warnings))


async def _finalize(api: Api, target: Target, request: Request, manager: str) -> Response:
    kind = target.kind
    options = write_options(query_of(request), manager, "UpdateOptions", user=request.user)
    content_type = request.headers.get("content-type", "")
    raw, _ = await api.long_work.read(decode_object, request.body, content_type, kind, options.validation)
    restrict_request(api, target, request, raw)
    namespace, warnings = await finalize(api, target.name, raw, options)
    return json_response(namespace, headers=warning_headers(warnings))


async def body_of(api: Api, request: Request, kind: Kind) -> Raw:
    """Return the document of a request."""
    return (await api.long_work.read(decode_body, request.body, request.headers.get("content-type", ""), kind))[0]


SUBRESOURCES: dict[str, Subresource] = {
    "binding": _bind,
    "eviction": _evict,
    "scale": _scale,
    "finalize": _finalize,
    "token": answer_token_request,
    **dict.fromkeys(WANTED, refuse_container),
}


async def bind_named(api: Api, target: Target, raw: Raw, options: WriteOptions) -> Response:
    """Bind the pod that a Binding names: the old form of `pods/binding`."""
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    warnings = await bind(api, target.namespace, name, raw, options, resource=BINDING)
    return json_response(_SUCCESS, 201, warning_headers(warnings))
