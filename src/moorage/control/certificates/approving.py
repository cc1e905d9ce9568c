"""Approve requests for client certificates of nodes, by users who may have them.

Asked is a SubjectAccessReview: `create` on `certificatesigningrequests/selfnodeclient` for a user's own certificate,
`.../nodeclient` for another one's. Kubernetes: pkg/controller/certificates/approver.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.control.certificates.signers import KUBELET_CLIENT, RequestedName, complaint_about
from moorage.control.certificates.signing import APPROVED, DENIED, has_condition
from moorage.control.framework.actions import NOTHING, Answers, Plan, Question, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.go.pem_blocks import UnreadableRequest
from moorage.model.kinds import KINDS, SUBJECT_ACCESS_REVIEW
from moorage.model.types.access.certificates import CertificateSigningRequest

_OWN, _OTHER = "selfnodeclient", "nodeclient"
_SAID = {
    _OWN: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    _OTHER: "Auto approving kubelet client certificate after SubjectAccessReview.",
}


class CertificateApprover(Controller):
    """Approves what nodes ask for; denies nothing."""

    name = "certificatesigningrequest-approving-controller"
    component = "certificate-controller"
    watches = (KINDS.CERTIFICATE_SIGNING_REQUEST,)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        csr = world.view(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        return [] if csr is None else [_question(csr, right) for right in _rights(csr)]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        found = world.get(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        if found is None:
            return NOTHING
        rights = _rights(found.view)
        for right in rights:
            answered = answers.get(_question(found.view, right), ())
            if any((answer.raw.get("status") or {}).get("allowed") for answer in answered):
                approval = {"type": APPROVED, "status": "True", "reason": "AutoApproved", "message": _SAID[right]}
                status = dict(found.raw.get("status") or {})
                status["conditions"] = [*(status.get("conditions") or ()), approval]
                return Plan((Update(KINDS.CERTIFICATE_SIGNING_REQUEST, {**found.raw, "status": status}, "approval"),))
        return Plan(retries=bool(rights))


def _rights(csr: CertificateSigningRequest) -> list[str]:
    """Return the rights of which one suffices; none if the request is not a node's, or was decided about."""
    if csr.spec.signerName != KUBELET_CLIENT or csr.status.certificate or has_condition(csr, APPROVED, DENIED):
        return []
    try:
        name = RequestedName(csr)
    except UnreadableRequest:
        return []
    if complaint_about(csr, name):
        return []
    return [_OWN, _OTHER] if csr.spec.username == name.common_name else [_OTHER]


def _question(csr: CertificateSigningRequest, right: str) -> Question:
    asked = {
        "group": KINDS.CERTIFICATE_SIGNING_REQUEST.group,
        "version": "*",
        "resource": KINDS.CERTIFICATE_SIGNING_REQUEST.plural,
        "subresource": right,
        "verb": "create",
    }
    spec: dict[str, Any] = {"resourceAttributes": asked, "user": csr.spec.username, "groups": list(csr.spec.groups)}
    if csr.spec.uid:
        spec["uid"] = csr.spec.uid
    if csr.spec.extra:
        spec["extra"] = {name: list(values) for name, values in csr.spec.extra.items()}
    kind = SUBJECT_ACCESS_REVIEW
    document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}, "spec": spec}
    return Question(kind, review=msgspec.json.encode(document))
