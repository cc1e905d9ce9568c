"""Review tokens: whose is this, if it is for these audiences. Reviews are created and never stored.

Kubernetes: the REST storage of tokenreviews.
"""

from moorage.model.api_error import bad_request
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.access.tokens import TokenReview
from moorage.serve.access.reviews import Raw, Reviewer, shown_user
from moorage.serve.tokens.service_accounts import BadToken

_UNKNOWN = "invalid bearer token"


def review_token(raw: Raw, asking: Reviewer) -> Raw:
    """Return metadata, spec and status of a TokenReview. Raises ApiError 400."""
    try:
        review: TokenReview = convert_view(raw, TokenReview)
    except ConversionError as error:
        raise bad_request(str(error)) from None
    token, audiences = review.spec.token, review.spec.audiences
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    try:
        found, why = asking.authenticator.find(token, audiences), _UNKNOWN
    except BadToken as refusal:
        found, why = None, f"[{_UNKNOWN}, {refusal}]"
    status: Raw = {"user": {}, "error": why}
    if found is not None:
        status = {"authenticated": True, "user": shown_user(found.user), "audiences": list(found.audiences)}
    return {"metadata": raw.get("metadata") or {}, "spec": raw["spec"], "status": status}
