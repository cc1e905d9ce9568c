"""Read AdmissionReviews and answer them: with a JSON patch, or with the Status that the API server would refuse with.

Nothing but the review is read, and nothing is written anywhere: dry runs are answered like all others.
Kubernetes: admission.k8s.io/v1. Differs: v1beta1, which API servers before 1.16 send, is refused.
"""

import base64
from collections.abc import Callable, Collection
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from moorage.admit.extension.webhooks.answers import JSON_PATCH
from moorage.admit.extension.webhooks.review import GROUP, KIND, V1
from moorage.admit.messages.rejections import invalid_status, undecodable
from moorage.attach.formats import Raw
from moorage.attach.refusals import Refused, Unreadable
from moorage.model.api_error import bad_request
from moorage.model.go.json_syntax import json_complaint
from moorage.model.go.type_meta import type_meta_complaint
from moorage.model.kinds import kind_of
from moorage.model.patch.json_difference import json_difference
from moorage.model.patch.patch_error import MAX_LEVELS, PatchError, check_depth
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.extension.admission_reviews import AdmissionRequest, AdmissionReview

#: From an object, the one that is stored, a subresource and the groups of who asks to what is to be stored.
#: Raises Refused and Unreadable.
Decide = Callable[[Raw, Raw | None, str, Collection[str]], Raw]

_API_VERSION: Final = f"{GROUP}/{V1}"
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Result(StrEnum):
    """What became of a review."""

    SAME = "same"
    CHANGED = "changed"
    REFUSED = "refused"


class ReviewAnswer(NamedTuple):
    """The AdmissionReview that is sent back, and its result."""

    body: bytes
    result: Result


def read_review(body: bytes) -> AdmissionRequest:
    """Return the request in a review. Raises ApiError 400 for anything else."""
    try:
        document = _decode(body)
        if body.count(b"{") + body.count(b"[") > MAX_LEVELS:
            check_depth(document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _bad_review(json_complaint(body) or str(error)) from None
    except (RecursionError, PatchError):
        raise _bad_review(f"it is nested more than {MAX_LEVELS} levels deep, or has too many parts") from None
    if complaint := type_meta_complaint(document):
        raise _bad_review(complaint)
    given = document or {}
    if (given.get("apiVersion"), given.get("kind")) != (_API_VERSION, KIND):
        found = f"{given.get('apiVersion') or 'no apiVersion'}, {given.get('kind') or 'no kind'}"
        raise _bad_review(f"apiVersion {_API_VERSION} and kind {KIND} are expected, not {found[:200]}")
    try:
        request = convert_view(given, AdmissionReview).request
    except ConversionError as error:
        raise _bad_review(error.problems[0].reason) from None
    if request is None or not request.uid:
        raise _bad_review("it has no request with a uid")
    for name, value in (("object", request.object), ("oldObject", request.oldObject)):
        if complaint := type_meta_complaint(value):
            raise _bad_review(f"request.{name}: {complaint}")
    return request


def _bad_review(why: str) -> Exception:
    return bad_request(f"the body is no AdmissionReview that can be answered: {why}")


def answer_review(request: AdmissionRequest, decide: Decide) -> ReviewAnswer:
    """Return the answer to a request. A request without an object, such as a DELETE, passes."""
    document: Any = request.object
    if document is None:
        return _answer(request, {"allowed": True}, Result.SAME)
    try:
        changed = decide(document, request.oldObject, request.subResource, request.userInfo.groups)
    except Refused as refused:
        return _refusal(request, refused)
    except Unreadable as unreadable:
        kind = kind_of(document)
        assert kind is not None, "what is read has a kind that is known"
        status = undecodable(kind, unreadable.problems[0].reason).status
        return _answer(request, {"allowed": False, "status": status}, Result.REFUSED)
    patch = [] if changed is document else json_difference(document, changed)
    if not patch:
        return _answer(request, {"allowed": True}, Result.SAME)
    encoded = base64.b64encode(_encode(patch)).decode()
    return _answer(request, {"allowed": True, "patchType": JSON_PATCH, "patch": encoded}, Result.CHANGED)


def _refusal(request: AdmissionRequest, refused: Refused) -> ReviewAnswer:
    document: Any = request.object
    kind = kind_of(document)
    assert kind is not None, "what is refused has a kind that is known"
    status = invalid_status(kind, request.name or _generated_name(document), refused.errors)
    return _answer(request, {"allowed": False, "status": status}, Result.REFUSED)


def _generated_name(document: Raw) -> str:
    metadata = document.get("metadata")
    name = metadata.get("generateName") if isinstance(metadata, dict) else ""
    return name if isinstance(name, str) else ""


def _answer(request: AdmissionRequest, response: Raw, result: Result) -> ReviewAnswer:
    review = {"apiVersion": _API_VERSION, "kind": KIND, "response": {"uid": request.uid, **response}}
    return ReviewAnswer(_encode(review), result)
