"""Answer requests to the API: route them to a verb, and render the result in the form the client asked for.

Subresources besides status (binding, eviction, log, scale, finalize) and kinds that are never stored (reviews of the
user and its permissions, the old form of binding) have functions of their own. Kubernetes: the handler chain and the
installer of API groups, the subresources of pkg/registry.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from time import perf_counter
from typing import Any

from moorage.model.api_error import ApiError, bad_request, unauthorized
from moorage.model.field_error import invalid
from moorage.model.kinds import BINDING, DELETE_OPTIONS, EVICTION, SCALE, Kind
from moorage.serve.access.authorization import attributes_of, check
from moorage.serve.access.impersonation import acting_user
from moorage.serve.access.reviews import may_i, what_may_i, who_am_i
from moorage.serve.api import Api, Raw, WriteResult
from moorage.serve.decoding import JSON, check_kind, decode_body, decode_object, media_type
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.long_work import is_large, is_large_body, next_turn
from moorage.serve.options import IGNORE, delete_options, list_options, query_of, seen_revision, write_options
from moorage.serve.page_stream import is_long, stream_page
from moorage.serve.pki.authentication import MASTERS, User
from moorage.serve.rendering import As, Form, Renderer, as_yaml, error_event, json_response, negotiate, warning_headers
from moorage.serve.resources.older_versions import converted_answer, converted_error, converted_request
from moorage.serve.resources.routes import Target, target_of
from moorage.serve.tables.render import render_table
from moorage.serve.templates import POD
from moorage.serve.verbs.changing import create, replace
from moorage.serve.verbs.deleting import delete, delete_collection, deleted_status, finalize
from moorage.serve.verbs.patching import APPLY, duplicate_warnings, patch_object, read_patch
from moorage.serve.verbs.reading import Page, check_not_older, get, list_page
from moorage.serve.verbs.subresources import bind, evict, get_scale, patch_scale, put_scale
from moorage.serve.verbs.watching import Batches, watch
from moorage.serve.web_paths import WebPaths
from moorage.telemetry.apiserver_metrics import ApiServerMetrics, Asked, asked_of
from moorage.telemetry.watchdog import Operation, operation

Subresource = Callable[[Api, Target, Request, str], Awaitable[Response]]

_SUCCESS: Raw = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


async def _bind(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions")
    document = {"metadata": {"name": target.name}, **await _body(api, request, BINDING)}
    check_kind(document, BINDING)
    await bind(api, target.namespace, target.name, document, dry_run=options.dry_run)
    return json_response(_SUCCESS, 201)


async def _evict(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions")
    document = {"metadata": {"name": target.name}, **await _body(api, request, EVICTION)}
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
        patch = await api.long_work.read(read_patch, request.body, request.headers.get("content-type", ""))
        options = write_options(query_of(request), manager, "PatchOptions", applies=patch.patch_type == APPLY)
        if patch.patch_type == APPLY:
            duplicate_warnings(patch.duplicates, options.validation)
        return json_response(await patch_scale(api, target.ref, patch, options))
    options = write_options(query_of(request), manager, "UpdateOptions")
    content_type = request.headers.get("content-type", "")
    document, warnings = await api.long_work.read(decode_object, request.body, content_type, SCALE, options.validation)
    return json_response(await put_scale(api, target.ref, document, options), headers=warning_headers(warnings))


async def _finalize(api: Api, target: Target, request: Request, manager: str) -> Response:
    kind = target.kind
    options = write_options(query_of(request), manager, "UpdateOptions")
    content_type = request.headers.get("content-type", "")
    raw, _ = await api.long_work.read(decode_object, request.body, content_type, kind, options.validation)
    return json_response(await finalize(api, target.name, raw, dry_run=options.dry_run))


async def _body(api: Api, request: Request, kind: Kind) -> Raw:
    return (await api.long_work.read(decode_body, request.body, request.headers.get("content-type", ""), kind))[0]


SUBRESOURCES: dict[str, Subresource] = {
    "binding": _bind,
    "eviction": _evict,
    "log": _log,
    "scale": _scale,
    "finalize": _finalize,
}


Review = Callable[[Raw, User, str], Raw]

REVIEWS: dict[str, Review] = {
    "SelfSubjectReview": who_am_i,
    "SelfSubjectAccessReview": may_i,
    "SelfSubjectRulesReview": what_may_i,
}


async def _bind_named(api: Api, target: Target, raw: Raw) -> Response:
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise bad_request("metadata.name must be the name of the pod to bind")
    await bind(api, target.namespace, name, raw)
    return json_response(_SUCCESS, 201)


_NEVER_STORED = frozenset({*REVIEWS, BINDING.name})

Answer = Response | Stream

#: Metrics call other verbs by their names.
_METRIC_VERBS = {"create": "POST", "update": "PUT"}
_FEW_EVENTS = 500  # a batch of a watch that is rendered in about a millisecond
_INCLUDE = ("None", "Metadata", "Object")
_MAX_REMEMBERED, _MAX_REMEMBERED_LENGTH = 1024, 200


class Handler:
    """The handler of all requests. `paths` answers those outside of the API: health, version, metrics, discovery."""

    def __init__(self, api: Api, paths: WebPaths, metrics: ApiServerMetrics) -> None:
        self._api, self._paths, self._metrics = api, paths, metrics
        self._meant: dict[tuple[str, str], tuple[Target, Asked]] = {}
        self._verbs: dict[str, Callable[[Target, Request, Renderer], Awaitable[Answer]]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    @operation(lambda local: _operation(local["asked"]))
    async def __call__(self, request: Request) -> Answer:
        user = request.user
        if user is None:
            raise unauthorized()  # a request without a user that came past the gate
        acting = acting_user(user, request.headers)
        if acting is not user:
            request.user, request.impersonator, user = acting, user, acting
        if MASTERS not in user.groups:
            check(user, attributes_of(request))
        meant = self._meant.get((request.method, request.target))
        if meant is None:
            target = target_of(request.method, request.path, self._api.gates)
            if target is None:
                return self._paths.answer(request)
            meant = self._remember(target, request)
        target, asked = meant
        started, code = perf_counter(), 500
        try:
            answer = await self._answer(target, request, user)
            code = answer.status
            return answer
        except ApiError as refusal:
            code = refusal.code
            raise
        finally:
            self._metrics.observe(asked, code, perf_counter() - started)

    def _remember(self, target: Target, request: Request) -> tuple[Target, Asked]:
        """Find out what a target means, and keep it for the next request like this."""
        asked = _asked(target, request)
        is_patch = request.method == "PATCH"  # whose body's type matters, too
        if not target.name and not is_patch and len(request.target) <= _MAX_REMEMBERED_LENGTH:
            if len(self._meant) >= _MAX_REMEMBERED:
                self._meant.clear()
            self._meant[request.method, request.target] = target, asked
        return target, asked

    async def _answer(self, target: Target, request: Request, user: User) -> Answer:
        if target.kind.name in _NEVER_STORED:
            return await self._answer_unstored(target, request, user)
        is_yaml = negotiate(request.headers.get("accept", "")).is_yaml  # before anything is done
        if target.older_version:
            answer = await self._answer_older(target, request)
        elif target.subresource and target.subresource != "status":
            answer = await SUBRESOURCES[target.subresource](self._api, target, request, _manager(request))
        else:
            answer = await self._verbs[target.verb](target, request, self._renderer(target.kind, request))
        if is_yaml and isinstance(answer, Response):
            return await self._api.long_work.run(as_yaml, answer) if is_large(answer.body) else as_yaml(answer)
        return answer

    async def _answer_older(self, target: Target, request: Request) -> Answer:
        """Answer in an older version; its kinds have no subresource but `status`."""
        kind, version = target.kind, target.older_version
        request = await self._in_own_version(request, target)
        try:
            answer = await self._verbs[target.verb](target, request, self._renderer(kind, request))
        except ApiError as error:
            raise converted_error(error, kind, version) from None
        return converted_answer(answer, kind, version)

    async def _in_own_version(self, request: Request, target: Target) -> Request:
        if is_large_body(request.body, request.headers.get("content-type", "")):
            return await self._api.long_work.run(converted_request, request, target)
        return converted_request(request, target)

    async def _answer_unstored(self, target: Target, request: Request, user: User) -> Answer:
        kind, review = target.kind, REVIEWS.get(target.kind.name)
        raw = await _body(self._api, request, kind)
        if review is None:
            return await _bind_named(self._api, target, raw)
        answer = review(raw, user, self._api.now_text())
        return json_response({"kind": kind.name, "apiVersion": kind.api_version, **answer}, 201)

    async def _get(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        if request.query_text:
            check_not_older(self._api, seen_revision(query_of(request)))
        return Response(200, renderer.object(await get(self._api, target.ref)))

    async def _list(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        options = list_options(query_of(request))
        if options.watch:
            return await self._watch(target, request, renderer)
        return self._page(target, renderer, await list_page(self._api, target.kind, target.namespace, options))

    async def _watch(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        query = query_of(request) | {"watch": "true"}
        if target.name:
            query["fieldSelector"] = f"metadata.name={target.name}"
        options = list_options(query)
        batches = await watch(self._api, target.kind, target.namespace, options)
        return Stream(self._lines(batches, renderer, _asked(target, request)))

    @operation(lambda local: _operation(local["asked"]))
    async def _lines(self, batches: Batches, renderer: Renderer, asked: Asked) -> AsyncIterator[bytes]:
        """Yield each batch in one chunk; an error is the last line."""
        told = self._metrics.watch_events.labels(asked.group, asked.version, asked.resource)
        running = self._metrics.long_running(asked)
        running.inc()
        try:
            async for batch in batches:
                if len(batch) > _FEW_EVENTS:
                    await next_turn()
                renderer.now = self._api.clock()
                told.inc(len(batch))
                yield b"".join(map(renderer.event, batch))
        except ApiError as error:
            yield error_event(error.status)
        finally:
            running.dec()
            await batches.aclose()

    async def _create(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        kind = target.kind
        options = write_options(query_of(request), _manager(request), "CreateOptions")
        content_type = request.headers.get("content-type", "")
        like = None
        is_large = is_large_body(request.body, content_type)
        if kind is POD and not is_large and media_type(content_type) == JSON and options.validation != IGNORE:
            raw, warnings, like = self._api.templates.decode(
                request.body, target.namespace, options.manager, options.validation
            )
        else:
            raw, warnings = await self._api.long_work.read(
                decode_object, request.body, content_type, kind, options.validation
            )
        outcome = await create(
            self._api, kind, target.namespace, raw, options, warnings, like=like, takes_long=is_large
        )
        return _written(outcome, renderer)

    async def _update(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        options = write_options(query_of(request), _manager(request), "UpdateOptions")
        body, content_type = request.body, request.headers.get("content-type", "")
        raw, warnings = await self._api.long_work.read(
            decode_object, body, content_type, target.kind, options.validation
        )
        is_large = is_large_body(body, content_type)
        outcome = await replace(self._api, target.ref, raw, options, target.subresource, warnings, takes_long=is_large)
        return _written(outcome, renderer)

    async def _patch(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        patch = await self._api.long_work.read(read_patch, request.body, request.headers.get("content-type", ""))
        options = write_options(query_of(request), _manager(request), "PatchOptions", applies=patch.patch_type == APPLY)
        return _written(await patch_object(self._api, target.ref, patch, options, target.subresource), renderer)

    async def _delete(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        outcome = await delete(
            self._api, target.ref, delete_options(query_of(request), await _delete_body(self._api, request))
        )
        if outcome.deleted:
            status = deleted_status(target.kind, outcome.stored)
            if status is not None:
                return json_response(status)
        return _written(outcome, renderer)

    async def _delete_collection(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        query = query_of(request)
        options = delete_options(query, await _delete_body(self._api, request))
        page = await delete_collection(self._api, target.kind, target.namespace, list_options(query), options)
        return self._page(target, renderer, page)

    def _page(self, target: Target, renderer: Renderer, page: Page) -> Answer:
        """Answer with a page: at once, or in chunks if it is long."""
        if not is_long(page, renderer.form):
            return Response(200, renderer.page(page))
        return stream_page(page, renderer, target.older_version, self._api.long_work)

    def _renderer(self, kind: Kind, request: Request) -> Renderer:
        form: Form = negotiate(request.headers.get("accept", ""))
        include: Any = request.query.get("includeObject") or "Metadata"
        if form.shows is As.TABLE and include not in _INCLUDE:
            why = invalid("includeObject", include, "must be 'Metadata', 'Object', 'None', or empty")
            raise bad_request(f"Unable to convert to Table as requested: {why}")
        return Renderer(kind, form, include, self._api.clock())


def _asked(target: Target, request: Request) -> Asked:
    kind = target.kind
    verb = _METRIC_VERBS.get(target.verb) or target.verb.upper()
    if target.verb == "list" and "watch" in request.query and request.query.get("watch") not in ("0", "false"):
        verb = "WATCH"
    elif target.verb == "patch" and request.headers.get("content-type", "").startswith(APPLY):
        verb = "APPLY"
    dry_run = "All" if "dryRun" in request.query_text else ""
    return asked_of(verb, kind, target.namespace, target.name, target.subresource, dry_run)


def _operation(asked: Asked) -> Operation:
    return Operation(f"{asked.verb} {asked.resource}")


async def _delete_body(api: Api, request: Request) -> Raw | None:
    if not request.body.strip():
        return None
    return await _body(api, request, DELETE_OPTIONS)


def _manager(request: Request) -> str:
    """The field manager of a request that names none: the first word of its user agent."""
    agent = request.headers.get("user-agent", "")
    name = agent.partition("/")[0][:128]
    return name if name and name.isprintable() else "unknown"


def _written(outcome: WriteResult, renderer: Renderer) -> Response:
    headers = warning_headers(outcome.warnings)
    return Response(201 if outcome.created else 200, renderer.object(outcome.stored), headers=headers)
