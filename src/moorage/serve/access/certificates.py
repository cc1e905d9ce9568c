"""Stamp certificate requests with their requester, and check who may approve and sign requests of a signer.

Kubernetes: csrStrategy.PrepareForCreate, the admission plugins CertificateSubjectRestriction, CertificateApproval and
CertificateSigning. Differs: writing the status needs the right to sign even where no certificate is written.
"""

from typing import Any

from moorage.admit.kinds.api_server.certificates import subject_complaint
from moorage.admit.raw import Raw
from moorage.model.api_error import forbidden
from moorage.model.go.quoting import go_quote
from moorage.model.kinds import Kind
from moorage.model.types.request import CertificateSigningRequest
from moorage.model.types.view import View
from moorage.serve.access.authorization import resource_attributes
from moorage.serve.pki.authentication import User
from moorage.serve.resources.objects import decode
from moorage.serve.resources.served import Target
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.reading import get

_REQUESTER = ("username", "uid", "groups", "extra")


def with_requester(spec: Any, user: User) -> Raw:
    """Overwrite the requester fields with the authenticated user."""
    given = {name: value for name, value in spec.items() if name not in _REQUESTER} if isinstance(spec, dict) else {}
    extra = {name: list(values) for name, values in user.extra.items()}
    known: Raw = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
    return given | {name: value for name, value in known.items() if value}


def check_subject(kind: Kind, name: str, csr: View | None) -> None:
    """Raise ApiError 403 if the subject of a new request is not allowed."""
    if isinstance(csr, CertificateSigningRequest) and (why := subject_complaint(csr.spec)):
        raise forbidden(kind, name, why)


async def check_signer(api: Api, target: Target, user: User) -> None:
    """Raise ApiError 403 unless the user may approve, or sign, requests of the signer that a request names."""
    stored = await get(api, target.ref)
    signer = (decode(target.kind, stored).get("spec") or {}).get("signerName", "")
    verb = "approve" if target.subresource == "approval" else "sign"
    for name in (signer, f"{signer.partition('/')[0]}/*"):
        attributes = resource_attributes(verb, target.kind.group, "signers", name=name)
        if api.authorization.authorize(user, attributes).allowed:
            return
    why = f"user not permitted to {verb} requests with signerName {go_quote(signer)}"
    raise forbidden(target.kind, target.name, why)
