"""Admit one object past the policies and webhooks that are known, without an API server.

Webhooks are not called, unless a caller is given: then they have no say, and the remarks name them.
Kubernetes: kubectl apply --dry-run=server.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.chain import Admission
from moorage.admit.extension.attributes import CREATE, UPDATE
from moorage.admit.extension.extended_request import ExtendedRequest
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import Answer, Call, Steps, answered_by, not_answered
from moorage.admit.raw import Raw
from moorage.admit.request import ANY_REQUEST, Request
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind, kind_of
from moorage.serve.admission.extended_requests import extended_request
from moorage.serve.pki.authentication import ADMIN, User
from moorage.serve.requests.options import TRUST, WriteOptions

Result = TypeVar("Result")
#: Answers calls, or says of each that it is not made.
AnswerCalls = Callable[[Sequence[Call]], Sequence[Answer]]


class PolicyAnswer(NamedTuple):
    """What became of an object, and what policies and webhooks remarked on it. `is_refusal`: they refuse it."""

    result: Admitted | Rejected
    remarks: Remarks
    is_refusal: bool = False


def admit_with_policies(
    chain: Admission,
    raw: Raw,
    old: Raw | None = None,
    *,
    user: User = ADMIN,
    call: AnswerCalls | None = None,
    request: Request | None = ANY_REQUEST,
) -> PolicyAnswer:
    """Admit a document, and leave it as it is: created if `old` is None, else updated."""
    kind = kind_of(raw)
    extended = None if kind is None else request_about(chain, kind, raw, UPDATE if old is not None else CREATE, user)
    if kind is None or extended is None or request is None:
        return PolicyAnswer(chain.admit(raw, old, request=request), Remarks())
    try:
        result = run(_admitting(chain, kind, raw, old, request, extended), call)
    except ApiError as error:
        rejected = Rejected(kind, _name(raw), object=raw, refusal=error.status, told=extended.warnings)
        return PolicyAnswer(rejected, extended.remarks, is_refusal=True)
    return PolicyAnswer(result, extended.remarks)


def request_about(
    chain: Admission, kind: Kind, raw: Raw, operation: str, user: User, namespace: str = ""
) -> ExtendedRequest | None:
    """Return the request that writes an object, if policies or webhooks may be about it."""
    metadata = raw.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    place = str(given.get("namespace") or namespace or "default") if kind.namespaced else ""
    options = WriteOptions("kubectl", validation=TRUST, user=user)
    return extended_request(chain, operation, kind, place, _name(raw), "", options)


def run(steps: Steps[Result], call: AnswerCalls | None) -> Result:
    """Carry out steps of admission. Webhooks that convert custom objects are not called. Raises what steps raise."""
    return answered_by(steps, call or not_answered)


def _admitting(
    chain: Admission, kind: Kind, raw: Raw, old: Raw | None, request: Request, extended: ExtendedRequest
) -> Steps[Admitted | Rejected]:
    mutated = yield from chain.changing(kind, raw, old, request, None, extended, copies=True)
    if isinstance(mutated, Rejected):
        return mutated
    return (yield from chain.checking(mutated, mutated.object, request, extended))


def _name(raw: Raw) -> str:
    metadata = raw.get("metadata")
    name: Any = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""
