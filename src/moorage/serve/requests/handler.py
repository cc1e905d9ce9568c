"""Answer requests to the API: route them to a verb, and render the result in the form the client asked for.

Kinds that are never stored (reviews of the user and its permissions) and subresources besides status have functions of
their own. Kubernetes: the handler chain and the installer of API groups.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

import msgspec

from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request
from moorage.model.field_error import invalid
from moorage.model.kinds import (
    COMPONENT_STATUS,
    DELETE_OPTIONS,
    KINDS,
    VIRTUAL_KINDS,
    Kind,
)
from moorage.serve.access.authorization import acting_user, attributes_of
from moorage.serve.access.certificates import check_signer
from moorage.serve.access.requesters import asking_of, with_rights
from moorage.serve.access.review_requests import answer_review
from moorage.serve.audit.annotations import collect_into
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import MASTERS, User
from moorage.serve.requests.decoding import JSON, decode_object, media_type
from moorage.serve.requests.long_work import CLIENT, is_large, is_large_body, next_turn
from moorage.serve.requests.options import (
    IGNORE,
    WriteOptions,
    check_timeout,
    delete_options,
    list_options,
    manager_of,
    query_of,
    seen_revision,
    write_options,
)
from moorage.serve.requests.page_stream import is_long, stream_page
from moorage.serve.requests.rendering import (
    As,
    Form,
    Renderer,
    as_yaml,
    error_event,
    json_response,
    negotiate,
    stored_in,
    warning_headers,
)
from moorage.serve.requests.second_look import SecondLook, failed
from moorage.serve.requests.usage_requests import USAGE_PATHS, answer_usage, ref_of
from moorage.serve.requests.web_paths import SNAPSHOT_PATH, WebPaths
from moorage.serve.resources.components import component, components
from moorage.serve.resources.older_versions import converted_answer, converted_error, converted_request
from moorage.serve.resources.served import Target, target_of
from moorage.serve.subresources.requests import SUBRESOURCES, body_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.changing import replace
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.deleting import delete, delete_collection, deleted_status
from moorage.serve.verbs.patching import APPLY, patch_object, read_patch
from moorage.serve.verbs.reading import Page, get, list_page
from moorage.serve.verbs.registry import WriteResult
from moorage.serve.verbs.watching import Batches, watch
from moorage.store.protocol import StoreClosed, Stored, StoreError
from moorage.telemetry.apiserver_metrics import ApiServerMetrics, Asked, asked_of
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import Operation, operation
from moorage.usage.answers import read_path

_NEVER_STORED = frozenset(VIRTUAL_KINDS)

Answer = Response | Stream
#: What is counted of a request: what it was, the code of the answer, the seconds that it took.
_Observed = tuple[Asked, int, float]
_LOG = get_logger("apiserver")

#: Metrics call other verbs by their names.
_METRIC_VERBS = {"create": "POST", "update": "PUT"}
_FEW_EVENTS = 500  # a batch of a watch that is rendered in about a millisecond
_DISCOVERY = ("/api", "/openapi/")
_INCLUDE = ("None", "Metadata", "Object")
_MAX_REMEMBERED, _MAX_REMEMBERED_LENGTH = 1024, 200


class Handler:
    """The handler of all requests. `paths` answers those outside of the API: health, version, metrics, discovery."""

    def __init__(self, api: Api, paths: WebPaths, metrics: ApiServerMetrics) -> None:
        self._api, self._paths, self._metrics = api, paths, metrics
        self._meant: dict[tuple[str, str], tuple[Target, Asked]] = {}
        api.resources.when_changed(self._meant.clear)
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

    def __call__(self, request: Request) -> Awaitable[Answer]:
        return self._handle_twice(request) if self._api.store.is_shared else self._handle(request)

    async def _handle_twice(self, request: Request) -> Answer:
        """Handle a request, and once more if it is refused for a reason that is out of date."""
        look, refused = SecondLook(self._api), list[_Observed]()
        try:
            return await self._handle(request, refused)
        except ApiError as refusal:
            if not await self._is_outdated(look, refusal):
                for observed in refused:
                    self._metrics.observe(*observed)
                raise
        return await self._handle(request)

    async def _is_outdated(self, look: SecondLook, refusal: ApiError) -> bool:
        try:
            return await look.is_worth_it(refusal)
        except StoreError as error:
            raise failed(error) from None

    @operation(lambda local: _operation(local["asked"]))
    async def _handle(self, request: Request, refused: "list[_Observed] | None" = None) -> Answer:
        """Handle a request. If it is refused, what is to be counted is put into `refused`, if that is given."""
        if "timeout=" in request.query_text:
            check_timeout(request, attributes_of(request))
        user = request.impersonator or request.user
        if user is None:
            user = self._api.authenticator.authenticate(request)
        acting = acting_user(user, request.headers, self._api.authorization)
        if acting is not user:
            request.user, request.impersonator, user = acting, user, acting
        if MASTERS not in user.groups:
            self._api.authorization.check(user, attributes_of(request))
        CLIENT.set(user.name)
        extensions = self._api.admission.extensions
        if extensions is not None and not extensions.is_empty:
            collect_into(request.audit)
        if request.path.startswith(USAGE_PATHS):
            answered = await self._answer_usage(request)
            return self._paths.answer(request) if answered is None else answered
        meant = self._meant.get((request.method, request.target))
        if meant is None:
            target = target_of(request.method, request.path, self._api.resources)
            if target is None:
                if self._api.store.is_shared and request.path.startswith(_DISCOVERY):
                    with suppress(StoreError):  # what is known is better than nothing
                        await self._api.catch_up()
                if request.path.startswith("/openapi/"):  # which may be long documents
                    return await self._api.long_work.run(self._paths.answer, request)
                if request.path.startswith(SNAPSHOT_PATH):
                    return await self._paths.snapshot(request)
                return self._paths.answer(request)
            meant = self._remember(target, request)
        target, asked = meant
        started, code = perf_counter(), 500
        try:
            answer = await self._answer(target, request, user)
            code = answer.status
            return answer
        except StoreError as error:
            failure = failed(error)
            code = failure.code
            if not isinstance(error, StoreClosed):
                _LOG.error("The store failed", err=str(error))
            raise failure from None
        except ApiError as refusal:
            code = refusal.code
            if type(target.kind) is ServedKind:
                refusal.warned(target.kind.warnings)
            if refusal.warnings:
                refusal.headers = (*warning_headers(refusal.warnings), *refusal.headers)
            raise
        finally:
            seconds = perf_counter() - started
            if refused is None or code < 400:
                self._metrics.observe(asked, code, seconds)
            else:
                refused.append((asked, code, seconds))

    async def _answer_usage(self, request: Request) -> Answer | None:
        """Answer what pods and nodes use; None if it is discovery that was asked."""
        asked = read_path(request.target)
        started, code = perf_counter(), 500
        try:
            answer = await answer_usage(self._api, request)
            code = 200
            return answer
        except ApiError as refusal:
            code = refusal.code
            raise
        finally:
            if asked is not None:
                (kind, namespace, name), subresource = ref_of(asked)
                observed = asked_of("GET" if name else "LIST", kind, namespace, name, subresource)
                self._metrics.observe(observed, code, perf_counter() - started)

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
        # Before anything is done: a client that accepts no form of the answer changes nothing.
        is_yaml = negotiate(request.headers.get("accept", ""), has_table=target.has_table).is_yaml
        if target.kind in _NEVER_STORED:
            is_component = target.kind is COMPONENT_STATUS
            answer = (
                self._answer_component(target, self._renderer(target.kind, request))
                if is_component
                else await answer_review(self._api, target, request, user)
            )
        elif target.older_version:
            answer = await self._answer_older(target, request)
        elif target.subresource in SUBRESOURCES:
            answer = await SUBRESOURCES[target.subresource](self._api, target, request, manager_of(request))
        elif target.kind.records_requester and target.subresource and target.verb != "get":
            await check_signer(self._api, target, user)
            answer = await self._verbs[target.verb](target, request, self._renderer(target.kind, request))
        elif target.kind.deprecation:
            answer = await self._answer_deprecated(target, request)
        else:
            answer = await self._verbs[target.verb](target, request, self._renderer(target.kind, request))
        if type(target.kind) is ServedKind and target.kind.warnings:
            more = warning_headers(target.kind.warnings)
            answer = msgspec.structs.replace(answer, headers=(*more, *answer.headers))
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

    async def _answer_deprecated(self, target: Target, request: Request) -> Answer:
        """Answer with a warning, whatever the answer is."""
        try:
            answer = await self._verbs[target.verb](target, request, self._renderer(target.kind, request))
        except ApiError as error:
            raise error.warned([target.kind.deprecation]) from None
        return msgspec.structs.replace(answer, headers=(*warning_headers([target.kind.deprecation]), *answer.headers))

    async def _in_own_version(self, request: Request, target: Target) -> Request:
        if is_large_body(request.body, request.headers.get("content-type", "")):
            return await self._api.long_work.run(converted_request, request, target)
        return converted_request(request, target)

    def _answer_component(self, target: Target, renderer: Renderer) -> Answer:
        try:
            body = renderer.object(component(target.name)) if target.name else renderer.page(components())
        except ApiError as error:
            raise error.warned([COMPONENT_STATUS.deprecation]) from None
        response = Response(200, body)
        return msgspec.structs.replace(response, headers=warning_headers([COMPONENT_STATUS.deprecation]))

    async def _get(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        revision = seen_revision(query_of(request)) if request.query_text else None
        return Response(200, await self._object(await get(self._api, target.ref, revision), renderer))

    async def _list(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        options = list_options(query_of(request))
        if options.watch:
            return await self._watch(target, request, renderer)
        return await self._page(target, renderer, await list_page(self._api, target.kind, target.namespace, options))

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
        events = self._metrics.watch_events.labels(asked.group, asked.version, asked.resource)
        running = self._metrics.long_running(asked)
        running.inc()
        try:
            async for batch in batches:
                if len(batch) > _FEW_EVENTS:
                    await next_turn()
                renderer.now = self._api.clock()
                events.inc(len(batch))
                if renderer.takes_long(stored_in(batch)):
                    yield await self._api.long_work.run(renderer.events, batch)
                else:
                    yield renderer.events(batch)
        except ApiError as error:
            yield error_event(error.status)
        finally:
            running.dec()
            await batches.aclose()

    def _options(self, target: Target, request: Request, kind: str, *, applies: bool = False) -> WriteOptions:
        """Read the options of a write, with a guard where the user's rights decide about more than the verb."""
        user, version = request.user, target.older_version
        query, manager = query_of(request), manager_of(request)
        options = write_options(query, manager, kind, applies=applies, user=user, version=version)
        return with_rights(self._api, target, user, options)

    async def _create(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        kind = target.kind
        options = self._options(target, request, "CreateOptions")
        content_type = request.headers.get("content-type", "")
        like = None
        is_large = is_large_body(request.body, content_type)
        if kind is KINDS.POD and not is_large and media_type(content_type) == JSON and options.validation != IGNORE:
            raw, warnings, like = self._api.templates.decode(
                request.body, target.namespace, options.manager, options.validation
            )
        else:
            raw, warnings = await self._decoded(kind, request.body, content_type, options)
        try:
            outcome = await create(
                self._api, kind, target.namespace, raw, options, warnings, like=like, takes_long=is_large
            )
        except ApiError as error:
            raise error.warned(warnings) from None
        return await self._written(outcome, renderer)

    async def _decoded(
        self, kind: Kind, body: bytes, content_type: str, options: WriteOptions
    ) -> tuple[Raw, list[str]]:
        long_work = self._api.long_work
        if type(kind) is ServedKind and kind.is_heavy:
            return await long_work.run(decode_object, body, content_type, kind, options.validation)
        return await long_work.read(decode_object, body, content_type, kind, options.validation)

    async def _update(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        options = self._options(target, request, "UpdateOptions")
        body, content_type = request.body, request.headers.get("content-type", "")
        raw, warnings = await self._decoded(target.kind, body, content_type, options)
        is_large = is_large_body(body, content_type)
        ref, subresource = target.ref, target.subresource
        try:
            outcome = await replace(self._api, ref, raw, options, subresource, warnings, takes_long=is_large)
        except ApiError as error:
            raise error.warned(warnings) from None
        return await self._written(outcome, renderer)

    async def _patch(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        patch = await self._api.long_work.read(read_patch, request.body, request.headers.get("content-type", ""))
        options = self._options(target, request, "PatchOptions", applies=patch.patch_type == APPLY)
        outcome = await patch_object(self._api, target.ref, patch, options, target.subresource)
        return await self._written(outcome, renderer)

    async def _delete(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        options = delete_options(query_of(request), await _delete_body(self._api, request))
        outcome = await delete(self._api, target.ref, options, asking_of(self._api, target, request))
        if outcome.deleted:
            kind, stored, long_work = target.kind, outcome.stored, self._api.long_work
            is_much = is_large(stored.value)
            status = await long_work.run(deleted_status, kind, stored) if is_much else deleted_status(kind, stored)
            if status is not None:
                return json_response(status, headers=warning_headers(outcome.warnings))
        return await self._written(outcome, renderer)

    async def _delete_collection(self, target: Target, request: Request, renderer: Renderer) -> Answer:
        query = query_of(request)
        options = delete_options(query, await _delete_body(self._api, request))
        asking = asking_of(self._api, target, request)
        kind, which = target.kind, list_options(query)
        page, warnings = await delete_collection(self._api, kind, target.namespace, which, options, asking)
        answer = await self._page(target, renderer, page)
        return msgspec.structs.replace(answer, headers=(*warning_headers(warnings), *answer.headers))

    async def _page(self, target: Target, renderer: Renderer, page: Page) -> Answer:
        """Answer with a page: at once, or in chunks if it is long."""
        page = renderer.ordered(page)
        if not is_long(page, renderer.form):
            takes_long = renderer.takes_long(page.items)
            return Response(
                200, await self._api.long_work.run(renderer.page, page) if takes_long else renderer.page(page)
            )
        return stream_page(page, renderer, target.older_version, self._api.long_work)

    async def _object(self, stored: Stored, renderer: Renderer) -> bytes:
        if renderer.takes_long((stored,)):
            return await self._api.long_work.run(renderer.object, stored)
        return renderer.object(stored)

    async def _written(self, outcome: WriteResult, renderer: Renderer) -> Response:
        headers = warning_headers(outcome.warnings)
        return Response(201 if outcome.created else 200, await self._object(outcome.stored, renderer), headers=headers)

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
    return await body_of(api, request, DELETE_OPTIONS)
