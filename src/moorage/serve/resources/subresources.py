"""Handle subresources besides status (binding, eviction, log, scale, finalize), and kinds that are never stored.

The latter are reviews of the user and its permissions, and the old form of binding. Every authenticated user may do
everything, and the reviews say so. Kubernetes: the subresources of pkg/registry, SelfSubjectReview,
SelfSubjectAccessReview, SelfSubjectRulesReview.
"""

from collections.abc import Awaitable, Callable

from moorage.model.api_error import bad_request
from moorage.model.kinds import BINDING, EVICTION, SCALE, Kind
from moorage.serve.api import Api, Raw
from moorage.serve.decoding import check_kind, decode_body, decode_object
from moorage.serve.http.messages import Request, Response
from moorage.serve.options import query_of, write_options
from moorage.serve.pki.authentication import User
from moorage.serve.rendering import As, json_response, negotiate, warning_headers
from moorage.serve.resources.routes import Target
from moorage.serve.tables.render import render_table
from moorage.serve.verbs.deleting import finalize
from moorage.serve.verbs.patching import APPLY, duplicate_warnings, read_patch
from moorage.serve.verbs.pods import bind, evict
from moorage.serve.verbs.reading import get
from moorage.serve.verbs.scaling import get_scale, patch_scale, put_scale

Subresource = Callable[[Api, Target, Request, str], Awaitable[Response]]

_SUCCESS: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def _bind(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions")
    document = {"metadata": {"name": target.name}, **_body(request, BINDING)}
    check_kind(document, BINDING)
    await bind(api, target.namespace, target.name, document, dry_run=options.dry_run)
    return json_response(_SUCCESS, 201)


async def _evict(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions")
    document = {"metadata": {"name": target.name}, **_body(request, EVICTION)}
    if document.get("apiVersion") == "policy/v1beta1":
        document["apiVersion"] = EVICTION.api_version  # older clients', and the same
    check_kind(document, EVICTION)
    await evict(api, target.namespace, target.name, document, dry_run=options.dry_run)
    return json_response(_SUCCESS, 201)


async def _log(api: Api, target: Target, request: Request, manager: str) -> Response:
    """Refuse, with the reason: there are no logs."""
    await get(api, target.ref)
    raise bad_request(
        f'pod "{target.name}" has no log: Moorage simulates nodes, so containers are never run and write nothing'
    )


async def _scale(api: Api, target: Target, request: Request, manager: str) -> Response:
    if target.verb == "get":
        scale = await get_scale(api, target.ref)
        if negotiate(request.headers.get("accept", "")).shows is As.TABLE:
            revision = {"resourceVersion": scale["metadata"].get("resourceVersion", "")}
            return json_response(render_table(SCALE, [scale], api.clock(), metadata=revision))
        return json_response(scale)
    if target.verb == "patch":
        patch = read_patch(request.body, request.headers.get("content-type", ""))
        options = write_options(query_of(request), manager, "PatchOptions", applies=patch.patch_type == APPLY)
        if patch.patch_type == APPLY:
            duplicate_warnings(patch.duplicates, options.validation)
        return json_response(await patch_scale(api, target.ref, patch, options))
    options = write_options(query_of(request), manager, "UpdateOptions")
    document, warnings = decode_object(request.body, request.headers.get("content-type", ""), SCALE, options.validation)
    return json_response(await put_scale(api, target.ref, document, options), headers=warning_headers(warnings))


async def _finalize(api: Api, target: Target, request: Request, manager: str) -> Response:
    kind = target.kind
    options = write_options(query_of(request), manager, "UpdateOptions")
    raw, _ = decode_object(request.body, request.headers.get("content-type", ""), kind, options.validation)
    return json_response(await finalize(api, target.name, raw, dry_run=options.dry_run))


def _body(request: Request, kind: Kind) -> Raw:
    return decode_body(request.body, request.headers.get("content-type", ""), kind)[0]


SUBRESOURCES: dict[str, Subresource] = {
    "binding": _bind,
    "eviction": _evict,
    "log": _log,
    "scale": _scale,
    "finalize": _finalize,
}


async def _who_am_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    info: Raw = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        info["uid"] = user.uid
    if user.extra:
        info["extra"] = {name: list(values) for name, values in user.extra.items()}
    return _answer(target, {"creationTimestamp": api.now_text()}, {"status": {"userInfo": info}})


async def _may_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not ("resourceAttributes" in spec or "nonResourceAttributes" in spec):
        raise bad_request("spec.resourceAttributes or spec.nonResourceAttributes must be given")
    status = {"allowed": True, "reason": "Moorage lets everyone whom it knows do everything"}
    return _answer(target, {"creationTimestamp": None}, {"spec": spec, "status": status})


async def _what_may_i(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    spec = raw.get("spec")
    if not isinstance(spec, dict) or not spec.get("namespace"):
        raise bad_request("no namespace on request")
    everything = ["*"]
    status = {
        "resourceRules": [{"verbs": everything, "apiGroups": everything, "resources": everything}],
        "nonResourceRules": [{"verbs": everything, "nonResourceURLs": everything}],
        "incomplete": False,
    }
    return _answer(target, {"creationTimestamp": None}, {"spec": {}, "status": status})


async def _bind_named(api: Api, target: Target, raw: Raw, user: User) -> Raw:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    await bind(api, target.namespace, name, raw)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _answer(target: Target, metadata: Raw, rest: Raw) -> Raw:
    kind = target.kind
    return {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata, **rest}


VIRTUAL: dict[str, Callable[[Api, Target, Raw, User], Awaitable[Raw]]] = {
    "SelfSubjectReview": _who_am_i,
    "SelfSubjectAccessReview": _may_i,
    "SelfSubjectRulesReview": _what_may_i,
    "Binding": _bind_named,
}
