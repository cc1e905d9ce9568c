"""Issue tokens of service accounts, which may be bound to a pod, a Secret or a node, and review tokens.

Reviews are created and never stored. Kubernetes: TokenREST of pkg/registry/core/serviceaccount, the REST storage of
tokenreviews.
"""

import time
from collections.abc import Sequence
from typing import Any

from moorage.admit.extension.attributes import CREATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.messages.rejections import invalid_status, read_request
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError, bad_request, failure
from moorage.model.field_error import FieldError, invalid
from moorage.model.kinds import KINDS, TOKEN_REQUEST, Kind, Ref
from moorage.model.schema.conversion import convert_view
from moorage.model.types.request import BoundObjectReference, TokenRequest, TokenReview
from moorage.serve.access.requesters import restrict_request
from moorage.serve.access.reviews import Reviewer, shown_user
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import account_user_name
from moorage.serve.requests.decoding import decode_object
from moorage.serve.requests.options import WriteOptions, query_of, write_options
from moorage.serve.requests.rendering import json_response, warning_headers
from moorage.serve.resources.objects import decode
from moorage.serve.resources.served import Target, check_segment
from moorage.serve.tokens.claims import KubernetesClaim, ObjectClaim, TokenClaims
from moorage.serve.tokens.service_accounts import BadToken
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.extended_writes import carried_out, remarked
from moorage.serve.verbs.reading import get

_HOUR = 3600
_PLAIN = WriteOptions()
_MIN_SECONDS, _MAX_SECONDS = 600, 1 << 32
#: What kubelets ask for the tokens of pods: a year is granted, because old clients read the file only once.
_PROJECTED_SECONDS, _EXTENDED_SECONDS = 3607, 365 * 24 * 3600


async def answer_token_request(api: Api, target: Target, request: Request, manager: str) -> Response:
    options = write_options(query_of(request), manager, "CreateOptions", user=request.user)
    content_type = request.headers.get("content-type", "")
    raw, warnings = decode_object(request.body, content_type, TOKEN_REQUEST, options.validation)
    restrict_request(api, target, request, raw)
    answer, more = await request_token(api, target.namespace, target.name, raw, options)
    return json_response(answer, 201, headers=warning_headers([*warnings, *more]))


async def request_token(
    api: Api, namespace: str, name: str, document: Raw, options: WriteOptions = _PLAIN
) -> tuple[Raw, Sequence[str]]:
    """Return the TokenRequest with its token, and warnings. Raises ApiError."""
    kind = KINDS.SERVICE_ACCOUNT
    extended = extended_request(api.admission, CREATE, kind, namespace, name, "token", options)
    if extended is None:
        return await _answer(api, namespace, name, document, None)
    asked = {"metadata": {}, **document}
    document = await remarked(api, extended, carried_out(api, extended.change(asked, None)))
    answer, warnings = await remarked(api, extended, _answer(api, namespace, name, document, extended))
    return answer, [*extended.warnings, *warnings]


async def _answer(
    api: Api, namespace: str, name: str, document: Raw, extended: ExtendedRequest | None
) -> tuple[Raw, list[str]]:
    request = _read(document)
    metadata, settings = request.metadata, api.tokens.settings
    for field, found, path in (("name", metadata.name, name), ("namespace", metadata.namespace, namespace)):
        if found and found != path:
            raise _invalid(
                name, invalid(f"metadata.{field}", found, f"must match the service account {field} if specified")
            )
    account = await _metadata(api, KINDS.SERVICE_ACCOUNT, namespace, name)
    if metadata.uid and metadata.uid != account.uid:
        own = f"does not match the UID of the service account ({account.uid})"
        why = f"the UID in the token request ({metadata.uid}) {own}"
        raise _conflict("TokenRequest.authentication.k8s.io", "authentication.k8s.io", "TokenRequest", name, why)
    audiences = request.spec.audiences or settings.api_audiences
    seconds = _HOUR if request.spec.expirationSeconds is None else request.spec.expirationSeconds
    _check_seconds(seconds)
    if extended is not None:
        metadata_now = {**document["metadata"], "name": name, "namespace": namespace}
        await carried_out(api, extended.check({**document, "metadata": metadata_now}, None))
    now, warnings = api.clock(), list[str]()
    bound = await _bound(api, namespace, name, request.spec.boundObjectRef)
    if 0 < settings.max_seconds < seconds:
        warnings.append(f"requested expiration of {seconds} seconds shortened to {settings.max_seconds} seconds")
        seconds = settings.max_seconds
    lasts, warns = seconds, 0
    is_own = set(audiences) <= set(settings.api_audiences)
    if settings.extends_expiration and "pod" in bound and seconds == _PROJECTED_SECONDS and is_own:
        lasts, warns = _EXTENDED_SECONDS, seconds
    issued = int(now)
    claim = KubernetesClaim(
        namespace, ObjectClaim(name, account.uid), warnafter=issued + warns if warns else None, **bound
    )
    user = account_user_name(namespace, name)
    claims = TokenClaims(claim, audiences, issued + lasts, issued, nbf=issued, sub=user)
    answered = {
        **document,
        "metadata": {
            **document.get("metadata", {}),
            "name": name,
            "namespace": namespace,
            "uid": account.uid,
            "creationTimestamp": api.now_text(),
        },
        "spec": {
            "audiences": list(audiences),
            "expirationSeconds": seconds,
            "boundObjectRef": document.get("spec", {}).get("boundObjectRef"),
        },
        "status": {"token": api.tokens.issue(claims), "expirationTimestamp": _time_text(now + seconds)},
    }
    return answered, warnings


def _read(document: Raw) -> TokenRequest:
    request: TokenRequest = read_request(TOKEN_REQUEST, document)
    return request


def _check_seconds(seconds: int) -> None:
    if seconds < _MIN_SECONDS:
        raise _invalid(
            "", invalid("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        )
    if seconds > _MAX_SECONDS:
        why = "may not specify a duration larger than 2^32 seconds"
        raise _invalid("", invalid("spec.expirationSeconds", seconds, why))


async def _bound(api: Api, namespace: str, account: str, named: BoundObjectReference | None) -> dict[str, ObjectClaim]:
    """Return the claims about the object that the token is bound to, and about the node of a pod."""
    if named is None:
        return {}
    group, _, version = named.apiVersion.rpartition("/")
    kind = {"Pod": KINDS.POD, "Node": KINDS.NODE, "Secret": KINDS.SECRET}.get(named.kind) if not group else None
    if kind is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={named.kind}")
    check_segment(named.name)
    view = await _view(api, kind, namespace, named.name)
    if kind is KINDS.POD and view.spec.serviceAccountName != account:
        reason = "to pod running with different serviceaccount name."
        raise bad_request(f'cannot bind token for serviceaccount "{account}" {reason}')
    uid = view.metadata.uid
    if named.uid and named.uid != uid:
        reason = "does not match the UID in record. The object might have been deleted and then recreated"
        why = f"the UID in the bound object reference ({named.uid}) {reason}"
        raise _conflict(kind.name, "", kind.name, named.name, why)
    bound = {kind.singular: ObjectClaim(named.name, uid)}
    if kind is KINDS.POD and view.spec.nodeName:
        bound["node"] = await _node_of_pod(api, view.spec.nodeName)
    return bound


async def _node_of_pod(api: Api, name: str) -> ObjectClaim:
    try:
        return ObjectClaim(name, (await _metadata(api, KINDS.NODE, "", name)).uid)
    except ApiError:
        return ObjectClaim(name)  # a node that is gone is known by its name


async def _view(api: Api, kind: Kind, namespace: str, name: str) -> Any:
    stored = await get(api, Ref(kind, namespace if kind.namespaced else "", name))
    return stored.view if stored.view is not None else convert_view(decode(kind, stored), kind.view)


async def _metadata(api: Api, kind: Kind, namespace: str, name: str) -> Any:
    return (await _view(api, kind, namespace, name)).metadata


def _invalid(name: str, error: FieldError) -> ApiError:
    return ApiError(invalid_status(TOKEN_REQUEST, name, (error,)))


def _conflict(shown: str, group: str, kind: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {shown} "{name}": {why}'
    return failure(409, "Conflict", message, {"name": name, "group": group, "kind": kind})


def _time_text(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


_UNKNOWN = "invalid bearer token"


def review_token(raw: Raw, asking: Reviewer) -> Raw:
    """Return metadata, spec and status of a TokenReview. Raises ApiError 400."""
    review: TokenReview = convert_view(raw, TokenReview)
    token, audiences = review.spec.token, review.spec.audiences
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        user, why = asking.authenticator.find(token, audiences), _UNKNOWN
    except BadToken as refusal:
        user, why = None, f"[{_UNKNOWN}, {refusal}]"
    status: Raw = {"user": {}, "error": why}
    if user is not None:
        status = {"authenticated": True, "user": shown_user(user.user), "audiences": list(user.audiences)}
    return {"metadata": raw.get("metadata") or {}, "spec": raw["spec"], "status": status}
