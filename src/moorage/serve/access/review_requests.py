"""Answer requests to create what is never stored: reviews of users and rights, and bindings on their own.

Policies are not asked about reviews, webhooks are. Kubernetes: the REST storages of authentication.k8s.io and
authorization.k8s.io, BindingREST.
"""

from collections.abc import Callable

from moorage.admit.extension.attributes import CREATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.not_admitted import check_types
from moorage.admit.raw import Raw
from moorage.model.api_error import ApiError
from moorage.model.schema.known_fields import write_as_go
from moorage.serve.access.requesters import restrict_request
from moorage.serve.access.reviews import (
    Reviewer,
    may_i,
    may_they,
    may_they_in_namespace,
    what_may_i,
    who_am_i,
)
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.http.messages import Request, Response
from moorage.serve.pki.authentication import User
from moorage.serve.requests.decoding import decode_object
from moorage.serve.requests.options import manager_of, query_of, write_options
from moorage.serve.requests.rendering import json_response, warning_headers
from moorage.serve.resources.served import Target
from moorage.serve.subresources.requests import bind_named
from moorage.serve.tokens.requests import review_token
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.extended_writes import carried_out, remarked
from moorage.serve.verbs.reading import known

Review = Callable[[Raw, Reviewer], Raw]

REVIEWS: dict[str, Review] = {
    "SelfSubjectReview": who_am_i,
    "TokenReview": review_token,
    "SelfSubjectAccessReview": may_i,
    "SelfSubjectRulesReview": what_may_i,
    "SubjectAccessReview": may_they,
    "LocalSubjectAccessReview": may_they_in_namespace,
}

#: What Go writes of a status that is not known yet, as webhooks see it.
_NO_STATUS: dict[str, Raw] = {
    "TokenReview": {"user": {}},
    "SelfSubjectRulesReview": {"resourceRules": None, "nonResourceRules": None, "incomplete": False},
    "SelfSubjectAccessReview": {"allowed": False},
    "SubjectAccessReview": {"allowed": False},
    "LocalSubjectAccessReview": {"allowed": False},
}


async def answer_review(api: Api, target: Target, request: Request, user: User) -> Response:
    """Answer the creation of a review or a binding."""
    kind, review = target.kind, REVIEWS.get(target.kind.name)
    options = write_options(query_of(request), manager_of(request), "CreateOptions", user=user)
    content_type = request.headers.get("content-type", "")
    raw, warnings = await api.long_work.read(decode_object, request.body, content_type, kind, options.validation)
    check_types(raw, kind)
    restrict_request(api, target, request, raw)
    try:
        if review is None:
            return await bind_named(api, target, raw, options)
        extended = extended_request(api.admission, CREATE, kind, target.namespace, "", "", options)
        if extended is not None:
            write_as_go(raw, kind.view)
            raw["status"] = _NO_STATUS.get(kind.name, {}) | (raw.get("status") or {})
            raw = await remarked(api, extended, _admitted(api, extended, raw))
            warnings = [*warnings, *extended.warnings]
        await known(api, None)
        answer = review(raw, Reviewer(user, api.now_text(), target.namespace, api.authorization, api.authenticator))
    except ApiError as error:
        raise error.warned(warnings) from None
    document = {"kind": kind.name, "apiVersion": kind.api_version, **answer}
    return json_response(document, 201, warning_headers(warnings))


async def _admitted(api: Api, extended: ExtendedRequest, raw: Raw) -> Raw:
    raw = await carried_out(api, extended.change(raw, None))
    await carried_out(api, extended.check(raw, None))
    return raw
