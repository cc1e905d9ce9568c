"""Read what a webhook answers: the AdmissionResponse of a review, or what is wrong with it, or a denial.

Kubernetes: the decoding of the webhook client, VerifyAdmissionResponse of plugin/webhook/request, ToStatusErr.
Differs: a denial with a status code above 999, which HTTP does not have, is answered with 500.
"""

from typing import Any, NamedTuple

from moorage.admit.extension.webhooks.failures import CallFailed, Denied
from moorage.admit.extension.webhooks.reading import CALL
from moorage.admit.extension.webhooks.review import GROUP, KIND, V1, V1BETA1, Review
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.go.pem_blocks import decode_base64
from moorage.model.go.quoting import go_quote
from moorage.model.go.type_meta import type_meta_complaint
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.schema.known_fields import kept_part
from moorage.model.types.extension.admission_reviews import AdmissionResponse, AdmissionReview, Status

JSON_PATCH = "JSONPatch"
_INVALID = "received invalid webhook response: "
_SCHEME = "pkg/util/webhook/client.go:71"
_BAD_REQUEST, _SERVER_ERROR, _LAST_CODE = 400, 500, 999


class Response(NamedTuple):
    """An answer that makes sense. `status` is that of a denial; only webhooks that change objects have a `patch`."""

    allowed: bool
    status: Raw | None
    patch: bytes
    patch_type: str
    audit: dict[str, str]
    warnings: tuple[str, ...]


def read_response(document: Any, review: Review, *, is_mutating: bool) -> Response:
    """Read the document that a review was answered with. Raises CallFailed."""
    if complaint := type_meta_complaint(document):
        raise CallFailed(f"{CALL}{complaint}")
    document = document or {}
    _check_kind(document, review)
    response = _read_view(document).response
    if response is None:
        raise CallFailed(f"{_INVALID}webhook response was absent")
    if review.version == V1BETA1:
        patch_type = JSON_PATCH if response.patch and is_mutating else ""
    else:
        patch_type = _verified(document, response, review, is_mutating)
    patch = decode_base64(response.patch) if patch_type else b""
    status = document["response"].get("status")
    kept = None if status is None else kept_part(status, Status)
    return Response(response.allowed, kept, patch, patch_type, response.auditAnnotations, response.warnings)


def _read_view(document: Raw) -> AdmissionReview:
    try:
        return convert_view(document, AdmissionReview)
    except ConversionError as error:
        raise CallFailed(f"{CALL}{error.problems[0].reason}") from None


def _check_kind(document: Raw, review: Review) -> None:
    """Raise CallFailed for a document of another kind than the review. What is absent is taken for the same."""
    api_version, kind = document.get("apiVersion") or "", document.get("kind") or KIND
    if api_version.count("/") > 1:
        raise CallFailed(f"{CALL}unexpected GroupVersion string: {api_version}")
    api_version = api_version.strip("/") or f"{GROUP}/{review.version}"
    if api_version == f"{GROUP}/{review.version}" and kind == KIND:
        return
    group, _, version = api_version.rpartition("/")
    if (group == GROUP and kind == KIND and version in (V1, V1BETA1)) or (api_version, kind) == ("v1", "Status"):
        if kind == KIND:
            _read_view(document)  # which fails before its conversion does
        why = f"converting ({version}.{kind}) to ({review.version}.{KIND}): unknown conversion"
    else:
        names = f"no kind {go_quote(kind)} is registered for version {go_quote(api_version)}"
        why = f"{names} in scheme {go_quote(_SCHEME)}"
    raise CallFailed(f"{CALL}{why}")


def _verified(document: Raw, response: AdmissionResponse, review: Review, is_mutating: bool) -> str:
    """Return the patch type of an answer in v1, which is to be exact. Raises CallFailed."""
    if response.uid != review.uid:
        raise CallFailed(f"{_INVALID}expected response.uid={go_quote(review.uid)}, got {go_quote(response.uid)}")
    expected, given = _kind_text(review.document), _kind_text(document)
    if expected != given:
        raise CallFailed(f"{_INVALID}expected webhook response of {expected}, got {given}")
    complaint = _complaint_of_mutating(response) if is_mutating else _complaint_of_validating(response)
    if complaint:
        raise CallFailed(f"{_INVALID}{complaint}")
    return response.patchType or ""


def _kind_text(document: Raw) -> str:
    group, _, version = (document.get("apiVersion") or "").rpartition("/")
    return f"{group}/{version}, Kind={document.get('kind') or ''}"


def _complaint_of_mutating(response: AdmissionResponse) -> str:
    if response.patch and response.patchType is None:
        return "webhook returned response.patch but not response.patchType"
    if not response.patch and response.patchType is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if response.patchType == "" else ""


def _complaint_of_validating(response: AdmissionResponse) -> str:
    if response.patch:
        return "validating webhook may not return response.patch"
    return "" if response.patchType is None else "validating webhook may not return response.patchType"


def denial(webhook: str, status: Raw | None) -> Denied:
    """Return the refusal of a request that a webhook denies: its own Status, made one of a failure."""
    given = status or {}
    code = given.get("code") or 0
    outcome = given.get("status")
    details = given.get("details")
    refusal: Raw = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": given.get("metadata") or {},
        "status": outcome if outcome not in (None, "", "Success") else "Failure",
        "message": _message(webhook, given),
    }
    if given.get("reason"):
        refusal["reason"] = given["reason"]
    if details is not None:
        refusal["details"] = details
    refusal["code"] = _SERVER_ERROR if code > _LAST_CODE else max(code, _BAD_REQUEST)
    seconds = (details or {}).get("retryAfterSeconds") or 0
    return Denied(ApiError(refusal, (("Retry-After", str(seconds)),) if seconds > 0 else ()))


def _message(webhook: str, status: Raw) -> str:
    denied = f'admission webhook "{webhook}" denied the request'
    explanation = status.get("message") or status.get("reason")
    return f"{denied}: {explanation}" if explanation else f"{denied} without explanation"
